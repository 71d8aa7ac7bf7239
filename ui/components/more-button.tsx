/** A list that is read page by page: its rows, or what stands in their place, and below them the button that reads on. */
import { type ReactNode, useContext, useState } from 'react';
import { Unreachable } from '../api/call.ts';
import { Button, takeLostFocus } from './button.tsx';
import { FormError } from './field.tsx';
import { NothingFound } from './notice.tsx';
import { NotYet, SaidError } from './page.tsx';
import type { Pages } from './pages.ts';

/** Reads the next page of a list; says why the last request failed, unless the page says all of it. */
export function MoreButton({ list, children }: { list: Pages<unknown>; children: string }) {
  const { error, hasMore } = list;
  const isSaid = useContext(SaidError) === error && (error instanceof Unreachable || !hasMore);
  const [isAsked, setAsked] = useState(false);
  if (!hasMore && error === null && isAsked)
    return (
      <p ref={takeLostFocus} tabIndex={-1} className="text-soft outline-none">
        That is all.
      </p>
    );
  if (!hasMore) return isSaid ? null : <FormError error={error} />;
  return (
    <div className="grid justify-items-start gap-2">
      <FormError error={isSaid ? null : error} />
      <Button
        isBusy={list.isReading}
        onClick={() => {
          setAsked(true);
          list.more();
        }}
      >
        {list.isReading ? 'Reading…' : children}
      </Button>
    </div>
  );
}

export function Listing<Item>({
  list,
  found = list.items,
  search,
  empty,
  more,
  children,
}: {
  list: Pages<Item>;
  /** Those of its items that are shown; default: all. */
  found?: readonly Item[] | undefined;
  /** What is looked for, and what is said where nothing has it. */
  search?: { words: string; onWords(words: string): void; nothing: string; all: string };
  /** Where there is nothing. */
  empty: ReactNode;
  /** The words of the button. */
  more: string;
  children(items: readonly Item[]): ReactNode;
}) {
  if (found === undefined || (list.isOld && found.length === 0))
    return <NotYet error={list.error} onAgain={list.again} />;
  return (
    <>
      {found.length > 0 ? (
        children(found)
      ) : list.hasMore ? (
        <p className="text-soft">Nothing found so far.</p>
      ) : search !== undefined && search.words !== '' ? (
        <NothingFound
          title={search.nothing}
          words={search.words}
          all={search.all}
          onAll={() => search.onWords('')}
        />
      ) : (
        empty
      )}
      <MoreButton list={list}>{more}</MoreButton>
    </>
  );
}
