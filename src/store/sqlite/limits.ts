/** Overrides, the state of paths, holds: small tables that are read whole at the start and written as things change. */
import type { Lane } from '../../model/message.ts';
import type { StoredHoldTime, StoredOverride, StoredPathState } from '../topics/limits.ts';
import { laneCode } from './codes.ts';
import { read, write } from './engine/operation.ts';

type HoldRow = Omit<StoredHoldTime, 'lane'> & { lane: number | null };

const HOLD_SQL = `SELECT id, sender_domain AS senderDomain, recipient_domain AS recipientDomain, site, lane, reason,
  until, created_at AS createdAt, created_by AS createdBy, released_at AS releasedAt FROM hold`;
const IN_FORCE_SQL = 'released_at IS NULL AND (until IS NULL OR until > ?)';

export const putOverrides = write('putOverrides', 'by key', ({ db }, { overrides }) => {
  for (const one of overrides) {
    db.run(
      `INSERT INTO override (id, scope, key, param, rule, value, until, why, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (scope, key, param, rule) DO UPDATE SET
         id = excluded.id, value = excluded.value, until = excluded.until, why = excluded.why,
         created_at = excluded.created_at`,
      one.id,
      one.scope,
      one.key,
      one.param,
      one.rule,
      one.value,
      one.until,
      one.why,
      one.createdAt,
    );
  }
});

export const listOverrides = read('listOverrides', 'small', (db, { now }) => {
  return db.all<StoredOverride>(
    `SELECT id, scope, key, param, rule, value, until, why, created_at AS createdAt
     FROM override WHERE until > ? ORDER BY created_at DESC, id DESC`,
    now,
  );
});

export const removeOverride = write('removeOverride', 'by key', { synced: true }, ({ db }, { id }) => {
  return db.run('DELETE FROM override WHERE id = ?', id).changes > 0;
});

export const purgeOverrides = write(
  'purgeOverrides',
  'as asked',
  { portion: true },
  ({ db }, { now, limit }) => {
    const { changes } = db.run(
      'DELETE FROM override WHERE id IN (SELECT id FROM override WHERE until <= ? LIMIT ?)',
      now,
      limit,
    );
    return changes;
  },
);

export const putPathStates = write('putPathStates', 'by key', ({ db }, { states }) => {
  for (const one of states) {
    db.run(
      `INSERT INTO path_state (key, source, site, blocked_until, reason, failures, concurrency, day, sent, sent_before, updated_at,
         asked, fingerprint)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET
         source = excluded.source, site = excluded.site, blocked_until = excluded.blocked_until,
         reason = excluded.reason, failures = excluded.failures, concurrency = excluded.concurrency,
         day = excluded.day, sent = excluded.sent, sent_before = excluded.sent_before,
         updated_at = excluded.updated_at, asked = excluded.asked, fingerprint = excluded.fingerprint`,
      one.key,
      one.source,
      one.site,
      one.blockedUntil,
      one.reason,
      one.failures,
      one.concurrency,
      one.day,
      one.sent,
      one.sentBefore,
      one.updatedAt,
      one.asked ? 1 : 0,
      one.fingerprint,
    );
  }
});

export const listPathStates = read('listPathStates', 'as asked', (db, { limit }) => {
  const rows = db.all<Omit<StoredPathState, 'asked'> & { asked: number }>(
    `SELECT key, source, site, blocked_until AS blockedUntil, reason, failures, concurrency,
            day, sent, sent_before AS sentBefore, updated_at AS updatedAt, asked, fingerprint
     FROM path_state ORDER BY updated_at DESC, key LIMIT ?`,
    limit,
  );
  return rows.map((row) => ({ ...row, asked: row.asked === 1 }));
});

export const purgePathStates = write(
  'purgePathStates',
  'as asked',
  { portion: true },
  ({ db }, { before, now, limit }) => {
    const { changes } = db.run(
      `DELETE FROM path_state WHERE key IN (
       SELECT key FROM path_state WHERE updated_at < ? AND (blocked_until IS NULL OR blocked_until <= ?) LIMIT ?)`,
      before,
      now,
      limit,
    );
    return changes;
  },
);

/** Who keeps mail back relies on it. */
export const addHold = write('addHold', 'by key', { synced: true }, ({ db }, { hold }) => {
  db.run(
    `INSERT INTO hold (id, sender_domain, recipient_domain, site, lane, reason, until, created_at, created_by)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    hold.id,
    hold.senderDomain,
    hold.recipientDomain,
    hold.site,
    hold.lane === null ? null : laneCode.of(hold.lane),
    hold.reason,
    hold.until,
    hold.createdAt,
    hold.createdBy,
  );
});

export const listHolds = read('listHolds', 'small', (db, { now }) => {
  return db
    .all<HoldRow>(`${HOLD_SQL} WHERE ${IN_FORCE_SQL} ORDER BY created_at, id`, now)
    .map(({ releasedAt: _, ...row }) => ({ ...row, lane: laneOf(row.lane) }));
});

export const releaseHolds = write('releaseHolds', 'by key', { synced: true }, ({ db }, { ids, now }) => {
  const sql = `UPDATE hold SET released_at = ? WHERE ${IN_FORCE_SQL} AND id IN (SELECT value FROM json_each(?))`;
  return db.run(sql, now, now, JSON.stringify(ids)).changes;
});

export const listPastHolds = read('listPastHolds', 'small', (db, params) => {
  const { senderDomain, lane, since, until, limit } = params;
  return db
    .all<HoldRow>(
      `${HOLD_SQL} WHERE created_at < ? AND coalesce(released_at, until, ?) >= ?
         AND (sender_domain IS NULL OR sender_domain = ?) AND (lane IS NULL OR lane = ?)
       ORDER BY created_at DESC, id DESC LIMIT ?`,
      until,
      since,
      since,
      senderDomain,
      laneCode.of(lane),
      limit,
    )
    .map((row) => ({ ...row, lane: laneOf(row.lane) }));
});

export const purgeHolds = write('purgeHolds', 'as asked', { portion: true }, ({ db }, { before, limit }) => {
  return db.run(
    'DELETE FROM hold WHERE id IN (SELECT id FROM hold WHERE coalesce(released_at, until) < ? LIMIT ?)',
    before,
    limit,
  ).changes;
});

function laneOf(code: number | null): Lane | null {
  return code === null ? null : laneCode.word(code);
}
