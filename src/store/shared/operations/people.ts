/**
 * People who sign in, and their sessions. An address is one person's; a session is found by the hash of its secret. What
 * changes a person's rights or password ends the sessions in the same transaction. Both this change and a sign-in lock the
 * person's row first, so that no session begins with outdated rights.
 */
import type { Person, PersonSession } from '../../../model/person.ts';
import { AFTER_ALL_IDS } from '../newest-by-id.ts';
import { count, type Db, type ParamsOf, read, write } from '../operation.ts';
import { recognised } from '../recognition.ts';
import { record } from '../record.ts';
import type { Work } from '../work.ts';
import { hasSessionEnded } from './makers.ts';

const PERSON = record<Person>({
  id: 'plain',
  email: 'plain',
  passwordHash: 'plain',
  role: 'plain',
  domains: 'json',
  preset: 'plain',
  createdAt: 'plain',
  lastSignInAt: 'plain',
  disabledAt: 'plain',
  secondFactor: 'json',
  identity: 'json',
});

const SESSION = record<PersonSession>({
  id: 'plain',
  secretHash: 'plain',
  personId: 'plain',
  createdAt: 'plain',
  lastUsedAt: 'plain',
  endsAt: 'plain',
  userAgent: 'plain',
  ip: 'plain',
  byProvider: 'flag',
  provenAt: 'plain',
});

const SYNCED = { synced: true } as const;

export const addPerson = write(
  'addPerson',
  'small',
  { synced: true, serial: 'people' },
  function* ({ db }, { person, maxPeople, inSession }) {
    if (yield* hasSessionEnded(db, inSession)) return 'ended';
    const there = yield* getPerson(db, { email: person.email });
    if (there !== null) return there.id === person.id ? 'added' : 'exists';
    if ((yield* count(db, 'SELECT count(*) AS n FROM person')) >= maxPeople) return 'limit';
    yield* db.insert('person', PERSON.row(person));
    return 'added';
  },
);

export const getPerson = read('getPerson', 'by key', {}, (db, params) => personBy(db, params, ''));

function* personBy(db: Db, params: ParamsOf<'getPerson'>, lock: '' | '{|FOR UPDATE}'): Work<Person | null> {
  const [column, value] = 'id' in params ? ['id', params.id] : ['email', params.email];
  const sql = `SELECT ${PERSON.columns} FROM person WHERE ${column} = ? ${lock}`;
  const row = yield* db.get<object>(sql, value);
  return row === undefined ? null : PERSON.value(row);
}

function locked(db: Db, id: string): Work<Person | null> {
  return personBy(db, { id }, '{|FOR UPDATE}');
}

export const listPeople = read('listPeople', 'as asked', {}, function* (db, params) {
  const { beforeId = AFTER_ALL_IDS, limit } = params;
  const sql = `SELECT ${PERSON.columns} FROM person WHERE id < ? ORDER BY id DESC LIMIT ?`;
  return (yield* db.all(sql, beforeId, limit)).map(PERSON.value);
});

export const updatePerson = write('updatePerson', 'by key', SYNCED, function* ({ db }, params) {
  const { id, change, keepSession, only, inSession } = params;
  const before = yield* locked(db, id);
  if (before === null || (yield* hasSessionEnded(db, inSession))) return null;
  if (only !== undefined) {
    const session = keepSession === null ? null : yield* getSession(db, { id: keepSession });
    const isSame = before.passwordHash === only.passwordHash && before.disabledAt === null;
    if (!isSame || session?.person.id !== id) return null;
  }
  const after: Person = { ...before, ...change, id };
  const { id: _, email, created_at, last_sign_in_at, ...columns } = PERSON.row(after);
  const set = Object.keys(columns).map((name) => `${name} = ?`);
  yield* db.run(`UPDATE person SET ${set.join(', ')} WHERE id = ?`, ...Object.values(columns), id);
  yield* db.run('DELETE FROM person_session WHERE person_id = ? AND id <> ?', id, keepSession ?? '');
  return after;
});

