/**
 * Returned mail. A fact about one delivery, its event, the webhook calls, the new state and the suppression are one
 * transaction, and a row in `return_fact` prevents repeating it. The only change of state is delivered → bounced; other
 * facts are only in the timeline.
 */

import { suppressionKey } from '../../model/suppression.ts';
import { eventKindCode, returnKindCode, stateCode, suppressionReasonCode } from '../shared/codes.ts';
import { NOT_ERASED } from '../shared/mask.ts';
import type { EventSubject } from '../shared/rows/events.ts';
import {
  COUNTS_AS_BOUNCED,
  type ComplaintEntry,
  type ComplaintRow,
  complaintsFrom,
  factRow,
  MAX_COMPLAINTS_READ,
  MAX_EVENTS_READ,
  MAX_SUBJECTS,
  NO_OUTCOMES,
  RETURNED_COLUMNS,
  RETURNED_KINDS,
  type ReturnedRow,
  returnSubject,
  SUBJECT_COLUMNS,
  type SubjectRow,
  stands,
} from '../shared/rows/returns.ts';
import type { ReturnFact, ReturnResult } from '../topics/returns.ts';
import { int2s } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import { read, write } from './engine/operation.ts';
import { findNameId, type Session } from './engine/session.ts';
import { appendEvent, isId } from './events.ts';
import { noteFacts } from './notices.ts';
import { applySignal, tellChanges } from './suppressions.ts';

export const returnSubjects = read('returnSubjects', async (db, params) => {
  const [condition, value] =
    'deliveryId' in params
      ? ([`d.id = $1 AND ${NOT_ERASED}`, params.deliveryId] as const)
      : 'messageSeq' in params
        ? (['d.message_seq = $1', params.messageSeq] as const)
        : (['m.id = $1', isId(params.messageId) ? params.messageId : null] as const);
  if (value === null) return [];
  const rows = await db.all<SubjectRow>(
    `SELECT ${SUBJECT_COLUMNS}
       FROM delivery d JOIN message m ON m.seq = d.message_seq
       WHERE ${condition} ORDER BY d.id LIMIT $2`,
    value,
    MAX_SUBJECTS,
  );
  // A recipient that counts as delivered has not changed since; for others the events say when it was delivered.
  const [other] = rows.filter(({ state }) => stateCode.word(state) !== 'delivered');
  const sentAt = other === undefined ? new Map<number, number>() : await deliveredAt(db, other.message_seq);
  return rows.map((row) => returnSubject(row, sentAt.get(row.id)));
});

/** When the recipients of a message were last delivered, according to its first events. */
async function deliveredAt(db: Db, messageSeq: number): Promise<Map<number, number>> {
  const rows = await db.all<{ delivery_id: number; at: number }>(
    `SELECT delivery_id, max(at) AS at FROM (SELECT delivery_id, kind, at FROM event
       WHERE message_seq = $1 ORDER BY seq LIMIT $2) e WHERE kind = $3 AND delivery_id IS NOT NULL GROUP BY delivery_id`,
    ...[messageSeq, MAX_EVENTS_READ, eventKindCode.of('delivered')],
  );
  return new Map(rows.map((row) => [row.delivery_id, row.at]));
}

export const recordReturn = write('recordReturn', async (session, params) => {
  const { fact, now } = params;
  // Locked, because an outcome or another report may come at the same moment.
  const row = await session.db.get<ReturnedRow<string>>(
    `SELECT ${RETURNED_COLUMNS}
     FROM delivery d JOIN message m ON m.seq = d.message_seq WHERE d.id = $1 AND ${NOT_ERASED} FOR UPDATE OF d`,
    fact.deliveryId,
  );
  if (row === undefined) return 'nothing';
  const subject = { domainId: row.domain_id, messageSeq: row.message_seq, deliveryId: row.id };
  switch (fact.kind) {
    case 'bounce':
      return bounce(session, fact, row, subject, now);
    case 'note':
      if (!(await isNew(session, fact, row, now))) return 'repeated';
      await appendEvent(session, fact.event, subject);
      return 'recorded';
    case 'complaint':
      if (!(await isNew(session, fact, row, now))) return 'repeated';
      if (fact.suppress !== null) await lockEntry(session.db, row, suppressionKey(row.address));
      await appendEvent(session, fact.event, subject);
      if (fact.suppress !== null) await applySignal(session, fact.suppress, subject, row.address, now);
      return 'recorded';
    case 'not-spam':
      return takeBack(session, fact, row, subject, now);
  }
});

