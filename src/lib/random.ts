/** The only source of randomness, so that a simulation can be repeated from a seed. */
import { randomFillSync } from 'node:crypto';

export interface Random {
  /** `count` unpredictable bytes in a new array. */
  bytes(count: number): Uint8Array;
  /** A float in [0, 1) for jitter and shuffling, never for secrets. */
  float(): number;
}

const POOL_BYTES = 8192;

/** Cryptographic randomness, read in larger portions because a small `randomBytes` call costs about 1 µs. */
export function createSystemRandom(): Random {
  const pool = new Uint8Array(POOL_BYTES);
  let used = POOL_BYTES;
  return {
    bytes(count) {
      if (count > POOL_BYTES) return randomFillSync(new Uint8Array(count));
      if (used + count > POOL_BYTES) {
        randomFillSync(pool);
        used = 0;
      }
      const out = pool.slice(used, used + count);
      pool.fill(0, used, used + count);
      used += count;
      return out;
    },
    float: () => Math.random(),
  };
}

/** `value` varied evenly by ±`share`, e.g. `jitter(random, 1000, 0.1)` is 900…1100. */
export function jitter(random: Random, value: number, share: number): number {
  return value * (1 - share + 2 * share * random.float());
}
