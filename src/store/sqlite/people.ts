/**
 * People who sign in, and their sessions. An address is one person's; a session is found by the hash of its secret. What
 * changes a person's rights or password ends the sessions in the same transaction.
 */

import type { Person } from '../../model/person.ts';
import { recognised } from '../shared/recognition.ts';
import { changedColumns, PERSON, SESSION } from '../shared/rows/people.ts';
import type { Connection } from './engine/connection.ts';
import { AFTER_ALL_IDS } from './engine/newest-by-id.ts';
import { read, write } from './engine/operation.ts';
import { hasSessionEnded } from './makers.ts';

export const addPerson = write(
  'addPerson',
  'small',
  { synced: true },
  ({ db }, { person, maxPeople, inSession }) => {
    if (hasSessionEnded(db, inSession)) return 'ended';
    const there = getPerson(db, { email: person.email });
    if (there !== null) return there.id === person.id ? 'added' : 'exists';
    const { n = 0 } = db.get<{ n: number }>('SELECT count(*) AS n FROM person') ?? {};
    if (n >= maxPeople) return 'limit';
    db.insert('person', PERSON.row(person));
    return 'added';
  },
);

export const getPerson = read('getPerson', 'by key', (db, params) => {
  const [column, value] = 'id' in params ? ['id', params.id] : ['email', params.email];
  const row = db.get<object>(`SELECT ${PERSON.columns} FROM person WHERE ${column} = ?`, value);
  return row === undefined ? null : PERSON.value(row);
});

export const listPeople = read('listPeople', 'as asked', (db, { beforeId = AFTER_ALL_IDS, limit }) => {
  const sql = `SELECT ${PERSON.columns} FROM person WHERE id < ? ORDER BY id DESC LIMIT ?`;
  return db.all(sql, beforeId, limit).map(PERSON.value);
});

export const updatePerson = write('updatePerson', 'by key', { synced: true }, ({ db }, params) => {
  const { id, change, keepSession, only, inSession } = params;
  const before = getPerson(db, { id });
  if (before === null || hasSessionEnded(db, inSession)) return null;
  if (only !== undefined) {
    const session = keepSession === null ? null : getSession(db, { id: keepSession });
    const isSame = before.passwordHash === only.passwordHash && before.disabledAt === null;
    if (!isSame || session?.person.id !== id) return null;
  }
  const after: Person = { ...before, ...change, id };
  const columns = changedColumns(after);
  const set = Object.keys(columns).map((name) => `${name} = ?`);
  db.run(`UPDATE person SET ${set.join(', ')} WHERE id = ?`, ...Object.values(columns), id);
  db.run('DELETE FROM person_session WHERE person_id = ? AND id <> ?', id, keepSession ?? '');
  return after;
});

export const removePerson = write('removePerson', 'by key', { synced: true }, ({ db }, { id }) => {
  db.run('DELETE FROM person_session WHERE person_id = ?', id);
  return db.run('DELETE FROM person WHERE id = ?', id).changes > 0;
});

export const addSession = write('addSession', 'by key', { synced: true }, ({ db }, params) => {
  const { session, by, replaces, maxPerPerson } = params;
  const { personId } = session;
  if (getSession(db, { id: session.id }) !== null) return true;
  const person = getPerson(db, { id: personId });
  const known = recognised(person, by);
  if (known === null) return false;
  if (replaces !== null) db.run('DELETE FROM person_session WHERE secret_hash = ?', replaces);
  db.run(
    `DELETE FROM person_session WHERE id IN
       (SELECT id FROM person_session WHERE person_id = ? ORDER BY id DESC LIMIT -1 OFFSET ?)`,
    personId,
    maxPerPerson - 1,
  );
  db.insert('person_session', SESSION.row(session));
  const { second_factor = null, identity = null } = PERSON.row(known);
  const sql = 'UPDATE person SET last_sign_in_at = ?, second_factor = ?, identity = ? WHERE id = ?';
  db.run(sql, session.createdAt, second_factor, identity, personId);
  return true;
});

export const proveSession = write('proveSession', 'by key', { synced: true }, ({ db }, params) => {
  const { id, personId, by, provenAt } = params;
  const person = getPerson(db, { id: personId });
  const known = recognised(person, by);
  const session = db.get('SELECT 1 FROM person_session WHERE id = ? AND person_id = ?', id, personId);
  if (known === null || session === undefined) return false;
  const { second_factor = null } = PERSON.row(known);
  db.run('UPDATE person SET second_factor = ? WHERE id = ?', second_factor, personId);
  db.run('UPDATE person_session SET proven_at = ? WHERE id = ?', provenAt, id);
  return true;
});

export const getSession = read('getSession', 'by key', (db, params) => {
  const [column, value] = 'id' in params ? ['id', params.id] : ['secret_hash', params.secretHash];
  const row = db.get<object>(`SELECT ${SESSION.columns} FROM person_session WHERE ${column} = ?`, value);
  if (row === undefined) return null;
  const session = SESSION.value(row);
  const person = getPerson(db, { id: session.personId });
  return person === null ? null : { session, person };
});

export const listSessions = read('listSessions', 'as asked', (db, { personId, limit }) => {
  const sql = `SELECT ${SESSION.columns} FROM person_session WHERE person_id = ? ORDER BY id DESC LIMIT ?`;
  return db.all(sql, personId, limit).map(SESSION.value);
});

export const endSession = write('endSession', 'by key', { synced: true }, ({ db }, { id, personId }) => {
  return db.run('DELETE FROM person_session WHERE id = ? AND person_id = ?', id, personId).changes > 0;
});

export const touchSession = write('touchSession', 'by key', { patient: () => 1 }, ({ db }, params) => {
  const sql = 'UPDATE person_session SET last_used_at = ?, ip = ? WHERE id = ?';
  db.run(sql, params.usedAt, params.ip, params.id);
});

export const purgeSessions = write('purgeSessions', 'as asked', { portion: true }, ({ db }, params) => {
  const { now, unusedSince, limit } = params;
  const unused = drop(db, 'last_used_at < ?', unusedSince, limit);
  return unused + drop(db, 'ends_at <= ?', now, limit - unused);
});

function drop(db: Connection, condition: string, value: number, limit: number): number {
  const sql = `SELECT rowid FROM person_session WHERE ${condition} LIMIT ?`;
  return db.run(`DELETE FROM person_session WHERE rowid IN (${sql})`, value, limit).changes;
}
