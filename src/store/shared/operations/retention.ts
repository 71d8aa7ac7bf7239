/**
 * Retention: finds expired data by reading, and deletes it in small steps. A message is deleted with everything that belongs
 * to it. Searches follow an index from the oldest row and end at the first one that is too young, so their cost depends on
 * what they find, not on what is kept. Rows from a time when the clock was ahead do not end them.
 */
import { anyOf, count, type Db, read, type Session, write } from '../operation.ts';
import { keepOptOuts } from '../rows/opt-outs.ts';
import {
  KEPT_CONTENTS_SQL,
  OLD_CALLS_SQL,
  OLD_MESSAGES_SQL,
  OLDEST_CONTENTS_SQL,
  WAITS,
} from '../rows/retention.ts';
import { isTrue, type StoredFlag } from '../stored.ts';
import type { Work } from '../work.ts';
import { isYoung } from '../young.ts';

const SEARCH = { search: true } as const;

export const findExpired = read('findExpired', 'measured', SEARCH, function* (db, params) {
  const [domainId] = (yield* db.nameIds([params.domain])) ?? [];
  if (domainId === undefined) return { seqs: [], nextSeq: null };
  const rows = yield* db.all<{ seq: number; created_at: number; stays: StoredFlag }>(
    params.what === 'contents' ? KEPT_CONTENTS_SQL : OLD_MESSAGES_SQL,
    ...[domainId, params.afterSeq, params.limit],
  );
  const old = rows.findIndex((row) => isYoung(row.created_at, params));
  const looked = old < 0 ? rows : rows.slice(0, old);
  return {
    seqs: looked.filter((row) => !isTrue(row.stays) && row.created_at < params.before).map(({ seq }) => seq),
    nextSeq: old < 0 && rows.length === params.limit ? (rows.at(-1)?.seq ?? null) : null,
  };
});

export const findOldestContents = read('findOldestContents', 'measured', SEARCH, function* (db, params) {
  const { afterSeq, limit, atLeastBytes } = params;
  const rows = yield* db.all<{ seq: number; size: number; stays: StoredFlag }>(
    OLDEST_CONTENTS_SQL,
    ...[afterSeq, limit],
  );
  const seqs: number[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (bytes >= atLeastBytes) return { seqs, bytes, nextSeq: seqs.at(-1) ?? afterSeq };
    if (isTrue(row.stays)) continue;
    seqs.push(row.seq);
    bytes += row.size;
  }
  return { seqs, bytes, nextSeq: rows.length === limit ? (rows.at(-1)?.seq ?? null) : null };
});

/** Rows of the events of one message, with their calls, that one step deletes: a domain has at most some hundred webhooks. */
const EVENT_ROWS = 1000;
/** Messages that are examined together. */
const AT_ONCE = { sqlite: 1, postgres: 50 };

interface OldMessage {
  seq: number;
  domainId: number;
  personal: number;
  sandbox: StoredFlag;
  createdAt: number;
  stays: StoredFlag;
  /** The oldest events: one more than one step deletes, if it has so many. A list or JSON. */
  events: readonly number[] | string;
  most: number;
  recipients: number;
}

/** `stays`: something waits, or a webhook still needs a call of one of these events. */
const examine = (given: string) => `WITH sized AS MATERIALIZED (
    SELECT g.place, m.seq, m.domain_id, m.personal, m.sandbox, m.created_at, {max|greatest}(8, ${EVENT_ROWS} / (1 +
      (SELECT count(*) FROM webhook w WHERE w.domain_id = m.domain_id))) AS most
    FROM ${given} {CROSS|} JOIN message m ON m.seq = g.seq),
  listed AS MATERIALIZED (
    SELECT s.*, {(SELECT json_group_array(f.seq)|ARRAY(SELECT f.seq} FROM (
      SELECT e.seq, row_number() OVER (ORDER BY e.seq) AS place FROM event e {INDEXED BY event_message|}
      WHERE e.message_seq = s.seq ORDER BY e.seq LIMIT ${EVENT_ROWS + 1}) f WHERE f.place <= s.most + 1) AS events
    FROM sized s)
  SELECT m.seq, m.domain_id AS "domainId", m.personal, m.sandbox, m.created_at AS "createdAt", m.events, m.most,
    (SELECT count(*) FROM delivery d WHERE d.message_seq = m.seq) AS recipients,
    ${WAITS}
      OR EXISTS (SELECT 1 FROM webhook w CROSS JOIN {json_each(m.events) s|unnest(m.events) s (value)}
        {CROSS|} JOIN webhook_call c ON c.webhook_id = w.id AND c.event_seq = s.value AND c.state IN (0, 1)
        WHERE w.domain_id = m.domain_id AND {w.enabled = 1|w.enabled})
      OR EXISTS (SELECT 1 FROM later_call l WHERE l.domain_id = m.domain_id
        AND l.event_seq {IN (SELECT value FROM json_each(m.events))|= ANY (m.events)}) AS stays
  FROM listed m ORDER BY m.place`;

