/**
 * User names and passwords for SMTP submission, for programs that cannot use a token as a password. Takes a name and a
 * password; returns a `Caller` that may only send from one domain. Passwords are generated here, shown once, and stored
 * as scrypt hashes; an unknown name takes the same time as a wrong password. At most two hashes run at once and few
 * logins wait, fewer per address, so that many guesses cannot use up the thread pool that signs mail or the queue of
 * other logins; a paused address gets none. A row is cached for 5 s; removing a credential takes effect in this process
 * at once.
 */

import { hash, timingSafeEqual } from 'node:crypto';
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import type { SmtpCredential } from '../../model/smtp-credential.ts';
import type { Caller } from '../../model/submission.ts';
import type { Store } from '../../store/store.ts';
import type { IdempotencyEntry } from '../../store/topics/acceptance.ts';
import { makerEnded } from './access.ts';
import { ADDRESS_FAILURES, createFailedLogins, networkKey } from './failed-logins.ts';
import { createIpMatcher } from './ip-allow-list.ts';
import type { Grant } from './may-mint.ts';
import { createHashTurns, type HashTurns, scryptOf } from './password-hash.ts';
import { createRecentReads } from './recent-reads.ts';

export interface SmtpCredentials {
  /**
   * The caller of a name and password; null if they do not match. Throws AppError `rate-limited` after too many
   * failures of one address, `unavailable` if too many wait; rejects with StoreUnavailable.
   */
  verify(username: string, password: string, ip: string): Promise<Caller | null>;
  /** The current state of the same caller, for a session that continues; null if the credential has ended. */
  renew(username: string, caller: Caller): Promise<Caller | null>;
  /** Creates a credential; its password is not stored. */
  create(params: {
    name: string;
    domain: string;
    sandbox: boolean;
    notices: boolean;
    /** The limits derived from its creator. */
    grant: Grant;
    idempotency?: (credential: SmtpCredential) => IdempotencyEntry;
  }): Promise<{ credential: SmtpCredential; password: string }>;
  /** Ends one of the given domains (undefined = any); false if the id is unknown. */
  remove(params: { id: string; domains?: readonly string[] }): Promise<boolean>;
  /** Empties the cache: some were removed elsewhere in this process. */
  forget(): void;
}

/** 16 MiB and about 40 ms per hash; a change applies to new rows only. */
const COST_LOG2 = 14;
const SALT_BYTES = 16;
const PASSWORD_BYTES = 18;
const USERNAME_BYTES = 6;
const MAX_USERNAME_CHARS = 128;
const MAX_PASSWORD_CHARS = 256;
const MAX_PROVEN = 10_000;
/** Those that have expired make room for others. */
const MAX_CREDENTIALS_PER_DOMAIN = 1_000;

