/**
 * What a token is worth: from its text, or from the id of one that was read before. The row of the token decides; a missing,
 * revoked or expired row refuses. The JWT only proves possession. A positive answer is cached for at most 5 s by the
 * SHA-256 of the text: a revocation by another node takes effect within that time, one by this process at once. Rejects
 * with StoreUnavailable.
 */
import { hash } from 'node:crypto';
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';
import { createSharedWork } from '../../lib/shared-work.ts';
import type { Caller } from '../../model/submission.ts';
import type { Token } from '../../model/token.ts';
import type { Store } from '../../store/store.ts';
import { createIpMatcher, type IpMatcher } from './ip-allow-list.ts';
import type { SigningKeys } from './signing-keys.ts';
import { checkToken } from './tokens.ts';

/** A token that was verified, as long as that is cached. */
export interface GoodToken {
  kind: 'good';
  caller: Caller;
  mayComeFrom: IpMatcher;
  /** Wall time at which the row expires, or infinity. */
  expiresAt: number;
  /** Monotonic end of the cache time. */
  freshUntilMs: number;
  /** The last use in the row is a minute old: the next request writes a new one. */
  touchDue: boolean;
}

/** Signed by us, but valid only from a later time. */
export interface EarlyToken {
  kind: 'early';
  tokenId: string;
  validFrom: number;
}

export interface EndedToken {
  kind: 'ended';
  tokenId: string;
  how: 'was revoked' | 'expired';
  at: number;
}

type Lookup = GoodToken | EarlyToken | EndedToken | { kind: 'bad'; reason: string; tokenId: string | null };

interface VerifiedTokens {
  ofText(text: string): GoodToken | Promise<Lookup>;
  ofId(tokenId: string): GoodToken | Promise<Lookup>;
  /** It was changed or ended by this process. */
  forget(tokenId: string): void;
  readAgain(): void;
}

/** How long a positive answer is cached. */
const CACHE_MS = 5_000;
/** The accuracy of `lastUsedAt`, so that a busy token causes one small write per minute. */
const TOUCH_EVERY_MS = 60_000;

/** `instance` is the full `urn:postrider:<uuid>`; `maxCached`: tokens in the cache. */
export function createVerifiedTokens(
  deps: { store: Pick<Store, 'getToken'>; keys: SigningKeys; clock: Clock; instance: string },
  maxCached: number,
): VerifiedTokens {
  const { store, clock } = deps;
  const cache = new BoundedMap<string, GoodToken>(maxCached);
  /** Many requests with one token verify it once. */
  const verifying = createSharedWork<Lookup>();

  return {
    ofText: (text) => cachedOr(hash('sha256', text, 'base64url'), () => readText(text)),
    ofId: (tokenId) => cachedOr(tokenId, () => readRow(tokenId)),
    forget(tokenId) {
      verifying.forget();
      for (const [key, { caller }] of cache) if (caller.tokenId === tokenId) cache.delete(key);
    },
    readAgain() {
      verifying.forget();
      cache.clear();
    },
  };

  /** What is cached for `key`: the hash of a token's text, or its id. */
  function known(key: string): GoodToken | undefined {
    const cached = cache.get(key);
    if (cached === undefined || cached.freshUntilMs <= clock.monotonicMs()) return undefined;
    return cached.expiresAt > clock.now() ? cached : undefined;
  }

  function cachedOr(key: string, read: () => Promise<Lookup>): GoodToken | Promise<Lookup> {
    const keep = (found: Lookup) => {
      if (found.kind === 'good') cache.set(key, found);
    };
    return known(key) ?? verifying.of(key, read, keep);
  }

  async function readText(text: string): Promise<Lookup> {
    const check = await checkToken(deps, text);
    if (check.kind === 'invalid') return { kind: 'bad', reason: check.reason, tokenId: check.tokenId };
    if (check.kind === 'early') return check;
    const { tokenId } = check;
    if (check.kind === 'expired') return { kind: 'ended', tokenId, how: 'expired', at: check.at };
    return readRow(tokenId);
  }

  async function readRow(tokenId: string): Promise<Lookup> {
    const row = await store.getToken({ id: tokenId });
    if (row === null) return { kind: 'bad', reason: 'no such token', tokenId };
    if (row.revokedAt !== null) return { kind: 'ended', tokenId, how: 'was revoked', at: row.revokedAt };
    // The tolerance is only for the claims, which two clocks are involved in; the row's expiry is exact.
    const now = clock.now();
    if (row.expiresAt !== null && row.expiresAt <= now)
      return { kind: 'ended', tokenId, how: 'expired', at: row.expiresAt };
    return {
      kind: 'good',
      caller: callerOf(row),
      mayComeFrom: createIpMatcher(row.ipAllowList),
      expiresAt: row.expiresAt ?? Number.POSITIVE_INFINITY,
      freshUntilMs: clock.monotonicMs() + CACHE_MS,
      touchDue: row.lastUsedAt === null || now - row.lastUsedAt >= TOUCH_EVERY_MS,
    };
  }
}

function callerOf(row: Token): Caller {
  return {
    tokenId: row.id,
    name: row.name,
    owner: row.owner,
    domains: row.domains,
    scopes: new Set(row.scopes),
    sandbox: row.sandbox,
    rateLimit: row.rateLimit,
    bounds: { expiresAt: row.expiresAt, ipAllowList: row.ipAllowList, rateShares: row.rateShares },
  };
}
