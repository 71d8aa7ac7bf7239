/**
 * Access control: from an Authorization header to a `Caller` and its rights; makes tokens, replaces and ends them. What a
 * token is worth is read in `verified-tokens.ts`. Clients get the same text for every bad token; the log has the reason
 * with the jti, never the token. If the store is unavailable, `authenticate` rejects with `StoreUnavailable` and counts
 * no failure.
 */

import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import type { Sealer } from '../../lib/seal.ts';
import type { Caller } from '../../model/submission.ts';
import type { RateShare, Scope, Token } from '../../model/token.ts';
import type { Store } from '../../store/store.ts';
import type { IdempotencyEntry } from '../../store/topics/acceptance.ts';
import { ADDRESS_FAILURES, createFailedLogins } from './failed-logins.ts';
import { isCidr, MAX_RANGES } from './ip-allow-list.ts';
import { createSigningKeys, type PublicJwk } from './signing-keys.ts';
import { MAX_TOKEN_CHARS, signToken } from './tokens.ts';
import { createVerifiedTokens, type EarlyToken, type EndedToken, type GoodToken } from './verified-tokens.ts';

/** The properties of a new token. Names are lower-case A-labels or the one item '*'. */
export interface MintRequest {
  name: string;
  /** Project or user id; default: the new token's own id. */
  owner?: string;
  domains: readonly string[];
  scopes: readonly Scope[];
  /** 60 … 315,576,000 (ten years); null = never. */
  expiresInSeconds: number | null;
  /** From when they count; absent: from when it is made. */
  askedAt?: number;
  sandbox: boolean;
  /** CIDR ranges, at most 100; empty = from any address. */
  ipAllowList: readonly string[];
  /** Sends per second; null = the server's setting. */
  rateLimit: number | null;
  /** Id of the token that creates it; absent: the server creates it. */
  createdBy?: string;
  /** Id of the session of the person who creates it: where that has ended, nothing is created. */
  inSession?: string | undefined;
  /** Default: none. */
  rateShares?: readonly RateShare[];
}

/** What was ended together with a token. */
export interface Revoked {
  tokens: number;
  credentials: number;
  webhooks: number;
}

export interface Access {
  /**
   * The caller behind an `Authorization: Bearer` header. Throws AppError `token-missing`, `token-invalid`,
   * `rate-limited` (with seconds to wait) or `ip-not-allowed`; rejects with StoreUnavailable.
   */
  authenticate(authorization: string | undefined, ip: string): Promise<Caller>;
  /**
   * The current state of the same caller, for what continues after authentication (SMTP sessions, streams); null if the
   * token has ended. Cached as in `authenticate`; counts no failure. Rejects with StoreUnavailable.
   */
  renew(caller: Caller): Promise<Caller | null>;
  /**
   * Stores a token and returns its text, which is not stored. Throws AppError `invalid-parameter`, `token-limit`, or
   * `token-invalid` or `session-ended` if its creator has ended.
   */
  mint(
    request: MintRequest,
    idempotency?: (id: string) => IdempotencyEntry,
  ): Promise<{ id: string; jwt: string; token: Token }>;
  /**
   * A new token with the rights and the lifetime of the old one, but not beyond `by.endsAt`. The old one ends after
   * `overlapSeconds`, in this process exactly then. null if the old one has already ended or was
   * replaced. Throws AppError `token-limit`.
   */
  rotate(
    old: Token,
    overlapSeconds: number,
    by: { createdBy: string; inSession?: string | undefined; endsAt: number | null },
    idempotency?: (id: string, oldEndsAt: number) => IdempotencyEntry,
  ): Promise<{ id: string; jwt: string; token: Token; oldEndsAt: number } | null>;
  /**
   * Ends a token, in this process at once; null if the id is unknown. May be repeated. With `children` also every
   * token, credential and webhook that was created with it, and with those, in portions; if interrupted, a repetition
   * continues.
   */
  revoke(id: string, children?: boolean): Promise<Revoked | null>;
  /** Ends what was made with a token or by a person, and with that, as `revoke` with children does. */
  endMadeWith(id: string): Promise<Revoked>;
  /** Another node has changed tokens: all are read again. */
  readAgain(): void;
  /** The public keys for `/.well-known/jwks.json`. */
  jwks(): Promise<{ keys: PublicJwk[] }>;
}

export interface AccessOptions {
  /** Tokens in the cache. Default 10,000. */
  maxCached?: number;
  /** Tokens with the same first domain. Default `MAX_TOKENS_PER_DOMAIN`. */
  maxPerDomain?: number;
}

/** The same for all that is not signed by this server, so that nobody learns from it which tokens exist. */
const NOT_VALID =
  'The token is not valid: it is incomplete, it was revoked or has ended, or another server made it';
/** Tokens, credentials and webhooks ended in one transaction. */
const PORTION = 200;
const MAX_LIFETIME_SECONDS = 10 * 365.25 * 86_400;

/** Of tokens with the same first domain; those that have ended make room for others. */
const MAX_TOKENS_PER_DOMAIN = 1_000;

