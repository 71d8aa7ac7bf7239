/** Holds mail back: which, why, and until when. It can be released at any time, at once by the message that follows. */
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import type { HoldQueueRequest } from '../../../src/client/api-types.ts';
import { holdMail, releaseHold } from '../../api/queue.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { toast } from '../../components/toasts.tsx';
import { messageOf } from '../../components/undoable.ts';

const HOUR = 3_600_000;
const ENDS = [
  ['', 'until it is released'],
  [String(HOUR), 'for an hour'],
  [String(4 * HOUR), 'for four hours'],
  [String(24 * HOUR), 'for a day'],
] as const;
const BOX = 'min-h-8 w-full rounded-md border border-line-strong bg-surface px-2.5';

/** `site`: the recipient domain that it begins with. */
export function HoldDialog({ site = '', onClose }: { site?: string; onClose(): void }) {
  const queries = useQueryClient();
  const id = useId();
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);

  async function submit(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const wanted = wantedOf(new FormData(event.currentTarget));
    setBusy(true);
    try {
      const hold = await holdMail(wanted);
      const changed = () => void queries.invalidateQueries({ queryKey: ['queue'] });
      const close = toast({
        text: `Held: ${hold.Reason}`,
        standsMs: 10_000,
        action: {
          name: 'Undo',
          run() {
            close();
            releaseHold(hold.HoldID).then(changed, (error: unknown) =>
              toast({ text: `Not released: ${messageOf(error)}` }),
            );
          },
        },
      });
      changed();
      onClose();
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  }

  return (
    <Dialog title="Hold mail" onClose={onClose}>
      <form className="grid gap-3" onSubmit={(event) => void submit(event)}>
        <p className="text-soft">
          Mail that fits everything you fill in waits until the hold ends. It still expires, and new mail is
          accepted.
        </p>
        <Field id={`${id}-to`} name="To domain">
          <input
            id={`${id}-to`}
            name="RecipientDomain"
            defaultValue={site}
            placeholder="any"
            className={BOX}
          />
        </Field>
        <Field id={`${id}-from`} name="From domain">
          <input id={`${id}-from`} name="SenderDomain" placeholder="any" className={BOX} />
        </Field>
        <Field id={`${id}-priority`} name="Priority">
          <select id={`${id}-priority`} name="Priority" className={BOX}>
            <option value="">any</option>
            <option value="critical">critical</option>
            <option value="normal">normal</option>
            <option value="bulk">bulk</option>
          </select>
        </Field>
        <Field id={`${id}-until`} name="How long">
          <select id={`${id}-until`} name="Until" className={BOX}>
            {ENDS.map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </Field>
        <Field id={`${id}-reason`} name="Reason, shown with the mail">
          <input id={`${id}-reason`} name="Reason" required maxLength={400} className={BOX} />
        </Field>
        {problem !== '' && (
          <p role="alert" className="text-bad">
            {problem}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="main" disabled={isBusy}>
            Hold
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Field({ id, name, children }: { id: string; name: string; children: React.ReactNode }) {
  return (
    <div className="grid gap-1">
      <label htmlFor={id}>{name}</label>
      {children}
    </div>
  );
}

function wantedOf(form: FormData): HoldQueueRequest {
  const said = (name: string) => String(form.get(name) ?? '').trim();
  const match = (['RecipientDomain', 'SenderDomain', 'Priority'] as const).filter(
    (name) => said(name) !== '',
  );
  return {
    ...Object.fromEntries(match.map((name) => [name, said(name)])),
    ...(match.length === 0 ? { All: true } : {}),
    ...(said('Until') === '' ? {} : { Until: new Date(Date.now() + Number(said('Until'))).toISOString() }),
    Reason: said('Reason'),
  };
}
