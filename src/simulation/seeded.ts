/** Randomness that can be repeated from a seed: for the simulated engine, and for everything around it. */
import type { Random } from '../lib/random.ts';

export interface Dice extends Random {
  /** A whole number from `from` to `to`, both included. */
  whole(from: number, to: number): number;
  /** A time from `from` to `to`, in whole milliseconds. */
  ms(from: number, to: number): number;
  /** True so often: 0.1 = one time in ten. */
  chance(share: number): boolean;
  pick<T>(list: readonly T[]): T;
}

/** `stream`: several independent sequences of one seed. */
export function createDice(seed: number, stream = 0): Dice {
  let state = (seed * 2_654_435_761 + stream * 40_503 + 0x9e3779b9) >>> 0;

  // mulberry32: 32 bits of state are enough for one run, and each step is a few operations.
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  };
  const float = () => next() / 4_294_967_296;

  return {
    bytes(count) {
      const out = new Uint8Array(count);
      for (let i = 0; i < count; i += 4) {
        const word = next();
        for (let j = i; j < Math.min(count, i + 4); j++) out[j] = word >>> (8 * (j - i));
      }
      return out;
    },
    float,
    whole: (from, to) => from + Math.floor(float() * (to - from + 1)),
    ms: (from, to) => Math.round(from + float() * (to - from)),
    chance: (share) => float() < share,
    pick(list) {
      const found = list[Math.floor(float() * list.length)];
      if (found === undefined) throw new RangeError('nothing to pick from');
      return found;
    },
  };
}
