/**
 * Opens, clicks and unsubscribes: facts proved by a token instead of a lease. The sender domain and the message of a
 * delivery are looked up here, so nobody can record a fact about another domain's mail. A deleted delivery gets no
 * facts, nor does an erased recipient.
 */

import type { TokenSlots } from '../../model/personal.ts';
import { eventKindCode } from '../shared/codes.ts';
import { NOT_ERASED } from '../shared/mask.ts';
import {
  READ_COLUMNS,
  type ReadRow,
  readerEvent,
  readSubject,
  unsubscribed,
} from '../shared/rows/readers.ts';
import type { Connection } from './engine/connection.ts';
import type { ParamsOf, ResultOf } from './engine/operation.ts';
import { read, write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';
import { appendEvent, isStored } from './events.ts';
import { optOutReader } from './opt-outs.ts';
import { insertSuppression } from './suppressions.ts';

export const readTokenSlots = read('readTokenSlots', 'by key', (db, params) => {
  const row = db.get<{ places: string | null }>(
    'SELECT places FROM content WHERE message_seq = ?',
    params.messageSeq,
  );
  return row === undefined || row.places === null ? null : (JSON.parse(row.places) as TokenSlots);
});

export const knowsOptOut = read('knowsOptOut', 'by key', (db, { deliveryId }) => {
  const kept = db.get(`SELECT 1 FROM delivery d WHERE d.id = ? AND ${NOT_ERASED}`, deliveryId) !== undefined;
  return kept || optOutReader(db, deliveryId) !== null;
});

export const appendReaderFacts = write(
  'appendReaderFacts',
  'by key',
  { synced: true, patient: 'facts' },
  (session, params) => {
    let stored = 0;
    for (const fact of params.facts) {
      const row = rowOf(session.db, fact.deliveryId);
      if (row === undefined) continue;
      const event = readerEvent(fact, row, params.quickMs);
      stored += 1;
      if (!isStored(session.db, row.domain_id, event))
        appendEvent(session, event, readSubject(row, fact.deliveryId));
    }
    return stored;
  },
);

export const unsubscribe = write('unsubscribe', 'by key', { synced: true }, (session, params) => {
  const { db } = session;
  const { deliveryId, event, now } = params;
  const row = rowOf(db, deliveryId);
  if (row === undefined) return unsubscribeLater(session, params);
  const subject = readSubject(row, deliveryId);
  const told =
    db.get<{ one: number }>(
      'SELECT 1 AS one FROM event INDEXED BY event_message WHERE message_seq = ? AND delivery_id = ? AND kind = ?',
      subject.messageSeq,
      deliveryId,
      eventKindCode.of('unsubscribed'),
    ) !== undefined;
  // Simulated mail never suppresses.
  const entry = unsubscribed(row.address, row.message_id, params.rule);
  // Simulated mail never suppresses.
  const added = row.sandbox === null && insertSuppression(session, row.domain_id, entry, now);
  if (told && !added) return { kind: 'repeated', domain: row.domain };
  // The same wish for two messages is one entry; each of the messages has its event once.
  appendEvent(session, event, subject);
  return { kind: 'unsubscribed', domain: row.domain };
});

/** The message was deleted: its event is not linked to one, and only the existing entry shows a repetition. */
function unsubscribeLater(
  session: Session,
  { deliveryId, event, rule, now }: ParamsOf<'unsubscribe'>,
): ResultOf<'unsubscribe'> {
  const reader = optOutReader(session.db, deliveryId);
  if (reader === null) return { kind: 'unknown' };
  const { domainId, domain, address } = reader;
  const entry = unsubscribed(address, null, rule);
  if (!insertSuppression(session, domainId, entry, now)) return { kind: 'repeated', domain };
  const detail = { ...event.detail, recipient: address };
  appendEvent(session, { ...event, detail }, { domainId, messageSeq: null, deliveryId: null });
  return { kind: 'unsubscribed', domain };
}

function rowOf(db: Connection, deliveryId: number): ReadRow | undefined {
  return db.get<ReadRow>(
    `SELECT ${READ_COLUMNS} FROM delivery d CROSS JOIN message m ON m.seq = d.message_seq
     CROSS JOIN name n ON n.id = m.domain_id WHERE d.id = ? AND ${NOT_ERASED}`,
    deliveryId,
  );
}
