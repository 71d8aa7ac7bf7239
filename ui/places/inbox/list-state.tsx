/** What stands in place of the rows: a skeleton, nothing found, or an error with another try. */
import { Inbox, SearchX, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button } from '../../components/button.tsx';
import { Notice } from '../../components/notice.tsx';
import { ROW_PX } from './capture-row.tsx';
import { FirstMail } from './first-mail.tsx';
import type { Captures } from './use-captures.ts';

export function ListState(props: {
  captures: Captures;
  /** Something is looked for: nothing found does not mean that there is nothing. */
  isNarrowed: boolean;
  /** How to send a first mail is said here, because there is no room beside the list. */
  showsFirst: boolean;
  onEverything(): void;
  children: ReactNode;
}) {
  const { state, items, error, reload, hasMore, loadingMore } = props.captures;
  if (state === 'loading') return <Skeleton />;
  if (state === 'failed')
    return (
      <Notice title="The list cannot be read" icon={<TriangleAlert aria-hidden />}>
        <p className="mb-3">{error instanceof Error ? error.message : String(error)}</p>
        <Button onClick={reload}>Try again</Button>
      </Notice>
    );
  if (items.length > 0 || hasMore || loadingMore) return props.children;
  return props.isNarrowed ? (
    <Notice title="Nothing found" icon={<SearchX aria-hidden />}>
      <Button onClick={props.onEverything}>Show all mail</Button>
    </Notice>
  ) : props.showsFirst ? (
    <FirstMail />
  ) : (
    <Notice title="No mail yet" icon={<Inbox aria-hidden />}>
      What your program sends appears here as it comes.
    </Notice>
  );
}

function Skeleton() {
  return (
    <div aria-busy="true" className="flex-1 overflow-hidden">
      <span className="sr-only">Loading</span>
      {Array.from({ length: 8 }, (_, n) => `line-${n}`).map((key) => (
        <div
          key={key}
          style={{ height: ROW_PX }}
          className="grid content-center gap-2 border-line border-b pr-6 pl-9"
        >
          <span className="h-3 w-3/5 rounded bg-line" />
          <span className="h-2.5 w-2/5 rounded bg-line" />
        </div>
      ))}
    </div>
  );
}
