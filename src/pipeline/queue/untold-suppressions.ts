/**
 * Suppressions that other nodes have added or removed without telling this one: what they told was lost, they had too many
 * to tell, or the store tells nothing. Those of the mail in memory are read again, when this is known, and every ten seconds
 * while nothing is heard. Mail that is claimed later has its own with it.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { createRounds } from '../../lib/rounds.ts';
import { createReruns } from '../../lib/shared-work.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { SuppressionReason } from '../../model/suppression.ts';
import type { Store } from '../../store/store.ts';
import type { ReadyItem } from './ready-item.ts';

const DEAF_MS = 10_000;
const RETRY_MS = 1_000;
/** Addresses of one query. */
const AT_ONCE = 500;

interface UntoldSuppressions {
  /** Some were changed, and it is not known which. */
  read(): void;
  /** Since when they are being read (monotonic); null = they are not. */
  sinceMs(): number | null;
  start(): void;
  stop(): Promise<void>;
}

/** `mayBeDeaf`: other nodes may work on the store. */
export function createUntoldSuppressions(
  deps: {
    store: Pick<Store, 'suppressedAmong' | 'hearsHints'>;
    clock: Clock;
    log: Logger;
    items(): Iterable<ReadyItem>;
    /** Resolves when what is being claimed is in memory; null: nothing is. */
    arriving(): Promise<unknown> | null;
    /** Applies changes that were told since then. */
    note(delivery: ClaimedDelivery, sinceMs: number): void;
    /** Mail of these sites has other suppressions now. */
    changed(sites: ReadonlySet<string>): void;
  },
  mayBeDeaf: boolean,
): UntoldSuppressions {
  const { store, clock, log } = deps;
  let running = false;
  let since: number | null = null;
  let retry: Timer | null = null;
  // What is being read may have been read before the change.
  const reading = createReruns(async () => {
    if (!running) return;
    await readAll().catch((err: unknown) => {
      log.debug({ err }, 'suppressions could not be read again; it will be tried again');
      retry?.cancel();
      if (running) retry = clock.setTimer(RETRY_MS, reading.ask);
    });
    since = null;
  });
  const rounds = createRounds({
    clock,
    everyMs: DEAF_MS,
    async work() {
      if (store.hearsHints()) return;
      reading.ask();
      await reading.ended();
    },
    failed() {},
  });

  return {
    read: reading.ask,
    sinceMs: () => since,
    start() {
      running = true;
      if (mayBeDeaf) void rounds.start();
    },
    async stop() {
      running = false;
      retry?.cancel();
      await rounds.stop();
      await reading.ended();
    },
  };

  async function readAll(): Promise<void> {
    await deps.arriving();
    const sinceMs = clock.monotonicMs();
    since = sinceMs;
    const sites = new Set<string>();
    for (const [domain, items] of Map.groupBy(deps.items(), ({ delivery }) => delivery.senderDomain)) {
      for (let at = 0; at < items.length; at += AT_ONCE) {
        const some = items.slice(at, at + AT_ONCE);
        const addresses = [...new Set(some.map(({ delivery }) => delivery.address))];
        const entries = await store.suppressedAmong({ domain, addresses, now: clock.now() });
        const byAddress = Map.groupBy(entries, ({ address }) => address);
        for (const { delivery, site } of some) {
          const before = delivery.suppressedFor ?? [];
          const found = byAddress.get(delivery.address) ?? [];
          delivery.suppressedFor = found.map(({ suppression }) => suppression.reason);
          deps.note(delivery, sinceMs);
          if (!areSame(before, delivery.suppressedFor)) sites.add(site);
        }
      }
    }
    if (sites.size > 0) deps.changed(sites);
  }
}

function areSame(some: readonly SuppressionReason[], others: readonly SuppressionReason[]): boolean {
  const [one, other] = [new Set(some), new Set(others)];
  return one.size === other.size && [...one].every((reason) => other.has(reason));
}
