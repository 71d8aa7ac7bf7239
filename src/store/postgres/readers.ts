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
import type { Db } from './engine/db.ts';
import type { ParamsOf, ResultOf } from './engine/operation.ts';
import { read, write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';
import { appendEvent, isStored } from './events.ts';
import { optOutReader } from './opt-outs.ts';
import { insertSuppression } from './suppressions.ts';

export const readTokenSlots = read('readTokenSlots', async (db, { messageSeq }) => {
  const sql = 'SELECT places FROM content WHERE message_seq = $1';
  const row = await db.get<{ places: string | null }>(sql, messageSeq);
  return row === undefined || row.places === null ? null : (JSON.parse(row.places) as TokenSlots);
});

export const knowsOptOut = read('knowsOptOut', async (db, { deliveryId }) => {
  const kept =
    (await db.get(`SELECT FROM delivery d WHERE d.id = $1 AND ${NOT_ERASED}`, deliveryId)) !== undefined;
  return kept || (await optOutReader(db, deliveryId)) !== null;
});

export const appendReaderFacts = write('appendReaderFacts', async (session, params) => {
  let stored = 0;
  for (const fact of params.facts) {
    const row = await rowOf(session.db, fact.deliveryId);
    if (row === undefined) continue;
    const event = readerEvent(fact, row, params.quickMs);
    stored += 1;
    if (!(await isStored(session.db, row.domain_id, event)))
      await appendEvent(session, event, readSubject(row, fact.deliveryId));
  }
  return stored;
});

export const unsubscribe = write('unsubscribe', async (session, params) => {
  const { db } = session;
  const { deliveryId, event, now } = params;
  const row = await rowOf(db, deliveryId, 'FOR UPDATE OF d');
  if (row === undefined) return unsubscribeLater(session, params);
  const subject = readSubject(row, deliveryId);
  const told =
    (await db.get(
      'SELECT FROM event WHERE message_seq = $1 AND delivery_id = $2 AND kind = $3 LIMIT 1',
      ...[subject.messageSeq, deliveryId, eventKindCode.of('unsubscribed')],
    )) !== undefined;
  // Simulated mail never suppresses.
  const entry = unsubscribed(row.address, row.message_id, params.rule);
  // Simulated mail never suppresses.
  const added = row.sandbox === null && (await insertSuppression(session, row.domain_id, entry, now));
  if (told && !added) return { kind: 'repeated', domain: row.domain };
  // The same wish for two messages is one entry; each of the messages has its event once.
  await appendEvent(session, event, subject);
  return { kind: 'unsubscribed', domain: row.domain };
});

/** The message was deleted: its event is not linked to one, and only the existing entry shows a repetition. */
async function unsubscribeLater(
  session: Session,
  { deliveryId, event, rule, now }: ParamsOf<'unsubscribe'>,
): Promise<ResultOf<'unsubscribe'>> {
  const reader = await optOutReader(session.db, deliveryId);
  if (reader === null) return { kind: 'unknown' };
  const { domainId, domain, address } = reader;
  const entry = unsubscribed(address, null, rule);
  if (!(await insertSuppression(session, domainId, entry, now))) return { kind: 'repeated', domain };
  const detail = { ...event.detail, recipient: address };
  await appendEvent(session, { ...event, detail }, { domainId, messageSeq: null, deliveryId: null });
  return { kind: 'unsubscribed', domain };
}

function rowOf(db: Db, deliveryId: number, lock: 'FOR UPDATE OF d' | '' = '') {
  return db.get<ReadRow>(
    `SELECT ${READ_COLUMNS} FROM delivery d JOIN message m ON m.seq = d.message_seq JOIN name n ON n.id = m.domain_id
     WHERE d.id = $1 AND ${NOT_ERASED} ${lock}`,
    deliveryId,
  );
}
