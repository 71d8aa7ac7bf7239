/**
 * Signing in, and sessions. Takes an address and a password, or an identity from the identity provider; returns the
 * text for a cookie. From that text makes a `Caller` with the rights of the person's role. A session ends after 12
 * hours without use, after 7 days, or when its person is changed: in this process at once, in other nodes within 5 s.
 */
import { hash } from 'node:crypto';
import { AppError } from '../../lib/errors.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Random } from '../../lib/random.ts';
import { type Person, type PersonSession, PROOF_MS, SESSION_IDLE_MS, scopesOf } from '../../model/person.ts';
import type { Caller } from '../../model/submission.ts';
import type { Store } from '../../store/store.ts';
import type { Recognition, SessionOf } from '../../store/topics/people.ts';
import type { Access } from './access.ts';
import type { Identified } from './identity-provider.ts';
import type { KnownDevices } from './known-devices.ts';
import { emailOf } from './person-address.ts';
import { createProofs, type ProofDeps } from './proofs.ts';
import { createRecentReads } from './recent-reads.ts';

export const LIFETIME_MS = 7 * 86_400_000;
export const MAX_SESSIONS = 20;
/** The accuracy of `lastUsedAt`, so that an open page causes one small write per minute. */
const TOUCH_EVERY_MS = 60_000;
const SECRET_BYTES = 32;
const SECRET = /^[A-Za-z0-9_-]{43}$/;
const MAX_USER_AGENT_CHARS = 200;

/** The rights of a person who has no second factor although one is required. */
const WITHOUT_FACTOR: ReadonlySet<string> = new Set([
  ...['getSession', 'signOut', 'makeTotpSecret', 'switchOnTotp'],
]);

/** A browser that signs in. */
interface Browser {
  ip: string;
  userAgent: string;
  /** The session cookie that the browser sent: that session ends. */
  replaces: string | null;
  /** The browser's cookie with marks of people who signed in with it. */
  device: string | null;
}

export interface SignIn extends Browser {
  email: string;
  password: string;
  /** Of the second factor. */
  code: string | null;
}

/** `device`: for the cookie of that name. */
export type SignedIn = SessionOf & { secret: string; caller: Caller; device: string };

export interface Sessions {
  /** People who sign in with a password need a second factor. */
  readonly requiresSecondFactor: boolean;
  /**
   * Begins a session with a new secret. Throws AppError: `sign-in-failed`; `rate-limited` after too many failures of
   * one address, one account or one known browser; `code-required` or `code-wrong` if the password is right and the
   * person has a second factor; `unavailable` if too many wait. Rejects with StoreUnavailable.
   */
  signIn(given: SignIn): Promise<SignedIn>;
  /**
   * Begins a session of the person with that verified address; `identify` asks the provider. The first time links the
   * person to that account of the provider, which is then the only one. Throws the errors of `identify`, and AppError
   * `identity-unknown`.
   */
  signInByProvider(given: Browser & { identify(): Promise<Identified> }): Promise<SignedIn>;
  /**
   * Counts failures and throws as `signIn` does, but AppError `password-wrong` for a wrong password, because the
   * session has not ended.
   */
  checkPassword(session: string, person: Person, password: string, ip: string): Promise<void>;
  /**
   * The person of the session authenticates again; returns until when that counts. Counts failures and throws as
   * `checkPassword`, for the code as `signIn`, and AppError `session-ended`.
   */
  prove(
    session: string,
    person: Person,
    given: { password: string; code: string | null; ip: string },
  ): Promise<number>;
  /** Throws AppError `proof-required` if the person of a session last authenticated too long ago. */
  requireProof(caller: Caller): Promise<void>;
  /** Counts failures and throws as `signIn` does, for a person with a second factor. */
  checkCode(session: string, person: Person, code: string, ip: string): void;
  /**
   * The caller of a cookie's text; null if there is no such session or it has ended. `isUse`: the request is an
   * action of the person, so the session is not idle.
   */
  authenticate(secret: string, ip: string, isUse: boolean): Promise<Caller | null>;
  /** The current state of the same caller; null if the session has ended. */
  renew(caller: Caller): Promise<Caller | null>;
  /** false if the person has no session with that id. */
  end(params: { id: string; personId: string }): Promise<boolean>;
  /** Empties the cache: people or sessions were changed elsewhere in this process. */
  forget(): void;
  /** The person has a new password: failed sign-ins with the old one do not count any more, in this process. */
  forgive(email: string): void;
}