export function createSmtpCredentials(
  deps: {
    store: Pick<Store, 'addSmtpCredential' | 'getSmtpCredential' | 'removeSmtpCredential'>;
    clock: Clock;
    random: Random;
    log: Logger;
    /** Shared with other logins by password; its own where left out. */
    hashTurns?: HashTurns;
  },
  options: { costLog2?: number; maxPerDomain?: number } = {},
): SmtpCredentials {
  const { store, clock, random, log } = deps;
  const maxPerDomain = options.maxPerDomain ?? MAX_CREDENTIALS_PER_DOMAIN;
  const costLog2 = options.costLog2 ?? COST_LOG2;
  const failures = createFailedLogins(
    clock,
    { ...ADDRESS_FAILURES, message: 'Too many failed logins from this address' },
    (pause) => log.warn(pause, 'too many failed SMTP logins'),
  );
  /** Salt for the keys of `proven`, which are kept after the call. */
  const pepper = Buffer.from(random.bytes(32)).toString('base64url');
  const nobodysSalt = random.bytes(SALT_BYTES);
  /** By user name. */
  const rows = createRecentReads<SmtpCredential>(clock);
  /**
   * Names with passwords that a hash has proved, and the id they belong to: they need no second hash. Somebody who logs
   * in often, or from an address that is paused because of another's guesses, can therefore still log in.
   */
  const proven = new BoundedMap<string, string>(MAX_PROVEN);
  const inTurn = (deps.hashTurns ?? createHashTurns()).lane({ maxRunning: 2 });

  return {
    async verify(username, password, ip) {
      const name = username.trim().toLowerCase();
      const fits = name.length <= MAX_USERNAME_CHARS && password.length <= MAX_PASSWORD_CHARS;
      const key = hash('sha256', `${pepper}\0${name}\0${password}`, 'base64url');
      const row = fits ? await currentRow(name) : null;
      if (row !== null && proven.get(key) === row.id) return admit(row, ip);
      failures.refusePaused(ip);
      const derived = await inTurn(networkKey(ip), () =>
        hashOf(fits ? password : '', row?.salt ?? nobodysSalt, row?.costLog2 ?? costLog2),
      );
      if (row === null || derived.length !== row.hash.length || !timingSafeEqual(derived, row.hash)) {
        return refuse(ip, row?.id ?? null);
      }
      proven.set(key, row.id);
      return admit(row, ip);
    },

    async renew(username, { tokenId }) {
      const row = await currentRow(username.trim().toLowerCase());
      return row?.id === tokenId ? callerOf(row) : null;
    },

    async create({ name, domain, sandbox, notices, grant: { inSession, ...grant }, idempotency }) {
      // Not the domain, of which one maker may have more than there are turns.
      const asker = grant.rateShares[0]?.key ?? grant.createdBy;
      for (;;) {
        // Programs would take one that begins with a dash for an option.
        const password = Buffer.from(random.bytes(PASSWORD_BYTES)).toString('base64url').replace(/^-/, 'a');
        const salt = random.bytes(SALT_BYTES);
        const id = uuidv7(clock, random);
        const credential: SmtpCredential = {
          id,
          username: `smtp-${Buffer.from(random.bytes(USERNAME_BYTES)).toString('hex')}`,
          name,
          owner: id,
          domain,
          sandbox,
          notices,
          salt,
          hash: await inTurn(asker, () => hashOf(password, salt, costLog2)),
          costLog2,
          ...grant,
          createdAt: clock.now(),
        };
        const key = idempotency?.(credential);
        const stored = await store.addSmtpCredential({
          credential,
          maxPerDomain,
          inSession,
          idempotency: key,
        });
        if (stored === 'ended') throw makerEnded({ inSession });
        if (stored === 'full') throw new AppError('smtp-credential-limit');
        if (stored === 'added') return { credential, password };
        // The random name is taken: try another.
      }
    },

    async remove(params) {
      const removed = await store.removeSmtpCredential(params);
      rows.forget();
      return removed;
    },

    forget: rows.forget,
  };

  async function currentRow(username: string): Promise<SmtpCredential | null> {
    const row = await rows.read(username, () => store.getSmtpCredential({ username }));
    return row === null || (row.expiresAt !== null && row.expiresAt <= clock.now()) ? null : row;
  }

  function refuse(ip: string, id: string | null): null {
    const paused = failures.record(ip);
    if (paused !== null) throw paused;
    log.info({ ip, credential: id }, 'SMTP login failed');
    return null;
  }
}

function hashOf(password: string, salt: Uint8Array, log2: number): Promise<Uint8Array> {
  return scryptOf(password, salt, { log2, r: 8, p: 1 });
}

function callerOf(row: SmtpCredential): Caller {
  return {
    tokenId: row.id,
    name: row.name === '' ? row.username : row.name,
    owner: row.owner,
    domains: [row.domain],
    scopes: new Set(['email:send']),
    sandbox: row.sandbox,
    rateLimit: row.rateLimit,
    bounds: { expiresAt: row.expiresAt, ipAllowList: row.ipAllowList, rateShares: row.rateShares },
    notices: row.notices,
  };
}

/** Throws AppError `ip-not-allowed`. */
function admit(row: SmtpCredential, ip: string): Caller {
  if (!createIpMatcher(row.ipAllowList)(ip))
    throw new AppError('ip-not-allowed', { message: `This login may not be used from ${ip}` });
  return callerOf(row);
}
