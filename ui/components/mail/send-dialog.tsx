/** Sends a mail that is there already to its recipient or to another address. What is refused is said as the server says it. */
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Dialog, DialogForm } from '../dialog.tsx';
import { Field } from '../field.tsx';
import { toast } from '../toasts.tsx';

export function SendDialog({
  title,
  text,
  action,
  to: first,
  send,
  onClose,
}: {
  title: string;
  text: string;
  /** What the button says. */
  action: string;
  to: string;
  send(to: string): Promise<{ MessageID: string }>;
  onClose(): void;
}) {
  const [to, setTo] = useState(first);
  const sending = useMutation({
    mutationFn: send,
    onSuccess({ MessageID }, address) {
      toast({ text: `On its way to ${address} as message ${MessageID}` });
      onClose();
    },
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <DialogForm
        running={sending}
        action={action}
        isErrorAtField
        onSubmit={() => sending.mutate(to.trim())}
        onCancel={onClose}
      >
        <p className="text-soft">{text}</p>
        <Field
          label="To"
          type="email"
          required
          error={sending.error?.message}
          value={to}
          onChange={(event) => setTo(event.target.value)}
        />
      </DialogForm>
    </Dialog>
  );
}
