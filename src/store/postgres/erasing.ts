/**
 * Erasing a person: an address is masked wherever it occurs, in any case and only as a whole address, and the messages
 * to it are deleted. A suppression stays as a hash with a key of this database, so that it stops mail without
 * containing the address. What the server keeps of deleted rows (until VACUUM, in its log, on replicas) is the operator's.
 */
import type { AddressLists } from '../../model/message.ts';
import { suppressionKey } from '../../model/suppression.ts';
import { ERASED, type Mask, maskLists, maskOf } from '../shared/mask.ts';
import { KEPT_TEXTS } from '../shared/rows/messages.ts';
import { forgetTexts } from './capture-changes.ts';
import { searchedSubject } from './captures.ts';
import { int8s, texts } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import { domainIdsIn } from './engine/domains-in.ts';
import { read, write } from './engine/operation.ts';
import { erasedKey } from './erased-key.ts';
import { forgetOptOuts } from './opt-outs.ts';

/** Approximate rows of messages, recipients and events that one query or step reads. */
const ROWS_AT_ONCE = 2_000;
/** A message with more events counts as one that may mention anybody. */
const EVENTS_READ = 500;

/** An SQL expression that folds an address as `suppressionKey` does. */
const folded = (text: string) => `lower((${text}) COLLATE "und-x-icu")`;
const names = (text: string) => `position($3 IN ${folded(text)}) > 0`;
const textOf = ({ column, isList }: (typeof KEPT_TEXTS)[number]) =>
  `|| coalesce(${isList ? `array_to_string(m.${column}, ' ')` : `m.${column}`}, '')`;

/**
 * $1: seq, $2: limit, $3: the address. The messages after the seq whose rows are read, and whether one may mention
 * the address; only reading a message tells exactly.
 */
const MENTIONS = `WITH page AS MATERIALIZED (SELECT seq FROM message WHERE seq > $1 ORDER BY seq LIMIT $2),
  weighed AS MATERIALIZED (
    SELECT p.seq, e.n AS events, sum(1 + r.n + e.n) OVER (ORDER BY p.seq) - (1 + r.n + e.n) AS before
    FROM page p
      CROSS JOIN LATERAL (SELECT count(*) AS n FROM (SELECT FROM delivery WHERE message_seq = p.seq LIMIT 1000) d) r
      CROSS JOIN LATERAL (SELECT count(*) AS n FROM
        (SELECT FROM event WHERE message_seq = p.seq LIMIT ${EVENTS_READ + 1}) f) e)
  SELECT m.seq, w.events > ${EVENTS_READ}
    OR ${names(`m.lists ${KEPT_TEXTS.map(textOf).join(' ')}`)}
    OR EXISTS (SELECT FROM delivery d WHERE d.message_seq = m.seq
      AND ${names(`d.address || ' ' || coalesce(d.last_reply, '') || coalesce(d.wait_reason, '')`)} OFFSET 0)
    OR EXISTS (SELECT FROM event e WHERE e.message_seq = m.seq AND ${names('e.detail')} OFFSET 0)
    OR EXISTS (SELECT FROM message_notice n WHERE n.message_seq = m.seq
      AND ${names(`n.sender || ' ' || coalesce(n.envid, '') || ' ' || coalesce(n.orcpts, '')`)} OFFSET 0) AS found,
    (SELECT count(*) FROM page) AS looked
  FROM weighed w JOIN message m ON m.seq = w.seq WHERE w.before < ${ROWS_AT_ONCE} ORDER BY m.seq`;

export const findMentions = read('findMentions', { lane: 'search' }, async (db, params) => {
  const { address, afterSeq, limit } = params;
  const key = suppressionKey(address);
  const rows = await db.all<{ seq: number; found: boolean; looked: number }>(MENTIONS, afterSeq, limit, key);
  const seqs = rows.filter(({ found }) => found).map(({ seq }) => seq);
  const waiting = await db.all<{ messageSeq: number; deliveryId: number }>(
    `SELECT message_seq AS "messageSeq", id AS "deliveryId" FROM delivery
     WHERE message_seq = ANY ($1::int8[]) AND state IN (0, 1) AND ${folded('address')} = $2 ORDER BY message_seq, id`,
    int8s(seqs),
    key,
  );
  const newest = await db.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM message');
  const looked = rows[0]?.looked ?? 0;
  const isOver = looked < limit && rows.length === looked;
  return { seqs, waiting, nextSeq: isOver ? null : (rows.at(-1)?.seq ?? null), lastSeq: newest?.seq ?? 0 };
});

