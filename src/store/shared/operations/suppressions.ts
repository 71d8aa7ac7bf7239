/** The suppression list: looking at it, adding to it, and removing from it by request or what has ended. */
import { suppressionKey } from '../../../model/suppression.ts';
import { suppressionReasonCode } from '../codes.ts';
import { ERASING_KEY, erasedKeys } from '../erased.ts';
import { anyOf, read, type Session, write } from '../operation.ts';
import {
  SUPPRESSION,
  SUPPRESSION_COLUMNS,
  type SuppressionRow,
  toSuppression,
} from '../rows/suppressions.ts';
import { tellChanges } from '../suppressing.ts';
import type { Work } from '../work.ts';

const FROM = 'FROM suppression s {CROSS|} JOIN name n ON n.id = s.domain_id';

export const suppressedAmong = read('suppressedAmong', 'measured', {}, function* (db, params) {
  const [domainId] = (yield* db.nameIds([params.domain])) ?? [];
  if (domainId === undefined) return [];
  const keys = params.addresses.map(suppressionKey);
  const erased = erasedKeys(yield* db.get(ERASING_KEY), keys);
  const wanted = db.filter();
  wanted.when('s.domain_id = ?', domainId);
  wanted.oneOf('s.key', [...keys, ...erased]);
  wanted.when('(s.expires_at IS NULL OR s.expires_at > ?)', params.now);
  const rows = yield* db.all<SuppressionRow & { key: string }>(
    `SELECT s.key, ${SUPPRESSION_COLUMNS} ${FROM} ${wanted.where()} ORDER BY {+|}s.id`,
    ...wanted.values(),
  );
  if (rows.length === 0) return [];
  const byKey = Map.groupBy(rows, ({ key }) => key);
  return params.addresses.flatMap((address, i) => {
    const own = [keys[i], erased[i]].flatMap((key) => (key === undefined ? [] : (byKey.get(key) ?? [])));
    own.sort((a, b) => Number(SUPPRESSION.value(a).id) - Number(SUPPRESSION.value(b).id));
    return own.map((row) => ({ address, suppression: toSuppression(row) }));
  });
});

export const listSuppressions = read(
  'listSuppressions',
  'measured',
  { search: true },
  function* (db, params) {
    const { address, beforeId, limit, look, reason } = params;
    // An address is found by its index, domain by domain; all other conditions are tested row by row.
    const places =
      (yield* db.nameIds(params.domains)) ??
      (address === undefined ? undefined : yield* db.domainIdsIn('suppression'));
    const index = address === undefined ? 'suppression_domain' : 'sqlite_autoindex_suppression_1';
    const select = `SELECT s.id AS id FROM suppression s {${places === undefined ? 'NOT INDEXED' : `INDEXED BY ${index}`}|}`;
    const filter = db.filter();
    filter.when('s.id < ?', beforeId);
    const ranges = { select, column: 's.domain_id', places, filter, order: 'id DESC' };
    const end =
      address === undefined ? (yield* db.merged<{ id: number }>(ranges, 1, look - 1))[0]?.id : undefined;
    filter.when('s.id >= ?', end);
    filter.when('s.key = ?', address === undefined ? undefined : suppressionKey(address));
    filter.when('s.reason = ?', reason === undefined ? undefined : suppressionReasonCode.of(reason));
    filter.when('s.created_at >= ?', params.since);
    filter.when("substr(s.key, {instr|strpos}(s.key, '@') + 1) = ?", params.recipientDomain);
    filter.when('(s.expires_at IS NULL OR s.expires_at > ?)', params.now);
    const keys = yield* db.merged<{ id: number }>(ranges, limit);
    const ids = keys.map(({ id }) => id);
    const found = anyOf(db, 's.id', ids);
    const rows = yield* db.all<SuppressionRow>(
      `SELECT ${SUPPRESSION_COLUMNS} ${FROM} ${found.where()} ORDER BY s.id DESC`,
      ...found.values(),
    );
    return {
      suppressions: rows.map(toSuppression),
      nextId: (keys.length === limit ? keys.at(-1)?.id : end) ?? null,
    };
  },
);

/** PostgreSQL: one list at a time, because two with the same addresses would lock their rows in different orders. */
export const addSuppressions = write(
  'addSuppressions',
  'by key',
  { synced: true, portion: true, serial: 'suppressions' },
  function* (on, { domain, entries, now }) {
    const { db } = on;
    const domainId = yield* on.nameId(domain);
    on.suppressing(domainId, 'entries');
    const given = db.rows('g', {
      key: { text: entries.map(({ address }) => suppressionKey(address)) },
      reason: { int2: entries.map(({ reason }) => suppressionReasonCode.of(reason)) },
      address: { text: entries.map(({ address }) => address) },
      note: { text: entries.map(({ note }) => note) },
      expires_at: { int8: entries.map(({ expiresAt }) => expiresAt) },
      message_id: { text: entries.map(({ source }) => source?.messageId || null) },
      reply: { text: entries.map(({ source }) => source?.reply ?? null) },
      rule: { text: entries.map(({ source }) => source?.rule ?? null) },
    });
    yield* db.run(
      `DELETE FROM suppression WHERE domain_id = ? AND {+|}expires_at <= ?
         AND (key, reason) IN (SELECT g.key, g.reason FROM ${given.from})`,
      ...[domainId, now, ...given.values],
    );
    const added = yield* db.all<{ key: string; reason: number }>(
      `INSERT INTO suppression (domain_id, key, reason, created_at, address, note, expires_at, message_id, reply, rule)
       SELECT {?, g.key, g.reason, ?|?::int8, g.key, g.reason, ?::int8}, g.address, g.note, g.expires_at,
         {unhex(replace(g.message_id, '-', ''))|g.message_id::uuid}, g.reply, g.rule
       FROM ${given.from} WHERE true ORDER BY {g.place|g.key, g.place} ON CONFLICT DO NOTHING RETURNING key, reason`,
      ...[domainId, now, ...given.values],
    );
    const told = added.map(({ key, reason }) => ({ key, reason: suppressionReasonCode.word(reason) }));
    yield* tellChanges(on, domainId, told);
    return { added: added.length, existing: entries.length - added.length };
  },
);

