/**
 * Opens, clicks and unsubscribes: facts proved by a token instead of a lease. The sender domain and the message of a
 * delivery are looked up here, so nobody can record a fact about another domain's mail. A deleted delivery gets no
 * facts, nor does an erased recipient.
 */
import type { TokenSlots } from '../../../model/personal.ts';
import type { NewEvent } from '../../topics/events.ts';
import type { ReaderFact } from '../../topics/readers.ts';
import type { NewSuppression } from '../../topics/suppressions.ts';
import { eventKindCode, stateCode } from '../codes.ts';
import { NOT_ERASED } from '../erased.ts';
import { type Db, type ParamsOf, type ResultOf, read, type Session, write } from '../operation.ts';
import { idOf, type StoredId } from '../stored.ts';
import { suppress } from '../suppressing.ts';
import type { Work } from '../work.ts';

/** Of delivery `d`, its message `m` and the name `n` of its sender domain. */
const READ_COLUMNS =
  'd.message_seq, m.domain_id, n.text AS domain, m.id AS message_id, d.address, d.sandbox, d.state, d.updated_at';

interface ReadRow {
  message_seq: number;
  domain_id: number;
  domain: string;
  message_id: StoredId;
  address: string;
  sandbox: number | null;
  state: number;
  updated_at: number;
}

/** What an event of it is about. */
function readSubject(row: ReadRow, deliveryId: number) {
  return { domainId: row.domain_id, messageSeq: row.message_seq, deliveryId };
}

const TOO_QUICK = 'followed within a second of the delivery';

/** The fact as an event; a click less than `quickMs` after the delivery is marked as automatic. */
function readerEvent({ deliveryId: _, ...fact }: ReaderFact, row: ReadRow, quickMs: number): NewEvent {
  const isQuick =
    fact.kind === 'clicked' && row.state === stateCode.of('delivered') && fact.at < row.updated_at + quickMs;
  return isQuick && fact.detail?.bot !== true
    ? { ...fact, detail: { ...fact.detail, bot: true, reason: TOO_QUICK } }
    : fact;
}

/** What keeps mail from a reader who unsubscribed. `messageId`: null where the message was deleted. */
function unsubscribed(address: string, messageId: StoredId | null, rule: string): NewSuppression {
  const source = { messageId: messageId === null ? '' : idOf(messageId), reply: '', rule };
  return { address, reason: 'Unsubscribe', note: '', expiresAt: null, source };
}

export const readTokenSlots = read('readTokenSlots', 'by key', {}, function* (db, { messageSeq }) {
  const sql = 'SELECT places FROM content WHERE message_seq = ?';
  const row = yield* db.get<{ places: string | null }>(sql, messageSeq);
  return row === undefined || row.places === null ? null : (JSON.parse(row.places) as TokenSlots);
});

export const knowsOptOut = read('knowsOptOut', 'by key', {}, function* (db, { deliveryId }) {
  const kept = yield* db.get(`SELECT 1 FROM delivery d WHERE d.id = ? AND ${NOT_ERASED}`, deliveryId);
  return kept !== undefined || (yield* optOutReader(db, deliveryId)) !== undefined;
});

export const appendReaderFacts = write(
  'appendReaderFacts',
  'by key',
  { synced: true, patient: 'facts' },
  function* (session, { facts, quickMs }) {
    let stored = 0;
    for (const fact of facts) {
      const row = yield* rowOf(session.db, fact.deliveryId, '');
      if (row === undefined) continue;
      const event = readerEvent(fact, row, quickMs);
      stored += 1;
      if (!(yield* session.isStored(row.domain_id, event)))
        yield* session.appendEvent(event, readSubject(row, fact.deliveryId));
    }
    return stored;
  },
);

export const unsubscribe = write('unsubscribe', 'by key', { synced: true }, function* (session, params) {
  const { deliveryId, event, now } = params;
  const row = yield* rowOf(session.db, deliveryId, '{|FOR UPDATE OF d}');
  if (row === undefined) return yield* unsubscribeLater(session, params);
  const subject = readSubject(row, deliveryId);
  const told = yield* session.db.get(
    `SELECT 1 FROM event {INDEXED BY event_message|} WHERE message_seq = ? AND delivery_id = ? AND kind = ? LIMIT 1`,
    ...[subject.messageSeq, deliveryId, eventKindCode.of('unsubscribed')],
  );
  const entry = unsubscribed(row.address, row.message_id, params.rule);
  // Simulated mail never suppresses.
  const added = row.sandbox === null && (yield* suppress(session, row.domain_id, entry, now));
  if (told !== undefined && !added) return { kind: 'repeated', domain: row.domain };
  // The same wish for two messages is one entry; each of the messages has its event once.
  yield* session.appendEvent(event, subject);
  return { kind: 'unsubscribed', domain: row.domain };
});

/** The message was deleted: its event is not linked to one, and only the existing entry shows a repetition. */
function* unsubscribeLater(
  session: Session,
  { deliveryId, event, rule, now }: ParamsOf<'unsubscribe'>,
): Work<ResultOf<'unsubscribe'>> {
  const reader = yield* optOutReader(session.db, deliveryId);
  if (reader === undefined) return { kind: 'unknown' };
  const { domainId, domain, address } = reader;
  const entry = unsubscribed(address, null, rule);
  if (!(yield* suppress(session, domainId, entry, now))) return { kind: 'repeated', domain };
  const detail = { ...event.detail, recipient: address };
  const subject = { domainId, messageSeq: null, deliveryId: null };
  yield* session.appendEvent({ ...event, detail }, subject);
  return { kind: 'unsubscribed', domain };
}

function rowOf(db: Db, deliveryId: number, lock: '' | '{|FOR UPDATE OF d}'): Work<ReadRow | undefined> {
  return db.get(
    `SELECT ${READ_COLUMNS} FROM delivery d JOIN message m ON m.seq = d.message_seq JOIN name n ON n.id = m.domain_id
     WHERE d.id = ? AND ${NOT_ERASED} ${lock}`,
    deliveryId,
  );
}

/** The reader of a delivery's link after the message was deleted; undefined = unknown, too old, or erased. */
function optOutReader(
  db: Db,
  deliveryId: number,
): Work<{ domainId: number; domain: string; address: string } | undefined> {
  return db.get(
    `SELECT r.domain_id AS "domainId", n.text AS domain, r.address FROM opt_out_link l
       JOIN opt_out_reader r ON r.id = l.reader_id JOIN name n ON n.id = r.domain_id WHERE l.delivery_id = ?`,
    deliveryId,
  );
}

/** What the links of deleted messages need. A reader of whom another link is just being kept stays. */
export const purgeOptOuts = write('purgeOptOuts', 'as asked', { portion: true }, function* ({ db }, params) {
  const { before, limit } = params;
  const oldest = yield* db.all<{ delivery_id: number; at: number }>(
    'SELECT delivery_id, at FROM opt_out_link ORDER BY delivery_id LIMIT ?',
    limit,
  );
  const young = oldest.findIndex(({ at }) => at >= before);
  const last = (young < 0 ? oldest : oldest.slice(0, young)).at(-1);
  const links =
    last === undefined
      ? 0
      : yield* db.run('DELETE FROM opt_out_link WHERE delivery_id <= ?', last.delivery_id);
  if (links === limit) return links;
  const old = `SELECT id FROM opt_out_reader {INDEXED BY opt_out_reader_age|}
    WHERE last_at < ? ORDER BY last_at LIMIT ? {|FOR UPDATE SKIP LOCKED}`;
  return links + (yield* db.run(`DELETE FROM opt_out_reader WHERE id IN (${old})`, before, limit - links));
});
