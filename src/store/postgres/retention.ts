/**
 * Retention: finds expired data by reading, and deletes it in small steps. A content is deleted when every recipient of
 * its message is final and no capture of the sandbox shows it; a message is deleted with everything that belongs to it.
 * Searches follow an index from the oldest row and end at the first one that is too young, so their cost depends on
 * what they find, not on what is kept. Rows from a time when the clock was ahead do not
 * end them. Messages are locked before they are examined.
 */
import { ERASED } from '../shared/erased.ts';
import { UNFINISHED } from '../shared/rows/queue.ts';
import { isYoung } from '../shared/young.ts';
import { dropContents, forgetTexts, SHOWN, WAITS } from './contents.ts';
import { int8s, texts } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import { domainsIn } from './engine/domains-in.ts';
import { read, write } from './engine/operation.ts';
import { findNameId } from './engine/session.ts';
import { keepOptOuts } from './opt-outs.ts';

/** The message of content `k`, looked up: a plan that joins reads all of them. */
const ITS_MESSAGE =
  'CROSS JOIN LATERAL (SELECT seq, created_at FROM message WHERE seq = k.message_seq OFFSET 0) m';

/** Contents of one domain, oldest first. */
const KEPT_CONTENTS = `SELECT m.seq, m.created_at, ${WAITS} OR ${SHOWN} AS stays
  FROM (SELECT message_seq FROM content WHERE domain_id = $1 AND message_seq > $2 ORDER BY message_seq LIMIT $3) k
    ${ITS_MESSAGE} ORDER BY k.message_seq`;

/** Messages of one domain, oldest first. */
const OLD_MESSAGES = `SELECT m.seq, m.created_at, ${WAITS} AS stays
  FROM message m WHERE m.domain_id = $1 AND m.seq > $2 ORDER BY m.seq LIMIT $3`;

/** Contents of all domains, oldest first. */
const OLDEST_CONTENTS = `SELECT k.message_seq AS seq, k.size, ${WAITS} OR ${SHOWN} AS stays
  FROM (SELECT message_seq, size FROM content WHERE message_seq > $1 ORDER BY message_seq LIMIT $2) k
    ${ITS_MESSAGE} ORDER BY k.message_seq`;

export const domainsWithMail = read('domainsWithMail', (db) => domainsIn(db, 'message'));

export const findExpired = read('findExpired', { lane: 'search' }, async (db, params) => {
  const domainId = await findNameId(db, params.domain);
  if (domainId === null) return { seqs: [], nextSeq: null };
  const rows = await db.all<{ seq: number; created_at: number; stays: boolean }>(
    params.what === 'contents' ? KEPT_CONTENTS : OLD_MESSAGES,
    domainId,
    params.afterSeq,
    params.limit,
  );
  const old = rows.findIndex((row) => isYoung(row.created_at, params));
  const looked = old < 0 ? rows : rows.slice(0, old);
  return {
    seqs: looked.filter((row) => !row.stays && row.created_at < params.before).map(({ seq }) => seq),
    nextSeq: old < 0 && rows.length === params.limit ? (rows.at(-1)?.seq ?? null) : null,
  };
});

/** Octets of all contents: a scan of a narrow index. */
export const contentBytes = read('contentBytes', { lane: 'search' }, async (db) => {
  return (await db.get<{ n: number | null }>('SELECT sum(size) AS n FROM content'))?.n ?? 0;
});

export const domainUse = read('domainUse', { lane: 'count' }, (db, params) =>
  db.all(
    `SELECT g.domain, coalesce((SELECT sum(k.size) FROM content k WHERE k.domain_id = n.id), 0)
         + coalesce((SELECT sum(length(c.prefix)) FROM capture c WHERE c.domain_id = n.id), 0) AS bytes,
       ${UNFINISHED} AS recipients
     FROM unnest($1::text[]) WITH ORDINALITY g (domain, place) LEFT JOIN name n ON n.text = g.domain ORDER BY g.place`,
    texts(params.domains),
  ),
);

