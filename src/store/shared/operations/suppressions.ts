/** Removing suppressions: by request, and those that have ended. */
import { suppressionKey } from '../../../model/suppression.ts';
import { suppressionReasonCode } from '../codes.ts';
import { type Session, write } from '../operation.ts';
import type { Work } from '../work.ts';

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
    const removed = yield* db.all<LiftedRow>(
      `DELETE FROM suppression WHERE domain_id = ? AND key IN (?, ?)${wanted.and()}
       RETURNING expires_at, reason, address, message_id`,
      ...[domainId, key, (yield* on.erasedKey(key)) ?? key, ...wanted.values()],
    );
    const lifted = removed.filter((row) => row.expires_at === null || row.expires_at > params.now);
    yield* on.tellChanges(
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
      yield* on.tellChanges(domainId, rows.map(liftedOf));
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
