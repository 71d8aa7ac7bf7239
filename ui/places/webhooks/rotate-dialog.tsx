/** Gives a webhook a new secret, shown once; the old one signs too for a day. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { rotateSecret, WEBHOOKS } from '../../api/webhooks.ts';
import { Dialog, DialogForm } from '../../components/dialog.tsx';
import { ShownOnce } from '../../components/shown-once.tsx';
import { exactTime } from '../../components/time.tsx';

export function RotateDialog({ id, onClose }: { id: number; onClose(): void }) {
  const queries = useQueryClient();
  const rotating = useMutation({
    mutationFn: () => rotateSecret(id),
    onSuccess: () => void queries.invalidateQueries({ queryKey: WEBHOOKS }),
  });
  const made = rotating.data;
  return (
    <Dialog title="Rotate the secret" onClose={onClose}>
      {made !== undefined ? (
        <ShownOnce what="secret" text={made.Secret} onClose={onClose}>
          <p className="text-soft">
            Calls are signed with the old secret too until {exactTime(made.PreviousValidUntil)}. Install the
            new one before then.
          </p>
        </ShownOnce>
      ) : (
        <DialogForm running={rotating} action="Rotate" onSubmit={() => rotating.mutate()} onCancel={onClose}>
          <p>
            A new secret signs the calls. For 24 hours they are signed with the old one too, so that your
            receiver can be changed meanwhile. A secret before the old one ends now.
          </p>
        </DialogForm>
      )}
    </Dialog>
  );
}
