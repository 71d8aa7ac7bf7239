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

/** The members of a person that can be changed; absent ones stay. */
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
  /** `exists`: another person has the address; `limit`: there are `maxPeople`; `ended`: `inSession` has ended. */
  addPerson(params: {
    person: Person;
    maxPeople: number;
    /** Id of the session that asks. */
    inSession?: string | undefined;
    /** Stored in the same transaction if the person is added; rejects with KeyTaken if it is taken. */
    idempotency?: IdempotencyEntry | undefined;
  }): Promise<'added' | 'exists' | 'limit' | 'ended'>;
  getPerson(params: { id: string } | { email: string }): Promise<Person | null>;
  /** At most `limit` below `beforeId`, by id, the newest first. */
  listPeople(params: { beforeId?: string; limit: number }): Promise<readonly Person[]>;
  /**
   * Returns the changed person; all sessions of the person except `keepSession` end. null if there is no person with
   * this id, or if `inSession`, the session of the request, has ended; with `only` also if the password is no longer
   * `passwordHash`, the person is disabled, or `keepSession` has ended.
   */
  updatePerson(params: {
    id: string;
    change: PersonChange;
    keepSession: string | null;
    only?: { passwordHash: string | null };
    inSession?: string | undefined;
  }): Promise<Person | null>;
  /** Also removes all sessions; false if there is no person with this id. */
  removePerson(params: { id: string }): Promise<boolean>;
  /**
   * Begins a session and stores when the person signed in. Ends the session in `replaces` (the hash of its secret),
   * and the oldest ones above `maxPerPerson`. Uses up a `proof`, and stores the first `identity` of a person. false
   * if the person was removed or disabled, the password is no longer `passwordHash`, `proof` was used before, or the
   * person has another identity.
   */
  addSession(params: {
    session: PersonSession;
    by: Recognition;
    replaces: Uint8Array | null;
    maxPerPerson: number;
  }): Promise<boolean>;
  /**
   * Stores when the person of a session authenticated again. Uses up a `proof`. false if the session has ended, or
   * `addSession` would begin none.
   */
  proveSession(params: {
    id: string;
    personId: string;
    by: { passwordHash: string; proof: SecondProof | null };
    provenAt: number;
  }): Promise<boolean>;
  /** The caller must check whether it has expired, or its person is disabled. */
  getSession(params: { secretHash: Uint8Array } | { id: string }): Promise<SessionOf | null>;
  /** Of one person, the newest first. */
  listSessions(params: { personId: string; limit: number }): Promise<readonly PersonSession[]>;
  /** false if the person has no session with this id. */
  endSession(params: { id: string; personId: string }): Promise<boolean>;
  /** Records a use; not synced, may wait for other operations. */
  touchSession(params: { id: string; usedAt: number; ip: string }): Promise<void>;
  /**
   * Removes at most `limit` sessions that were last used before `unusedSince` or have ended by `now`; returns how
   * many.
   */
  purgeSessions(params: { now: number; unusedSince: number; limit: number }): Promise<number>;
}
