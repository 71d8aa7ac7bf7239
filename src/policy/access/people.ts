/**
 * The people who may sign in: adding, changing and removing them, as an operator requests. A change of a person ends
 * the person's sessions. The rules for addresses and passwords are here.
 */
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Random } from '../../lib/random.ts';
import type { MemberPreset, Person, Role, SecondFactor, Standing } from '../../model/person.ts';
import type { Store } from '../../store/store.ts';
import type { IdempotencyEntry } from '../../store/topics/acceptance.ts';
import type { PersonChange } from '../../store/topics/people.ts';
import type { Passwords } from './password-hash.ts';
import { emailOf } from './person-address.ts';
import { MAX_PASSWORD_CHARS } from './proofs.ts';
import type { Sessions } from './sessions.ts';

/** Requested rights; an absent member gets the role's default, or stays unchanged. */
export interface StandingWish {
  role?: Role | undefined;
  domains?: readonly string[] | undefined;
  preset?: MemberPreset | undefined;
}

/**
 * `inSession`: id of the session of the person who makes the request; if it has ended, nothing changes and AppError
 * `session-ended` is thrown.
 */
export interface People {
  /**
   * `idempotency`: stored with the person under a key. Throws AppError `invalid-parameter`, `person-exists`,
   * `person-limit`, `password-refused`, and KeyTaken.
   */
  add(
    given: StandingWish & {
      email: string;
      /** null = signs in by the identity provider only. */
      password: string | null;
      role: Role;
      inSession?: string | undefined;
      idempotency?: ((made: Person) => IdempotencyEntry) | undefined;
    },
  ): Promise<Person>;
  /**
   * Ends all sessions of the person. null if there is no person with this id. Throws AppError `invalid-parameter`.
   */
  change(
    id: string,
    wish: StandingWish & { disabled?: boolean | undefined },
    inSession?: string,
  ): Promise<Person | null>;
  /** Ends all sessions of the person. null if there is no person with this id. Throws AppError `password-refused`. */
  setPassword(id: string, password: string, inSession?: string): Promise<Person | null>;
  /**
   * Changes the person's own password; the current session stays, all others end. Throws AppError `password-refused`,
   * or `session-ended` if the session has ended or the password was changed since `person` was read.
   */
  changePassword(person: Person, password: string, session: string): Promise<void>;
  /**
   * Switches the person's own second factor on (null: off); the current session stays, all others end. Throws
   * AppError `session-ended` as `changePassword` does.
   */
  changeSecondFactor(person: Person, factor: SecondFactor | null, session: string): Promise<void>;
  /**
   * Forgets the linked account of the identity provider; the next sign-in by the provider links another one. Ends all
   * sessions of the person. null if there is no person with this id.
   */
  forgetIdentity(id: string, inSession?: string): Promise<Person | null>;
  /** Switches the second factor off and ends all sessions of the person. null if there is no person with this id. */
  resetSecondFactor(id: string, inSession?: string): Promise<Person | null>;
  /** false where there is none of that id. */
  remove(id: string): Promise<boolean>;
}

const MIN_PASSWORD_CHARS = 12;
const MAX_PEOPLE = 1_000;
/** A password with fewer different characters than this is refused. */
const MIN_DISTINCT_CHARS = 5;

