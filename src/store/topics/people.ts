/** People who sign in, and their sessions. Part of the Store (`../store.ts` says what all its operations promise). */
import type {
  Identity,
  Person,
  PersonSession,
  SecondFactor,
  SecondProof,
  Standing,
} from '../../model/person.ts';
import type { IdempotencyEntry } from './acceptance.ts';

/** What may change of a person; what is left out stays. */
export interface PersonChange extends Partial<Standing> {
  passwordHash?: string;
  disabledAt?: number | null;
  secondFactor?: SecondFactor | null;
  identity?: null;
}

/** What a person is recognised by. `proof`: null for a person without a second factor. */
export type Recognition =
  | { passwordHash: string; proof: SecondProof | null }
  /** As the identity provider says. */
  | { identity: Identity };

/** A session with whom it is of. */
export interface SessionOf {
  session: PersonSession;
  person: Person;
}

export interface PeopleStore {
  /** `exists`: the address is somebody's already; `limit`: there are `maxPeople`. */
  addPerson(params: {
    person: Person;
    maxPeople: number;
    /** Stored in the same transaction if the person is added; rejects with KeyTaken if it is taken. */
    idempotency?: IdempotencyEntry;
  }): Promise<'added' | 'exists' | 'limit'>;
  getPerson(params: { id: string } | { email: string }): Promise<Person | null>;
  /** At most `limit` below `beforeId`, by id, the newest first. */
  listPeople(params: { beforeId?: string; limit: number }): Promise<readonly Person[]>;
  /**
   * The person as changed; every session of theirs ends but `keepSession`. null where there is none of that id, or with `only`:
   * where the password is no longer `passwordHash`, the person is disabled, or the session `keepSession` has ended.
   */
  updatePerson(params: {
    id: string;
    change: PersonChange;
    keepSession: string | null;
    only?: { passwordHash: string | null };
  }): Promise<Person | null>;
  /** With all sessions; false where there is none of that id. */
  removePerson(params: { id: string }): Promise<boolean>;
  /**
   * Begins a session and notes when the person signed in. The session that `replaces` names by its secret's hash ends, and
   * of more than `maxPerPerson` those that began first. A `proof` is used up; the first `identity` of a person is kept. false
   * where the person is gone or disabled, the password is no longer `passwordHash`, `proof` was used before, or the person
   * has another identity.
   */
  addSession(params: {
    session: PersonSession;
    by: Recognition;
    replaces: Uint8Array | null;
    maxPerPerson: number;
  }): Promise<boolean>;
  /** Whether it has ended by its times, or its person is disabled, is for the caller to see. */
  getSession(params: { secretHash: Uint8Array } | { id: string }): Promise<SessionOf | null>;
  /** Of one person, the newest first. */
  listSessions(params: { personId: string; limit: number }): Promise<readonly PersonSession[]>;
  /** false where the person has no session of that id. */
  endSession(params: { id: string; personId: string }): Promise<boolean>;
  /** Notes a use; not synced, may wait for company. */
  touchSession(params: { id: string; usedAt: number; ip: string }): Promise<void>;
  /** Removes at most `limit` sessions that were last used before `unusedSince` or have ended by `now`; how many. */
  purgeSessions(params: { now: number; unusedSince: number; limit: number }): Promise<number>;
}
