/**
 * Copies stretches of octets into one new array. Up to 1 MiB in one go; above, other work runs in between: in new memory a
 * copy of 25 MiB takes up to 100 ms.
 */
import { inTurns, type Turn } from './turns.ts';

const AT_ONCE = 1024 * 1024;

export function joinInTurns(
  parts: readonly Uint8Array[],
  turn: Turn,
): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>> {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return length <= AT_ONCE ? Buffer.concat(parts, length) : inTurns(joinInSteps(parts), turn);
}

/** The same in steps of at most 1 MiB. */
export function* joinInSteps(parts: readonly Uint8Array[]): Generator<void, Buffer<ArrayBuffer>, void> {
  const whole = Buffer.allocUnsafeSlow(parts.reduce((sum, part) => sum + part.length, 0));
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
