/** The row where the reader is: the open one, else the one that was open or that keys went to last. `step` goes to a neighbour and brings it into sight. */
import { type RefObject, useState } from 'react';
import type { RowsHandle } from './virtual-rows.tsx';

export function useCursor<Item>(list: {
  items: readonly Item[];
  idOf(item: Item): string;
  openId: string | null;
  rows: RefObject<RowsHandle | null>;
  onStep(id: string): void;
}): { cursorId: string | null; step(by: 1 | -1): void } {
  const { items, idOf, openId, rows, onStep } = list;
  const [walked, setWalked] = useState(openId);
  if (openId !== null && openId !== walked) setWalked(openId);
  const cursorId = openId ?? (items.some((item) => idOf(item) === walked) ? walked : null);
  return {
    cursorId,
    step(by) {
      const at = items.findIndex((item) => idOf(item) === cursorId);
      const index = at === -1 ? (by > 0 ? 0 : -1) : at + by;
      const next = items[index];
      if (next === undefined) return;
      rows.current?.reveal(index);
      setWalked(idOf(next));
      onStep(idOf(next));
    },
  };
}
