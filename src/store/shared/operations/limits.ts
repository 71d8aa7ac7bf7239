/**
 * Overrides, holds, path states, observed facts and warm-ups: small tables that are read completely at the start and
 * written when something changes. Each has its own columns, declared as a record (docs/decisions/0065-small-tables.md).
 */
import type {
  StoredEgressFact,
  StoredHold,
  StoredHoldTime,
  StoredOverride,
  StoredPathChange,
  StoredPathState,
} from '../../topics/limits.ts';
import type { WarmupRow } from '../../topics/warmups.ts';
import { laneCode } from '../codes.ts';
import { read, write } from '../operation.ts';
import { record } from '../record.ts';

const OVERRIDE_COLUMNS = {
  id: 'plain',
  scope: 'plain',
  key: 'plain',
  param: 'plain',
  rule: 'plain',
  until: 'plain',
  why: 'plain',
  createdAt: 'plain',
} as const;

/** A column of SQLite holds a number or a text, as its value is; one of PostgreSQL its JSON. */
const OVERRIDE = {
  sqlite: record<StoredOverride>({ ...OVERRIDE_COLUMNS, value: 'plain' }),
  postgres: record<StoredOverride>({
    ...OVERRIDE_COLUMNS,
    value: { of: (value) => JSON.stringify(value), word: (text: string) => JSON.parse(text) },
  }),
};

const PATH_STATE = record<StoredPathState>({
  key: 'plain',
  source: 'plain',
  site: 'plain',
  blockedUntil: 'plain',
  reason: 'plain',
  asked: 'flag',
  fingerprint: 'plain',
  failures: 'plain',
  concurrency: 'plain',
  day: 'plain',
  sent: 'plain',
  sentBefore: 'plain',
  updatedAt: 'plain',
});

const HOLD_COLUMNS = {
  id: 'plain',
  senderDomain: 'plain',
  recipientDomain: 'plain',
  site: 'plain',
  lane: laneCode,
  reason: 'plain',
  until: 'plain',
  createdAt: 'plain',
  createdBy: 'plain',
} as const;

/** A hold in force. */
const HOLD = record<StoredHold>(HOLD_COLUMNS);

/** A hold of any time. */
const HOLD_TIME = record<StoredHoldTime>({ ...HOLD_COLUMNS, releasedAt: 'plain' });

const WARMUP = record<WarmupRow>({ source: 'plain', provider: 'plain', state: 'json' });

export const putOverrides = write(
  'putOverrides',
  'by key',
  { serial: 'overrides' },
  function* ({ db }, { overrides }) {
    for (const one of overrides)
      yield* db.put('override', 'scope, key, param, rule', OVERRIDE[db.engine].row(one));
  },
);

export const listOverrides = read('listOverrides', 'small', {}, function* (db, { now }) {
  const { columns, value } = OVERRIDE[db.engine];
  const sql = `SELECT ${columns} FROM override WHERE until > ? ORDER BY created_at DESC, id DESC`;
  return (yield* db.all(sql, now)).map(value);
});

export const removeOverride = write(
  'removeOverride',
  'by key',
  { synced: true, whole: true },
  function* ({ db }, { id }) {
    return (yield* db.run('DELETE FROM override WHERE id = ?', id)) > 0;
  },
);

export const putPathStates = write(
  'putPathStates',
  'by key',
  { unsynced: true },
  function* ({ db, isLiving }, { states }) {
    const living = new Map<number, boolean>();
    for (const [, one] of inOneOrder(states, ({ key }) => key)) {
      const { epoch } = one;
      if (!living.has(epoch)) living.set(epoch, yield* isLiving(epoch));
      if (living.get(epoch) === true) yield* db.put('path_state', 'key', PATH_STATE.row(one));
    }
  },
);

/** The last of each name counts; all nodes lock the rows in the same order. */
function inOneOrder<Item>(items: readonly Item[], nameOf: (item: Item) => string): [string, Item][] {
  return [...new Map(items.map((item) => [nameOf(item), item]))].sort(([a], [b]) => (a < b ? -1 : 1));
}

export const listPathStates = read('listPathStates', 'as asked', {}, function* (db, { limit }) {
  const sql = `SELECT ${PATH_STATE.columns} FROM path_state ORDER BY updated_at DESC, key LIMIT ?`;
  return (yield* db.all(sql, limit)).map(PATH_STATE.value);
});

export const addPathChanges = write('addPathChanges', 'by key', {}, function* ({ db }, { changes }) {
  for (const { source, site, at, until, reason } of changes)
    yield* db.insert('path_change', { source, site, at, until, reason });
});

export const listPathChanges = read('listPathChanges', 'as asked', {}, function* (db, params) {
  const { sites, since, until, limit } = params;
  const filter = db.filter();
  filter.when('at >= ?', since);
  filter.when('at <= ?', until);
  const select = 'SELECT id, source, site, at, until, reason FROM path_change {INDEXED BY path_change_site|}';
  const ranges = { select, column: 'site', places: sites, filter, order: 'at DESC, id DESC' };
  const rows = yield* db.merged<StoredPathChange & { id: number }>(ranges, limit);
  return rows.map(({ id: _, ...change }) => change);
});