export function createPeople(deps: {
  store: Pick<Store, 'addPerson' | 'getPerson' | 'getSession' | 'updatePerson' | 'removePerson'>;
  clock: Clock;
  random: Random;
  passwords: Passwords;
  sessions: Pick<Sessions, 'forget' | 'forgive'>;
}): People {
  const { store, clock, random, passwords, sessions } = deps;

  return {
    async add({ email: given, password, inSession, idempotency, ...wish }) {
      const email = emailOf(given);
      if (email === null) throw refused('/Email', 'Email is not a valid address');
      const standing = standingOf(null, wish);
      if (password !== null) checkPassword(password, email, '/Password');
      const person: Person = {
        id: uuidv7(clock, random),
        email,
        passwordHash: password === null ? null : await passwords.hash(password, email),
        ...standing,
        createdAt: clock.now(),
        lastSignInAt: null,
        disabledAt: null,
        secondFactor: null,
        identity: null,
      };
      const added = await store.addPerson({
        person,
        maxPeople: MAX_PEOPLE,
        inSession,
        idempotency: idempotency?.(person),
      });
      if (added === 'ended') throw new AppError('session-ended');
      if (added === 'exists') throw new AppError('person-exists', { field: '/Email' });
      if (added === 'limit') throw new AppError('person-limit');
      return person;
    },

    async change(id, { disabled, ...wish }, inSession) {
      const before = await store.getPerson({ id });
      if (before === null) return null;
      const disabledAt = disabled === true ? (before.disabledAt ?? clock.now()) : null;
      const { domains, preset, ...role } = standingOf(before, wish);
      const isOtherRole = wish.role !== undefined && wish.role !== before.role;
      const has = (one: unknown) => one !== undefined || isOtherRole;
      // Only requested rights are changed: another request may have removed others meanwhile.
      const change = {
        ...(isOtherRole ? role : {}),
        ...(has(wish.domains) ? { domains } : {}),
        ...(has(wish.preset) ? { preset } : {}),
        ...(disabled === undefined ? {} : { disabledAt }),
      };
      return changeOther(id, change, inSession);
    },

    async setPassword(id, password, inSession) {
      const person = await store.getPerson({ id });
      if (person === null) return null;
      checkPassword(password, person.email, '/Password');
      const passwordHash = await passwords.hash(password, person.email);
      const after = await changeOther(id, { passwordHash }, inSession);
      sessions.forgive(person.email);
      return after;
    },

    async changePassword(person, password, session) {
      const { email } = person;
      checkPassword(password, email, '/NewPassword');
      const passwordHash = await passwords.hash(password, email);
      await changeOwn(person, { passwordHash }, session);
    },

    changeSecondFactor: (person, secondFactor, session) => changeOwn(person, { secondFactor }, session),

    resetSecondFactor: (id, inSession) => changeOther(id, { secondFactor: null }, inSession),

    forgetIdentity: (id, inSession) => changeOther(id, { identity: null }, inSession),

    async remove(id) {
      const removed = await store.removePerson({ id });
      sessions.forget();
      return removed;
    },
  };

  async function changeOther(
    id: string,
    change: PersonChange,
    inSession: string | undefined,
  ): Promise<Person | null> {
    const after = await store.updatePerson({ id, change, keepSession: null, inSession });
    sessions.forget();
    if (after === null && inSession !== undefined && (await store.getSession({ id: inSession })) === null)
      throw new AppError('session-ended');
    return after;
  }

  async function changeOwn(person: Person, change: PersonChange, session: string): Promise<void> {
    const only = { passwordHash: person.passwordHash };
    const after = await store.updatePerson({ id: person.id, change, keepSession: session, only });
    sessions.forget();
    if (after === null) throw new AppError('session-ended');
  }
}

/** The rights that result from a request and the previous rights. Throws AppError `invalid-parameter`. */
function standingOf(before: Standing | null, wish: StandingWish): Standing {
  const role = wish.role ?? before?.role ?? 'viewer';
  const isSameRole = before?.role === role;
  if (wish.preset !== undefined && role !== 'member')
    throw refused('/Preset', 'Preset is for the role member');
  const preset = role === 'member' ? (wish.preset ?? before?.preset ?? 'Default') : null;
  if (role === 'operator') {
    if (wish.domains !== undefined)
      throw refused('/Domains', 'An operator has all domains: leave Domains out');
    return { role, domains: ['*'], preset };
  }
  const domains = [...new Set(wish.domains ?? (isSameRole ? before.domains : []))];
  if (domains.length === 0) throw refused('/Domains', `Name the domains of a ${role} in Domains`);
  if (domains.includes('*') && (role === 'member' || domains.length > 1)) {
    throw refused('/Domains', '"*" stands alone, and only for a viewer');
  }
  return { role, domains, preset };
}

/** Length makes guessing hard; the other rules refuse long passwords that are still easy to guess. */
function checkPassword(password: string, email: string, field: string): void {
  const refuse = (message: string): never => {
    throw new AppError('password-refused', { message, field });
  };
  const { length } = password;
  if (length < MIN_PASSWORD_CHARS) refuse(`A password needs at least ${MIN_PASSWORD_CHARS} characters`);
  if (length > MAX_PASSWORD_CHARS) refuse(`A password has at most ${MAX_PASSWORD_CHARS} characters`);
  if (new Set(password).size < MIN_DISTINCT_CHARS) refuse('The password repeats too few characters');
  const lower = password.toLowerCase();
  if (lower === email || lower === email.slice(0, email.indexOf('@')))
    refuse('The password is the email address');
}

function refused(field: string, message: string): AppError {
  return new AppError('invalid-parameter', { field, message });
}
