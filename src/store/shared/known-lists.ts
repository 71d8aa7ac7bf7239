/**
 * The address lists of one page of rows. Those of one message are read, and passed between the threads, only once.
 * `isFull` says that the page should end here, because reading more would take too long.
 */
import type { AddressLists } from '../../model/message.ts';

export interface KnownLists {
  /** Of the message `id`, as they are stored. */
  of(text: string, id: string): AddressLists;
  /** What was read so far costs the event loop some ten milliseconds. */
  readonly isFull: boolean;
}

const CHARS_A_PAGE = 1_000_000;

export function createKnownLists(): KnownLists {
  const known = new Map<string, AddressLists>();
  let chars = 0;
  return {
    of(text, id) {
      const found = known.get(id);
      if (found !== undefined) return found;
      const lists = JSON.parse(text) as AddressLists;
      known.set(id, lists);
      chars += text.length;
      return lists;
    },
    get isFull() {
      return chars >= CHARS_A_PAGE;
    },
  };
}
