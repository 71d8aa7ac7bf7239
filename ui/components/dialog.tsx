/**
 * A dialog over the page: the browser's own, which keeps the focus inside and closes with Esc, except while it holds
 * something that is not shown again (`data-shown-once`).
 */
import { X } from 'lucide-react';
import { type ReactNode, useEffect, useRef } from 'react';
import { IconButton } from './button.tsx';

/** What somebody types in or chooses from. */
const FIELD = 'input:not([type=checkbox]):enabled, select:enabled, textarea:enabled';

export function Dialog({
  title,
  isWide = false,
  children,
  onClose,
}: {
  title: string;
  /** For forms with explanations. */
  isWide?: boolean;
  children: ReactNode;
  onClose(): void;
}) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
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
      onClose={onClose}
      className={`w-[calc(100%-2rem)] rounded-lg border ${isWide ? 'max-w-2xl' : 'max-w-md'} border-line-strong bg-raised p-4 text-left font-normal`}
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
