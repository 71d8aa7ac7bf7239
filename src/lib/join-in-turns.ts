/**
 * Joins stretches of octets into one array; a single one is returned as it is. Up to 1 MiB in one go; above, other work
 * runs in between: in new memory a copy of 25 MiB takes up to 100 ms. Large ones follow each other, so that only one is
 * in memory twice, and each turn of the event loop works for one only.
 */
import { inTurns, type Turn } from './turns.ts';

const AT_ONCE = 1024 * 1024;
let last: Promise<unknown> = Promise.resolve();

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
