/**
 * Overrides, holds, path states, observed facts and warm-ups: small tables that are read completely at the start and
 * written when something changes. Each has its own columns, declared as a record (docs/decisions/0065-small-tables.md).
 */

import { laneCode } from '../shared/codes.ts';
import { record } from '../shared/record.ts';
import { HOLD, HOLD_TIME, OVERRIDE_COLUMNS, PATH_STATE, WARMUP } from '../shared/rows/limits.ts';
import type { StoredEgressFact, StoredOverride, StoredPathChange } from '../topics/limits.ts';
import { int8s, texts } from './engine/arrays.ts';
import { read, write } from './engine/operation.ts';
import { isLiving, staysLiving } from './nodes.ts';

const OVERRIDE = record<StoredOverride>({
  ...OVERRIDE_COLUMNS,
  value: {
    of: (value) => JSON.stringify(value),
    word: (text: string) => JSON.parse(text) as string | number,
  },
});

export const putOverrides = write('putOverrides', { serial: 'overrides' }, async ({ db }, { overrides }) => {
  for (const one of overrides) await db.put('override', 'scope, key, param, rule', OVERRIDE.row(one));
});

export const listOverrides = read('listOverrides', async (db, { now }) => {
  const sql = `SELECT ${OVERRIDE.columns} FROM override WHERE until > $1 ORDER BY created_at DESC, id DESC`;
  return (await db.all(sql, now)).map(OVERRIDE.value);
});

export const removeOverride = write('removeOverride', { whole: true }, async ({ db }, { id }) => {
  return (await db.run('DELETE FROM override WHERE id = $1', id)) > 0;
});

export const putPathStates = write('putPathStates', { unsynced: true }, async ({ db }, { states }) => {
  const living = new Map<number, boolean>();
  // The last state of a path counts; all nodes lock the rows in the same order.
  const byKey = new Map(states.map((one) => [one.key, one]));
  for (const key of [...byKey.keys()].sort()) {
    const one = byKey.get(key);
    if (one === undefined) continue;
    const { epoch } = one;
    if (!living.has(epoch)) living.set(epoch, await isLiving(db, epoch));
    if (living.get(epoch) === true) await db.put('path_state', 'key', PATH_STATE.row(one));
  }
});

export const listPathStates = read('listPathStates', async (db, { limit }) => {
  const sql = `SELECT ${PATH_STATE.columns} FROM path_state ORDER BY updated_at DESC, key LIMIT $1`;
  return (await db.all(sql, limit)).map(PATH_STATE.value);
});

export const addPathChanges = write('addPathChanges', { whole: true }, async ({ db }, { changes }) => {
  await db.run(
    `INSERT INTO path_change (source, site, at, until, reason)
     SELECT g.source, g.site, g.at, g.until, g.reason
     FROM unnest($1::text[], $2::text[], $3::int8[], $4::int8[], $5::text[])
       WITH ORDINALITY g (source, site, at, until, reason, place) ORDER BY g.place`,
    texts(changes.map(({ source }) => source)),
    texts(changes.map(({ site }) => site)),
    int8s(changes.map(({ at }) => at)),
    int8s(changes.map(({ until }) => until)),
    texts(changes.map(({ reason }) => reason)),
  );
});

/** Newest first; along the index of each site. */
export const listPathChanges = read('listPathChanges', (db, { sites, since, until, limit }) => {
  return db.all<StoredPathChange>(
    `SELECT c.source, c.site, c.at, c.until, c.reason FROM unnest($1::text[]) g (site)
     CROSS JOIN LATERAL (SELECT * FROM path_change p WHERE p.site = g.site AND p.at >= $2 AND p.at <= $3
       ORDER BY p.at DESC, p.id DESC LIMIT $4) c
     ORDER BY c.at DESC, c.id DESC LIMIT $4`,
    texts([...new Set(sites)]),
    since,
    until,
    limit,
  );
});

export const putEgressFacts = write('putEgressFacts', { unsynced: true }, async ({ db }, { facts }) => {
  const byKey = new Map(facts.map((fact) => [`${fact.kind} ${fact.key}`, fact]));
  for (const name of [...byKey.keys()].sort()) {
    const fact = byKey.get(name);
    if (fact === undefined) continue;
    const { kind, key, value, until } = fact;
    await db.put('egress_fact', 'kind, key', { kind, key, value, until });
  }
});