export const removePerson = write('removePerson', 'by key', SYNCED, function* ({ db }, { id }) {
  const removed = yield* db.run('DELETE FROM person WHERE id = ?', id);
  yield* db.run('DELETE FROM person_session WHERE person_id = ?', id);
  return removed > 0;
});

export const addSession = write('addSession', 'by key', SYNCED, function* ({ db }, params) {
  const { session, by, replaces, maxPerPerson } = params;
  const { personId } = session;
  const person = yield* locked(db, personId);
  if ((yield* getSession(db, { id: session.id })) !== null) return true;
  const known = recognised(person, by);
  if (known === null) return false;
  if (replaces !== null) yield* db.run('DELETE FROM person_session WHERE secret_hash = ?', replaces);
  yield* db.run(
    `DELETE FROM person_session WHERE id IN
       (SELECT id FROM person_session WHERE person_id = ? ORDER BY id DESC LIMIT {-1|ALL} OFFSET ?)`,
    personId,
    maxPerPerson - 1,
  );
  yield* db.insert('person_session', SESSION.row(session));
  const { second_factor = null, identity = null } = PERSON.row(known);
  const sql = 'UPDATE person SET last_sign_in_at = ?, second_factor = ?, identity = ? WHERE id = ?';
  yield* db.run(sql, session.createdAt, second_factor, identity, personId);
  return true;
});

export const proveSession = write('proveSession', 'by key', SYNCED, function* ({ db }, params) {
  const { id, personId, by, provenAt } = params;
  const known = recognised(yield* locked(db, personId), by);
  if (known === null) return false;
  const sql = 'UPDATE person_session SET proven_at = ? WHERE id = ? AND person_id = ?';
  if ((yield* db.run(sql, provenAt, id, personId)) === 0) return false;
  const { second_factor = null } = PERSON.row(known);
  yield* db.run('UPDATE person SET second_factor = ? WHERE id = ?', second_factor, personId);
  return true;
});

export const getSession = read('getSession', 'by key', {}, function* (db, params) {
  const [column, value] = 'id' in params ? ['id', params.id] : ['secret_hash', params.secretHash];
  const sql = `SELECT ${SESSION.columns} FROM person_session WHERE ${column} = ?`;
  const row = yield* db.get<object>(sql, value);
  if (row === undefined) return null;
  const session = SESSION.value(row);
  const person = yield* getPerson(db, { id: session.personId });
  return person === null ? null : { session, person };
});

export const listSessions = read('listSessions', 'as asked', {}, function* (db, { personId, limit }) {
  const sql = `SELECT ${SESSION.columns} FROM person_session WHERE person_id = ? ORDER BY id DESC LIMIT ?`;
  return (yield* db.all(sql, personId, limit)).map(SESSION.value);
});

export const endSession = write(
  'endSession',
  'by key',
  { synced: true, whole: true },
  function* ({ db }, { id, personId }) {
    return (yield* db.run('DELETE FROM person_session WHERE id = ? AND person_id = ?', id, personId)) > 0;
  },
);

export const touchSession = write(
  'touchSession',
  'by key',
  { patient: () => 1, unsynced: true },
  function* ({ db }, { usedAt, ip, id }) {
    yield* db.run('UPDATE person_session SET last_used_at = ?, ip = ? WHERE id = ?', usedAt, ip, id);
  },
);

export const purgeSessions = write(
  'purgeSessions',
  'as asked',
  { portion: true },
  function* ({ db }, params) {
    const { now, unusedSince, limit } = params;
    const unused = yield* drop(db, 'last_used_at < ?', unusedSince, limit);
    return unused + (yield* drop(db, 'ends_at <= ?', now, limit - unused));
  },
);

function drop(db: Db, condition: string, value: number, limit: number): Work<number> {
  const sql = `SELECT id FROM person_session WHERE ${condition} {|ORDER BY id} LIMIT ? {|FOR UPDATE}`;
  return db.run(`DELETE FROM person_session WHERE id IN (${sql})`, value, limit);
}
