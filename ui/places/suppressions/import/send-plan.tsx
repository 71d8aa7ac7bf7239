/** Stores what a plan has, with its progress; what the server refuses is left out and said. */

import { Link } from '@tanstack/react-router';
import { Button } from '../../../components/button.tsx';
import { countOf } from '../../../components/count.ts';
import { FormError } from '../../../components/field.tsx';
import { Gauge } from '../../../components/gauge.tsx';
import { addedText } from '../added-text.ts';
import type { OpenFile, ShownPlan } from './open-file.ts';
import { RefusedRows } from './plan-preview.tsx';
import { useSending } from './use-sending.ts';

export function SendPlan({ file, plan, domain }: { file: OpenFile; plan: ShownPlan; domain: string }) {
  const sending = useSending(file, plan, domain);
  const { state, sent, added, existing, refused, error } = sending;
  const { count } = plan;
  const isReady = domain !== '' && count > 0;
  return (
    <div className="grid max-w-xl gap-3">
      {state === 'idle' && (
        <>
          {!isReady && (
            <p className="text-soft">
              {count === 0 ? 'There is no row to store.' : 'Choose a sender domain above.'}
            </p>
          )}
          <Button look="main" className="justify-self-start" disabled={!isReady} onClick={sending.start}>
            Put {countOf(count, 'address', 'addresses')} on the list
          </Button>
        </>
      )}
      {state !== 'idle' && state !== 'done' && (
        <>
          <Gauge label="Sent" value={sent} limit={count} tone="good" />
          <FormError error={error} />
          {state === 'sending' ? (
            <Button className="justify-self-start" onClick={sending.stop}>
              Stop
            </Button>
          ) : (
            <Button look="main" className="justify-self-start" onClick={sending.start}>
              Go on
            </Button>
          )}
        </>
      )}
      {state === 'done' && (
        <p role="status">
          {addedText({ Added: added, Existing: existing })}.{' '}
          <Link to="/suppressions" search={{ q: `domain:${domain}` }} className="text-accent underline">
            Show the list
          </Link>
        </p>
      )}
      {refused.length > 0 && <RefusedRows title="the server refused them" rows={refused} />}
    </div>
  );
}