export const listEgressFacts = read('listEgressFacts', (db, { now, perKind }) => {
  return db.all<StoredEgressFact>(
    `SELECT kind, key, value, until FROM
       (SELECT *, row_number() OVER (PARTITION BY kind ORDER BY until DESC, key) AS place
        FROM egress_fact WHERE until > $1) f
     WHERE place <= $2 ORDER BY until DESC, kind, key`,
    now,
    perKind,
  );
});

const IN_FORCE = 'released_at IS NULL AND (until IS NULL OR until > $1)';

/** The person who adds a hold relies on it. */
export const addHold = write('addHold', async ({ db }, { hold, epoch }) => {
  if (epoch !== undefined && !(await staysLiving(db, epoch))) return false;
  await db.insert('hold', HOLD.row(hold), 'ON CONFLICT DO NOTHING');
  return true;
});

export const listHolds = read('listHolds', async (db, { now }) => {
  const sql = `SELECT ${HOLD.columns} FROM hold WHERE ${IN_FORCE} ORDER BY created_at, id`;
  return (await db.all(sql, now)).map(HOLD.value);
});

export const releaseHolds = write('releaseHolds', async ({ db }, { ids, epoch, now }) => {
  if (epoch !== undefined && !(await staysLiving(db, epoch))) return 0;
  const sql = `UPDATE hold SET released_at = $1 WHERE ${IN_FORCE} AND id = ANY ($2::text[])`;
  return db.run(sql, now, texts(ids));
});

export const listPastHolds = read('listPastHolds', async (db, params) => {
  const rows = await db.all(
    `SELECT ${HOLD_TIME.columns} FROM hold WHERE created_at < $1 AND coalesce(released_at, until, $2) >= $2
       AND (sender_domain IS NULL OR sender_domain = $3) AND (lane IS NULL OR lane = $4)
     ORDER BY created_at DESC, id DESC LIMIT $5`,
    params.until,
    params.since,
    params.senderDomain,
    laneCode.of(params.lane),
    params.limit,
  );
  return rows.map(HOLD_TIME.value);
});

export const listWarmups = read('listWarmups', async (db) => {
  return (await db.all(`SELECT ${WARMUP.columns} FROM warmup ORDER BY source, provider`)).map(WARMUP.value);
});

/** What it reserves must not be reserved again. */
export const saveWarmup = write('saveWarmup', async ({ db }, params) => {
  if (!(await staysLiving(db, params.epoch))) return false;
  await db.put('warmup', 'source, provider', WARMUP.row(params));
  return true;
});

/** What others are just renewing stays. */
export const purgeLimits = write('purgeLimits', async ({ db }, { now, before, unusedSince, limit }) => {
  const ended = [
    await db.run(
      'DELETE FROM override WHERE id IN (SELECT id FROM override WHERE until <= $1 LIMIT $2)',
      now,
      limit,
    ),
    await db.run(
      `DELETE FROM egress_fact WHERE (kind, key) IN
         (SELECT kind, key FROM egress_fact WHERE until <= $1 ORDER BY until LIMIT $2 FOR UPDATE SKIP LOCKED)`,
      now,
      limit,
    ),
    await db.run(
      `DELETE FROM path_state WHERE key IN (SELECT key FROM path_state
         WHERE updated_at < $1 AND (blocked_until IS NULL OR blocked_until <= $2) LIMIT $3
         FOR UPDATE SKIP LOCKED)`,
      ...[unusedSince, now, limit],
    ),
    await db.run(
      'DELETE FROM path_change WHERE id IN (SELECT id FROM path_change WHERE at < $1 ORDER BY at LIMIT $2)',
      before,
      limit,
    ),
    await db.run(
      'DELETE FROM hold WHERE id IN (SELECT id FROM hold WHERE coalesce(released_at, until) < $1 LIMIT $2)',
      before,
      limit,
    ),
  ];
  return Math.max(...ended);
});