/** `instanceId` is only the uuid. */
export function createAccess(
  deps: {
    store: Pick<
      Store,
      | 'signingKeys'
      | 'addSigningKey'
      | 'getToken'
      | 'addToken'
      | 'revokeToken'
      | 'endMadeWith'
      | 'rotateToken'
      | 'touchToken'
    >;
    clock: Clock;
    random: Random;
    sealer: Sealer;
    instanceId: string;
    log: Logger;
  },
  options: AccessOptions = {},
): Access {
  const { store, clock, random, log } = deps;
  const maxPerDomain = options.maxPerDomain ?? MAX_TOKENS_PER_DOMAIN;
  const instance = `urn:postrider:${deps.instanceId}`;
  const keys = createSigningKeys(deps);
  const failures = createFailedLogins(
    clock,
    { ...ADDRESS_FAILURES, message: 'Too many failed authentications from this address' },
    (pause) => log.warn(pause, 'too many failed authentications'),
  );
  const tokens = createVerifiedTokens({ store, keys, clock, instance }, options.maxCached ?? 10_000);

  async function authenticate(authorization: string | undefined, ip: string): Promise<Caller> {
    const text = bearerToken(authorization);
    if (text === null) throw new AppError('token-missing', wrongHeader(authorization));
    const found = await tokens.ofText(text);
    if (found.kind === 'good') return admit(found, ip);
    if (found.kind === 'early') return refuseEarly(found);
    if (found.kind === 'ended') return refuseEnded(found);
    return refuse(ip, found.reason, found.tokenId);
  }

  async function renew({ tokenId }: Caller): Promise<Caller | null> {
    const found = await tokens.ofId(tokenId);
    return found.kind === 'good' ? found.caller : null;
  }

  function admit(verified: GoodToken, ip: string): Caller {
    const { caller } = verified;
    if (!verified.mayComeFrom(ip))
      throw new AppError('ip-not-allowed', { message: `The token may not be used from ${ip}` });
    if (verified.touchDue) {
      verified.touchDue = false;
      // Not awaited: a statistic must neither slow down nor fail the request that it counts.
      store.touchToken({ id: caller.tokenId, usedAt: clock.now(), ip }).catch((error: unknown) => {
        log.warn({ jti: caller.tokenId, err: error }, 'could not record the last use of a token');
      });
    }
    return caller;
  }

  /** The signature is valid, so nobody is guessing: a clock is wrong, which is no reason to pause an address. */
  function refuseEarly({ tokenId, validFrom }: EarlyToken): never {
    const [from, now] = [validFrom, clock.now()].map((at) => new Date(at).toISOString());
    log.warn(
      { jti: tokenId, validFrom: from },
      'a token begins in the future: the clock was ahead, or is behind',
    );
    throw new AppError('token-invalid', {
      message: `The token is good from ${from} and it is ${now} here: the clock of this server was ahead when it was made, or is behind now`,
    });
  }

  /** Signed by this server, too: most likely a program that nobody gave its new token. The refusal is logged by who asked. */
  function refuseEnded({ tokenId, how, at }: EndedToken): never {
    throw new AppError('token-invalid', {
      message: `The token ${tokenId} ${how} at ${new Date(at).toISOString()}: use another one`,
    });
  }

  function refuse(ip: string, reason: string, tokenId: string | null): never {
    const paused = failures.record(ip);
    if (paused !== null) throw paused;
    log.info({ jti: tokenId, ip, reason }, 'authentication failed');
    throw new AppError('token-invalid', { message: NOT_VALID });
  }

  async function endMadeWith(id: string): Promise<Revoked> {
    const ended = { tokens: 0, credentials: 0, webhooks: 0 };
    const makers = [id];
    // Each token is ended before its children are searched for, so that none is created after the search.
    for (let maker = makers.pop(); maker !== undefined; maker = makers.pop()) {
      for (let afterId: string | null = ''; afterId !== null; ) {
        const portion: Awaited<ReturnType<Store['endMadeWith']>> = await store.endMadeWith({
          id: maker,
          now: clock.now(),
          afterId,
          limit: PORTION,
        });
        for (const token of portion.revoked) tokens.forget(token);
        makers.push(...portion.tokens);
        ended.tokens += portion.revoked.length;
        ended.credentials += portion.credentials;
        ended.webhooks += portion.webhooks;
        afterId = portion.next;
      }
    }
    return ended;
  }

  return {
    authenticate,
    renew,
    async mint(request, idempotency) {
      checkRequest(request);
      const now = request.askedAt ?? clock.now();
      const id = uuidv7(clock, random);
      const token: Token = {
        id,
        name: request.name,
        owner: request.owner ?? id,
        domains: [...request.domains],
        scopes: [...request.scopes],
        sandbox: request.sandbox,
        ipAllowList: [...request.ipAllowList],
        rateLimit: request.rateLimit,
        rateShares: [...(request.rateShares ?? [])],
        createdBy: request.createdBy ?? null,
        createdAt: now,
        expiresAt: request.expiresInSeconds === null ? null : now + request.expiresInSeconds * 1000,
        lastUsedAt: null,
        lastUsedIp: null,
        revokedAt: null,
        replacedBy: null,
      };
      const jwt = await signToken(keys, instance, token);
      const { inSession } = request;
      const added = await store.addToken({ token, maxPerDomain, inSession, idempotency: idempotency?.(id) });
      if (added === 'ended') throw makerEnded(request);
      if (added === 'full') throw new AppError('token-limit');
      return { id, jwt, token };
    },
    async rotate(old, overlapSeconds, by, idempotency) {
      const now = clock.now();
      const id = uuidv7(clock, random);
      const lifetimeMs = old.expiresAt === null ? null : old.expiresAt - old.createdAt;
      const token: Token = {
        ...old,
        id,
        createdBy: by.createdBy,
        createdAt: now,
        expiresAt: sooner(lifetimeMs === null ? null : now + lifetimeMs, by.endsAt),
        lastUsedAt: null,
        lastUsedIp: null,
        revokedAt: null,
        replacedBy: null,
      };
      const wanted = now + overlapSeconds * 1000;
      const oldEndsAt = old.expiresAt === null ? wanted : Math.min(old.expiresAt, wanted);
      const jwt = await signToken(keys, instance, token);
      const rotated = await store.rotateToken({
        oldId: old.id,
        oldEndsAt: wanted,
        token,
        // Twice as many, so that a token can be replaced where there are as many as there may be.
        maxPerDomain: 2 * maxPerDomain,
        now,
        inSession: by.inSession,
        idempotency: idempotency?.(id, oldEndsAt),
      });
      tokens.forget(old.id);
      if (rotated === 'full') throw new AppError('token-limit');
      return rotated === 'rotated' ? { id, jwt, token, oldEndsAt } : null;
    },
    async revoke(id, children = false) {
      const found = await store.revokeToken({ id, now: clock.now() });
      tokens.forget(id);
      if (!found) return null;
      return children ? endMadeWith(id) : { tokens: 0, credentials: 0, webhooks: 0 };
    },
    endMadeWith,
    readAgain: tokens.readAgain,
    jwks: () => keys.jwks(),
  };
}

