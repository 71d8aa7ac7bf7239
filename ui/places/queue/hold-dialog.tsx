/** Holds mail back: which, why, and until when. It can be released at any time, at once by the message that follows. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Pause } from 'lucide-react';
import { useState } from 'react';
import type { HoldQueueRequest } from '../../../src/client/api-types.ts';
import { fieldError } from '../../api/call.ts';
import { holdMail, releaseHold } from '../../api/queue.ts';
import { Button } from '../../components/button.tsx';
import { Dialog, DialogForm } from '../../components/dialog.tsx';
import { Field, Options, SelectField } from '../../components/field.tsx';
import { messageOf, toast } from '../../components/toasts.tsx';

const HOUR = 3_600_000;
const ENDS = [
  ['', 'until it is released'],
  [String(HOUR), 'for an hour'],
  [String(4 * HOUR), 'for four hours'],
  [String(24 * HOUR), 'for a day'],
] as const;
const PRIORITIES = [
  ['', 'any'],
  ['critical', 'critical'],
  ['normal', 'normal'],
  ['bulk', 'bulk'],
] as const;
const DOMAIN = {
  placeholder: 'any',
  autoComplete: 'off',
  autoCapitalize: 'none',
  spellCheck: false,
} as const;

/** What it begins with. */
interface HoldStart {
  /** The recipient domain. */
  to?: string;
  /** The sender domain. */
  from?: string;
}

export function HoldButton({ children, ...start }: HoldStart & { children: string }) {
  const [isHolding, setHolding] = useState(false);
  return (
    <>
      <Button className="justify-self-start" onClick={() => setHolding(true)}>
        <Pause size={14} aria-hidden /> {children}
      </Button>
      {isHolding && <HoldDialog {...start} onClose={() => setHolding(false)} />}
    </>
  );
}

export function HoldDialog({ to = '', from = '', onClose }: HoldStart & { onClose(): void }) {
  const queries = useQueryClient();
  const changed = () => void queries.invalidateQueries({ queryKey: ['queue'] });
  const holding = useMutation({
    mutationFn: holdMail,
    onSuccess(hold) {
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
    },
  });
  const [wrongTo, wrongFrom] = ['/RecipientDomain', '/SenderDomain'].map((pointer) =>
    fieldError(holding.error, pointer),
  );
  return (
    <Dialog title="Hold mail" onClose={onClose}>
      <DialogForm
        running={holding}
        action="Hold"
        isErrorAtField={wrongTo !== undefined || wrongFrom !== undefined}
        onSubmit={(form) => holding.mutate(wantedOf(form))}
        onCancel={onClose}
      >
        <p className="text-soft">
          Mail that fits everything you fill in waits until the hold ends. It still expires, and new mail is
          accepted.
        </p>
        <Field label="To domain" name="RecipientDomain" error={wrongTo} defaultValue={to} {...DOMAIN} />
        <Field label="From domain" name="SenderDomain" error={wrongFrom} defaultValue={from} {...DOMAIN} />
        <SelectField label="Priority" name="Priority">
          <Options of={PRIORITIES} />
        </SelectField>
        <SelectField label="How long" name="Until">
          <Options of={ENDS} />
        </SelectField>
        <Field label="Reason" hint="Shown with the mail that waits." name="Reason" required maxLength={400} />
      </DialogForm>
    </Dialog>
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
