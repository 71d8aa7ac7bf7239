/** Makes calls of past events again: those that failed, or all, of a range of time. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { replayCalls, WEBHOOKS } from '../../api/webhooks.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { CheckField, Field, FormError } from '../../components/field.tsx';
import { toast } from '../../components/toasts.tsx';

export function ReplayDialog({ id, onClose }: { id: number; onClose(): void }) {
  const queries = useQueryClient();
  const [since, setSince] = useState('');
  const [until, setUntil] = useState('');
  const [onlyFailed, setOnlyFailed] = useState(true);
  const [queued, setQueued] = useState(0);
  const replaying = useMutation({
    mutationFn: () => {
      // One range for all portions: what happens meanwhile is called anyway.
      const Until = (until === '' ? new Date() : new Date(until)).toISOString();
      const from = since === '' ? {} : { Since: new Date(since).toISOString() };
      return replayCalls(id, { ...from, Until, OnlyFailed: onlyFailed }, setQueued);
    },
    onSuccess(sum) {
      toast({ text: `${sum.toLocaleString()} ${sum === 1 ? 'call is' : 'calls are'} made again` });
      void queries.invalidateQueries({ queryKey: WEBHOOKS });
      onClose();
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    replaying.mutate();
  };
  return (
    <Dialog title="Replay calls" onClose={onClose}>
      <form onSubmit={submit} className="grid gap-4">
        <p className="text-soft">
          Events in this time are called again with the same id, so that a receiver ignores those it handled.
        </p>
        <FormError error={replaying.error} />
        <CheckField
          label="Only calls that failed"
          checked={onlyFailed}
          onChange={({ target }) => setOnlyFailed(target.checked)}
        />
        <Field
          label="From"
          hint={onlyFailed ? 'Left empty: all that are kept.' : undefined}
          type="datetime-local"
          required={!onlyFailed}
          value={since}
          onChange={({ target }) => setSince(target.value)}
        />
        <Field
          label="To"
          hint="Left empty: now."
          type="datetime-local"
          value={until}
          onChange={({ target }) => setUntil(target.value)}
        />
        <div className="flex items-center justify-end gap-2">
          {replaying.isPending && (
            <span className="mr-auto text-soft tabular-nums">{queued.toLocaleString()} queued</span>
          )}
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="main" disabled={replaying.isPending}>
            Replay
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
