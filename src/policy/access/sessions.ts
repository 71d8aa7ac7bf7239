/**
 * Signing in, and the sessions that follow. Given an address and a password, or whom the identity provider names, leaves the
 * text for a cookie; given that text, a `Caller` with the rights of the person's role. Guessing is slowed down per network address and per account; an unknown account
 * costs the same work as a wrong password. A session ends after 12 hours without use, after 7 days, or when its person is
 * changed. What this process ends shows at once, what another node ends within 5 s.
 */
import { hash } from 'node:crypto';
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import {
  type Person,
  type PersonSession,
  SESSION_IDLE_MS,
  type SecondProof,
  scopesOf,
} from '../../model/person.ts';
import type { Caller } from '../../model/submission.ts';
import type { Store } from '../../store/store.ts';
import type { Recognition, SessionOf } from '../../store/topics/people.ts';
import type { Access } from './access.ts';
import { addressKey, createFailedLogins } from './failed-logins.ts';
import type { Identified } from './identity-provider.ts';
import type { Passwords } from './password-hash.ts';
import { emailOf } from './person-address.ts';
import { createRecentReads } from './recent-reads.ts';
import type { SecondFactors } from './second-factor.ts';

export const LIFETIME_MS = 7 * 86_400_000;
export const MAX_SESSIONS = 20;
export const MAX_PASSWORD_CHARS = 256;
/** `lastUsedAt` is exact to this, so that an open page costs one small write a minute. */
const TOUCH_EVERY_MS = 60_000;
const SECRET_BYTES = 32;
const SECRET = /^[A-Za-z0-9_-]{43}$/;
const MAX_USER_AGENT_CHARS = 200;

/** What somebody can do who has no second factor where one is required. */
const WITHOUT_FACTOR: ReadonlySet<string> = new Set([
  ...['getSession', 'signOut', 'makeTotpSecret', 'switchOnTotp'],
]);

type Failure = 'sign-in-failed' | 'password-wrong' | 'code-wrong';

/** A browser that signs in. */
interface Browser {
  ip: string;
  userAgent: string;
  /** What the browser's cookie held: that session ends. */
  replaces: string | null;
}

export interface SignIn extends Browser {
  email: string;
  password: string;
  /** Of the second factor. */
  code: string | null;
}

export type SignedIn = SessionOf & { secret: string; caller: Caller };

export interface Sessions {
  /** People who sign in with a password need a second factor. */
  readonly requiresSecondFactor: boolean;
  /**
   * Begins a session with a new secret. Throws AppError `sign-in-failed`, `rate-limited` after too many failures of one address
   * or for one account, with the right password of a person with a second factor `code-required` or `code-wrong`, `unavailable` where too many wait; rejects with StoreUnavailable.
   */
  signIn(given: SignIn): Promise<SignedIn>;
  /**
   * Begins a session of the person with that verified address; `identify` asks the provider. From then on that person is that
   * account of the provider only. Throws what `identify` throws, and AppError `identity-unknown`.
   */
  signInByProvider(given: Browser & { identify(): Promise<Identified> }): Promise<SignedIn>;
  /** Counts and throws as `signIn` does, but AppError `password-wrong` for a wrong one: the session has not ended. */
  checkPassword(person: Person, password: string, ip: string): Promise<void>;
  /** Counts and throws as `signIn` does, for a person with a second factor. */
  checkCode(person: Person, code: string, ip: string): void;
  /** The caller behind a cookie's text; null where there is no such session, or it has ended. */
  authenticate(secret: string, ip: string): Promise<Caller | null>;
  /** The same caller as it stands now; null where its session has ended. */
  renew(caller: Caller): Promise<Caller | null>;
  /** false where the person has no session of that id. */
  end(params: { id: string; personId: string }): Promise<boolean>;
  /** Every session is read again: people or sessions were changed elsewhere in this process. */
  forget(): void;
}

