/** Sends a mail that is there already to its recipient or to another address. What is refused is said as the server says it. */
import { useState } from 'react';
import { Button } from '../button.tsx';
import { Dialog } from '../dialog.tsx';
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
  const [problem, setProblem] = useState<string | null>(null);
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
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <p className="mb-3 text-soft">{text}</p>
        <label className="block">
          <span className="mb-1 block font-semibold">To</span>
          <input
            type="email"
            required
            value={to}
            onChange={(event) => setTo(event.target.value)}
            aria-invalid={problem !== null}
            aria-describedby="send-problem"
            className="h-8.5 w-full rounded-md border border-line-strong bg-page px-2.5"
          />
        </label>
        <p id="send-problem" role="alert" className="mt-2 text-bad">
          {problem}
        </p>
        <div className="mt-3 flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" disabled={busy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
