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
import type { Connection } from './engine/connection.ts';
import { read, write } from './engine/operation.ts';
import { findNameId, type Session } from './engine/session.ts';
import { appendEvent, idBytes } from './events.ts';
import { noteFact } from './notices.ts';
import { applySignal, tellChange } from './suppressions.ts';

export const returnSubjects = read('returnSubjects', 'measured', (db, params) => {
  const [condition, value] =
    'deliveryId' in params
      ? ([`d.id = ? AND ${NOT_ERASED}`, params.deliveryId] as const)
      : 'messageSeq' in params
        ? (['d.message_seq = ?', params.messageSeq] as const)
        : (['d.message_seq = (SELECT seq FROM message WHERE id = ?)', idBytes(params.messageId)] as const);
  if (value === null) return [];
  const rows = db.all<SubjectRow>(
    `SELECT ${SUBJECT_COLUMNS}
       FROM delivery d CROSS JOIN message m ON m.seq = d.message_seq
       WHERE ${condition} ORDER BY d.id LIMIT ?`,
    value,
    MAX_SUBJECTS,
  );
  // A recipient that counts as delivered has not changed since; for others the events say when it was delivered.
  const [other] = rows.filter(({ state }) => stateCode.word(state) !== 'delivered');
  const sentAt = other === undefined ? new Map<number, number>() : deliveredAt(db, other.message_seq);
  return rows.map((row) => returnSubject(row, sentAt.get(row.id)));
});

/** When the recipients of a message were last delivered, according to its first events. */
function deliveredAt(db: Connection, messageSeq: number): Map<number, number> {
  const rows = db.all<{ delivery_id: number; at: number }>(
    `SELECT delivery_id, max(at) AS at FROM (SELECT delivery_id, kind, at FROM event INDEXED BY event_message
       WHERE message_seq = ? ORDER BY seq LIMIT ?) WHERE kind = ? AND delivery_id IS NOT NULL GROUP BY delivery_id`,
    messageSeq,
    MAX_EVENTS_READ,
    eventKindCode.of('delivered'),
  );
  return new Map(rows.map((row) => [row.delivery_id, row.at]));
}

export const recordReturn = write('recordReturn', 'measured', { synced: true }, (session, params) => {
  const { fact, now } = params;
  const row = session.db.get<ReturnedRow<Uint8Array>>(
    `SELECT ${RETURNED_COLUMNS}
     FROM delivery d CROSS JOIN message m ON m.seq = d.message_seq WHERE d.id = ? AND ${NOT_ERASED}`,
    fact.deliveryId,
  );
  if (row === undefined) return 'nothing';
  const subject: EventSubject = { domainId: row.domain_id, messageSeq: row.message_seq, deliveryId: row.id };
  switch (fact.kind) {
    case 'bounce':
      return bounce(session, fact, row, subject, now);
    case 'note':
      if (!isNew(session, fact, row, now)) return 'repeated';
      appendEvent(session, fact.event, subject);
      return 'recorded';
    case 'complaint':
      if (!isNew(session, fact, row, now)) return 'repeated';
      appendEvent(session, fact.event, subject);
      if (fact.suppress !== null) applySignal(session, fact.suppress, subject, row.address, now);
      return 'recorded';
    case 'not-spam':
      return takeBack(session, fact, row, subject, now);
  }
});

/** Whose address a row has: in lower case, without what follows a plus sign in its local part. */
const PERSON = `lower(iif(instr(d.address, '+') BETWEEN 2 AND instr(d.address, '@'),
    substr(d.address, 1, instr(d.address, '+') - 1) || substr(d.address, instr(d.address, '@')), d.address))`;

export const outcomeRates = read('outcomeRates', 'measured', { search: true }, (db, params) => {
  const domainId = findNameId(db, params.domain);
  if (domainId === null) return NO_OUTCOMES;
  const { window } = params;
  // Sandbox mail is skipped, up to a limit.
  const newest = (kind: 'delivered' | 'bounced') => `SELECT delivery_id, at FROM
      (SELECT delivery_id, at FROM event INDEXED BY event_kind
       WHERE domain_id = ? AND kind = ${eventKindCode.of(kind)} ORDER BY at DESC LIMIT ${4 * window})`;
  const row = db.get<{ outcomes: number; bounced: number; oldest: number | null }>(
    `SELECT count(*) AS outcomes, count(DISTINCT iif(bounced, person, NULL)) AS bounced, min(at) AS oldest
     FROM (SELECT ${COUNTS_AS_BOUNCED} AS bounced, ${PERSON} AS person, max(o.at) AS at
       FROM (${newest('delivered')} UNION ALL ${newest('bounced')}) o CROSS JOIN delivery d ON d.id = o.delivery_id
       WHERE d.sandbox IS NULL GROUP BY d.id ORDER BY max(o.at) DESC LIMIT ?)`,
    domainId,
    domainId,
    window,
  );
  if (row === undefined || row.oldest === null) return NO_OUTCOMES;
  const since = (
    kind: 'complained' | 'complaint_withdrawn',
  ) => `SELECT delivery_id FROM event INDEXED BY event_kind
       WHERE domain_id = ? AND kind = ${eventKindCode.of(kind)} AND at >= ? ORDER BY at DESC LIMIT ${4 * window}`;
  const complaints = db.get<{ n: number }>(
    `SELECT count(DISTINCT ${PERSON}) AS n FROM (${since('complained')}) e CROSS JOIN delivery d ON d.id = e.delivery_id
     WHERE d.sandbox IS NULL AND d.id NOT IN (SELECT delivery_id FROM (${since('complaint_withdrawn')}))`,
    ...[domainId, row.oldest, domainId, row.oldest],
  );
  return { outcomes: row.outcomes, bounced: row.bounced, complained: complaints?.n ?? 0 };
});

