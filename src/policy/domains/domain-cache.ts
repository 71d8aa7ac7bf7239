/**
 * The sender domains that acceptance and delivery ask for, in memory for at most 5 s: each message asks several times.
 * Changes by this process apply at once, those of another within that time or when it tells. An entry keeps the loaded
 * signing key beside the row, also when the row is read again with the same key.
 */
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';
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
  /** Reads the row, once for all who ask meanwhile, and caches it, unless a domain was changed. */
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
  /** Reads under way: where the store is slow, one for each message would keep it slow. */
  const running = new Map<string, Promise<CachedDomain>>();
  /** Counts changes by this process: values read during a change are not cached. */
  let changes = 0;
  /** All such domains looked up so far; never emptied, unlike the cache, because none may be forgotten. */
  const atMostOnce = new Set<string>();

  return {
    known(name) {
      const found = cache.get(name);
      return found !== undefined && found.until > clock.monotonicMs() ? found : null;
    },
    lookUp(name) {
      const under = running.get(name);
      if (under !== undefined) return under;
      const reading = readRow(name).finally(() => {
        if (running.get(name) === reading) running.delete(name);
      });
      running.set(name, reading);
      return reading;
    },
    forget(name) {
      changes += 1;
      running.delete(name);
      cache.delete(name);
    },
    readAgain() {
      changes += 1;
      running.clear();
      // Their keys stay loaded, for those that have the same afterwards.
      for (const entry of cache.values()) entry.until = Number.NEGATIVE_INFINITY;
    },
    sendsAtMostOnce: (name) => atMostOnce.has(name),
  };

  async function readRow(name: string): Promise<CachedDomain> {
    const before = cache.get(name);
    const changesBefore = changes;
    const domain = await store.getDomain({ name });
    const signers = before !== undefined && haveSameKey(before.domain, domain) ? before.signers : null;
    const fresh: CachedDomain = { domain, signers, until: clock.monotonicMs() + CACHE_MS };
    if (changes !== changesBefore) return fresh;
    if (domain?.settings.atMostOnce === true) atMostOnce.add(name);
    else atMostOnce.delete(name);
    cache.set(name, fresh);
    return fresh;
  }
}

/** Whether signers made for one also sign for the other. */
function haveSameKey(one: Domain | null, other: Domain | null): boolean {
  const [key, same] = [one, other].map((domain) => domain?.keys.find(({ role }) => role === 'active'));
  if (key === undefined || same === undefined || key.selector !== same.selector) return false;
  return Buffer.compare(key.privateSealed, same.privateSealed) === 0;
}
