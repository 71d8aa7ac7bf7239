/**
 * A dialog over the page: the browser's own, which keeps the focus inside and closes with Esc, except while it holds
 * something that is not shown again (`data-shown-once`); and the form in one, with its buttons.
 */
import { useMutation } from '@tanstack/react-query';
import { X } from 'lucide-react';
import { type ReactNode, useLayoutEffect, useRef } from 'react';
import { Button, IconButton } from './button.tsx';
import { FormError } from './field.tsx';

/** What somebody types in or chooses from. */
const FIELD = 'input:not([type=checkbox]):enabled, select:enabled, textarea:enabled';

export function Dialog({
  title,
  isWide = false,
  isAtTop = false,
  children,
  onClose,
}: {
  title: string;
  /** For forms with explanations. */
  isWide?: boolean;
  /** For what grows and shrinks while somebody types: its first line stays where it is. */
  isAtTop?: boolean;
  children: ReactNode;
  onClose(): void;
}) {
  const box = useRef<HTMLDialogElement>(null);
  // Closed while it is still in the page: only so the focus goes back to where it was.
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    element.showModal();
    // It gave the focus to its first button, which closes it. Where a keyboard would cover the dialog it stays there.
    if (!matchMedia('(pointer: coarse)').matches) element.querySelector<HTMLElement>(FIELD)?.focus();
    return () => element.close();
  }, []);
  return (
    <dialog
      ref={box}
      aria-label={title}
      onCancel={(event) => {
        if (event.currentTarget.querySelector('[data-shown-once]') !== null) event.preventDefault();
      }}
      // Heard a moment later: a development build closes it once and opens it again.
      onClose={({ currentTarget }) => {
        if (!currentTarget.open) onClose();
      }}
      className={`w-[calc(100%-2rem)] rounded-lg border ${isWide ? 'max-w-2xl' : 'max-w-md'} ${isAtTop ? 'mt-[12vh]' : ''} border-line-strong bg-raised p-4 text-left font-normal`}
    >
      <div className="mb-3 flex items-start justify-between gap-2">
        <h2 className="min-w-0 pt-1 font-semibold text-base">{title}</h2>
        <IconButton label="Close" onClick={onClose}>
          <X size={16} aria-hidden />
        </IconButton>
      </div>
      {children}
    </dialog>
  );
}

/** What is filled in or asked in a dialog. What was refused stands above the buttons, where no field says it. */
export function DialogForm({
  running,
  action,
  look = 'main',
  missing = null,
  isErrorAtField = false,
  aside,
  cancel = 'Cancel',
  children,
  onSubmit,
  onCancel,
}: {
  /** What the form begins: it is sent again only once this has failed. */
  running: { error: Error | null; isPending: boolean };
  /** The words of its button. */
  action: string;
  look?: 'main' | 'plain' | 'danger';
  /** What has to be done before it can be sent, besides what the browser checks itself. */
  missing?: string | null;
  isErrorAtField?: boolean;
  /** Beside the buttons. */
  aside?: ReactNode;
  /** The words of the button that closes it. */
  cancel?: string;
  children: ReactNode;
  onSubmit(form: FormData): void;
  /** Left out: there is no button for it. */
  onCancel?(): void;
}) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(new FormData(event.currentTarget));
      }}
      className="grid gap-4"
    >
      {children}
      {!isErrorAtField && <FormError error={running.error} />}
      <div className="flex items-center justify-end gap-2">
        {aside}
        {missing !== null && <p className="mr-auto text-soft">{missing}</p>}
        {onCancel !== undefined && <Button onClick={onCancel}>{cancel}</Button>}
        <Button type="submit" look={look} isBusy={running.isPending} disabled={missing !== null}>
          {action}
        </Button>
      </div>
    </form>
  );
}

/** Asks before something is done, and closes when it is. */
export function Question({
  title,
  text,
  action,
  cancel = 'Cancel',
  onYes,
  onClose,
}: {
  title: string;
  text: string;
  /** The words of the two buttons. */
  action: string;
  cancel?: string;
  onYes(): Promise<unknown>;
  onClose(): void;
}) {
  const running = useMutation({ mutationFn: onYes, onSuccess: onClose });
  return (
    <Dialog title={title} onClose={onClose}>
      <DialogForm
        {...{ running, action, cancel }}
        look="danger"
        onSubmit={() => running.mutate()}
        onCancel={onClose}
      >
        <p className="text-soft">{text}</p>
      </DialogForm>
    </Dialog>
  );
}