/** Whose address a row has: in lower case, without what follows a plus sign in its local part. */
const PERSON = String.raw`regexp_replace(lower(d.address), '^([^+@]+)\+[^@]*@', '\1@')`;

export const outcomeRates = read('outcomeRates', { lane: 'search' }, async (db, params) => {
  const domainId = await findNameId(db, params.domain);
  if (domainId === null) return NO_OUTCOMES;
  const { window } = params;
  // Sandbox mail is skipped, up to a limit.
  const newest = (kind: 'delivered' | 'bounced') => `(SELECT delivery_id, at FROM event
      WHERE domain_id = $1 AND kind = ${eventKindCode.of(kind)} ORDER BY at DESC LIMIT 4 * $2::int8)`;
  const row = await db.get<{ outcomes: number; bounced: number; oldest: number | null }>(
    `SELECT count(*) AS outcomes, count(DISTINCT person) FILTER (WHERE bounced) AS bounced, min(at) AS oldest
     FROM (SELECT ${COUNTS_AS_BOUNCED} AS bounced, ${PERSON} AS person, max(o.at) AS at
       FROM (${newest('delivered')} UNION ALL ${newest('bounced')}) o JOIN delivery d ON d.id = o.delivery_id
       WHERE d.sandbox IS NULL GROUP BY d.id ORDER BY max(o.at) DESC LIMIT $2) n`,
    domainId,
    window,
  );
  if (row === undefined || row.oldest === null) return NO_OUTCOMES;
  const since = (kind: 'complained' | 'complaint_withdrawn') => `SELECT delivery_id FROM event
       WHERE domain_id = $1 AND kind = ${eventKindCode.of(kind)} AND at >= $2 ORDER BY at DESC LIMIT $3`;
  const complaints = await db.get<{ n: number }>(
    `SELECT count(DISTINCT ${PERSON}) AS n FROM (${since('complained')}) e JOIN delivery d ON d.id = e.delivery_id
     WHERE d.sandbox IS NULL AND NOT EXISTS
       (SELECT FROM (${since('complaint_withdrawn')}) w WHERE w.delivery_id = d.id)`,
    ...[domainId, row.oldest, 4 * window],
  );
  return { outcomes: row.outcomes, bounced: row.bounced, complained: complaints?.n ?? 0 };
});

export const returnedDomains = read('returnedDomains', { lane: 'search' }, async (db, params, shared) => {
  const { afterSeq, look } = params;
  // Above the horizon, an event with a smaller number may still appear.
  const horizon = await shared.horizon.safe();
  const end = await db.get<{ seq: number }>(
    'SELECT seq FROM event WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT 1 OFFSET $3',
    ...[afterSeq, horizon, look - 1],
  );
  const rows = await db.all<{ text: string }>(
    `SELECT DISTINCT n.text FROM event e JOIN name n ON n.id = e.domain_id
     WHERE e.seq > $1 AND e.seq <= $2 AND e.kind = ANY ($3::int2[]) ORDER BY n.text`,
    afterSeq,
    end?.seq ?? horizon,
    int2s(RETURNED_KINDS),
  );
  return { domains: rows.map(({ text }) => text), nextSeq: end?.seq ?? null };
});

type Subject = EventSubject & { messageSeq: number };

