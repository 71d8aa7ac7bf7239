/**
 * Returned mail. A fact about one delivery, its event, the webhook calls, the new state and the suppression are one
 * transaction, and a row in `return_fact` prevents repeating it. The only change of state is delivered → bounced; other
 * facts are only in the timeline.
 */
import type { MessageId } from '../../../model/message.ts';
import { suppressionKey } from '../../../model/suppression.ts';
import type { OutcomeRates, ReturnFact, ReturnResult, ReturnSubject } from '../../topics/returns.ts';
import { eventKindCode, returnKindCode, routeCode, stateCode, suppressionReasonCode } from '../codes.ts';
import { NOT_ERASED } from '../erased.ts';
import { count, type Db, read, type Session, write } from '../operation.ts';
import type { EventSubject } from '../rows/events.ts';
import { idOf, isTrue, type StoredFlag, type StoredId } from '../stored.ts';
import { applySignal, tellChanges } from '../suppressing.ts';
import type { Work } from '../work.ts';

const MAX_SUBJECTS = 1000;
/** Of a message, oldest first: opens and clicks, of which there may be many, come after its deliveries. */
const MAX_EVENTS_READ = 2_000;

/** Of a sender domain's complaints, oldest first, for another one of the same person. */
const MAX_COMPLAINTS_READ = 1_000;
/** An event is made before the entry of its complaint, and another node's clock may be behind. */
const COMPLAINTS_BEFORE_MS = 10 * 60_000;

/** Of delivery `d` and its message `m`. */
const SUBJECT_COLUMNS = `d.id, d.address, d.state, d.route, d.sandbox IS NOT NULL AS sandbox, m.id AS message_id,
  d.message_seq, d.updated_at`;

interface SubjectRow {
  id: number;
  address: string;
  state: number;
  route: number | null;
  sandbox: StoredFlag;
  message_id: StoredId;
  message_seq: number;
  updated_at: number;
}

/** `sentAt`: when it was last delivered, if that is known. */
function returnSubject(row: SubjectRow, sentAt: number | undefined): ReturnSubject {
  return {
    deliveryId: row.id,
    messageId: idOf(row.message_id) as MessageId,
    address: row.address,
    route: row.route === null ? null : routeCode.word(row.route),
    sandbox: isTrue(row.sandbox),
    sentAt: sentAt ?? row.updated_at,
  };
}

/** Of delivery `d` and its message `m`. */
const RETURNED_COLUMNS =
  'd.id, d.state, d.attempts, d.address, d.notify, d.message_seq, m.id AS message_id, m.domain_id';

interface ReturnedRow {
  id: number;
  state: number;
  attempts: number;
  address: string;
  notify: number | null;
  message_seq: number;
  message_id: StoredId;
  domain_id: number;
}

/** The entry of a complaint that is withdrawn. */
interface ComplaintEntry {
  id: number;
  created_at: number;
  message_id: StoredId | null;
}

/** A recipient that a complaint may be about. */
interface ComplaintRow {
  id: number;
  message_seq: number;
  address: string;
}

/**
 * From when on another complaint justifies the entry too: one that came before it, the entry's own aside, was withdrawn, or
 * somebody has taken its entry off the list.
 */
const complaintsFrom = (entry: ComplaintEntry) => entry.created_at - COMPLAINTS_BEFORE_MS;

const [COMPLAINT, NOT_SPAM] = [returnKindCode.of('complaint'), returnKindCode.of('not-spam')];

/** Of what is recorded of a delivery; a simulated complaint is not. */
function stands(facts: readonly { kind: number }[]): boolean {
  const has = (code: number) => facts.some(({ kind }) => kind === code);
  return has(COMPLAINT) && !has(NOT_SPAM);
}

/** The row of `return_fact` that keeps a fact from being recorded again. */
function factRow(fact: ReturnFact, { attempts }: { attempts: number }, at: number) {
  const isOfAttempt = fact.kind === 'bounce' || fact.kind === 'note';
  return {
    delivery_id: fact.deliveryId,
    kind: returnKindCode.of(fact.kind === 'bounce' && fact.shared ? 'shared-bounce' : fact.kind),
    class: isOfAttempt ? fact.class : '',
    attempts: isOfAttempt ? attempts : 0,
    at,
  };
}

