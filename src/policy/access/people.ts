/**
 * The people who may sign in: adding, changing and removing them. Given what an operator wants; leaves the row, and ends the
 * sessions of whoever was changed. The rules for addresses and passwords are here.
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
import { MAX_PASSWORD_CHARS, type Sessions } from './sessions.ts';

/** Rights as they are asked for; what is left out has a default for the role, or stays. */
export interface StandingWish {
  role?: Role | undefined;
  domains?: readonly string[] | undefined;
  preset?: MemberPreset | undefined;
}

export interface People {
  /**
   * `idempotency`: what the store keeps with the person under a key. Throws AppError `invalid-parameter`, `person-exists`,
   * `person-limit`, `password-refused`, and KeyTaken.
   */
  add(
    given: StandingWish & {
      email: string;
      /** null = signs in by the identity provider only. */
      password: string | null;
      role: Role;
      idempotency?: ((made: Person) => IdempotencyEntry) | undefined;
    },
  ): Promise<Person>;
  /** Ends all sessions of the person. null where there is none of that id. Throws AppError `invalid-parameter`. */
  change(id: string, wish: StandingWish & { disabled?: boolean | undefined }): Promise<Person | null>;
  /** Ends all sessions of the person. null where there is none of that id. Throws AppError `password-refused`. */
  setPassword(id: string, password: string): Promise<Person | null>;
  /**
   * One's own, in a session that stays; all others end. Throws AppError `password-refused`, and `session-ended` where the
   * session has ended or somebody set a password since `person` was read.
   */
  changePassword(person: Person, password: string, session: string): Promise<void>;
  /** One's own, on (null: off), in a session that stays; all others end. Throws AppError `session-ended` as `changePassword`. */
  changeSecondFactor(person: Person, factor: SecondFactor | null, session: string): Promise<void>;
  /** The next sign-in by the provider counts. Ends all sessions of the person. null where there is none of that id. */
  forgetIdentity(id: string): Promise<Person | null>;
  /** Switches it off and ends all sessions of the person. null where there is none of that id. */
  resetSecondFactor(id: string): Promise<Person | null>;
  /** false where there is none of that id. */
  remove(id: string): Promise<boolean>;
}

export const MIN_PASSWORD_CHARS = 12;
const MAX_PEOPLE = 1_000;
/** Fewer different characters than this are a pattern. */
const MIN_DISTINCT_CHARS = 5;

export function createPeople(deps: {
  store: Pick<Store, 'addPerson' | 'getPerson' | 'updatePerson' | 'removePerson'>;
  clock: Clock;
  random: Random;
  passwords: Passwords;
  sessions: Pick<Sessions, 'forget'>;
}): People {
  const { store, clock, random, passwords, sessions } = deps;

  return {
    async add({ email: given, password, idempotency, ...wish }) {
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
        ...(idempotency === undefined ? {} : { idempotency: idempotency(person) }),
      });
      if (added === 'exists') throw new AppError('person-exists');
      if (added === 'limit') throw new AppError('person-limit');
      return person;
    },

    async change(id, { disabled, ...wish }) {
      const before = await store.getPerson({ id });
      if (before === null) return null;
      const disabledAt = disabled === true ? (before.disabledAt ?? clock.now()) : null;
      const change = {
        ...standingOf(before, wish),
        ...(disabled === undefined ? {} : { disabledAt }),
      };
      return changeOther(id, change);
    },

    async setPassword(id, password) {
      const person = await store.getPerson({ id });
      if (person === null) return null;
      checkPassword(password, person.email, '/Password');
      const passwordHash = await passwords.hash(password, person.email);
      return changeOther(id, { passwordHash });
    },

    async changePassword(person, password, session) {
      const { email } = person;
      checkPassword(password, email, '/NewPassword');
      const passwordHash = await passwords.hash(password, email);
      await changeOwn(person, { passwordHash }, session);
    },

    changeSecondFactor: (person, secondFactor, session) => changeOwn(person, { secondFactor }, session),

    resetSecondFactor: (id) => changeOther(id, { secondFactor: null }),

    forgetIdentity: (id) => changeOther(id, { identity: null }),

    async remove(id) {
      const removed = await store.removePerson({ id });
      sessions.forget();
      return removed;
    },
  };

  async function changeOther(id: string, change: PersonChange): Promise<Person | null> {
    const after = await store.updatePerson({ id, change, keepSession: null });
    sessions.forget();
    return after;
  }

  async function changeOwn(person: Person, change: PersonChange, session: string): Promise<void> {
    const only = { passwordHash: person.passwordHash };
    const after = await store.updatePerson({ id: person.id, change, keepSession: session, only });
    sessions.forget();
    if (after === null) throw new AppError('session-ended');
  }
}

/** What the wish makes of the rights before. Throws AppError `invalid-parameter`. */
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

/** Length is what makes guessing hard; the other rules refuse what the length hides. */
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
