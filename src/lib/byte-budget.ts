/**
 * Limits how many octets of bodies, of answers or of arriving mail are in memory at once: each has its own limit, but their
 * number has none. Each opens a share for its owner, takes what it holds, and returns everything at its end. The caller
 * refuses what does not fit: an owner, under each of its names, gets at most half, strangers all together a quarter, and a quarter is left to small
 * ones. A single one always fits.
 */
import { memoryOfProcess } from './memory.ts';
import { createTally } from './tally.ts';

export interface ByteShare {
  /** Takes `bytes` more; false, without taking any, if they do not fit or the share has ended. */
  take(bytes: number): boolean;
  /** Returns everything that was taken. May be repeated. */
  end(): void;
}

export interface ByteBudget {
  /** `names`: of the owner. `stranger`: nobody knows yet who it is. */
  open(names: readonly string[], stranger?: boolean): ByteShare;
}

/** So much fits while others fill what large ones may. */
const SMALL_BYTES = 64 * 1024;
const OF_LARGE = 3 / 4;
const OF_OWNER = 1 / 2;
const OF_STRANGER = 1 / 32;
const OF_STRANGERS = 1 / 4;
/** What is worked on takes several times its size, and there are budgets for several kinds. */
const OF_MEMORY = 1 / 16;

/** A budget of `mostBytes`, or less where the machine or the container gives the process little memory. */
export function createByteBudget(mostBytes: number, memoryBytes = memoryOfProcess()): ByteBudget {
  const maxBytes = Math.min(mostBytes, memoryBytes * OF_MEMORY);
  const held = createTally();
  let total = 0;
  let ofStrangers = 0;
  return {
    open(names, stranger = false) {
      const ownPart = maxBytes * (stranger ? OF_STRANGER : OF_OWNER);
      let taken = 0;
      let ended = false;
      const add = (bytes: number): void => {
        total += bytes;
        taken += bytes;
        for (const name of names) held.add(name, bytes);
        if (stranger) ofStrangers += bytes;
      };
      return {
        take(bytes) {
          const most = taken + bytes > SMALL_BYTES ? maxBytes * OF_LARGE : maxBytes;
          const isFull = total > taken && total + bytes > most;
          const hasItsPart = names.some((name) => held.of(name) > taken && held.of(name) + bytes > ownPart);
          const haveTheirPart =
            stranger && ofStrangers > taken && ofStrangers + bytes > maxBytes * OF_STRANGERS;
          if (ended || isFull || hasItsPart || haveTheirPart) return false;
          add(bytes);
          return true;
        },
        end() {
          ended = true;
          add(-taken);
        },
      };
    },
  };
}
