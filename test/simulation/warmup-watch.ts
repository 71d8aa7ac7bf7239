/**
 * Mail of a new source to a provider: no faster than its first budget lets it, whatever restarts and crashes do. Given what
 * far ends took; leaves sentences. One-time codes may go sooner, and are not looked at; a clock that is set makes it forget.
 */
import type { Clock } from '../../src/lib/clock.ts';
import type { WireTransaction } from '../../src/simulation/wire.ts';

/** Messages a day at the first step, and as many as go at once. No world lasts until the second. */
const A_DAY = 50;
const AT_ONCE = Math.ceil(A_DAY / 24);
const INTERVAL_MS = (24 * 3_600_000) / A_DAY;
/** What was allowed before, and stood behind a far end that was silent, may come with it. */
const LATE = 3;

export interface WarmupWatch {
  taken(transaction: WireTransaction): void;
  /** The wall clock, by which budgets are kept, was set. */
  clockSet(): void;
}

export function createWarmupWatch(
  clock: Pick<Clock, 'monotonicMs'>,
  ask: {
    /** Null: a small site, which has no budget. */
    providerOf(site: string): string | null;
    isCritical(deliveryId: number): boolean;
  },
  wrong: (what: string) => void,
): WarmupWatch {
  const arrivals = new Map<string, number>();
  return {
    taken({ deliveryId, site, source }) {
      const provider = ask.providerOf(site);
      if (provider === null || ask.isCritical(deliveryId)) return;
      const key = `${source}>${provider}`;
      const nowMs = clock.monotonicMs();
      const arrivalMs = arrivals.get(key) ?? Number.NEGATIVE_INFINITY;
      if (arrivalMs - INTERVAL_MS * (AT_ONCE + LATE - 1) > nowMs)
        wrong(`more mail of the new source ${source} went to ${provider} than its budget allows`);
      arrivals.set(key, Math.max(arrivalMs, nowMs) + INTERVAL_MS);
    },
    clockSet: () => arrivals.clear(),
  };
}