async function bounce(
  session: Session,
  fact: Extract<ReturnFact, { kind: 'bounce' }>,
  row: ReturnedRow<string>,
  subject: Subject,
  now: number,
): Promise<ReturnResult> {
  const state = stateCode.word(row.state);
  // The remote may report before our own record of its "250": when asked again, the delivery is there.
  if (state === 'sending' && fact.mayWait) return 'under-way';
  if (!(await isNew(session, fact, row, now))) return 'repeated';
  if (state !== 'delivered') {
    await appendEvent(session, fact.note, subject);
    return 'noted';
  }
  await session.db.run(
    `UPDATE delivery SET state = $1, last_category = $2, last_reply = $3, last_code = $4, updated_at = $5 WHERE id = $6`,
    ...[stateCode.of('bounced'), fact.class, fact.lastReply, fact.lastCode, now, row.id],
  );
  const eventSeq = await appendEvent(session, fact.event, subject);
  if (row.notify !== null) {
    const { message_seq: messageSeq, id: deliveryId, notify } = row;
    await noteFacts(session, [{ messageSeq, deliveryId, notify, kind: 'failure', eventSeq, at: now }]);
  }
  if (fact.suppress !== null) await applySignal(session, fact.suppress, subject, row.address, now);
  return 'recorded';
}

async function takeBack(
  session: Session,
  fact: Extract<ReturnFact, { kind: 'not-spam' }>,
  row: ReturnedRow<string>,
  subject: Subject,
  now: number,
): Promise<ReturnResult> {
  const complaint = await session.db.get(
    'SELECT FROM return_fact WHERE delivery_id = $1 AND kind = $2 LIMIT 1',
    row.id,
    returnKindCode.of('complaint'),
  );
  if (complaint === undefined) return 'nothing';
  if (!(await isNew(session, fact, row, now))) return 'repeated';
  // Only the entry of this message's complaint: one made by hand, or by other mail, stays.
  const key = suppressionKey(row.address);
  const entry = await lockEntry(session.db, row, key);
  if (entry?.message_id === row.message_id) {
    const other = await otherComplaint(session.db, row.domain_id, key, entry);
    if (other === undefined) {
      await session.db.run('DELETE FROM suppression WHERE id = $1', entry.id);
      await tellChanges(session, row.domain_id, [{ key, reason: 'Complaint', lifted: true }]);
    } else {
      const sql = 'UPDATE suppression SET message_id = (SELECT id FROM message WHERE seq = $1) WHERE id = $2';
      await session.db.run(sql, other.message_seq, entry.id);
    }
  }
  await appendEvent(session, fact.event, subject);
  return 'recorded';
}

/** So that a complaint and the withdrawal of another one of the same person see each other. */
function lockEntry(
  db: Db,
  { domain_id: domainId }: ReturnedRow<string>,
  key: string,
): Promise<(ComplaintEntry & { message_id: string | null }) | undefined> {
  return db.get(
    `SELECT id, created_at, message_id FROM suppression WHERE domain_id = $1 AND key = $2 AND reason = $3 FOR UPDATE`,
    ...[domainId, key, suppressionReasonCode.of('Complaint')],
  );
}

/** A complaint of the same person that still justifies the entry. */
async function otherComplaint(
  db: Db,
  domainId: number,
  key: string,
  entry: ComplaintEntry,
): Promise<ComplaintRow | undefined> {
  const rows = await db.all<ComplaintRow>(
    `SELECT d.id, d.message_seq, d.address FROM (SELECT delivery_id, at FROM event
       WHERE domain_id = $1 AND kind = $2 AND at >= $3 ORDER BY at LIMIT $4) e
     CROSS JOIN LATERAL (SELECT id, message_seq, address FROM delivery WHERE id = e.delivery_id OFFSET 0) d
     ORDER BY e.at, d.id`,
    ...[domainId, eventKindCode.of('complained'), complaintsFrom(entry), MAX_COMPLAINTS_READ],
  );
  for (const row of rows) {
    if (suppressionKey(row.address) !== key) continue;
    const sql = 'SELECT kind FROM return_fact WHERE delivery_id = $1';
    if (stands(await db.all<{ kind: number }>(sql, row.id))) return row;
  }
  return undefined;
}

async function isNew(
  { db }: Session,
  fact: ReturnFact,
  row: ReturnedRow<string>,
  now: number,
): Promise<boolean> {
  return (await db.insert('return_fact', factRow(fact, row, now), 'ON CONFLICT DO NOTHING')) > 0;
}