export function createSessions(
  deps: {
    store: Pick<Store, 'getPerson' | 'addSession' | 'getSession' | 'endSession' | 'touchSession'>;
    clock: Clock;
    random: Random;
    log: Logger;
    passwords: Passwords;
    secondFactors: Pick<SecondFactors, 'proofOf'>;
  },
  { requiresSecondFactor = false }: { requiresSecondFactor?: boolean } = {},
): Sessions {
  const { store, clock, random, log, passwords, secondFactors } = deps;
  const ofAddress = createFailedLogins(clock, {
    ...{ perWindow: 10, windowMs: 60_000, pauseMs: 300_000, maxAddresses: 10_000 },
  });
  const ofAccount = createFailedLogins(clock, {
    ...{ perWindow: 10, windowMs: 900_000, pauseMs: 900_000, maxAddresses: 10_000 },
  });
  /** Whoever guesses codes has the password: few guesses, from wherever they come. */
  const ofCodes = createFailedLogins(clock, {
    ...{ perWindow: 5, windowMs: 3_600_000, pauseMs: 3_600_000, maxAddresses: 10_000 },
  });
  /** Accounts with addresses from which they signed in: somebody else's guesses do not keep those out. */
  const known = new BoundedMap<string, true>(10_000);
  /** By the hash of the secret, and by id. */
  const rows = createRecentReads<{ found: SessionOf; touchDue: boolean }>(clock);

  return {
    requiresSecondFactor,

    async signIn(given) {
      const { ip } = given;
      const email = emailOf(given.email) ?? '';
      refusePaused(email, ip);
      const person = await store.getPerson({ email });
      const active = person?.disabledAt === null ? person : null;
      await prove(email, given.password, active?.passwordHash ?? null, ip, 'sign-in-failed');
      // `prove` throws where there is nobody.
      if (active === null) throw new AppError('sign-in-failed');
      const { passwordHash } = active;
      // `prove` throws where there is no password, too.
      if (passwordHash === null) throw new AppError('sign-in-failed');
      const proof = proofOf(active, given.code, ip);
      const signedIn = await begin(active, given, { passwordHash, proof });
      if (signedIn === null) throw new AppError('sign-in-failed');
      known.set(`${email}\0${addressKey(ip)}`, true);
      return signedIn;
    },

    async signInByProvider({ identify, ...browser }) {
      const { email, identity } = await identify();
      const person = await store.getPerson({ email });
      const signedIn = person?.disabledAt === null ? await begin(person, browser, { identity }) : null;
      if (signedIn !== null) return signedIn;
      const { subject } = identity;
      log.warn(
        { ip: browser.ip, subject, person: person?.id },
        'nobody here is that account of the provider',
      );
      throw new AppError('identity-unknown');
    },

    async checkPassword(person, password, ip) {
      refusePaused(person.email, ip);
      await prove(person.email, password, person.passwordHash, ip, 'password-wrong');
    },

    checkCode(person, code, ip) {
      proofOf(person, code, ip);
    },

    async authenticate(secret, ip) {
      if (!SECRET.test(secret)) return null;
      const secretHash = hashOf(secret);
      const entry = await current(Buffer.from(secretHash).toString('base64url'), { secretHash });
      if (entry === null) return null;
      if (entry.touchDue) {
        entry.touchDue = false;
        const { id } = entry.found.session;
        // Not awaited: a note must not slow down or fail the request that it is about.
        store.touchSession({ id, usedAt: clock.now(), ip }).catch((error: unknown) => {
          log.warn({ session: id, err: error }, 'could not record the last use of a session');
        });
      }
      return callerOf(entry.found);
    },

    async renew({ session }) {
      if (session === undefined) return null;
      const entry = await current(session, { id: session });
      return entry === null ? null : callerOf(entry.found);
    },

    async end(params) {
      const ended = await store.endSession(params);
      rows.forget();
      return ended;
    },

    forget: rows.forget,
  };

  /** null where the person is not, or no longer, what `by` says. */
  async function begin(person: Person, browser: Browser, by: Recognition): Promise<SignedIn | null> {
    const secret = Buffer.from(random.bytes(SECRET_BYTES)).toString('base64url');
    const now = clock.now();
    const session: PersonSession = {
      id: uuidv7(clock, random),
      secretHash: hashOf(secret),
      personId: person.id,
      createdAt: now,
      lastUsedAt: now,
      endsAt: now + LIFETIME_MS,
      userAgent: browser.userAgent.slice(0, MAX_USER_AGENT_CHARS),
      ip: browser.ip,
      byProvider: 'identity' in by,
    };
    const isAdded = await store.addSession({
      session,
      by,
      replaces: browser.replaces === null ? null : hashOf(browser.replaces),
      maxPerPerson: MAX_SESSIONS,
    });
    if (!isAdded) return null;
    rows.forget();
    log.info(
      { person: person.id, session: session.id, ip: browser.ip, byProvider: session.byProvider },
      'a person signed in',
    );
    const found = { session, person: { ...person, lastSignInAt: now } };
    return { ...found, secret, caller: callerOf(found) };
  }

  /** null where there is no such session, or it has ended. */
  async function current(key: string, ask: { secretHash: Uint8Array } | { id: string }) {
    const now = clock.now();
    const entry = await rows.read(key, async () => {
      const found = await store.getSession(ask);
      return found && { found, touchDue: now - found.session.lastUsedAt >= TOUCH_EVERY_MS };
    });
    return entry !== null && isOpen(entry.found, now) ? entry : null;
  }

  /** Asked before any costly work. The account counts whether it exists or not, so that nobody learns which do. */
  function refusePaused(email: string, ip: string): void {
    const isKnown = known.has(`${email}\0${addressKey(ip)}`);
    const seconds = ofAddress.pausedFor(ip) ?? (isKnown ? null : ofAccount.pausedFor(accountKey(email)));
    if (seconds !== null) throw tooManyFailures(seconds);
  }

  async function prove(
    email: string,
    password: string,
    stored: string | null,
    ip: string,
    failure: Failure,
  ): Promise<void> {
    const fits = password.length <= MAX_PASSWORD_CHARS;
    const isRight = await passwords.isRight(fits ? password : '', fits ? stored : null, addressKey(ip));
    if (!isRight) throw failureOf(email, ip, failure);
  }

  /** null where the person has no second factor. Throws AppError `code-required`, `code-wrong`, `rate-limited`. */
  function proofOf({ id, email, secondFactor }: Person, code: string | null, ip: string): SecondProof | null {
    if (secondFactor === null) return null;
    if (code === null) throw new AppError('code-required');
    const seconds = ofCodes.pausedFor(accountKey(id));
    if (seconds !== null) throw tooManyFailures(seconds);
    const proof = secondFactors.proofOf(secondFactor, code);
    if (proof === null) {
      ofCodes.record(accountKey(id));
      throw failureOf(email, ip, 'code-wrong');
    }
    if ('recoveryHash' in proof) log.warn({ person: id, ip }, 'a recovery code was used');
    return proof;
  }

  function callerOf({ person, session }: SessionOf): Caller {
    const lacksFactor = requiresSecondFactor && !session.byProvider && person.secondFactor === null;
    return {
      tokenId: person.id,
      name: person.email,
      owner: person.id,
      domains: person.domains,
      scopes: new Set(lacksFactor ? [] : scopesOf(person)),
      sandbox: false,
      rateLimit: null,
      session: session.id,
      ...(lacksFactor ? { only: WITHOUT_FACTOR } : {}),
    };
  }

  /** Counts a failure; what to answer to it. */
  function failureOf(email: string, ip: string, failure: Failure): AppError {
    ofAccount.record(accountKey(email));
    const verdict = ofAddress.record(ip);
    log.info({ ip }, 'signing in failed');
    if (verdict.kind === 'counted') return new AppError(failure);
    if (verdict.justNow)
      log.warn({ ip, pauseSeconds: verdict.retryAfterSeconds }, 'too many failed sign-ins');
    return tooManyFailures(verdict.retryAfterSeconds);
  }
}

/** Access control by tokens whose callers may be people, too: one `renew` for both. */
export function withSessions(access: Access, sessions: Pick<Sessions, 'renew'>): Access {
  return {
    ...access,
    renew: (caller) => (caller.session === undefined ? access.renew(caller) : sessions.renew(caller)),
  };
}

function isOpen({ session, person }: SessionOf, now: number): boolean {
  return person.disabledAt === null && session.endsAt > now && session.lastUsedAt + SESSION_IDLE_MS > now;
}

function hashOf(secret: string): Uint8Array {
  return hash('sha256', secret, 'buffer');
}

/** Of a bounded length, and never that of a network address. */
function accountKey(email: string): string {
  return `@${hash('sha256', email, 'base64url')}`;
}

function tooManyFailures(retryAfterSeconds: number): AppError {
  return new AppError('rate-limited', { message: 'Too many failed sign-ins', retryAfterSeconds });
}