/** Whether delivery `d` counts as bounced in the rates of its sender domain. */
const COUNTS_AS_BOUNCED = `d.state = ${stateCode.of('bounced')} AND NOT EXISTS
  (SELECT 1 FROM return_fact f WHERE f.delivery_id = d.id AND f.kind = ${returnKindCode.of('shared-bounce')})`;

/** Events for which a sender domain's rates are looked at. */
const RETURNED_KINDS = (['bounced', 'complained', 'complaint_withdrawn'] as const).map(eventKindCode.of);

/** Of a domain without outcomes. */
const NO_OUTCOMES: OutcomeRates = { outcomes: 0, bounced: 0, complained: 0 };

export const returnSubjects = read('returnSubjects', 'measured', {}, function* (db, params) {
  const [condition, value] =
    'deliveryId' in params
      ? ([`d.id = ? AND ${NOT_ERASED}`, params.deliveryId] as const)
      : 'messageSeq' in params
        ? (['d.message_seq = ?', params.messageSeq] as const)
        : ([
            '{d.message_seq = (SELECT seq FROM message WHERE id = ?)|m.id = ?}',
            db.storedId(params.messageId),
          ] as const);
  if (value === null) return [];
  const rows = yield* db.all<SubjectRow>(
    `SELECT ${SUBJECT_COLUMNS} FROM delivery d {CROSS|} JOIN message m ON m.seq = d.message_seq
     WHERE ${condition} ORDER BY d.id LIMIT ?`,
    value,
    MAX_SUBJECTS,
  );
  // A recipient that counts as delivered has not changed since; for others the events say when it was delivered.
  const [other] = rows.filter(({ state }) => stateCode.word(state) !== 'delivered');
  const sentAt = other === undefined ? new Map<number, number>() : yield* deliveredAt(db, other.message_seq);
  return rows.map((row) => returnSubject(row, sentAt.get(row.id)));
});

/** When the recipients of a message were last delivered, according to its first events. */
function* deliveredAt(db: Db, messageSeq: number): Work<Map<number, number>> {
  const rows = yield* db.all<{ delivery_id: number; at: number }>(
    `SELECT delivery_id, max(at) AS at FROM (SELECT delivery_id, kind, at FROM event {INDEXED BY event_message|}
       WHERE message_seq = ? ORDER BY seq LIMIT ?) e WHERE kind = ? AND delivery_id IS NOT NULL GROUP BY delivery_id`,
    ...[messageSeq, MAX_EVENTS_READ, eventKindCode.of('delivered')],
  );
  return new Map(rows.map((row) => [row.delivery_id, row.at]));
}

export const recordReturn = write('recordReturn', 'measured', { synced: true }, function* (session, params) {
  const { fact, now } = params;
  // Locked, because an outcome or another report may come at the same moment.
  const row = yield* session.db.get<ReturnedRow>(
    `SELECT ${RETURNED_COLUMNS} FROM delivery d {CROSS|} JOIN message m ON m.seq = d.message_seq
     WHERE d.id = ? AND ${NOT_ERASED} {|FOR UPDATE OF d}`,
    fact.deliveryId,
  );
  if (row === undefined) return 'nothing';
  const subject = { domainId: row.domain_id, messageSeq: row.message_seq, deliveryId: row.id };
  switch (fact.kind) {
    case 'bounce':
      return yield* bounce(session, fact, row, subject, now);
    case 'note':
      if (!(yield* isNew(session, fact, row, now))) return 'repeated';
      yield* session.appendEvent(fact.event, subject);
      return 'recorded';
    case 'complaint':
      if (!(yield* isNew(session, fact, row, now))) return 'repeated';
      if (fact.suppress !== null) yield* lockEntry(session.db, row, suppressionKey(row.address));
      yield* session.appendEvent(fact.event, subject);
      if (fact.suppress !== null) yield* applySignal(session, fact.suppress, subject, row.address, now);
      return 'recorded';
    case 'not-spam':
      return yield* takeBack(session, fact, row, subject, now);
  }
});

