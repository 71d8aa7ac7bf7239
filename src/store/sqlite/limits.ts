/**
 * Overrides, holds, path states, observed facts and warm-ups: small tables that are read completely at the start and
 * written when something changes. Each has its own columns, declared as a record (docs/decisions/0065-small-tables.md).
 */

import { laneCode } from '../shared/codes.ts';
import { record } from '../shared/record.ts';
import { HOLD, HOLD_TIME, OVERRIDE_COLUMNS, PATH_STATE, WARMUP } from '../shared/rows/limits.ts';
import type { StoredEgressFact, StoredOverride, StoredPathChange } from '../topics/limits.ts';
import { read, write } from './engine/operation.ts';

const OVERRIDE = record<StoredOverride>({ ...OVERRIDE_COLUMNS, value: 'plain' });

export const putOverrides = write('putOverrides', 'by key', ({ db }, { overrides }) => {
  for (const one of overrides) db.put('override', 'scope, key, param, rule', OVERRIDE.row(one));
});

export const listOverrides = read('listOverrides', 'small', (db, { now }) => {
  const sql = `SELECT ${OVERRIDE.columns} FROM override WHERE until > ? ORDER BY created_at DESC, id DESC`;
  return db.all(sql, now).map(OVERRIDE.value);
});

export const removeOverride = write('removeOverride', 'by key', { synced: true }, ({ db }, { id }) => {
  return db.run('DELETE FROM override WHERE id = ?', id).changes > 0;
});

export const putPathStates = write('putPathStates', 'by key', (session, { states }) => {
  for (const one of states) {
    if (!session.hasEnded(one.epoch)) session.db.put('path_state', 'key', PATH_STATE.row(one));
  }
});

export const listPathStates = read('listPathStates', 'as asked', (db, { limit }) => {
  const sql = `SELECT ${PATH_STATE.columns} FROM path_state ORDER BY updated_at DESC, key LIMIT ?`;
  return db.all(sql, limit).map(PATH_STATE.value);
});

/** Changes of one site, newest first. Tests check that its plan uses the index. */
export const PATH_CHANGES_SQL = `SELECT source, site, at, until, reason FROM path_change
  WHERE site = ? AND at >= ? AND at <= ? ORDER BY at DESC, id DESC LIMIT ?`;

export const addPathChanges = write('addPathChanges', 'by key', ({ db }, { changes }) => {
  for (const { source, site, at, until, reason } of changes) {
    db.insert('path_change', { source, site, at, until, reason });
  }
});

export const listPathChanges = read('listPathChanges', 'as asked', (db, { sites, since, until, limit }) => {
  const found = [...new Set(sites)].flatMap((site) =>
    db.all<StoredPathChange>(PATH_CHANGES_SQL, site, since, until, limit),
  );
  return found.sort((a, b) => b.at - a.at).slice(0, limit);
});

export const putEgressFacts = write('putEgressFacts', 'by key', ({ db }, { facts }) => {
  for (const { kind, key, value, until } of facts) {
    db.put('egress_fact', 'kind, key', { kind, key, value, until });
  }
});

export const listEgressFacts = read('listEgressFacts', 'small', (db, { now, perKind }) => {
  return db.all<StoredEgressFact>(
    `SELECT kind, key, value, until FROM
       (SELECT *, row_number() OVER (PARTITION BY kind ORDER BY until DESC, key) AS place
        FROM egress_fact WHERE until > ?)
     WHERE place <= ? ORDER BY until DESC, kind, key`,
    now,
    perKind,
  );
});

const IN_FORCE = 'released_at IS NULL AND (until IS NULL OR until > ?)';

/** Synced, because the person who adds a hold relies on it. */
export const addHold = write('addHold', 'by key', { synced: true }, (session, { hold, epoch }) => {
  if (epoch !== undefined && session.hasEnded(epoch)) return false;
  session.db.insert('hold', HOLD.row(hold), 'ON CONFLICT DO NOTHING');
  return true;
});

export const listHolds = read('listHolds', 'small', (db, { now }) => {
  const sql = `SELECT ${HOLD.columns} FROM hold WHERE ${IN_FORCE} ORDER BY created_at, id`;
  return db.all(sql, now).map(HOLD.value);
});

export const releaseHolds = write('releaseHolds', 'by key', { synced: true }, (session, params) => {
  const { ids, epoch, now } = params;
  if (epoch !== undefined && session.hasEnded(epoch)) return 0;
  const sql = `UPDATE hold SET released_at = ? WHERE ${IN_FORCE} AND id IN (SELECT value FROM json_each(?))`;
  return session.db.run(sql, now, now, JSON.stringify(ids)).changes;
});

export const listPastHolds = read('listPastHolds', 'small', (db, params) => {
  const rows = db.all(
    `SELECT ${HOLD_TIME.columns} FROM hold WHERE created_at < ? AND coalesce(released_at, until, ?) >= ?
       AND (sender_domain IS NULL OR sender_domain = ?) AND (lane IS NULL OR lane = ?)
     ORDER BY created_at DESC, id DESC LIMIT ?`,
    params.until,
    params.since,
    params.since,
    params.senderDomain,
    laneCode.of(params.lane),
    params.limit,
  );
  return rows.map(HOLD_TIME.value);
});

export const listWarmups = read('listWarmups', 'small', (db) => {
  return db.all(`SELECT ${WARMUP.columns} FROM warmup`).map(WARMUP.value);
});

/** What it reserves must not be reserved again. */
export const saveWarmup = write('saveWarmup', 'by key', { synced: true }, (session, params) => {
  if (session.hasEnded(params.epoch)) return false;
  session.db.put('warmup', 'source, provider', WARMUP.row(params));
  return true;
});

export const purgeLimits = write('purgeLimits', 'as asked', { portion: true }, ({ db }, params) => {
  const { now, before, unusedSince, limit } = params;
  const ended = [
    db.run('DELETE FROM override WHERE id IN (SELECT id FROM override WHERE until <= ? LIMIT ?)', now, limit),
    db.run(
      `DELETE FROM egress_fact WHERE (kind, key) IN
         (SELECT kind, key FROM egress_fact WHERE until <= ? ORDER BY until LIMIT ?)`,
      now,
      limit,
    ),
    db.run(
      `DELETE FROM path_state WHERE key IN (SELECT key FROM path_state
         WHERE updated_at < ? AND (blocked_until IS NULL OR blocked_until <= ?) LIMIT ?)`,
      unusedSince,
      now,
      limit,
    ),
    db.run(
      'DELETE FROM path_change WHERE id IN (SELECT id FROM path_change WHERE at < ? ORDER BY at LIMIT ?)',
      before,
      limit,
    ),
    db.run(
      'DELETE FROM hold WHERE id IN (SELECT id FROM hold WHERE coalesce(released_at, until) < ? LIMIT ?)',
      before,
      limit,
    ),
  ];
  return Math.max(...ended.map(({ changes }) => changes));
});
