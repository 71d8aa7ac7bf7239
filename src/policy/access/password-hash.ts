/**
 * Password hashes (scrypt), a limited number at a time. A hash uses memory and a thread of the pool that also signs
 * mail, so few run at once. Each kind of login has a lane with a share of them, a bounded queue, and few places per
 * caller, so that many guesses at one kind of login delay neither other logins nor signatures.
 */
import { scrypt, timingSafeEqual } from 'node:crypto';
import { AppError } from '../../lib/errors.ts';
import type { Random } from '../../lib/random.ts';
import { createTally } from '../../lib/tally.ts';

/** Runs `work` when it is the turn of `asker`. Throws AppError `unavailable` if too many wait. */
export type InTurn = <Result>(asker: string, work: () => Promise<Result>) => Promise<Result>;

export interface HashTurns {
  /** A lane of its own, with at most `maxRunning` hashes at once. */
  lane(options: { maxRunning: number }): InTurn;
}

interface Lane {
  running: number;
  maxRunning: number;
  queue: (() => void)[];
}

const MAX_RUNNING = 2;
const MAX_WAITING = 64;
/** Of one person, of one network address, or of one line of tokens. */
const MAX_WAITING_EACH = 8;

export function createHashTurns(): HashTurns {
  const lanes: Lane[] = [];
  let running = 0;

  return {
    lane({ maxRunning }) {
      const lane: Lane = { running: 0, maxRunning, queue: [] };
      lanes.push(lane);
      const asking = createTally();
      return async (asker, work) => {
        const isFree = mayBegin(lane);
        if (asking.of(asker) >= MAX_WAITING_EACH) {
          const message = `You already have ${MAX_WAITING_EACH} requests of this kind running, and each takes a while`;
          throw new AppError('unavailable', { message, retryAfterSeconds: 1 });
        }
        if (!isFree && lane.queue.length >= MAX_WAITING) {
          const message = 'Too many of these requests are under way: try again in some seconds';
          throw new AppError('unavailable', { message, retryAfterSeconds: 5 });
        }
        asking.add(asker, 1);
        if (isFree) begin(lane);
        else await new Promise<void>((resolve) => lane.queue.push(resolve));
        try {
          return await work();
        } finally {
          asking.add(asker, -1);
          lane.running -= 1;
          running -= 1;
          beginNext();
        }
      };
    },
  };

  function mayBegin(lane: Lane): boolean {
    return running < MAX_RUNNING && lane.running < lane.maxRunning;
  }

  function begin(lane: Lane): void {
    running += 1;
    lane.running += 1;
  }

  /** The lane with the fewest running hashes comes first. */
  function beginNext(): void {
    for (const lane of lanes.toSorted((a, b) => a.running - b.running)) {
      if (!mayBegin(lane)) continue;
      const next = lane.queue.shift();
      if (next === undefined) continue;
      begin(lane);
      next();
    }
  }
}

/** `log2`: N as a power of two; 2^log2 × r × 128 octets of memory. */
export interface HashCost {
  log2: number;
  r: number;
  p: number;
}

const HASH_BYTES = 32;
const SALT_BYTES = 16;
/** For passwords that people choose: 32 MiB and some 250 ms. */
const PERSON_COST: HashCost = { log2: 15, r: 8, p: 3 };

export function scryptOf(password: string, salt: Uint8Array, { log2, r, p }: HashCost): Promise<Uint8Array> {
  const N = 2 ** log2;
  return new Promise((resolve, reject) => {
    scrypt(
      password.normalize('NFC'),
      salt,
      HASH_BYTES,
      { N, r, p, maxmem: 256 * r * (N + 2 * p) },
      (error, key) => (error === null ? resolve(key) : reject(error)),
    );
  });
}

/**
 * Hashes of passwords that people choose. `asker` waits for its turn: the address of a known person, otherwise the
 * network address. Throws AppError `unavailable` if too many wait.
 */
export interface Passwords {
  /** A new hash with everything needed to check it: `$scrypt$ln=15,r=8,p=3$salt$hash`. */
  hash(password: string, asker: string): Promise<string>;
  /**
   * Whether `password` matches `stored`. null takes the same time and never matches. `isKnown`: the caller has signed
   * in here before, and does not wait behind unknown callers.
   */
  isRight(password: string, stored: string | null, asker: string, isKnown: boolean): Promise<boolean>;
}

/** At most one hash of unknown callers runs at once; the other places are for known browsers and for programs. */
export function createPasswords(
  { random, hashTurns }: { random: Random; hashTurns: HashTurns },
  cost = PERSON_COST,
): Passwords {
  // If both lanes have waiting callers, the first lane is served first.
  const known = hashTurns.lane({ maxRunning: 1 });
  const strangers = hashTurns.lane({ maxRunning: 1 });
  return {
    async hash(password, asker) {
      const salt = random.bytes(SALT_BYTES);
      const derived = await known(asker, () => scryptOf(password, salt, cost));
      const parts = [salt, derived].map((bytes) => Buffer.from(bytes).toString('base64url'));
      return `$scrypt$ln=${cost.log2},r=${cost.r},p=${cost.p}$${parts.join('$')}`;
    },
    async isRight(password, stored, asker, isKnown) {
      const kept = stored === null ? null : readHash(stored);
      const salt = kept?.salt ?? random.bytes(SALT_BYTES);
      const inTurn = isKnown ? known : strangers;
      const derived = await inTurn(asker, () => scryptOf(password, salt, kept?.cost ?? cost));
      return kept !== null && derived.length === kept.hash.length && timingSafeEqual(derived, kept.hash);
    },
  };
}

/** Throws TypeError for a text that `hash` cannot have made. */
function readHash(stored: string): { cost: HashCost; salt: Uint8Array; hash: Uint8Array } {
  const [, ln, r, p, salt, hash] =
    /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([\w-]{22})\$([\w-]{43})$/.exec(stored) ?? [];
  if (salt === undefined || hash === undefined) throw new TypeError('a stored password hash cannot be read');
  return {
    cost: { log2: Number(ln), r: Number(r), p: Number(p) },
    salt: Buffer.from(salt, 'base64url'),
    hash: Buffer.from(hash, 'base64url'),
  };
}
