/**
 * People who sign in, and their sessions. Each address belongs to one person; a session is found by the hash of its
 * secret. A change of a person's rights or password ends the sessions in the same transaction. Both this change and a
 * sign-in lock the person's row first, so that no session begins with outdated rights.
 */

import type { Person, PersonSession } from '../../model/person.ts';
import { recognised } from '../shared/recognition.ts';
import { changedColumns, PERSON, SESSION } from '../shared/rows/people.ts';
import type { Db, Value } from './engine/db.ts';
import { AFTER_ALL_IDS } from './engine/newest-by-id.ts';
import { read, write } from './engine/operation.ts';
import { hasSessionEnded } from './makers.ts';

export const addPerson = write(
  'addPerson',
  { serial: 'people' },
  async ({ db }, { person, maxPeople, inSession }) => {
    if (await hasSessionEnded(db, inSession)) return 'ended';
    const there = await personBy(db, 'email', person.email);
    if (there !== null) return there.id === person.id ? 'added' : 'exists';
    const { n = 0 } = (await db.get<{ n: number }>('SELECT count(*) AS n FROM person')) ?? {};
    if (n >= maxPeople) return 'limit';
    await db.insert('person', PERSON.row(person));
    return 'added';
  },
);

export const getPerson = read('getPerson', (db, params) =>
  'id' in params ? personBy(db, 'id', params.id) : personBy(db, 'email', params.email),
);

async function personBy(
  db: Db,
  column: 'id' | 'email',
  value: string,
  lock: 'FOR UPDATE' | '' = '',
): Promise<Person | null> {
  const sql = `SELECT ${PERSON.columns} FROM person WHERE ${column} = $1 ${lock}`;
  const row = await db.get<object>(sql, value);
  return row === undefined ? null : PERSON.value(row);
}

export const listPeople = read('listPeople', async (db, { beforeId = AFTER_ALL_IDS, limit }) => {
  const sql = `SELECT ${PERSON.columns} FROM person WHERE id < $1 ORDER BY id DESC LIMIT $2`;
  return (await db.all(sql, beforeId, limit)).map(PERSON.value);
});

export const updatePerson = write('updatePerson', async ({ db }, params) => {
  const { id, change, keepSession, only, inSession } = params;
  const before = await personBy(db, 'id', id, 'FOR UPDATE');
  if (before === null || (await hasSessionEnded(db, inSession))) return null;
  if (only !== undefined) {
    const session = keepSession === null ? null : await sessionBy(db, 'id', keepSession);
    const isSame = before.passwordHash === only.passwordHash && before.disabledAt === null;
    if (!isSame || session?.person.id !== id) return null;
  }
  const after: Person = { ...before, ...change, id };
  const columns = changedColumns(after);
  const set = Object.keys(columns).map((name) => `${name} = ?`);
  await db.run(`UPDATE person SET ${set.join(', ')} WHERE id = ?`, ...Object.values(columns), id);
  await db.run('DELETE FROM person_session WHERE person_id = $1 AND id <> $2', id, keepSession ?? '');
  return after;
});

export const removePerson = write('removePerson', async ({ db }, { id }) => {
  const removed = await db.run('DELETE FROM person WHERE id = $1', id);
  await db.run('DELETE FROM person_session WHERE person_id = $1', id);
  return removed > 0;
});

export const addSession = write('addSession', async ({ db }, params) => {
  const { session, by, replaces, maxPerPerson } = params;
  const { personId } = session;
  const person = await personBy(db, 'id', personId, 'FOR UPDATE');
  if ((await sessionBy(db, 'id', session.id)) !== null) return true;
  const known = recognised(person, by);
  if (known === null) return false;
  if (replaces !== null) await db.run('DELETE FROM person_session WHERE secret_hash = $1', replaces);
  await db.run(
    `DELETE FROM person_session WHERE id IN
       (SELECT id FROM person_session WHERE person_id = $1 ORDER BY id DESC OFFSET $2)`,
    personId,
    maxPerPerson - 1,
  );
  await db.insert('person_session', SESSION.row(session));
  const { second_factor = null, identity = null } = PERSON.row(known);
  const sql = 'UPDATE person SET last_sign_in_at = $1, second_factor = $2, identity = $3 WHERE id = $4';
  await db.run(sql, session.createdAt, second_factor, identity, personId);
  return true;
});

export const proveSession = write('proveSession', async ({ db }, { id, personId, by, provenAt }) => {
  const person = await personBy(db, 'id', personId, 'FOR UPDATE');
  const known = recognised(person, by);
  if (known === null) return false;
  const sql = 'UPDATE person_session SET proven_at = $1 WHERE id = $2 AND person_id = $3';
  if ((await db.run(sql, provenAt, id, personId)) === 0) return false;
  const { second_factor = null } = PERSON.row(known);
  await db.run('UPDATE person SET second_factor = $1 WHERE id = $2', second_factor, personId);
  return true;
});

export const getSession = read('getSession', (db, params) =>
  'id' in params ? sessionBy(db, 'id', params.id) : sessionBy(db, 'secret_hash', params.secretHash),
);

async function sessionBy(
  db: Db,
  column: 'id' | 'secret_hash',
  value: Value,
): Promise<{ session: PersonSession; person: Person } | null> {
  const row = await db.get<object>(
    `SELECT ${SESSION.columns} FROM person_session WHERE ${column} = $1`,
    value,
  );
  if (row === undefined) return null;
  const session = SESSION.value(row);
  const person = await personBy(db, 'id', session.personId);
  return person === null ? null : { session, person };
}

export const listSessions = read('listSessions', async (db, { personId, limit }) => {
  const sql = `SELECT ${SESSION.columns} FROM person_session WHERE person_id = $1 ORDER BY id DESC LIMIT $2`;
  return (await db.all(sql, personId, limit)).map(SESSION.value);
});

export const endSession = write('endSession', { whole: true }, async ({ db }, { id, personId }) => {
  return (await db.run('DELETE FROM person_session WHERE id = $1 AND person_id = $2', id, personId)) > 0;
});

export const touchSession = write('touchSession', { unsynced: true }, async ({ db }, params) => {
  const sql = 'UPDATE person_session SET last_used_at = $1, ip = $2 WHERE id = $3';
  await db.run(sql, params.usedAt, params.ip, params.id);
});

export const purgeSessions = write('purgeSessions', async ({ db }, { now, unusedSince, limit }) => {
  const unused = await drop(db, 'last_used_at < $1', unusedSince, limit);
  return unused + (await drop(db, 'ends_at <= $1', now, limit - unused));
});

function drop(db: Db, condition: string, value: number, limit: number): Promise<number> {
  const sql = `SELECT id FROM person_session WHERE ${condition} ORDER BY id LIMIT $2 FOR UPDATE`;
  return db.run(`DELETE FROM person_session WHERE id IN (${sql})`, value, limit);
}