/** Whose address a row has: in lower case, without what follows a plus sign in its local part. */
const PERSON = {
  sqlite: `lower(iif(instr(d.address, '+') BETWEEN 2 AND instr(d.address, '@'),
    substr(d.address, 1, instr(d.address, '+') - 1) || substr(d.address, instr(d.address, '@')), d.address))`,
  postgres: String.raw`regexp_replace(lower(d.address), '^([^+@]+)\+[^@]*@', '\1@')`,
};

/** The last events of a kind of the sender domain ?1, at most ?3; with `since` those from ?2 on. */
const newest = (kind: Parameters<typeof eventKindCode.of>[0], since: 'at >= ?2' | 'true'): string =>
  `SELECT delivery_id, at FROM (SELECT delivery_id, at FROM event {INDEXED BY event_kind|}
     WHERE domain_id = ?1 AND kind = ${eventKindCode.of(kind)} AND ${since} ORDER BY at DESC LIMIT ?3) k`;

export const outcomeRates = read(
  'outcomeRates',
  'measured',
  { search: true },
  function* (db, { domain, window }) {
    const [domainId] = (yield* db.nameIds([domain])) ?? [];
    if (domainId === undefined) return NO_OUTCOMES;
    const person = PERSON[db.engine];
    // Sandbox mail is skipped, up to a limit.
    const row = yield* db.get<{ outcomes: number; bounced: number; oldest: number | null }>(
      `SELECT count(*) AS outcomes, count(DISTINCT person) FILTER (WHERE bounced) AS bounced, min(at) AS oldest
       FROM (SELECT ${COUNTS_AS_BOUNCED} AS bounced, ${person} AS person, max(o.at) AS at
         FROM (${newest('delivered', 'true')} UNION ALL ${newest('bounced', 'true')}) o
           {CROSS|} JOIN delivery d ON d.id = o.delivery_id
         WHERE d.sandbox IS NULL GROUP BY d.id ORDER BY max(o.at) DESC LIMIT ?2) n`,
      ...[domainId, window, 4 * window],
    );
    if (row === undefined || row.oldest === null) return NO_OUTCOMES;
    // In PostgreSQL an era whose deliveries are looked at would read again what NOT IN names.
    const complained = yield* count(
      db,
      `SELECT count(DISTINCT ${person}) AS n FROM (${newest('complained', 'at >= ?2')}) e
         {CROSS|} JOIN delivery d ON d.id = e.delivery_id
       WHERE d.sandbox IS NULL AND {d.id NOT IN|NOT EXISTS} (SELECT {w.delivery_id|} FROM (${newest('complaint_withdrawn', 'at >= ?2')}) w
         WHERE {w.delivery_id IS NOT NULL|w.delivery_id = d.id})`,
      ...[domainId, row.oldest, 4 * window],
    );
    return { outcomes: row.outcomes, bounced: row.bounced, complained };
  },
);

export const returnedDomains = read(
  'returnedDomains',
  'measured',
  { search: true },
  function* (db, { afterSeq, look }) {
    const horizon = yield* db.safeEventSeq();
    const end = yield* db.get<{ seq: number }>(
      'SELECT seq FROM event WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT 1 OFFSET ?',
      ...[afterSeq, horizon, look - 1],
    );
    const rows = yield* db.all<{ text: string }>(
      `SELECT DISTINCT n.text FROM event e {CROSS|} JOIN name n ON n.id = e.domain_id
       WHERE e.seq > ? AND e.seq <= ? AND e.kind IN (${RETURNED_KINDS.join(', ')}) ORDER BY n.text`,
      afterSeq,
      end?.seq ?? horizon,
    );
    return { domains: rows.map(({ text }) => text), nextSeq: end?.seq ?? null };
  },
);

type Subject = EventSubject & { messageSeq: number };

