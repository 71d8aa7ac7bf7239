/**
 * A count that is needed often and may take long. It is made at most once a second; callers in between get the last
 * result, with what was added since. Only if that is too old do callers wait for the next one, and get its failure.
 */
import type { Clock, Timer } from '../../lib/clock.ts';

export interface Amount {
  bytes: number;
  recipients: number;
}

export interface Figure {
  /** The last count, and what was added since; it changes. Rejects as the count does. */
  now(): Readonly<Amount> | Promise<Readonly<Amount>>;
  add(more: Amount): void;
}

const FRESH_MS = 1_000;
/** A count that takes no longer is waited for. */
const PATIENCE_MS = 200;
/** An older result is not used. */
const TOO_OLD_MS = 300_000;

export function createFigure(clock: Clock, count: () => Promise<Amount>): Figure {
  let known: Amount | null = null;
  let countedMs = Number.NEGATIVE_INFINITY;
  let counting: { done: Promise<Amount>; slow: Promise<void>; added: Amount } | null = null;

  return {
    now() {
      const ageMs = clock.monotonicMs() - countedMs;
      if (known !== null && ageMs < FRESH_MS) return known;
      counting ??= begin();
      if (known === null || ageMs > TOO_OLD_MS) return counting.done;
      const last = known;
      return Promise.race([counting.done.catch(() => undefined), counting.slow]).then(() => known ?? last);
    },
    add(more) {
      for (const amount of [known, counting?.added]) {
        if (amount === null || amount === undefined) continue;
        amount.bytes += more.bytes;
        amount.recipients += more.recipients;
      }
    },
  };

  function begin() {
    const sinceMs = clock.monotonicMs();
    let timer: Timer | null = null;
    const slow = new Promise<void>((resolve) => {
      timer = clock.setTimer(PATIENCE_MS, resolve);
    });
    // The count may or may not include what is added while it runs, so that is added again.
    const added = { bytes: 0, recipients: 0 };
    const done = count()
      .then(({ bytes, recipients }) => {
        known = { bytes: bytes + added.bytes, recipients: recipients + added.recipients };
        countedMs = sinceMs;
        return known;
      })
      .finally(() => {
        timer?.cancel();
        counting = null;
      });
    return { done, slow, added };
  }
}