export const eraseMessages = write('eraseMessages', async ({ db }, params) => {
  const key = suppressionKey(params.address);
  const mask = maskOf(key);
  const result = { messages: 0, events: 0, pending: 0, done: 0, afterEvent: null as number | null };
  let room = EVENTS_READ;
  for (const seq of params.seqs) {
    if (room <= 0) break;
    const after = result.done === 0 ? (params.afterEvent ?? 0) : 0;
    const sql = 'SELECT seq, detail FROM event WHERE message_seq = $1 AND seq > $2 ORDER BY seq LIMIT $3';
    const told = await db.all<EventText>(sql, seq, after, room);
    const events = await maskEvents(db, told, mask);
    result.events += events;
    if (told.length === room) {
      // It may have more events: the message itself follows after the last of them.
      result.afterEvent = told.at(-1)?.seq ?? 0;
      break;
    }
    const { touched, pending, rows } = await eraseMessage(db, seq, key, mask);
    if (touched || events > 0) result.messages += 1;
    if (pending) result.pending += 1;
    result.done += 1;
    room -= told.length + rows;
  }
  return result;
});

/** The message itself, its recipients, contents and captures. */
async function eraseMessage(
  db: Db,
  seq: number,
  key: string,
  mask: Mask,
): Promise<{ touched: boolean; pending: boolean; rows: number }> {
  const recipients = await maskRecipients(db, seq, key, mask);
  const message = await db.get<MessageTexts>(
    `SELECT lists, from_address, ${KEPT_TEXTS.map(({ column }) => column).join(', ')} FROM message WHERE seq = $1 FOR UPDATE`,
    seq,
  );
  if (message === undefined) return { touched: false, pending: false, rows: 0 };
  const named = maskLists(JSON.parse(message.lists) as AddressLists, key);
  const changed = await maskMessage(db, seq, message, named.lists, key, mask);
  const notices = await maskWish(db, seq, key, mask);
  const isTheirs = named.found || recipients.found;
  if (isTheirs && recipients.waits) {
    await db.run('UPDATE message SET keep_content = false WHERE seq = $1', seq);
  } else if (isTheirs) {
    await db.run('DELETE FROM capture WHERE message_seq = $1', seq);
    await forgetTexts(db, [seq]);
    await db.run('DELETE FROM content WHERE message_seq = $1', seq);
  }
  return {
    touched: isTheirs || changed || notices,
    pending: isTheirs && recipients.waits,
    rows: recipients.rows,
  };
}

export const eraseElsewhere = write('eraseElsewhere', async ({ db }, params) => {
  const key = suppressionKey(params.address);
  if (params.from === null) {
    return { suppressions: await eraseByKey(db, key, params.proposedKey), next: { table: 0, after: '' } };
  }
  const { table, after } = params.from;
  const walk = WALKS[table];
  if (walk === undefined) return { suppressions: 0, next: null };
  const rows = await db.all<WalkedRow>(walk.sql, walk.byText ? String(after) : Number(after), params.limit);
  await walk.erase(db, rows, key, maskOf(key));
  const last = rows.at(-1);
  const isOver = rows.length < params.limit || last === undefined;
  const following = table + 1 < WALKS.length ? { table: table + 1, after: '' } : null;
  return { suppressions: 0, next: isOver ? following : { table, after: last.place } };
});

/** Rows found by an index on the address: one look-up per sender domain. */
async function eraseByKey(db: Db, key: string, proposedKey: Uint8Array): Promise<number> {
  await db.insert(
    'meta',
    { name: 'erasing_key', value: Buffer.from(proposedKey).toString('hex') },
    'ON CONFLICT DO NOTHING',
  );
  const hash = await erasedKey(db, key);
  if (hash === null) throw new Error('The key of erased addresses vanished in its own transaction');
  const own = 'domain_id = ANY ($1::int8[]) AND key = $2';
  const domains = int8s(await domainIdsIn(db, 'suppression'));
  await db.run(
    `DELETE FROM suppression o WHERE domain_id = ANY ($1::int8[]) AND key = $3
       AND EXISTS (SELECT FROM suppression s WHERE s.domain_id = o.domain_id AND s.key = $2 AND s.reason = o.reason)`,
    domains,
    key,
    hash,
  );
  const suppressions = await db.run(
    `UPDATE suppression SET key = $3, address = $4, note = '', reply = NULL, message_id = NULL WHERE ${own}`,
    domains,
    key,
    hash,
    ERASED,
  );
  const evidence = int8s(await domainIdsIn(db, 'suppression_evidence'));
  await db.run(`DELETE FROM suppression_evidence WHERE ${own}`, evidence, key);
  await forgetOptOuts(db, key);
  return suppressions;
}

