/** What stands in place of the rows of a list: a skeleton, nothing found, or an error with another try. */
import { LoaderCircle, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { asksAgainAfterMs } from '../api/call.ts';
import { Button } from './button.tsx';
import type { ListSnapshot } from './live-list.ts';
import { Failed } from './notice.tsx';
import { messageOf } from './toasts.tsx';

export function ListState<Item>(props: {
  list: ListSnapshot<Item> & { reload(): void };
  rowPx: number;
  /** Where there is nothing, and nothing more to look through. */
  empty: ReactNode;
  children: ReactNode;
}) {
  const { state, items, error, lost, reload, hasMore, loadingMore } = props.list;
  if (state === 'loading') return <Skeleton rowPx={props.rowPx} />;
  if (state === 'failed')
    return (
      <Failed
        title="The list cannot be read"
        icon={<TriangleAlert aria-hidden />}
        error={error}
        onAgain={reload}
      />
    );
  // Of what heals by itself the page says it.
  const why = lost === null ? error : asksAgainAfterMs(lost) === 0 ? lost : null;
  return (
    <>
      {items.length === 0 && !hasMore && !loadingMore ? props.empty : props.children}
      {why !== null && (
        <div className="flex shrink-0 flex-wrap items-center gap-2 border-line border-t px-4 py-1.5">
          <p role="alert" className="min-w-0 flex-1 text-bad text-xs">
            {messageOf(why)}
          </p>
          <Button onClick={reload}>Try again</Button>
        </div>
      )}
      {loadingMore && items.length < FEW && (
        <p
          role="status"
          className="flex shrink-0 items-center gap-2 border-line border-t px-4 py-1.5 text-soft text-xs"
        >
          <LoaderCircle size={14} aria-hidden className="animate-spin motion-reduce:animate-none" />
          Still searching through older mail: {items.length} found so far
        </p>
      )}
    </>
  );
}

/** With fewer than these the end of the list is in sight while it is looked for. */
const FEW = 100;

function Skeleton({ rowPx }: { rowPx: number }) {
  return (
    <div aria-busy="true" className="flex-1 overflow-hidden">
      <span className="sr-only">Loading</span>
      {Array.from({ length: 8 }, (_, n) => `line-${n}`).map((key) => (
        <div
          key={key}
          style={{ height: rowPx }}
          className="grid content-center gap-2 border-line border-b pr-6 pl-9"
        >
          <span className="h-3 w-3/5 rounded bg-hover" />
          <span className="h-2.5 w-2/5 rounded bg-hover" />
        </div>
      ))}
    </div>
  );
}
