/** Makes calls of past events again: those that failed, or all, of a range of time. */

import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { replayCalls, WEBHOOKS } from '../../api/webhooks.ts';
import { countOf } from '../../components/count.ts';
import { Dialog, DialogForm } from '../../components/dialog.tsx';
import { CheckField, Field } from '../../components/field.tsx';
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
      toast({ text: `${countOf(sum, 'call is', 'calls are')} made again` });
      void queries.invalidateQueries({ queryKey: WEBHOOKS });
      onClose();
    },
  });
  return (
    <Dialog title="Replay calls" onClose={onClose}>
      <DialogForm
        running={replaying}
        action="Replay"
        aside={
          replaying.isPending && (
            <span className="mr-auto text-soft tabular-nums">{queued.toLocaleString()} queued</span>
          )
        }
        onSubmit={() => replaying.mutate()}
        onCancel={onClose}
      >
        <p className="text-soft">
          Events in this time are called again with the same id, so that a receiver ignores those it handled.
        </p>
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
      </DialogForm>
    </Dialog>
  );
}