export function createSessions(
  deps: {
    store: Pick<
      Store,
      'getPerson' | 'addSession' | 'getSession' | 'proveSession' | 'endSession' | 'touchSession'
    >;
    random: Random;
    devices: KnownDevices;
  } & ProofDeps,
  { requiresSecondFactor = false }: { requiresSecondFactor?: boolean } = {},
): Sessions {
  const { store, clock, random, log, devices } = deps;
  const proofs = createProofs(deps);
  /** By the hash of the secret, and by id. */
  const rows = createRecentReads<{ found: SessionOf; touchDue: boolean }>(clock);

  return {
    requiresSecondFactor,

    async signIn(given) {
      const email = emailOf(given.email) ?? '';
      const asker = { email, ip: given.ip, device: devices.deviceOf(given.device, email) };
      proofs.refusePaused(asker);
      const person = await store.getPerson({ email });
      const active = person?.disabledAt === null ? person : null;
      const stored = active?.passwordHash ?? null;
      const passwordHash = await proofs.password(asker, given.password, stored, 'sign-in-failed');
      // Nobody has no password, so it was not proved.
      if (active === null) throw new AppError('sign-in-failed');
      const proof = proofs.code(active, given.code, asker);
      const signedIn = await begin(active, given, { passwordHash, proof }, clock.now());
      if (signedIn === null) throw new AppError('sign-in-failed');
      return signedIn;
    },

    async signInByProvider({ identify, ...browser }) {
      const { email, identity, provenAt, isSaid } = await identify();
      const person = await store.getPerson({ email });
      // The provider may only have recognised the browser, so a person with a password proves it by that.
      const proof = isSaid || person?.passwordHash === null ? (provenAt ?? 0) : 0;
      const signedIn = person?.disabledAt === null ? await begin(person, browser, { identity }, proof) : null;
      if (signedIn !== null) return signedIn;
      const { subject } = identity;
      log.warn(
        { ip: browser.ip, email, subject, person: person?.id },
        'no person belongs to this account of the identity provider',
      );
      throw new AppError('identity-unknown');
    },

    async checkPassword(session, { email, passwordHash }, password, ip) {
      const asker = { email, ip, device: session };
      proofs.refusePaused(asker);
      await proofs.password(asker, password, passwordHash, 'password-wrong');
    },

    async prove(session, person, { password, code, ip }) {
      const { email, id: personId } = person;
      const asker = { email, ip, device: session };
      proofs.refusePaused(asker);
      const passwordHash = await proofs.password(asker, password, person.passwordHash, 'password-wrong');
      const proof = proofs.code(person, code, asker);
      const provenAt = clock.now();
      const by = { passwordHash, proof };
      const isNoted = await store.proveSession({ id: session, personId, by, provenAt });
      rows.forget();
      if (!isNoted) throw new AppError('session-ended');
      return provenAt + PROOF_MS;
    },

    async requireProof({ session, provenAt }) {
      if (session === undefined || isProven(provenAt)) return;
      // The cached session may be older than an authentication at another node.
      const found = await store.getSession({ id: session });
      if (!isProven(found?.session.provenAt)) throw new AppError('proof-required');
    },

    checkCode(session, person, code, ip) {
      proofs.code(person, code, { email: person.email, ip, device: session });
    },

    async authenticate(secret, ip, isUse) {
      if (!SECRET.test(secret)) return null;
      const secretHash = hashOf(secret);
      const entry = await current(Buffer.from(secretHash).toString('base64url'), { secretHash });
      if (entry === null) return null;
      if (isUse && entry.touchDue) {
        entry.touchDue = false;
        const { id } = entry.found.session;
        // Not awaited: storing the time of use must not delay or fail the request.
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
    forgive: proofs.forgive,
  };

  /** null if the person does not match, or no longer matches, what `by` says. */
  async function begin(
    person: Person,
    browser: Browser,
    by: Recognition,
    provenAt: number,
  ): Promise<SignedIn | null> {
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
      provenAt,
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
    const device = devices.marked(browser.device, person.email);
    return { ...found, secret, caller: callerOf(found), device };
  }

  /** null if there is no such session or it has ended. */
  async function current(key: string, ask: { secretHash: Uint8Array } | { id: string }) {
    const now = clock.now();
    const entry = await rows.read(key, async () => {
      const found = await store.getSession(ask);
      return found && { found, touchDue: now - found.session.lastUsedAt >= TOUCH_EVERY_MS };
    });
    return entry !== null && isOpen(entry.found, now) ? entry : null;
  }

  function isProven(provenAt = 0): boolean {
    return clock.now() < provenAt + PROOF_MS;
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
      provenAt: session.provenAt,
      ...(lacksFactor ? { only: WITHOUT_FACTOR } : {}),
    };
  }
}

/** Access control whose callers may also be people: one `renew` for tokens and sessions. */
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