export const removeSuppressions = write(
  'removeSuppressions',
  'measured',
  { synced: true },
  function* (on, params) {
    const { db } = on;
    const [domainId] = (yield* db.nameIds([params.domain])) ?? [];
    if (domainId === undefined) return 0;
    const key = suppressionKey(params.address);
    const reason = params.reason === undefined ? undefined : suppressionReasonCode.of(params.reason);
    const wanted = db.filter();
    wanted.when('reason = ?', reason);
    // After a removal, counting starts again: old evidence must not suppress at the next bounce. It is locked before the
    // entries, as by outcomes.
    yield* db.run(
      `DELETE FROM suppression_evidence WHERE domain_id = ? AND key = ?${wanted.and()}`,
      ...[domainId, key, ...wanted.values()],
    );
    const [erased] = erasedKeys(yield* db.get(ERASING_KEY), [key]);
    const removed = yield* db.all<LiftedRow>(
      `DELETE FROM suppression WHERE domain_id = ? AND key IN (?, ?)${wanted.and()}
       RETURNING expires_at, reason, address, message_id`,
      ...[domainId, key, erased ?? key, ...wanted.values()],
    );
    const lifted = removed.filter((row) => row.expires_at === null || row.expires_at > params.now);
    yield* tellChanges(
      on,
      domainId,
      lifted.map((row) => liftedOf({ ...row, key })),
    );
    for (const [i, row] of lifted.entries()) {
      const id = params.eventIds?.[i];
      if (id !== undefined) yield* tellLifted(on, domainId, row, { id, at: params.now });
    }
    return lifted.length;
  },
);

/** What is told of an entry that is in force no more. */
function liftedOf({ key, reason }: { key: string; reason: number }) {
  return { key, reason: suppressionReasonCode.word(reason), lifted: true as const };
}

interface LiftedRow {
  expires_at: number | null;
  reason: number;
  address: string;
  message_id: string | Uint8Array | null;
}

/** Adds to the timeline of the message that caused an entry that it was removed; an entry made by hand has none. */
function* tellLifted(
  on: Session,
  domainId: number,
  { message_id: messageId, address, reason }: LiftedRow,
  event: { id: string; at: number },
): Work<void> {
  if (messageId === null) return;
  const row = yield* on.db.get<{ id: number; message_seq: number }>(
    `SELECT d.id, d.message_seq FROM message m {CROSS|} JOIN delivery d ON d.message_seq = m.seq
     WHERE m.id = ? AND d.address = ? ORDER BY d.id LIMIT 1`,
    messageId,
    address,
  );
  if (row === undefined) return;
  const detail = { reason: `${suppressionReasonCode.word(reason)}: taken off the list` };
  const subject = { domainId, messageSeq: row.message_seq, deliveryId: row.id };
  yield* on.appendEvent({ ...event, kind: 'suppression_removed', detail }, subject);
}

/** PostgreSQL: what others are just changing stays until the next time, because they lock these rows in another order. */
export const purgeSuppressions = write(
  'purgeSuppressions',
  'measured',
  { portion: true },
  function* (on, params) {
    const { db } = on;
    const ended = yield* db.all<{ domain_id: number; key: string; reason: number }>(
      `DELETE FROM suppression WHERE id IN
         (SELECT id FROM suppression {INDEXED BY suppression_expiry|} WHERE expires_at IS NOT NULL AND expires_at <= ?
          ORDER BY expires_at LIMIT ? {|FOR UPDATE SKIP LOCKED})
       RETURNING domain_id, key, reason`,
      params.now,
      params.limit,
    );
    for (const [domainId, rows] of Map.groupBy(ended, (row) => row.domain_id)) {
      yield* tellChanges(on, domainId, rows.map(liftedOf));
    }
    const evidence = yield* db.run(
      `DELETE FROM suppression_evidence WHERE (domain_id, key, reason) IN
         (SELECT domain_id, key, reason FROM suppression_evidence {INDEXED BY suppression_evidence_age|}
          WHERE last_at < ? ORDER BY last_at LIMIT ? {|FOR UPDATE SKIP LOCKED})`,
      params.evidenceBefore,
      params.limit,
    );
    return Math.max(ended.length, evidence);
  },
);
