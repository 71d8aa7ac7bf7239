/** Reads the next page of a list; nothing where there is none. */
import { Button } from './button.tsx';
import type { Pages } from './pages.ts';

export function MoreButton({ list, children }: { list: Pages<unknown>; children: string }) {
  if (!list.hasMore) return null;
  return (
    <Button className="justify-self-start" disabled={list.isReading} onClick={list.more}>
      {list.isReading ? 'Reading…' : children}
    </Button>
  );
}
