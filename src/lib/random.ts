/** The only door to randomness, so that a simulation can be seeded and replayed. */
import { randomFillSync } from 'node:crypto';

export interface Random {
  /** `count` unpredictable bytes, a fresh array the caller may keep. */
  bytes(count: number): Uint8Array;
  /** A float in [0, 1): jitter and shuffling only, never secrets. */
  float(): number;
}

const POOL_BYTES = 8192;

/** Cryptographic randomness, drawn in pools because one small `randomBytes` call costs about 1 µs. */
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

/** `value` spread evenly over ±`share` of itself, e.g. `jitter(random, 1000, 0.1)` is 900…1100. */
export function jitter(random: Random, value: number, share: number): number {
  return value * (1 - share + 2 * share * random.float());
}