/** The token or the session of a request ended while it was under way. */
export function makerEnded({ inSession }: Pick<MintRequest, 'inSession'>): AppError {
  return new AppError(inSession === undefined ? 'token-invalid' : 'session-ended');
}

/** What is wrong with a header that has no token in it; the message must not repeat what the header has. */
function wrongHeader(authorization = ''): { message: string } {
  const text = authorization.slice(0, 8).trim().toLowerCase();
  if (text === '') {
    return {
      message:
        'There is no header Authorization: send Authorization: Bearer TOKEN. A token in another header is not read',
    };
  }
  if (text === 'bearer' && authorization.trim().length === text.length) {
    return {
      message: 'There is no token after the word Bearer: the variable or file that it comes from is empty',
    };
  }
  return {
    message: /^bearer\b/.test(text)
      ? 'What stands after the word Bearer is not a token: it is too long, or has quotation marks, spaces or other characters that no token has'
      : 'The word Bearer is missing: send the header Authorization: Bearer TOKEN',
  };
}

/** The credentials of a Bearer header (RFC 6750 §2.1), or null if there are none of the form of a token. */
function bearerToken(authorization: string | undefined): string | null {
  if (authorization === undefined || authorization.length > MAX_TOKEN_CHARS + 16) return null;
  if (authorization.slice(0, 7).toLowerCase() !== 'bearer ') return null;
  const text = authorization.slice(7).trim();
  return /^[A-Za-z0-9._~+/=-]+$/.test(text) && text.length <= MAX_TOKEN_CHARS ? text : null;
}

/** The earlier of two expiries; null = never. */
export function sooner(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

/** Rules that apply to every caller; what one caller may grant is decided in `mayMint`. */
function checkRequest(request: MintRequest): void {
  const refuse = (field: string, message: string): never => {
    throw new AppError('invalid-parameter', { field, message });
  };
  const { domains, scopes, expiresInSeconds: lifetime } = request;
  if (domains.length === 0) refuse('/Domains', 'A token needs at least one domain');
  if (domains.includes('*') && (domains.length > 1 || !scopes.includes('admin'))) {
    refuse('/Domains', '"*" stands alone and only in a token with the scope admin');
  }
  if (scopes.length === 0) refuse('/Scopes', 'A token needs at least one scope');
  if (lifetime !== null && !(lifetime >= 60 && lifetime <= MAX_LIFETIME_SECONDS)) {
    refuse('/ExpiresIn', 'ExpiresIn must be between 60 seconds and 10 years, or "never"');
  }
  if (request.ipAllowList.length > MAX_RANGES) refuse('/IPAllowList', `At most ${MAX_RANGES} ranges`);
  if (!request.ipAllowList.every(isCidr)) {
    refuse('/IPAllowList', 'IPAllowList takes addresses and ranges such as 192.0.2.0/24');
  }
}