function* bounce(
  session: Session,
  fact: Extract<ReturnFact, { kind: 'bounce' }>,
  row: ReturnedRow,
  subject: Subject,
  now: number,
): Work<ReturnResult> {
  const state = stateCode.word(row.state);
  // The remote may report before our own record of its "250": when asked again, the delivery is there.
  if (state === 'sending' && fact.mayWait) return 'under-way';
  if (!(yield* isNew(session, fact, row, now))) return 'repeated';
  if (state !== 'delivered') {
    yield* session.appendEvent(fact.note, subject);
    return 'noted';
  }
  yield* session.db.run(
    'UPDATE delivery SET state = ?, last_category = ?, last_reply = ?, last_code = ?, updated_at = ? WHERE id = ?',
    ...[stateCode.of('bounced'), fact.class, fact.lastReply, fact.lastCode, now, row.id],
  );
  const eventSeq = yield* session.appendEvent(fact.event, subject);
  if (row.notify !== null) {
    const { message_seq: messageSeq, id: deliveryId, notify } = row;
    yield* session.noteFact({ messageSeq, deliveryId, notify, kind: 'failure', eventSeq, at: now });
  }
  if (fact.suppress !== null) yield* applySignal(session, fact.suppress, subject, row.address, now);
  return 'recorded';
}

function* takeBack(
  session: Session,
  fact: Extract<ReturnFact, { kind: 'not-spam' }>,
  row: ReturnedRow,
  subject: Subject,
  now: number,
): Work<ReturnResult> {
  const { db } = session;
  const complaint = 'SELECT 1 FROM return_fact WHERE delivery_id = ? AND kind = ? LIMIT 1';
  if ((yield* db.get(complaint, row.id, COMPLAINT)) === undefined) return 'nothing';
  if (!(yield* isNew(session, fact, row, now))) return 'repeated';
  // Only the entry of this message's complaint: one made by hand, or by other mail, stays.
  const key = suppressionKey(row.address);
  const entry = yield* lockEntry(db, row, key);
  if (entry !== undefined && entry.message_id !== null && idOf(entry.message_id) === idOf(row.message_id)) {
    const other = yield* otherComplaint(db, row.domain_id, key, entry);
    if (other === undefined) {
      yield* db.run('DELETE FROM suppression WHERE id = ?', entry.id);
      yield* tellChanges(session, row.domain_id, [{ key, reason: 'Complaint', lifted: true }]);
    } else {
      const sql = 'UPDATE suppression SET message_id = (SELECT id FROM message WHERE seq = ?) WHERE id = ?';
      yield* db.run(sql, other.message_seq, entry.id);
    }
  }
  yield* session.appendEvent(fact.event, subject);
  return 'recorded';
}

/** So that a complaint and the withdrawal of another one of the same person see each other. */
function lockEntry(
  db: Db,
  { domain_id: domainId }: ReturnedRow,
  key: string,
): Work<ComplaintEntry | undefined> {
  return db.get(
    `SELECT id, created_at, message_id FROM suppression WHERE domain_id = ? AND key = ? AND reason = ? {|FOR UPDATE}`,
    ...[domainId, key, suppressionReasonCode.of('Complaint')],
  );
}

/** A complaint of the same person that still justifies the entry. */
function* otherComplaint(
  db: Db,
  domainId: number,
  key: string,
  entry: ComplaintEntry,
): Work<ComplaintRow | undefined> {
  const rows = yield* db.all<ComplaintRow>(
    `SELECT d.id, d.message_seq, d.address FROM (SELECT delivery_id, at FROM event {INDEXED BY event_kind|}
       WHERE domain_id = ? AND kind = ? AND at >= ? ORDER BY at LIMIT ?) e
     {CROSS JOIN delivery d ON d.id = e.delivery_id|
      CROSS JOIN LATERAL (SELECT id, message_seq, address FROM delivery WHERE id = e.delivery_id OFFSET 0) d
      ORDER BY e.at, d.id}`,
    ...[domainId, eventKindCode.of('complained'), complaintsFrom(entry), MAX_COMPLAINTS_READ],
  );
  for (const row of rows) {
    if (suppressionKey(row.address) !== key) continue;
    const sql = 'SELECT kind FROM return_fact WHERE delivery_id = ?';
    if (stands(yield* db.all<{ kind: number }>(sql, row.id))) return row;
  }
  return undefined;
}

function* isNew({ db }: Session, fact: ReturnFact, row: ReturnedRow, now: number): Work<boolean> {
  return (yield* db.insert('return_fact', factRow(fact, row, now), 'ON CONFLICT DO NOTHING')) > 0;
}
