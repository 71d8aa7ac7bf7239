/** The warm-up of new sources: for each, what it sent to each provider within a day, of what it may send. */
import { Flame } from 'lucide-react';
import type { Warmup } from '../../../src/client/api-types.ts';
import { listWarmup } from '../../api/system.ts';
import { Listing } from '../../components/more-button.tsx';
import { Notice } from '../../components/notice.tsx';
import { Section } from '../../components/page.tsx';
import { usePages } from '../../components/pages.ts';
import { Ago } from '../../components/time.tsx';
import { WARMUP } from './keys.ts';

export function WarmupView() {
  const list = usePages(WARMUP, listWarmup);
  return (
    <Listing
      list={list}
      empty={
        <Notice title="No new source has sent to a provider yet" icon={<Flame aria-hidden />}>
          A new address sends a little more each day, so that receivers come to know it. Add it to{' '}
          <code className="font-mono text-xs">sources</code> in postrider.json, with the day of its first use.
        </Notice>
      }
      more="Show more"
    >
      {(items) => (
        <>
          <p className="max-w-prose text-soft">
            Messages within the last 24 hours, of the budget. A step up needs a day that used 60% of it with
            less than 5% deferred and no block. What is over the budget waits, or goes by another source.
          </p>
          {[...Map.groupBy(items, ({ Source }) => Source)].map(([source, rows]) => (
            <Section key={source} title={<bdi>{source}</bdi>}>
              <ul aria-label={`Providers of ${source}`} className="grid border-line border-t">
                {rows
                  .toSorted((a, b) => share(b) - share(a))
                  .map((row) => (
                    <Provider key={row.Provider} row={row} />
                  ))}
              </ul>
            </Section>
          ))}
        </>
      )}
    </Listing>
  );
}

/** How much of the budget is used; 0 without one. */
function share({ Budget, Used }: Warmup): number {
  return Budget === null ? 0 : Budget === 0 ? 1 : Used / Budget;
}

function Provider({ row }: { row: Warmup }) {
  const { Provider: provider, Budget, Used, DeferredToday, BlockedToday, LastUsedAt } = row;
  const used = share(row);
  const look = BlockedToday > 0 ? 'bg-bad' : used >= 1 ? 'bg-warn' : 'bg-accent-fill';
  const notes = [
    ...(Budget !== null && used >= 1 ? ['the budget is used up: further mail waits'] : []),
    ...(DeferredToday > 0 ? [`${DeferredToday.toLocaleString()} deferred today`] : []),
    ...(BlockedToday > 0 ? [`${BlockedToday.toLocaleString()} blocked today`] : []),
  ];
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 border-line border-b py-2">
      <bdi className="w-40 min-w-0 truncate" title={provider}>
        {provider}
      </bdi>
      <span aria-hidden className="h-2 min-w-32 flex-1 rounded-full bg-line forced-color-adjust-none">
        {Budget !== null && (
          <span
            className={`block h-full rounded-full ${look}`}
            style={{ width: `${Math.min(1, used) * 100}%` }}
          />
        )}
      </span>
      <span className="w-40 text-right tabular-nums">
        {Budget === null
          ? `${Used.toLocaleString()}, warm`
          : `${Used.toLocaleString()} of ${Budget.toLocaleString()}`}
      </span>
      <p className={`basis-full text-xs ${BlockedToday > 0 ? 'text-bad' : 'text-soft'}`}>
        {notes.map((note) => `${note} · `)}
        {LastUsedAt === null ? (
          'not used yet'
        ) : (
          <>
            last message <Ago at={LastUsedAt} />
          </>
        )}
      </p>
    </li>
  );
}
