/**
 * Passwords and codes that people give to prove who they are: at sign-in, and in a session. Guessing is slowed down per
 * network address and per account; an unknown account takes as long as a wrong password. Throws AppError for what is
 * wrong, and `rate-limited` after too many failures.
 */
import { hash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { Person, SecondProof } from '../../model/person.ts';
import { ADDRESS_FAILURES, createFailedLogins, networkKey, type Pause } from './failed-logins.ts';
import type { Passwords } from './password-hash.ts';
import type { SecondFactors } from './second-factor.ts';

export const MAX_PASSWORD_CHARS = 256;
const ACCOUNT_FAILURES = { perWindow: 10, windowMs: 900_000, pauseMs: 900_000 };
const CODE_FAILURES = { perWindow: 5, windowMs: 3_600_000, pauseMs: 3_600_000 };

type Failure = 'sign-in-failed' | 'password-wrong' | 'code-wrong';

/**
 * The origin of a password or code. `device`: its failures are counted separately; null = they count for the address
 * and the account.
 */
interface Asker {
  email: string;
  ip: string;
  device: string | null;
}

export interface ProofDeps {
  clock: Clock;
  log: Logger;
  passwords: Passwords;
  secondFactors: Pick<SecondFactors, 'proofOf'>;
}

export interface Proofs {
  /**
   * Called before expensive work. Failures count for an account whether it exists or not, so that nobody learns which
   * accounts exist.
   */
  refusePaused(asker: Asker): void;
  /** Resolves to the stored hash of the password, which takes as long where there is none. Throws AppError. */
  password(asker: Asker, given: string, stored: string | null, failure: Failure): Promise<string>;
  /** null if the person has no second factor. Throws AppError `code-required`, `code-wrong`, `rate-limited`. */
  code(person: Person, given: string | null, asker: Asker): SecondProof | null;
  /** The password is another one: what failed before does not keep the person out any more. */
  forgive(email: string): void;
}

export function createProofs({ clock, log, passwords, secondFactors }: ProofDeps): Proofs {
  const message = 'Too many failed sign-ins';
  const guessed = `${message} with this email address, perhaps by others: use a browser in which you signed in before, or ask an operator for a new password`;
  const said = (pause: Pause) => log.warn(pause, 'too many failed sign-ins');
  const ofAddress = createFailedLogins(clock, { ...ADDRESS_FAILURES, message }, said);
  const ofAccount = createFailedLogins(clock, { ...ACCOUNT_FAILURES, message: guessed });
  /** Whoever guesses codes knows the password already, so few guesses are allowed, from all addresses together. */
  const ofCodes = createFailedLogins(clock, { ...CODE_FAILURES, message });
  /**
   * Separate counters for browsers with which the person signed in before, and for open sessions, so that other
   * people's guesses do not lock the person out.
   */
  const ofDevice = createFailedLogins(clock, { ...ACCOUNT_FAILURES, message }, said);

  return { refusePaused, password, code, forgive: (email) => ofAccount.forget(accountKey(email)) };

  function refusePaused({ email, ip, device }: Asker): void {
    if (device !== null) ofDevice.refusePaused(device);
    else {
      ofAddress.refusePaused(ip);
      ofAccount.refusePaused(accountKey(email));
    }
  }

  async function password(
    asker: Asker,
    given: string,
    stored: string | null,
    failure: Failure,
  ): Promise<string> {
    const { email, ip, device } = asker;
    const fits = given.length <= MAX_PASSWORD_CHARS;
    // All known browsers of a person share one turn: with one each, a person could take all turns.
    const isRight = await passwords.isRight(
      fits ? given : '',
      fits ? stored : null,
      device === null ? networkKey(ip) : email,
      device !== null,
    );
    if (!isRight || stored === null) throw failureOf(asker, failure);
    return stored;
  }

  function code({ id, secondFactor }: Person, given: string | null, asker: Asker): SecondProof | null {
    if (secondFactor === null) return null;
    if (given === null) throw new AppError('code-required');
    ofCodes.refusePaused(accountKey(id));
    const proof = secondFactors.proofOf(secondFactor, given);
    if (proof === null) {
      ofCodes.record(accountKey(id));
      throw failureOf(asker, 'code-wrong');
    }
    if ('recoveryHash' in proof) log.warn({ person: id, ip: asker.ip }, 'a recovery code was used');
    return proof;
  }

  /** Counts a failure; what to answer to it. */
  function failureOf({ email, ip, device }: Asker, failure: Failure): AppError {
    log.info({ ip }, 'signing in failed');
    if (device === null) ofAccount.record(accountKey(email));
    const paused = device === null ? ofAddress.record(ip) : ofDevice.record(device, ip);
    return paused ?? new AppError(failure);
  }
}

/** A key of bounded length that never equals the key of a network address. */
function accountKey(email: string): string {
  return `@${hash('sha256', email, 'base64url')}`;
}