export const findOldestContents = read('findOldestContents', { lane: 'search' }, async (db, params) => {
  const { afterSeq, limit, atLeastBytes } = params;
  const rows = await db.all<{ seq: number; size: number; stays: boolean }>(OLDEST_CONTENTS, afterSeq, limit);
  const seqs: number[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (bytes >= atLeastBytes) return { seqs, bytes, nextSeq: seqs.at(-1) ?? afterSeq };
    if (row.stays) continue;
    seqs.push(row.seq);
    bytes += row.size;
  }
  return { seqs, bytes, nextSeq: rows.length === limit ? (rows.at(-1)?.seq ?? null) : null };
});

export const purgeContents = write('purgeContents', async ({ db }, { seqs, maxBytes }) => {
  const rows = await db.all<{ bytes: number }>(
    `SELECT sum(CASE WHEN ${WAITS} OR ${SHOWN} THEN 0 ELSE coalesce(k.size, 0) END) OVER (ORDER BY g.place) AS bytes
     FROM unnest($1::int8[]) WITH ORDINALITY g (seq, place) LEFT JOIN message m ON m.seq = g.seq
       LEFT JOIN content k ON k.message_seq = g.seq ORDER BY g.place`,
    int8s(seqs),
  );
  const enough = rows.findIndex(({ bytes }) => bytes >= maxBytes);
  const done = enough < 0 ? seqs.length : enough + 1;
  const removed = await dropContents(db, seqs.slice(0, done));
  return { done, removed: removed.length };
});

/** Rows of the events of one message, with their calls, that one step deletes; messages that are examined together. */
const EVENT_ROWS = 1000;
const MESSAGES_AT_ONCE = 50;

interface OldMessage {
  seq: number;
  domainId: number;
  personal: number;
  sandbox: boolean;
  createdAt: number;
  stays: boolean;
  /** The oldest events: one more than one step deletes, if it has so many. */
  events: number[];
  most: number;
  recipients: number;
}

/** `stays`: something waits, or a webhook still needs a call of one of these events. */
const EXAMINE = `SELECT m.seq, m.domain_id AS "domainId", m.personal, m.sandbox, m.created_at AS "createdAt", e.seqs AS events,
    h.most, (SELECT count(*) FROM delivery d WHERE d.message_seq = m.seq) AS recipients,
    ${WAITS} OR EXISTS (SELECT FROM webhook w CROSS JOIN unnest(e.seqs) s (seq)
        JOIN webhook_call c ON c.webhook_id = w.id AND c.event_seq = s.seq AND c.state IN (0, 1)
        WHERE w.domain_id = m.domain_id AND w.enabled)
      OR EXISTS (SELECT FROM later_call l WHERE l.domain_id = m.domain_id AND l.event_seq = ANY (e.seqs)) AS stays
  FROM unnest($1::int8[]) WITH ORDINALITY g (seq, place) JOIN message m ON m.seq = g.seq
    CROSS JOIN LATERAL (SELECT greatest(8, ${EVENT_ROWS} / (1 + count(*))) AS most FROM webhook w
      WHERE w.domain_id = m.domain_id) h
    CROSS JOIN LATERAL (SELECT ARRAY(SELECT e.seq FROM event e WHERE e.message_seq = m.seq
      ORDER BY e.seq LIMIT h.most + 1) AS seqs) e
  ORDER BY g.place`;

export const purgeMessages = write('purgeMessages', async ({ db }, { seqs, maxRows }) => {
  let rows = 0;
  let done = 0;
  let messages = 0;
  while (done < seqs.length && rows < maxRows) {
    const part = await examined(db, seqs.slice(done, done + MESSAGES_AT_ONCE));
    const gone: OldMessage[] = [];
    let long: OldMessage | undefined;
    for (const seq of seqs.slice(done, done + MESSAGES_AT_ONCE)) {
      const message = part.get(seq);
      const isOld = message !== undefined && !message.stays;
      if (rows >= maxRows) break;
      long = isOld && message.events.length > message.most ? message : undefined;
      if (long !== undefined) break;
      done += 1;
      if (!isOld) continue;
      gone.push(message);
      rows += 1 + message.recipients + message.events.length;
    }
    await dropMessages(db, gone);
    messages += gone.length;
    if (long === undefined) continue;
    // Very many events: first the oldest of them, and the message itself in a later step.
    const { domainId, events, most } = long;
    await dropEvents(
      db,
      events.slice(0, most).map((seq) => ({ seq, domainId })),
    );
    break;
  }
  return { done, messages };
});

