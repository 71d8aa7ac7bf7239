/**
 * Mail in the clear to sites that do TLS: it may go so only where TLS has just failed, on that connection or on the one
 * before it, or where handshakes have failed for what they are twice, which is remembered for a day, or where TLS has failed
 * for ten minutes, which is remembered for an hour at most. One fault is forgotten. Given what far ends saw; leaves sentences.
 */
import type { Clock } from '../../src/lib/clock.ts';
import type { TlsEnd } from '../../src/simulation/far-end-line.ts';
import type { WireTransaction } from '../../src/simulation/wire.ts';

export interface TlsWatch {
  heard(site: string, end: TlsEnd): void;
  mail(transaction: WireTransaction): void;
}

/** The connection in the clear follows the failure at once, as soon as the network lets it. */
const FOLLOWS_MS = 5_000;
const REMEMBERED_MS = 24 * 3_600_000;
const LASTING_MS = 10 * 60_000;
const LASTING_REMEMBERED_MS = 3_600_000;

export function createTlsWatch(
  clock: Pick<Clock, 'monotonicMs'>,
  sites: ReadonlySet<string>,
  wrong: (what: string) => void,
): TlsWatch {
  const faults = new Map<string, number>();
  /** Since when there were only faults. */
  const since = new Map<string, number>();
  /** Handshakes that failed for what they are, and when the last one did. */
  const definite = new Map<string, { count: number; lastMs: number }>();

  return {
    heard(site, end) {
      const nowMs = clock.monotonicMs();
      if (end === 'definite') {
        const count = (definite.get(site)?.count ?? 0) + 1;
        definite.set(site, { count, lastMs: nowMs });
      }
      if (end === 'secure') {
        since.delete(site);
        return;
      }
      faults.set(site, nowMs);
      if (!since.has(site)) since.set(site, nowMs);
    },
    mail({ site, secure, openedAtMs, deliveryId }) {
      if (secure || !sites.has(site)) return;
      const failedMs = faults.get(site) ?? Number.NEGATIVE_INFINITY;
      if (failedMs >= openedAtMs - FOLLOWS_MS) return;
      const { count, lastMs } = definite.get(site) ?? { count: 0, lastMs: 0 };
      const lasted = failedMs - (since.get(site) ?? Number.POSITIVE_INFINITY);
      if (lasted >= LASTING_MS && clock.monotonicMs() - failedMs < LASTING_REMEMBERED_MS) return;
      if (count >= 2 && clock.monotonicMs() - lastMs < REMEMBERED_MS) return;
      wrong(`delivery ${deliveryId} went in the clear to ${site}, whose TLS works`);
    },
  };
}
