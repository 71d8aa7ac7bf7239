/**
 * Contents of messages whose rows were claimed from the store: the recipients of a message are sent close together, and
 * one read serves them all. With 50 recipients a message, reading for each took a sixth of all CPU.
 */
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Store } from '../../../store/store.ts';

/** Messages, and octets of their contents, that are kept for the next recipient. */
const MOST_MESSAGES = 16;
const MOST_BYTES = 4 * 1024 * 1024;

export interface Contents {
  /**
   * The content of a message; null if it is no longer kept. `anew`: it may have changed since it was last read, because
   * a message that is rescheduled gets another Date. Rejects if the store cannot be read.
   */
  of(messageSeq: number, anew: boolean): Promise<Uint8Array | null>;
}

interface Kept {
  content: Promise<Uint8Array | null>;
  /** 0 until it was read. */
  size: number;
}

export function createContents(store: Pick<Store, 'readContent'>): Contents {
  const kept = new BoundedMap<number, Kept>(MOST_MESSAGES + 1);
  let bytes = 0;

  return {
    of(messageSeq, anew) {
      const known = kept.get(messageSeq);
      if (known !== undefined && !anew) return known.content;
      // Whoever comes next must not get the old one either.
      bytes -= known?.size ?? 0;
      const content = store.readContent({ messageSeq });
      const one: Kept = { content, size: 0 };
      kept.set(messageSeq, one);
      trim();
      const forget = (): void => {
        if (kept.get(messageSeq) === one) kept.delete(messageSeq);
      };
      content.then((found) => {
        if (found === null) forget();
        if (kept.get(messageSeq) !== one) return;
        one.size = found?.length ?? 0;
        bytes += one.size;
        trim();
      }, forget);
      return content;
    },
  };

  function trim(): void {
    while (kept.size > MOST_MESSAGES || bytes > MOST_BYTES) bytes -= kept.shift()?.size ?? 0;
  }
}
