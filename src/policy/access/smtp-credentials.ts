/**
 * User names and passwords for SMTP submission, for programs that cannot take a token as a password. Given a name and a
 * password, it leaves a `Caller` that may send from one domain and nothing else. Passwords are made here, shown once, and
 * kept as scrypt hashes; an unknown name costs the same time as a wrong password. At most two hashes run at once and few
 * wait, so that a flood of guesses cannot take the thread pool from the signatures. A positive answer is believed for
 * 5 s; removing a credential shows at once in this process.
 */
import { hash, scrypt, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import type { SmtpCredential } from '../../model/smtp-credential.ts';
import type { Caller } from '../../model/submission.ts';
import type { Store } from '../../store/store.ts';
import type { IdempotencyEntry } from '../../store/topics/acceptance.ts';
import { createFailedLogins } from './failed-logins.ts';

export interface SmtpCredentials {
  /**
   * The caller behind a name and password; null where they do not fit. Throws AppError `rate-limited` after too many
   * failures of one address, `unavailable` where too many wait; rejects with StoreUnavailable.
   */
  verify(username: string, password: string, ip: string): Promise<Caller | null>;
  /** Makes a credential; its password is kept nowhere. */
  create(params: {
    name: string;
    domain: string;
    owner: string;
    sandbox: boolean;
    notices: boolean;
    idempotency?: (credential: SmtpCredential) => IdempotencyEntry;
  }): Promise<{ credential: SmtpCredential; password: string }>;
  /** Ends one of the given domains (undefined = any); false where there is none of that id. */
  remove(params: { id: string; domains?: readonly string[] }): Promise<boolean>;
}

/** 16 MiB and about 40 ms a hash; raised by new rows only. */
const COST_LOG2 = 14;
const BLOCK_SIZE = 8;
const HASH_BYTES = 32;
const SALT_BYTES = 16;
const PASSWORD_BYTES = 18;
const USERNAME_BYTES = 6;
const MAX_USERNAME_CHARS = 128;
const MAX_PASSWORD_CHARS = 256;
const MAX_RUNNING = 2;
const MAX_WAITING = 64;
const BELIEVED_MS = 5_000;
const MAX_BELIEVED = 1_000;

export function createSmtpCredentials(
  deps: {
    store: Pick<Store, 'addSmtpCredential' | 'getSmtpCredential' | 'removeSmtpCredential'>;
    clock: Clock;
    random: Random;
    log: Logger;
  },
  options: { costLog2?: number; failuresPerMinute?: number; failurePauseMs?: number } = {},
): SmtpCredentials {
  const { store, clock, random, log } = deps;
  const costLog2 = options.costLog2 ?? COST_LOG2;
  const failures = createFailedLogins(clock, {
    perWindow: options.failuresPerMinute ?? 10,
    windowMs: 60_000,
    pauseMs: options.failurePauseMs ?? 300_000,
    maxAddresses: 10_000,
  });
  /** Salts the keys of `believed`, which outlive the call. */
  const pepper = Buffer.from(random.bytes(32)).toString('base64url');
  const nobodysSalt = random.bytes(SALT_BYTES);
  const believed = new Map<string, { caller: Caller; id: string; untilMs: number }>();
  const queue: (() => void)[] = [];
  let running = 0;

  return {
    async verify(username, password, ip) {
      const name = username.trim().toLowerCase();
      const fits = name.length <= MAX_USERNAME_CHARS && password.length <= MAX_PASSWORD_CHARS;
      const key = hash('sha256', `${pepper}\0${name}\0${password}`, 'base64url');
      const known = believed.get(key);
      if (known !== undefined && known.untilMs > clock.monotonicMs()) return known.caller;
      const row = fits ? await store.getSmtpCredential({ username: name }) : null;
      const derived = await derive(fits ? password : '', row?.salt ?? nobodysSalt, row?.costLog2 ?? costLog2);
      if (row === null || derived.length !== row.hash.length || !timingSafeEqual(derived, row.hash)) {
        return refuse(ip, row?.id ?? null);
      }
      const caller = callerOf(row);
      believe(key, row.id, caller);
      return caller;
    },

    async create({ name, domain, owner, sandbox, notices, idempotency }) {
      for (;;) {
        const password = Buffer.from(random.bytes(PASSWORD_BYTES)).toString('base64url');
        const salt = random.bytes(SALT_BYTES);
        const credential: SmtpCredential = {
          id: uuidv7(clock, random),
          username: `smtp-${Buffer.from(random.bytes(USERNAME_BYTES)).toString('hex')}`,
          name,
          owner,
          domain,
          sandbox,
          notices,
          salt,
          hash: await derive(password, salt, costLog2),
          costLog2,
          createdAt: clock.now(),
        };
        // A name that is taken is a coin that fell on its edge: toss again.
        const key = idempotency === undefined ? {} : { idempotency: idempotency(credential) };
        if ((await store.addSmtpCredential({ credential, ...key })) === 'added')
          return { credential, password };
      }
    },

    async remove(params) {
      const removed = await store.removeSmtpCredential(params);
      for (const [key, { id }] of believed) if (id === params.id) believed.delete(key);
      return removed;
    },
  };

  function refuse(ip: string, id: string | null): null {
    const verdict = failures.record(ip);
    if (verdict.kind === 'counted') {
      log.info({ ip, credential: id }, 'SMTP login failed');
      return null;
    }
    if (verdict.justNow) {
      log.warn({ ip, pauseSeconds: verdict.retryAfterSeconds }, 'too many failed SMTP logins');
    }
    throw new AppError('rate-limited', {
      message: 'Too many failed logins from this address',
      retryAfterSeconds: verdict.retryAfterSeconds,
    });
  }

  function believe(key: string, id: string, caller: Caller): void {
    believed.delete(key);
    believed.set(key, { caller, id, untilMs: clock.monotonicMs() + BELIEVED_MS });
    if (believed.size <= MAX_BELIEVED) return;
    const oldest = believed.keys().next();
    if (!oldest.done) believed.delete(oldest.value);
  }

  async function derive(password: string, salt: Uint8Array, log2: number): Promise<Uint8Array> {
    if (running >= MAX_RUNNING) {
      if (queue.length >= MAX_WAITING) throw new AppError('unavailable', { retryAfterSeconds: 5 });
      // The one who finishes hands its place on.
      await new Promise<void>((resolve) => queue.push(resolve));
    } else running += 1;
    try {
      return await scryptOf(password, salt, log2);
    } finally {
      const next = queue.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  }
}

function scryptOf(password: string, salt: Uint8Array, costLog2: number): Promise<Uint8Array> {
  const cost = 2 ** costLog2;
  return new Promise((resolve, reject) => {
    scrypt(
      password.normalize('NFC'),
      salt,
      HASH_BYTES,
      { N: cost, r: BLOCK_SIZE, p: 1, maxmem: 256 * cost * BLOCK_SIZE },
      (error, key) => (error === null ? resolve(key) : reject(error)),
    );
  });
}

function callerOf(row: SmtpCredential): Caller {
  return {
    tokenId: row.id,
    owner: row.owner,
    domains: [row.domain],
    scopes: new Set(['email:send']),
    sandbox: row.sandbox,
    rateLimit: null,
    notices: row.notices,
  };
}
