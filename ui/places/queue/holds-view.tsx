/** What is held back, by whom it was said or not: what it is, why, since and until when; released with a way back. */
import { useQuery } from '@tanstack/react-query';
import { CircleCheck } from 'lucide-react';
import type { Hold, HoldsAnswer } from '../../../src/client/api-types.ts';
import { commandOf, ME } from '../../api/me.ts';
import { releaseHold } from '../../api/queue.ts';
import { Button } from '../../components/button.tsx';
import { Notice } from '../../components/notice.tsx';
import { NotYet } from '../../components/page.tsx';
import { Lasting, Until } from '../../components/time.tsx';
import type { Live } from '../../components/use-live.ts';
import { useLeaving, useRemoval } from '../../components/use-removal.ts';

export function HoldsView({ holds }: { holds: Live<HoldsAnswer> }) {
  const { data } = holds;
  const { data: me } = useQuery(ME);
  if (data === undefined) return <NotYet error={holds.error} onAgain={holds.again} />;
  if (data.Items.length === 0)
    return (
      <Notice title="No mail is held" icon={<CircleCheck aria-hidden />}>
        A hold keeps mail back until you release it: of a domain, to a site, or all.
      </Notice>
    );
  return (
    <>
      <HoldList holds={data.Items} />
      {data.HasMore && <p className="text-soft">There are more: {commandOf(me, 'queue holds')} lists all.</p>}
    </>
  );
}

export function HoldList({ holds }: { holds: readonly Hold[] }) {
  const leaving = useLeaving<string>(['queue']);
  const remove = useRemoval<string>(['queue']);
  const release = (hold: Hold): void =>
    remove(hold.HoldID, `${wordsOf(hold)} is released`, (isLeaving) => releaseHold(hold.HoldID, isLeaving));
  return (
    <ul aria-label="Holds" className="grid border-line border-t">
      {holds
        .filter(({ HoldID }) => !leaving.has(HoldID))
        .map((hold) => (
          <li
            key={hold.HoldID}
            className="flex flex-wrap items-center gap-x-4 gap-y-1 border-line border-b py-2.5"
          >
            <div className="grid min-w-0 flex-1 basis-60 gap-0.5">
              <p className="font-semibold">{wordsOf(hold)}</p>
              <p>{hold.Reason}</p>
              <p className="text-soft text-xs">
                <Lasting at={hold.CreatedAt} /> ·{' '}
                {hold.Until === null ? (
                  'until it is released'
                ) : (
                  <Until at={hold.Until} before="ends" after="ended" />
                )}
              </p>
            </div>
            <Button onClick={() => release(hold)}>Release</Button>
          </li>
        ))}
    </ul>
  );
}

function wordsOf({ SenderDomain, RecipientDomain, Site, Priority }: Hold): string {
  const parts = [
    ...(Priority === null ? [] : [`of priority ${Priority}`]),
    ...(SenderDomain === null ? [] : [`from ${SenderDomain}`]),
    ...(RecipientDomain === null ? [] : [`to ${RecipientDomain}`]),
    ...(Site === null ? [] : [`to the site ${Site}`]),
  ];
  return parts.length === 0 ? 'All mail' : `Mail ${parts.join(' ')}`;
}
