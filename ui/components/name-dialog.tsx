/** Asks before what cannot be undone: the name of the thing has to be typed. Says that it is done, and closes. */
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Dialog, DialogForm } from './dialog.tsx';
import { Field } from './field.tsx';
import { toast } from './toasts.tsx';

export function NameDialog({
  title,
  name,
  action,
  children,
  run,
  said,
  onDone,
  onClose,
}: {
  title: string;
  /** What has to be typed. */
  name: string;
  /** The word of the button. */
  action: string;
  /** What happens. */
  children: ReactNode;
  run(): Promise<unknown>;
  /** That it is done. */
  said: string;
  onDone(): void;
  onClose(): void;
}) {
  const [typed, setTyped] = useState('');
  const running = useMutation({
    mutationFn: run,
    onSuccess() {
      toast({ text: said });
      onDone();
      onClose();
    },
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <DialogForm
        running={running}
        action={action}
        look="danger"
        missing={typed.trim().toLowerCase() === name.toLowerCase() ? null : 'Type the name first'}
        onSubmit={() => running.mutate()}
        onCancel={onClose}
      >
        {children}
        <Field
          label={`Type ${name}`}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      </DialogForm>
    </Dialog>
  );
}
