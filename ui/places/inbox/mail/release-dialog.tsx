/** Sends a captured mail for real, to its recipient or to another address. What is refused is said as the server says it. */
import { useState } from 'react';
import type { CaptureDetail } from '../../../../src/client/api-types.ts';
import { releaseCapture } from '../../../api/captures.ts';
import { Button } from '../../../components/button.tsx';
import { Dialog } from '../../../components/dialog.tsx';
import { toast } from '../../../components/toasts.tsx';

export function ReleaseDialog({ mail, onClose }: { mail: CaptureDetail; onClose(): void }) {
  const [to, setTo] = useState(mail.EnvelopeTo);
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const release = async (): Promise<void> => {
    setBusy(true);
    try {
      const { MessageID } = await releaseCapture(mail.ID, to.trim());
      toast({ text: `On its way to ${to.trim()} as message ${MessageID}` });
      onClose();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Release this mail" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void release();
        }}
      >
        <p className="mb-3 text-soft">It leaves this server as a new message, with the same contents.</p>
        <label className="block">
          <span className="mb-1 block font-semibold">To</span>
          <input
            type="email"
            required
            value={to}
            onChange={(event) => setTo(event.target.value)}
            aria-invalid={problem !== null}
            aria-describedby="release-problem"
            className="h-8.5 w-full rounded-md border border-line-strong bg-page px-2.5"
          />
        </label>
        <p id="release-problem" role="alert" className="mt-2 text-bad">
          {problem}
        </p>
        <div className="mt-3 flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" disabled={busy}>
            Release
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