export const returnedDomains = read('returnedDomains', 'measured', { search: true }, (db, params) => {
  const { afterSeq, look } = params;
  const end = db.get<{ seq: number }>(
    'SELECT seq FROM event WHERE seq > ? ORDER BY seq LIMIT 1 OFFSET ?',
    afterSeq,
    look - 1,
  );
  const rows = db.all<{ text: string }>(
    `SELECT DISTINCT n.text FROM event e CROSS JOIN name n ON n.id = e.domain_id
     WHERE e.seq > ? AND e.seq <= ? AND e.kind IN (?, ?, ?) ORDER BY n.text`,
    afterSeq,
    end?.seq ?? Number.MAX_SAFE_INTEGER,
    ...RETURNED_KINDS,
  );
  return { domains: rows.map(({ text }) => text), nextSeq: end?.seq ?? null };
});

function bounce(
  session: Session,
  fact: Extract<ReturnFact, { kind: 'bounce' }>,
  row: ReturnedRow<Uint8Array>,
  subject: EventSubject,
  now: number,
): ReturnResult {
  const state = stateCode.word(row.state);
  // The remote may report before our own record of its "250": when asked again, the delivery is there.
  if (state === 'sending' && fact.mayWait) return 'under-way';
  if (!isNew(session, fact, row, now)) return 'repeated';
  if (state !== 'delivered') {
    appendEvent(session, fact.note, subject);
    return 'noted';
  }
  session.db.run(
    'UPDATE delivery SET state = ?, last_category = ?, last_reply = ?, last_code = ?, updated_at = ? WHERE id = ?',
    stateCode.of('bounced'),
    fact.class,
    fact.lastReply,
    fact.lastCode,
    now,
    row.id,
  );
  const eventSeq = appendEvent(session, fact.event, subject);
  if (row.notify !== null) {
    const { message_seq: messageSeq, id: deliveryId, notify } = row;
    noteFact(session.db, { messageSeq, deliveryId, notify, kind: 'failure', eventSeq, at: now });
  }
  if (fact.suppress !== null) applySignal(session, fact.suppress, subject, row.address, now);
  return 'recorded';
}

function takeBack(
  session: Session,
  fact: Extract<ReturnFact, { kind: 'not-spam' }>,
  row: ReturnedRow<Uint8Array>,
  subject: EventSubject,
  now: number,
): ReturnResult {
  const complaint = session.db.get(
    'SELECT 1 FROM return_fact WHERE delivery_id = ? AND kind = ?',
    row.id,
    returnKindCode.of('complaint'),
  );
  if (complaint === undefined) return 'nothing';
  if (!isNew(session, fact, row, now)) return 'repeated';
  // Only the entry of this message's complaint: one made by hand, or by other mail, stays.
  const key = suppressionKey(row.address);
  const entry = session.db.get<ComplaintEntry>(
    'SELECT id, created_at FROM suppression WHERE domain_id = ? AND key = ? AND reason = ? AND message_id = ?',
    row.domain_id,
    key,
    suppressionReasonCode.of('Complaint'),
    row.message_id,
  );
  if (entry !== undefined) {
    const other = otherComplaint(session.db, row.domain_id, key, entry);
    if (other === undefined) {
      session.db.run('DELETE FROM suppression WHERE id = ?', entry.id);
      tellChange(session, row.domain_id, { key, reason: 'Complaint', lifted: true });
    } else {
      const sql = 'UPDATE suppression SET message_id = (SELECT id FROM message WHERE seq = ?) WHERE id = ?';
      session.db.run(sql, other.message_seq, entry.id);
    }
  }
  appendEvent(session, fact.event, subject);
  return 'recorded';
}

/** A complaint of the same person that still justifies the entry. */
function otherComplaint(
  db: Connection,
  domainId: number,
  key: string,
  entry: ComplaintEntry,
): ComplaintRow | undefined {
  const rows = db.all<ComplaintRow>(
    `SELECT d.id, d.message_seq, d.address FROM (SELECT delivery_id FROM event INDEXED BY event_kind
       WHERE domain_id = ? AND kind = ? AND at >= ? ORDER BY at LIMIT ?) e CROSS JOIN delivery d ON d.id = e.delivery_id`,
    domainId,
    eventKindCode.of('complained'),
    complaintsFrom(entry),
    MAX_COMPLAINTS_READ,
  );
  const factsOf = (id: number) =>
    db.all<{ kind: number }>('SELECT kind FROM return_fact WHERE delivery_id = ?', id);
  return rows.find(({ id, address }) => suppressionKey(address) === key && stands(factsOf(id)));
}

function isNew({ db }: Session, fact: ReturnFact, row: ReturnedRow<Uint8Array>, now: number): boolean {
  return db.insert('return_fact', factRow(fact, row, now), 'ON CONFLICT DO NOTHING').changes > 0;
}
