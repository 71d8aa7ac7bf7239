/**
 * The queue: what waits, where, why and until when. Sites by age, the causes that several recipients share, and what a
 * person holds back; which of them is shown, and what is looked for, stand in the address.
 */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { getQueue, listHolds } from '../../api/queue.ts';
import { countOf, countText } from '../../components/count.ts';
import { NotYet, Page } from '../../components/page.tsx';
import { Segments } from '../../components/segments.tsx';
import { useLive } from '../../components/use-live.ts';
import { CausesView } from './causes-view.tsx';
import { HoldButton } from './hold-dialog.tsx';
import { HoldsView } from './holds-view.tsx';
import { SitesView } from './sites-view.tsx';

/** Keys of what was answered, for whoever changes it. */
const QUEUE = ['queue'] as const;
const HOLDS = ['queue', 'holds'] as const;
const EVERY_MS = 10_000;

export function QueuePlace() {
  const { view = 'sites' } = useSearch({ from: '/queue' });
  const navigate = useNavigate({ from: '/queue' });
  const queue = useLive([...QUEUE, 'list'], getQueue, EVERY_MS);
  const holds = useLive(HOLDS, listHolds, EVERY_MS);
  const { data } = queue;
  const held = holds.data?.Items.length ?? 0;
  return (
    <Page
      title="Queue"
      error={queue.error}
      tools={
        <>
          {data?.Waiting != null && (
            <p className="text-soft tabular-nums">
              {countOf(data.Waiting, 'recipient')} waiting · {countText(data.Sending ?? 0)} being sent
              {(data.PendingCalls ?? 0) > 0 &&
                ` · ${countOf(data.PendingCalls ?? 0, 'webhook call')} to make`}
            </p>
          )}
          <div className="ml-auto">
            <HoldButton>Hold mail…</HoldButton>
          </div>
        </>
      }
    >
      <Segments
        label="What is shown"
        value={view}
        onValue={(next) => void navigate({ search: next === 'sites' ? {} : { view: next } })}
        choices={[
          { value: 'sites', name: 'Sites' },
          { value: 'causes', name: 'Causes' },
          { value: 'holds', name: held === 0 ? 'Holds' : `Holds (${held})` },
        ]}
      />
      {view === 'causes' ? (
        <CausesView />
      ) : view === 'holds' ? (
        <HoldsView holds={holds} />
      ) : data === undefined ? (
        <NotYet error={queue.error} onAgain={queue.again} />
      ) : (
        <SitesView answer={data} />
      )}
    </Page>
  );
}
