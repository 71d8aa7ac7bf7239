/**
 * The sender domains that acceptance and delivery ask for, in memory for at most 5 s: each message asks several times.
 * Changes by this process apply at once, those of another within that time or when it tells. An entry keeps the loaded
 * signing key beside the row, also when the row is read again with the same key.
 */
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';
import { createSharedWork } from '../../lib/shared-work.ts';
import type { DkimSigner } from '../../mail/dkim.ts';
import type { Domain } from '../../model/domain.ts';
import type { Store } from '../../store/store.ts';

export interface CachedDomain {
  /** null = not registered. */
  domain: Domain | null;
  /** null = not loaded yet. */
  signers: Promise<readonly DkimSigner[]> | null;
  /** Monotonic milliseconds. */
  until: number;
}

export interface DomainCache {
  /** The entry while it is valid, otherwise null. */
  known(name: string): CachedDomain | null;
  /** Reads the row, once for all who ask meanwhile, and caches it, unless the domain was changed. */
  lookUp(name: string): Promise<CachedDomain>;
  /** This process has changed the domain. */
  forget(name: string): void;
  /** Another node has changed domains: all rows are read again. */
  readAgain(): void;
  /** Whether a domain sends at most once; only for domains that were looked up. */
  sendsAtMostOnce(name: string): boolean;
}

/** How long another node may use outdated values; changes through this service apply at once. */
const CACHE_MS = 5_000;
const MAX_CACHED = 10_000;

export function createDomainCache({
  store,
  clock,
}: {
  store: Pick<Store, 'getDomain'>;
  clock: Clock;
}): DomainCache {
  const cache = new BoundedMap<string, CachedDomain>(MAX_CACHED);
  const reading = createSharedWork<CachedDomain>();
  /** All such domains looked up so far; never emptied, unlike the cache, because none may be forgotten. */
  const atMostOnce = new Set<string>();

  return {
    known(name) {
      const found = cache.get(name);
      return found !== undefined && found.until > clock.monotonicMs() ? found : null;
    },
    lookUp: (name) =>
      reading.of(
        name,
        () => readRow(name),
        (row) => {
          if (row.domain?.settings.atMostOnce === true) atMostOnce.add(name);
          else atMostOnce.delete(name);
          cache.set(name, row);
        },
      ),
    forget(name) {
      reading.forget(name);
      cache.delete(name);
    },
    readAgain() {
      reading.forget();
      // Their keys stay loaded, for those that have the same afterwards.
      for (const entry of cache.values()) entry.until = Number.NEGATIVE_INFINITY;
    },
    sendsAtMostOnce: (name) => atMostOnce.has(name),
  };

  async function readRow(name: string): Promise<CachedDomain> {
    const before = cache.get(name);
    const domain = await store.getDomain({ name });
    const signers = before !== undefined && haveSameKey(before.domain, domain) ? before.signers : null;
    return { domain, signers, until: clock.monotonicMs() + CACHE_MS };
  }
}

/** Whether signers made for one also sign for the other. */
function haveSameKey(one: Domain | null, other: Domain | null): boolean {
  const [key, same] = [one, other].map((domain) => domain?.keys.find(({ role }) => role === 'active'));
  if (key === undefined || same === undefined || key.selector !== same.selector) return false;
  return Buffer.compare(key.privateSealed, same.privateSealed) === 0;
}
