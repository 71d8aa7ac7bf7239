/** What becomes of the next mail to the same address, once: to see what the program does when its mail bounces. */
import { useMutation } from '@tanstack/react-query';
import type { CaptureDetail } from '../../../../src/client/api-types.ts';
import { addResult, removeResult } from '../../../api/captures.ts';
import { Dialog, DialogForm } from '../../../components/dialog.tsx';
import { Options, SelectField } from '../../../components/field.tsx';
import { toast, toastError } from '../../../components/toasts.tsx';

const RESULTS = [
  ['Bounce', 'it bounces: there is no such address'],
  ['SoftBounce', 'it bounces for now: the mailbox is full'],
  ['Defer', 'it is delivered at the second try'],
  ['Fail', 'it is given up'],
  ['Complain', 'it is delivered, and reported as spam'],
  ['Open', 'it is delivered and opened'],
  ['Click', 'it is delivered, and a link is clicked'],
] as const;

export function NextResultDialog({ mail, onClose }: { mail: CaptureDetail; onClose(): void }) {
  const adding = useMutation({
    mutationFn: (result: string) => addResult(mail, result),
    onSuccess: (ruleId, result) => {
      const words = RESULTS.find(([word]) => word === result)?.[1] ?? '';
      toast({
        text: `The next mail to ${mail.EnvelopeTo}: ${words}`,
        standsMs: 10_000,
        action: { name: 'Undo', run: () => void removeResult(ruleId).catch(toastError) },
      });
      onClose();
    },
  });
  return (
    <Dialog title="Another result next time" onClose={onClose}>
      <DialogForm
        running={adding}
        action="Set the result"
        onSubmit={(form) => adding.mutate(String(form.get('Result')))}
        onCancel={onClose}
      >
        <p className="text-soft">
          Let your program send to <bdi className="text-ink">{mail.EnvelopeTo}</bdi> once more within a day.
          Events and webhooks tell this result; nothing leaves this server.
        </p>
        <SelectField label="What happens to it" name="Result">
          <Options of={RESULTS} />
        </SelectField>
      </DialogForm>
    </Dialog>
  );
}