async function examined(db: Db, seqs: readonly number[]): Promise<ReadonlyMap<number, OldMessage>> {
  // Whoever queues a recipient again waits here, or is seen.
  await db.run('SELECT FROM message WHERE seq = ANY ($1::int8[]) ORDER BY seq FOR UPDATE', int8s(seqs));
  const rows = await db.all<OldMessage>(EXAMINE, int8s(seqs));
  return new Map(rows.map((row) => [row.seq, row]));
}

export const purgeCalls = write('purgeCalls', async ({ db }, params) => {
  const { before, afterId, limit } = params;
  const rows = await db.all<{ id: number; created_at: number; updated_at: number; stays: boolean }>(
    `SELECT c.id, c.created_at, c.updated_at,
       c.state IN (0, 1) AND EXISTS (SELECT FROM webhook w WHERE w.id = c.webhook_id AND w.enabled) AS stays
     FROM webhook_call c WHERE c.id > $1 ORDER BY c.id LIMIT $2`,
    afterId,
    limit,
  );
  const young = rows.findIndex((row) => isYoung(row.created_at, params));
  const old = (young < 0 ? rows : rows.slice(0, young)).filter(
    (row) => row.created_at < before && row.updated_at < before && !row.stays,
  );
  const removed = await db.run(
    'DELETE FROM webhook_call WHERE id = ANY ($1::int8[]) AND updated_at < $2',
    int8s(old.map(({ id }) => id)),
    before,
  );
  return { removed, nextId: young < 0 && rows.length === limit ? (rows.at(-1)?.id ?? null) : null };
});

export const purgeLooseEvents = write('purgeLooseEvents', async ({ db }, { before, limit }) => {
  const rows = await db.all<{ seq: number; domainId: number }>(
    `SELECT seq, domain_id AS "domainId" FROM event WHERE message_seq IS NULL AND at < $1 ORDER BY at LIMIT $2`,
    before,
    limit,
  );
  await dropEvents(db, rows);
  return rows.length;
});

/**
 * Deletes events, then their calls, made or only recorded: a replay locks the event before it makes a call. Calls are
 * found through the webhooks of the domain, as no index begins with the event.
 */
async function dropEvents(db: Db, events: readonly { seq: number; domainId: number }[]): Promise<void> {
  const seqs = int8s(events.map(({ seq }) => seq));
  const domains = int8s(events.map(({ domainId }) => domainId));
  await db.run('DELETE FROM event WHERE seq = ANY ($1::int8[])', seqs);
  await db.run(
    `DELETE FROM webhook_call c USING unnest($1::int8[], $2::int8[]) g (seq, domain_id)
       JOIN webhook w ON w.domain_id = g.domain_id WHERE c.webhook_id = w.id AND c.event_seq = g.seq`,
    seqs,
    domains,
  );
  await db.run(
    `DELETE FROM later_call l USING unnest($1::int8[], $2::int8[]) g (seq, domain_id)
     WHERE l.domain_id = g.domain_id AND l.event_seq = g.seq`,
    seqs,
    domains,
  );
}

/** Deletes messages and everything that belongs to them except the meaning of their unsubscribe links. */
async function dropMessages(db: Db, messages: readonly OldMessage[]): Promise<void> {
  if (messages.length === 0) return;
  for (const message of messages) await keepOptOuts(db, message, ERASED);
  const given = messages.map(({ seq }) => seq);
  const seqs = int8s(given);
  await db.run(
    'DELETE FROM return_fact f USING delivery d WHERE f.delivery_id = d.id AND d.message_seq = ANY ($1::int8[])',
    seqs,
  );
  await dropEvents(
    db,
    messages.flatMap(({ events, domainId }) => events.map((seq) => ({ seq, domainId }))),
  );
  for (const table of HANGING) {
    await db.run(`DELETE FROM ${table} WHERE message_seq = ANY ($1::int8[])`, seqs);
  }
  await forgetTexts(db, given);
  await db.run('DELETE FROM message WHERE seq = ANY ($1::int8[])', seqs);
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