export const purgeMessages = write('purgeMessages', 'measured', { portion: true }, function* (on, params) {
  const { seqs, maxRows } = params;
  let rows = 0;
  let done = 0;
  let messages = 0;
  while (done < seqs.length && rows < maxRows) {
    const next = seqs.slice(done, done + AT_ONCE[on.db.engine]);
    const part = next.slice(0, yield* fitting(on.db, next, maxRows - rows));
    const found = yield* examined(on.db, part);
    const gone: Examined[] = [];
    let long: Examined | undefined;
    let expected = rows;
    for (const seq of part) {
      if (expected >= maxRows) break;
      const message = found.get(seq);
      const isOld = message !== undefined && !isTrue(message.stays);
      long = isOld && message.events.length > message.most ? message : undefined;
      if (long !== undefined) break;
      done += 1;
      if (!isOld) continue;
      gone.push(message);
      expected += 1 + message.recipients + message.events.length;
    }
    rows = Math.max(expected, rows + (yield* dropMessages(on, gone)));
    messages += gone.length;
    if (long === undefined) continue;
    // Very many events: first the oldest of them, and the message itself in a later step.
    yield* dropEvents(on.db, eventsOf({ ...long, events: long.events.slice(0, long.most) }));
    break;
  }
  return { done, messages };
});

type Examined = Omit<OldMessage, 'events'> & { events: readonly number[] };

/** How many of the messages it takes until their recipients are so many rows; at least one. */
function* fitting(db: Db, seqs: readonly number[], most: number): Work<number> {
  if (seqs.length === 1) return 1;
  const given = db.rows('g', { seq: { int8: seqs } });
  const recipients = 'SELECT 1 FROM delivery d WHERE d.message_seq = g.seq LIMIT ?';
  return yield* count(
    db,
    `SELECT count(*) AS n FROM (SELECT sum((SELECT count(*) FROM (${recipients}) d))
         OVER (ORDER BY g.place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM ${given.from}) s
     WHERE coalesce(s.before, 0) < ?`,
    ...[most, ...given.values, most],
  );
}

/** Whoever queues a recipient again waits for this, or is seen. Recipients are locked before their message, as by outcomes. */
function* examined(db: Db, seqs: readonly number[]): Work<ReadonlyMap<number, Examined>> {
  for (const [table, message, order] of [
    ['delivery', 'message_seq', 'id'],
    ['message', 'seq', 'seq'],
  ] as const) {
    const among = anyOf(db, message, seqs);
    const rows = `SELECT 1 FROM ${table} ${among.where()} ORDER BY ${order} {|FOR UPDATE}`;
    yield* count(db, `SELECT count(*) AS n FROM (${rows}) held`, ...among.values());
  }
  const given = db.rows('g', { seq: { int8: seqs } });
  const rows = yield* db.all<OldMessage>(examine(given.from), ...given.values);
  return new Map(
    rows.map(({ events, ...row }) => [
      row.seq,
      { ...row, events: typeof events === 'string' ? (JSON.parse(events) as number[]) : events },
    ]),
  );
}

export const purgeCalls = write('purgeCalls', 'measured', { portion: true }, function* ({ db }, params) {
  const { before, afterId, limit } = params;
  const rows = yield* db.all<{ id: number; created_at: number; updated_at: number; stays: StoredFlag }>(
    OLD_CALLS_SQL,
    ...[afterId, limit],
  );
  const young = rows.findIndex((row) => isYoung(row.created_at, params));
  const old = (young < 0 ? rows : rows.slice(0, young)).filter(
    (row) => row.created_at < before && row.updated_at < before && !isTrue(row.stays),
  );
  const gone = db.filter();
  gone.oneOf(
    'id',
    old.map(({ id }) => id),
  );
  gone.when('updated_at < ?', before);
  const removed = yield* db.run(`DELETE FROM webhook_call ${gone.where()}`, ...gone.values());
  return { removed, nextId: young < 0 && rows.length === limit ? (rows.at(-1)?.id ?? null) : null };
});

