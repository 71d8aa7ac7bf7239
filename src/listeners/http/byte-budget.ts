/**
 * Limits how many octets of bodies, or of answers, are in memory at once: each has its own limit, but their number has none.
 * Each request opens a share for its owner, takes what it holds, and returns everything when its answer is sent. The caller
 * refuses what does not fit: an owner gets at most half. A single one always fits.
 */
import { createTally } from '../../lib/tally.ts';

export interface ByteShare {
  /** Takes `bytes` more; false, without taking any, if they do not fit or the share has ended. */
  take(bytes: number): boolean;
  /** Returns everything that was taken. May be repeated. */
  end(): void;
}

export interface ByteBudget {
  open(owner: string): ByteShare;
}

/** A budget of `maxBytes`. */
export function createByteBudget(maxBytes: number): ByteBudget {
  const held = createTally();
  let total = 0;
  return {
    open(owner) {
      let taken = 0;
      let ended = false;
      return {
        take(bytes) {
          const isFull = total > taken && total + bytes > maxBytes;
          const hasItsPart = held.of(owner) > taken && held.of(owner) + bytes > maxBytes / 2;
          if (ended || isFull || hasItsPart) return false;
          total += bytes;
          taken += bytes;
          held.add(owner, bytes);
          return true;
        },
        end() {
          ended = true;
          total -= taken;
          held.add(owner, -taken);
          taken = 0;
        },
      };
    },
  };
}