export const putEgressFacts = write(
  'putEgressFacts',
  'by key',
  { unsynced: true },
  function* ({ db }, { facts }) {
    for (const [, { kind, key, value, until }] of inOneOrder(facts, (one) => `${one.kind} ${one.key}`))
      yield* db.put('egress_fact', 'kind, key', { kind, key, value, until });
  },
);

export const listEgressFacts = read('listEgressFacts', 'small', {}, (db, { now, perKind }) => {
  return db.all<StoredEgressFact>(
    `SELECT kind, key, value, until FROM
       (SELECT *, row_number() OVER (PARTITION BY kind ORDER BY until DESC, key) AS place
        FROM egress_fact WHERE until > ?) f
     WHERE place <= ? ORDER BY until DESC, kind, key`,
    now,
    perKind,
  );
});

const IN_FORCE = 'released_at IS NULL AND (until IS NULL OR until > ?1)';

/** Synced, because the person who adds a hold relies on it. */
export const addHold = write('addHold', 'by key', { synced: true }, function* (session, { hold, epoch }) {
  if (epoch !== undefined && !(yield* session.staysLiving(epoch))) return false;
  yield* session.db.insert('hold', HOLD.row(hold), 'ON CONFLICT DO NOTHING');
  return true;
});

export const listHolds = read('listHolds', 'small', {}, function* (db, { now }) {
  const sql = `SELECT ${HOLD.columns} FROM hold WHERE ${IN_FORCE} ORDER BY created_at, id`;
  return (yield* db.all(sql, now)).map(HOLD.value);
});

export const releaseHolds = write('releaseHolds', 'by key', { synced: true }, function* (session, params) {
  const { ids, epoch, now } = params;
  if (epoch !== undefined && !(yield* session.staysLiving(epoch))) return 0;
  const these = '{SELECT value FROM json_each(?2)|SELECT json_array_elements_text(?2::json)}';
  const sql = `UPDATE hold SET released_at = ?1 WHERE ${IN_FORCE} AND id IN (${these})`;
  return yield* session.db.run(sql, now, JSON.stringify(ids));
});

export const listPastHolds = read('listPastHolds', 'small', {}, function* (db, params) {
  const rows = yield* db.all(
    `SELECT ${HOLD_TIME.columns} FROM hold WHERE created_at < ?1 AND coalesce(released_at, until, ?2) >= ?2
       AND (sender_domain IS NULL OR sender_domain = ?3) AND (lane IS NULL OR lane = ?4)
     ORDER BY created_at DESC, id DESC LIMIT ?5`,
    ...[params.until, params.since, params.senderDomain, laneCode.of(params.lane), params.limit],
  );
  return rows.map(HOLD_TIME.value);
});

export const listWarmups = read('listWarmups', 'small', {}, function* (db) {
  return (yield* db.all(`SELECT ${WARMUP.columns} FROM warmup ORDER BY source, provider`)).map(WARMUP.value);
});

/** What it reserves must not be reserved again. */
export const saveWarmup = write('saveWarmup', 'by key', { synced: true }, function* (session, params) {
  if (!(yield* session.staysLiving(params.epoch))) return false;
  yield* session.db.put('warmup', 'source, provider', WARMUP.row(params));
  return true;
});

/** What others are just renewing stays. */
const UNUSED = '{|FOR UPDATE SKIP LOCKED}';

export const purgeLimits = write('purgeLimits', 'as asked', { portion: true }, function* ({ db }, params) {
  const { now, before, unusedSince, limit } = params;
  return Math.max(
    yield* db.run(
      'DELETE FROM override WHERE id IN (SELECT id FROM override WHERE until <= ? LIMIT ?)',
      now,
      limit,
    ),
    yield* db.run(
      `DELETE FROM egress_fact WHERE (kind, key) IN
         (SELECT kind, key FROM egress_fact WHERE until <= ? ORDER BY until LIMIT ? ${UNUSED})`,
      now,
      limit,
    ),
    yield* db.run(
      `DELETE FROM path_state WHERE key IN (SELECT key FROM path_state
         WHERE updated_at < ? AND (blocked_until IS NULL OR blocked_until <= ?) LIMIT ? ${UNUSED})`,
      ...[unusedSince, now, limit],
    ),
    yield* db.run(
      'DELETE FROM path_change WHERE id IN (SELECT id FROM path_change WHERE at < ? ORDER BY at LIMIT ?)',
      before,
      limit,
    ),
    yield* db.run(
      'DELETE FROM hold WHERE id IN (SELECT id FROM hold WHERE coalesce(released_at, until) < ? LIMIT ?)',
      before,
      limit,
    ),
  );
});
