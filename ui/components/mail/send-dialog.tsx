/** Sends a mail that is there already to its recipient or to another address. What is refused is said as the server says it. */
import { useState } from 'react';
import { Button } from '../button.tsx';
import { Dialog } from '../dialog.tsx';
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
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    try {
      const { MessageID } = await send(to.trim());
      toast({ text: `On its way to ${to.trim()} as message ${MessageID}` });
      onClose();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <p className="text-soft">{text}</p>
        <Field
          label="To"
          type="email"
          required
          error={problem}
          value={to}
          onChange={(event) => setTo(event.target.value)}
        />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" disabled={busy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
