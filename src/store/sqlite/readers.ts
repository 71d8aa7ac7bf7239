/**
 * Opens, clicks and unsubscribes: facts proved by a token instead of a lease. The sender domain and the message of a
 * delivery are looked up here, so nobody can record a fact about another domain's mail. A deleted delivery gets no
 * facts.
 */

import { uuidText } from '../../lib/ids.ts';
import type { TokenSlots } from '../../model/personal.ts';
import { eventKindCode, stateCode } from '../shared/codes.ts';
import type { EventSubject } from '../shared/rows/events.ts';
import type { Connection } from './engine/connection.ts';
import type { ParamsOf, ResultOf } from './engine/operation.ts';
import { read, write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';
import { appendEvent, isStored } from './events.ts';
import { optOutReader } from './opt-outs.ts';
import { insertSuppression } from './suppressions.ts';

export const readPlaces = read('readPlaces', 'by key', (db, params) => {
  const row = db.get<{ places: string | null }>(
    'SELECT places FROM content WHERE message_seq = ?',
    params.messageSeq,
  );
  return row === undefined || row.places === null ? null : (JSON.parse(row.places) as TokenSlots);
});

export const knowsOptOut = read('knowsOptOut', 'by key', (db, { deliveryId }) => {
  const kept = db.get('SELECT 1 FROM delivery WHERE id = ?', deliveryId) !== undefined;
  return kept || optOutReader(db, deliveryId) !== null;
});

export const appendReaderFacts = write(
  'appendReaderFacts',
  'by key',
  { synced: true, patient: 'facts' },
  (session, params) => {
    let stored = 0;
    for (const { deliveryId, ...fact } of params.facts) {
      const found = subjectOf(session.db, deliveryId);
      if (found === null) continue;
      const quick = fact.kind === 'clicked' && found.delivered && fact.at < found.updatedAt + params.quickMs;
      const event =
        quick && fact.detail?.bot !== true
          ? { ...fact, detail: { ...fact.detail, bot: true, reason: TOO_QUICK } }
          : fact;
      stored += 1;
      if (!isStored(session.db, found.subject.domainId, event)) appendEvent(session, event, found.subject);
    }
    return stored;
  },
);

const TOO_QUICK = 'followed within a second of the delivery';

export const unsubscribe = write('unsubscribe', 'by key', { synced: true }, (session, params) => {
  const { db } = session;
  const { deliveryId, event, now } = params;
  const found = subjectOf(db, deliveryId);
  if (found === null) return unsubscribeLater(session, params);
  const { subject, domain } = found;
  const told =
    db.get<{ one: number }>(
      'SELECT 1 AS one FROM event INDEXED BY event_message WHERE message_seq = ? AND delivery_id = ? AND kind = ?',
      subject.messageSeq,
      deliveryId,
      eventKindCode.of('unsubscribed'),
    ) !== undefined;
  // Simulated mail never suppresses.
  const added =
    !found.sandbox &&
    insertSuppression(
      session,
      subject.domainId,
      {
        address: found.address,
        reason: 'Unsubscribe',
        note: '',
        expiresAt: null,
        source: { messageId: found.messageId, reply: '', rule: params.rule },
      },
      now,
    );
  if (told && !added) return { kind: 'repeated', domain };
  // The same wish for two messages is one entry; each of the messages has its event once.
  appendEvent(session, event, subject);
  return { kind: 'unsubscribed', domain };
});

/** The message was deleted: its event is not linked to one, and only the existing entry shows a repetition. */
function unsubscribeLater(
  session: Session,
  { deliveryId, event, rule, now }: ParamsOf<'unsubscribe'>,
): ResultOf<'unsubscribe'> {
  const reader = optOutReader(session.db, deliveryId);
  if (reader === null) return { kind: 'unknown' };
  const { domainId, domain, address } = reader;
  const source = { messageId: '', reply: '', rule };
  const entry = { address, reason: 'Unsubscribe' as const, note: '', expiresAt: null, source };
  if (!insertSuppression(session, domainId, entry, now)) return { kind: 'repeated', domain };
  const detail = { ...event.detail, recipient: address };
  appendEvent(session, { ...event, detail }, { domainId, messageSeq: null, deliveryId: null });
  return { kind: 'unsubscribed', domain };
}

interface Found {
  subject: EventSubject;
  domain: string;
  messageId: string;
  address: string;
  sandbox: boolean;
  delivered: boolean;
  updatedAt: number;
}

function subjectOf(db: Connection, deliveryId: number): Found | null {
  const row = db.get<{
    message_seq: number;
    domain_id: number;
    domain: string;
    message_id: Uint8Array;
    address: string;
    sandbox: number | null;
    state: number;
    updated_at: number;
  }>(
    `SELECT d.message_seq, m.domain_id, n.text AS domain, m.id AS message_id, d.address, d.sandbox, d.state, d.updated_at
     FROM delivery d CROSS JOIN message m ON m.seq = d.message_seq CROSS JOIN name n ON n.id = m.domain_id
     WHERE d.id = ?`,
    deliveryId,
  );
  if (row === undefined) return null;
  return {
    subject: { domainId: row.domain_id, messageSeq: row.message_seq, deliveryId },
    domain: row.domain,
    messageId: uuidText(row.message_id),
    address: row.address,
    sandbox: row.sandbox !== null,
    delivered: row.state === stateCode.of('delivered'),
    updatedAt: row.updated_at,
  };
}