interface WalkedRow {
  place: string | number;
  text: string;
  more?: string;
}

interface Walk {
  /** $1: the place behind which, $2: limit. */
  sql: string;
  byText: boolean;
  erase(db: Db, rows: readonly WalkedRow[], key: string, mask: Mask): Promise<void>;
}

/** Tables without such an index, read in portions in the order of `place`. */
const WALKS: readonly Walk[] = [
  {
    sql: 'SELECT DISTINCT sender AS place, sender AS text FROM notice_count WHERE sender > $1 ORDER BY sender LIMIT $2',
    byText: true,
    async erase(db, rows, key) {
      const own = rows.filter(({ text }) => suppressionKey(text) === key).map(({ text }) => text);
      await db.run('DELETE FROM notice_count WHERE sender = ANY ($1::text[])', texts(own));
    },
  },
  {
    sql: `SELECT seq AS place, coalesce(recipient, '') AS text FROM sandbox_rule WHERE seq > $1 ORDER BY seq LIMIT $2`,
    byText: false,
    async erase(db, rows, key) {
      const own = rows.filter(({ text }) => text.toLowerCase() === key).map(({ place }) => Number(place));
      await db.run('DELETE FROM sandbox_rule WHERE seq = ANY ($1::int8[])', int8s(own));
      await db.run(
        "INSERT INTO leftover (kind, owner) SELECT 'sandbox-rule', * FROM unnest($1::int8[]) ON CONFLICT DO NOTHING",
        int8s(own),
      );
    },
  },
  {
    sql: 'SELECT id AS place, last_response_body AS text, last_error AS more FROM webhook WHERE id > $1 ORDER BY id LIMIT $2',
    byText: false,
    erase: masking('UPDATE webhook t SET last_response_body = g.text, last_error = g.more'),
  },
  {
    sql: 'SELECT id AS place, response_body AS text, error AS more FROM webhook_call WHERE id > $1 ORDER BY id LIMIT $2',
    byText: false,
    erase: masking('UPDATE webhook_call t SET response_body = g.text, error = g.more'),
  },
  {
    sql: 'SELECT id AS place, reply AS text FROM cause WHERE id > $1 ORDER BY id LIMIT $2',
    byText: false,
    erase: masking('UPDATE cause t SET reply = g.text'),
  },
  {
    sql: 'SELECT id AS place, body AS text FROM idempotency WHERE id > $1 ORDER BY id LIMIT $2',
    byText: false,
    erase: masking('UPDATE idempotency t SET body = g.text'),
  },
];

function masking(update: string): Walk['erase'] {
  return async (db, rows, _key, mask) => {
    const masked = rows.flatMap(({ place, text, more = '' }) => {
      const after = { place: Number(place), text: mask(text), more: mask(more) };
      return after.text === text && after.more === more ? [] : [after];
    });
    await db.run(
      `${update} FROM unnest($1::int8[], $2::text[], $3::text[]) g (id, text, more) WHERE t.id = g.id`,
      int8s(masked.map(({ place }) => place)),
      texts(masked.map(({ text }) => text)),
      texts(masked.map(({ more }) => more)),
    );
  };
}

export const eraseLooseEvents = write('eraseLooseEvents', async ({ db }, { address, after, limit }) => {
  const rows = await db.all<EventText & { at: number }>(
    `SELECT seq, at, detail FROM event WHERE message_seq IS NULL AND (at, seq) > ($1::int8, $2::int8)
     ORDER BY at, seq LIMIT $3`,
    after?.at ?? 0,
    after?.seq ?? 0,
    limit,
  );
  const last = rows.at(-1);
  return {
    events: await maskEvents(db, rows, maskOf(suppressionKey(address))),
    next: rows.length < limit || last === undefined ? null : { at: last.at, seq: last.seq },
  };
});

/** Nothing is overwritten here: see the head of this file. */
export const scrub = write('scrub', { whole: true }, async () => false);

interface MessageTexts {
  lists: string;
  from_address: string;
  /** Its other texts by column (`KEPT_TEXTS`). */
  [column: string]: string | readonly string[] | null;
}