/** A key that is just being used again stays: what is sent with it must not be sent twice. */
export const purgeIdempotency = write(
  'purgeIdempotency',
  'measured',
  { portion: true, whole: true },
  ({ db }, { before, limit }) => {
    const old = 'SELECT id FROM idempotency WHERE created_at < ? ORDER BY created_at LIMIT ?';
    return db.run(`DELETE FROM idempotency WHERE id IN (${old} {|FOR UPDATE SKIP LOCKED})`, before, limit);
  },
);

export const purgeLooseEvents = write(
  'purgeLooseEvents',
  'as asked',
  { portion: true },
  function* ({ db }, { before, limit }) {
    const rows = yield* db.all<{ seq: number; domainId: number }>(
      `SELECT seq, domain_id AS "domainId" FROM event {INDEXED BY event_loose|}
       WHERE message_seq IS NULL AND at < ? ORDER BY at LIMIT ?`,
      ...[before, limit],
    );
    yield* dropEvents(db, rows);
    return rows.length;
  },
);

interface DomainEvent {
  seq: number;
  domainId: number;
}

function eventsOf({ events, domainId }: Examined): DomainEvent[] {
  return events.map((seq) => ({ seq, domainId }));
}

/**
 * Deletes events, then their calls, made or only recorded; returns how many rows. A replay locks the event before it makes a
 * call. Calls are found through the webhooks of the domain.
 */
function* dropEvents(db: Db, events: readonly DomainEvent[]): Work<number> {
  const seqs = events.map(({ seq }) => seq);
  const among = anyOf(db, 'seq', seqs);
  const { from, values } = db.rows('g', {
    seq: { int8: seqs },
    domain_id: { int8: events.map(({ domainId }) => domainId) },
  });
  const told = yield* db.run(`DELETE FROM event ${among.where()}`, ...among.values());
  const made = yield* db.run(
    `DELETE FROM webhook_call {WHERE (webhook_id, event_seq) IN (SELECT w.id, g.seq FROM ${from}
         CROSS JOIN webhook w ON w.domain_id = g.domain_id)|AS c USING ${from}
         JOIN webhook w ON w.domain_id = g.domain_id WHERE c.webhook_id = w.id AND c.event_seq = g.seq}`,
    ...values,
  );
  const owed = yield* db.run(
    `DELETE FROM later_call WHERE (domain_id, event_seq) IN (SELECT g.domain_id, g.seq FROM ${from})`,
    ...values,
  );
  return told + made + owed;
}

/** Everything else that is deleted with a message, by its number. */
const HANGING = [
  'capture',
  'content',
  'notice_due',
  'message_notice',
  'message_metadata',
  'delivery',
] as const;

/**
 * Deletes messages and everything that belongs to them except the meaning of their unsubscribe links; returns how many rows.
 */
function* dropMessages(on: Session, messages: readonly Examined[]): Work<number> {
  if (messages.length === 0) return 0;
  const { db } = on;
  let rows = 0;
  for (const message of messages) rows += yield* keepOptOuts(db, message);
  const seqs = messages.map(({ seq }) => seq);
  const their = anyOf(db, 'message_seq', seqs);
  rows += yield* db.run(
    `DELETE FROM return_fact {|AS f USING delivery d}
     WHERE {delivery_id IN (SELECT id FROM delivery ${their.where()})|f.delivery_id = d.id${their.and()}}`,
    ...their.values(),
  );
  rows += yield* dropEvents(db, messages.flatMap(eventsOf));
  for (const table of HANGING) {
    rows += yield* db.run(`DELETE FROM ${table} ${their.where()}`, ...their.values());
  }
  yield* on.forgetContents(messages);
  const own = anyOf(db, 'seq', seqs);
  return rows + (yield* db.run(`DELETE FROM message ${own.where()}`, ...own.values()));
}
