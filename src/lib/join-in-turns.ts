/**
 * Collects stretches of octets, and joins them into one array; a single one is returned as it is. Up to 1 MiB in one go;
 * above, other work runs in between: in new memory a copy of 25 MiB takes up to 100 ms. Large ones follow each other, so that
 * only one is in memory twice, and each turn of the event loop works for one only.
 */
import { inTurns, type Turn } from './turns.ts';

const AT_ONCE = 1024 * 1024;
/** A stretch takes some 200 octets of memory besides its own. */
const SHORT = 256;
const FIRST_TOGETHER = 1024;
const MOST_TOGETHER = 16 * 1024;
let last: Promise<unknown> = Promise.resolve();

export interface Stretches {
  add(part: Uint8Array): void;
  /** What was added, in its order; short ones together. */
  parts(): readonly Uint8Array[];
  /** Forgets all of it. */
  clear(): void;
}

/** Short stretches are copied together: a peer may send its octets one by one, and a list takes a hundred times their memory. */
export function collectStretches(): Stretches {
  const parts: Uint8Array[] = [];
  let together = Buffer.alloc(0);
  let used = 0;
  let size = FIRST_TOGETHER;

  return {
    add(part) {
      if (part.length > together.length - used || part.length > SHORT) close();
      if (part.length > SHORT) parts.push(part);
      else {
        if (part.length > together.length) {
          together = Buffer.allocUnsafeSlow(size);
          size = Math.min(2 * size, MOST_TOGETHER);
        }
        together.set(part, used);
        used += part.length;
      }
    },
    parts() {
      close();
      return parts;
    },
    clear() {
      parts.length = 0;
      together = Buffer.alloc(0);
      used = 0;
    },
  };

  function close(): void {
    if (used > 0) parts.push(together.subarray(0, used));
    together = together.subarray(used);
    used = 0;
  }
}

export function joinInTurns(parts: readonly Uint8Array[], turn: Turn): Uint8Array | Promise<Uint8Array> {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
  const length = lengthOf(parts);
  if (length <= AT_ONCE) return Buffer.concat(parts, length);
  const joined = last.then(() => inTurns(joinInSteps(parts), turn));
  // Without its result, which would stay in memory until the next one.
  last = joined.then(
    () => {},
    () => {},
  );
  return joined;
}

/** A copy in steps of at most 1 MiB. */
export function* joinInSteps(parts: readonly Uint8Array[]): Generator<void, Buffer<ArrayBuffer>, void> {
  const length = lengthOf(parts);
  if (length <= AT_ONCE) return Buffer.concat(parts, length);
  const whole = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const part of parts) {
    for (let from = 0; from < part.length; from += AT_ONCE) {
      const piece = part.subarray(from, from + AT_ONCE);
      whole.set(piece, at);
      at += piece.length;
      yield;
    }
  }
  return whole;
}

function lengthOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}