async function maskMessage(
  db: Db,
  seq: number,
  before: MessageTexts,
  lists: AddressLists,
  key: string,
  mask: Mask,
): Promise<boolean> {
  await db.run(
    'UPDATE message SET lists = $1, from_address = $2 WHERE seq = $3',
    mask(JSON.stringify(lists)),
    suppressionKey(before.from_address) === key ? ERASED : before.from_address,
    seq,
  );
  let changed = false;
  for (const { column } of KEPT_TEXTS) {
    const found = before[column] ?? null;
    if (found === null) continue;
    const masked = typeof found === 'string' ? mask(found) : found.map(mask);
    if (String(masked) === String(found)) continue;
    changed = true;
    const [place, value] = typeof masked === 'string' ? ['$1', masked] : ['$1::text[]', texts(masked)];
    await db.run(`UPDATE message SET ${column} = ${place} WHERE seq = $2`, value, seq);
    if (column === 'metadata') await db.run('DELETE FROM message_metadata WHERE message_seq = $1', seq);
    if (column === 'subject')
      await db.run(
        'UPDATE capture SET subject = $1 WHERE message_seq = $2',
        searchedSubject(String(masked)),
        seq,
      );
  }
  return changed;
}

/** An erased person gets no more notices; what a sender added to its message is masked. */
async function maskWish(db: Db, seq: number, key: string, mask: Mask): Promise<boolean> {
  const row = await db.get<{ sender: string; envid: string | null; orcpts: string | null }>(
    'SELECT sender, envid, orcpts FROM message_notice WHERE message_seq = $1',
    seq,
  );
  if (row === undefined) return false;
  if (suppressionKey(row.sender) === key) {
    await db.run('DELETE FROM notice_due WHERE message_seq = $1', seq);
    await db.run('DELETE FROM message_notice WHERE message_seq = $1', seq);
    await db.run('UPDATE delivery SET notify = NULL WHERE message_seq = $1', seq);
    return true;
  }
  const envid = row.envid === null ? null : mask(row.envid);
  const orcpts = row.orcpts === null ? null : mask(row.orcpts);
  if (envid === row.envid && orcpts === row.orcpts) return false;
  await db.run(
    'UPDATE message_notice SET envid = $1, orcpts = $2 WHERE message_seq = $3',
    envid,
    orcpts,
    seq,
  );
  return true;
}

/** `found`: the person is a recipient. `waits`: some recipient of the message is not final. */
async function maskRecipients(
  db: Db,
  seq: number,
  key: string,
  mask: Mask,
): Promise<{ found: boolean; waits: boolean; rows: number }> {
  const rows = await db.all<{
    id: number;
    state: number;
    address: string;
    last_reply: string | null;
    wait_reason: string | null;
  }>(
    `SELECT id, state, address, last_reply, wait_reason FROM delivery WHERE message_seq = $1
     ORDER BY id FOR NO KEY UPDATE`,
    seq,
  );
  const isOpen = ({ state }: { state: number }) => state === 0 || state === 1;
  const isPerson = ({ address }: { address: string }) => suppressionKey(address) === key;
  // Running deliveries still need the address.
  const masked = rows.filter((row) => !isPerson(row) || !isOpen(row));
  const maskOrNull = (text: string | null) => (text === null ? null : mask(text));
  await db.run(
    `UPDATE delivery d SET address = g.address, last_reply = g.last_reply, wait_reason = g.wait_reason
     FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[]) g (id, address, last_reply, wait_reason)
     WHERE d.id = g.id AND (d.address, d.last_reply, d.wait_reason)
       IS DISTINCT FROM (g.address, g.last_reply, g.wait_reason)`,
    int8s(masked.map(({ id }) => id)),
    texts(masked.map((row) => (isPerson(row) ? ERASED : row.address))),
    texts(masked.map((row) => maskOrNull(row.last_reply))),
    texts(masked.map((row) => maskOrNull(row.wait_reason))),
  );
  return { found: rows.some(isPerson), waits: rows.some(isOpen), rows: rows.length };
}

interface EventText {
  seq: number;
  detail: string | null;
}

async function maskEvents(db: Db, rows: readonly EventText[], mask: Mask): Promise<number> {
  const masked = rows.flatMap(({ seq, detail }) => {
    const after = detail === null ? null : mask(detail);
    return after === null || after === detail ? [] : [{ seq, detail: after }];
  });
  return db.run(
    'UPDATE event e SET detail = g.detail FROM unnest($1::int8[], $2::text[]) g (seq, detail) WHERE e.seq = g.seq',
    int8s(masked.map(({ seq }) => seq)),
    texts(masked.map(({ detail }) => detail)),
  );
}
