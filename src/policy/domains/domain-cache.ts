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
  /** Reads the row and caches it, unless a domain was changed meanwhile. */
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
  /** Counts changes by this process: values read during a change are not cached. */
  let changes = 0;
  /** All such domains looked up so far; never emptied, unlike the cache, because none may be forgotten. */
  const atMostOnce = new Set<string>();

  return {
    known(name) {
      const found = cache.get(name);
      return found !== undefined && found.until > clock.monotonicMs() ? found : null;
    },
    async lookUp(name) {
      const before = cache.get(name);
      const changesBefore = changes;
      const nowMs = clock.monotonicMs();
      const domain = await store.getDomain({ name });
      const signers = before !== undefined && haveSameKey(before.domain, domain) ? before.signers : null;
      const fresh: CachedDomain = { domain, signers, until: nowMs + CACHE_MS };
      if (changes !== changesBefore) return fresh;
      if (domain?.settings.atMostOnce === true) atMostOnce.add(name);
      else atMostOnce.delete(name);
      cache.set(name, fresh);
      return fresh;
    },
    forget(name) {
      changes += 1;
      cache.delete(name);
    },
    readAgain() {
      changes += 1;
      // Their keys stay loaded, for those that have the same afterwards.
      for (const entry of cache.values()) entry.until = Number.NEGATIVE_INFINITY;
    },
    sendsAtMostOnce: (name) => atMostOnce.has(name),
  };
}

/** Whether signers made for one also sign for the other. */
function haveSameKey(one: Domain | null, other: Domain | null): boolean {
  const [key, same] = [one, other].map((domain) => domain?.keys.find(({ role }) => role === 'active'));
  if (key === undefined || same === undefined || key.selector !== same.selector) return false;
  return Buffer.compare(key.privateSealed, same.privateSealed) === 0;
}
