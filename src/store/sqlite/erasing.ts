/**
 * Erasing a person: an address is masked wherever it occurs, in any case and only as a whole address, and the messages
 * to it are deleted. A suppression stays as a hash with a key of this database, so that it stops mail without
 * containing the address. SQLite overwrites deleted octets inside pages with zeros; whole free pages are overwritten by
 * `scrub`.
 */
import { createHmac } from 'node:crypto';
import type { AddressLists } from '../../model/message.ts';
import { foldText } from '../../model/search-text.ts';
import { suppressionKey } from '../../model/suppression.ts';
import { ERASED, type Mask, maskLists, maskOf } from '../shared/mask.ts';
import { leaveRows } from '../shared/operations/removal.ts';
import { KEPT_TEXTS } from '../shared/rows/messages.ts';
import { resultOf } from '../shared/work.ts';
import type { Connection } from './engine/connection.ts';
import { read, write } from './engine/operation.ts';
import { domainIdsIn } from './engine/session.ts';
import { sharedDb } from './engine/shared-db.ts';
import { forgetOptOuts } from './opt-outs.ts';

const SCRUB_BYTES = 262_144;

/** Approximate rows of messages, recipients and events that one query or step reads. */
const ROWS_AT_ONCE = 2_000;
/** A message with more events counts as one that may mention anybody. */
const EVENTS_READ = 500;

/** The size of a message: its recipients and events, counted up to a limit. */
const WEIGHT_SQL = `SELECT (SELECT count(*) FROM (SELECT 1 FROM delivery WHERE message_seq = ?1 LIMIT 1000))
    AS recipients, (SELECT count(*) FROM (SELECT 1 FROM event WHERE message_seq = ?1 LIMIT ${EVENTS_READ + 1})) AS events`;

/** Whether a message may mention an address; only reading it tells exactly. */
const MENTIONS_SQL = `SELECT
    instr(fold(m.lists ${KEPT_TEXTS.map(({ column }) => `|| coalesce(m.${column}, '')`).join(' ')}), ?1) > 0
    OR EXISTS (SELECT 1 FROM delivery d WHERE d.message_seq = m.seq
      AND instr(fold(d.address || ' ' || coalesce(d.last_reply, '') || coalesce(d.wait_reason, '')), ?1) > 0)
    OR EXISTS (SELECT 1 FROM event e WHERE e.message_seq = m.seq AND instr(fold(e.detail), ?1) > 0)
    OR EXISTS (SELECT 1 FROM message_notice w WHERE w.message_seq = m.seq
      AND instr(fold(w.sender || ' ' || coalesce(w.envid, '') || ' ' || coalesce(w.orcpts, '')), ?1) > 0) AS found
  FROM message m WHERE m.seq = ?2`;

export const findMentions = read('findMentions', 'measured', { search: true }, (db, params) => {
  const key = suppressionKey(params.address);
  const sql = 'SELECT seq FROM message WHERE seq > ? ORDER BY seq LIMIT ?';
  const rows = db.all<{ seq: number }>(sql, params.afterSeq, params.limit);
  const seqs: number[] = [];
  let read = 0;
  let last: number | undefined;
  for (const { seq } of rows) {
    if (read >= ROWS_AT_ONCE) break;
    const { recipients = 0, events = 0 } =
      db.get<{ recipients: number; events: number }>(WEIGHT_SQL, seq) ?? {};
    read += 1 + recipients + events;
    const found = events > EVENTS_READ || db.get<{ found: number }>(MENTIONS_SQL, key, seq)?.found === 1;
    if (found) seqs.push(seq);
    last = seq;
  }
  const waiting = seqs.flatMap((messageSeq) =>
    db
      .all<{ id: number }>(
        'SELECT id FROM delivery WHERE message_seq = ? AND state IN (0, 1) AND fold(address) = ?',
        messageSeq,
        key,
      )
      .map(({ id }) => ({ messageSeq, deliveryId: id })),
  );
  const isOver = rows.length < params.limit && last === rows.at(-1)?.seq;
  return {
    seqs,
    waiting,
    nextSeq: isOver ? null : (last ?? null),
    lastSeq: db.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM message')?.seq ?? 0,
  };
});

export const eraseMessages = write(
  'eraseMessages',
  'measured',
  { synced: true, portion: true },
  ({ db }, params) => {
    const key = suppressionKey(params.address);
    const mask = maskOf(key);
    const result = { messages: 0, events: 0, pending: 0, done: 0, afterEvent: null as number | null };
    let room = EVENTS_READ;
    for (const seq of params.seqs) {
      if (room <= 0) break;
      const after = result.done === 0 ? (params.afterEvent ?? 0) : 0;
      const sql = 'SELECT seq, detail FROM event WHERE message_seq = ? AND seq > ? ORDER BY seq LIMIT ?';
      const told = db.all<EventText>(sql, seq, after, room);
      const events = maskEvents(db, told, mask);
      result.events += events;
      if (told.length === room) {
        // It may have more events: the message itself follows after the last of them.
        result.afterEvent = told.at(-1)?.seq ?? 0;
        break;
      }
      const { touched, pending, rows } = eraseMessage(db, seq, key, mask);
      if (touched || events > 0) result.messages += 1;
      if (pending) result.pending += 1;
      result.done += 1;
      room -= told.length + rows;
    }
    return result;
  },
);

/** The message itself, its recipients, contents and captures. */
function eraseMessage(
  db: Connection,
  seq: number,
  key: string,
  mask: Mask,
): { touched: boolean; pending: boolean; rows: number } {
  const message = db.get<MessageTexts>(
    `SELECT lists, from_address, domain_id, ${KEPT_TEXTS.map(({ column }) => column).join(', ')} FROM message WHERE seq = ?`,
    seq,
  );
  if (message === undefined) return { touched: false, pending: false, rows: 0 };
  const named = maskLists(JSON.parse(message.lists) as AddressLists, key);
  const recipients = maskRecipients(db, seq, key, mask);
  const texts = maskMessage(db, seq, message, named.lists, key, mask);
  const notices = maskWish(db, seq, key, mask);
  const isTheirs = named.found || recipients.found;
  if (isTheirs && recipients.waits) {
    db.run('UPDATE message SET keep_content = 0 WHERE seq = ?', seq);
  } else if (isTheirs) {
    db.run('DELETE FROM capture WHERE message_seq = ?', seq);
    db.run('DELETE FROM content WHERE message_seq = ?', seq);
    db.run('DELETE FROM kept_content WHERE domain_id = ? AND message_seq = ?', message.domain_id, seq);
  }
  return {
    touched: isTheirs || texts || notices,
    pending: isTheirs && recipients.waits,
    rows: recipients.rows,
  };
}

export const eraseElsewhere = write(
  'eraseElsewhere',
  'measured',
  { synced: true, portion: true },
  (session, params) => {
    const { db } = session;
    const key = suppressionKey(params.address);
    const mask = maskOf(key);
    if (params.from === null) {
      return { suppressions: eraseByKey(db, key, params.proposedKey), next: { table: 0, after: '' } };
    }
    const { table, after } = params.from;
    const walk = WALKS[table];
    if (walk === undefined) return { suppressions: 0, next: null };
    const rows = db.all<WalkedRow>(walk.sql, after, params.limit);
    for (const row of rows) walk.erase(db, row, key, mask);
    const last = rows.at(-1);
    const isOver = rows.length < params.limit || last === undefined;
    const following = table + 1 < WALKS.length ? { table: table + 1, after: '' } : null;
    return { suppressions: 0, next: isOver ? following : { table, after: last.place } };
  },
);

/** Rows found by an index on the address: one look-up per sender domain. */
function eraseByKey(db: Connection, key: string, proposedKey: Uint8Array): number {
  const hash = hashOf(keyOf(db, proposedKey), key);
  let suppressions = 0;
  for (const id of domainIdsIn(db, 'suppression')) {
    suppressions += db.run(
      `UPDATE OR REPLACE suppression SET key = ?, address = ?, note = '', reply = NULL, message_id = NULL
       WHERE domain_id = ? AND key = ?`,
      hash,
      ERASED,
      id,
      key,
    ).changes;
  }
  for (const id of domainIdsIn(db, 'suppression_evidence')) {
    db.run('DELETE FROM suppression_evidence WHERE domain_id = ? AND key = ?', id, key);
  }
  forgetOptOuts(db, key);
  return suppressions;
}

interface WalkedRow {
  place: string | number;
  text: string;
  more?: string;
}

/** Tables without such an index, read in portions in the order of `place`. */
const WALKS: readonly {
  sql: string;
  erase(db: Connection, row: WalkedRow, key: string, mask: Mask): void;
}[] = [
  {
    sql: 'SELECT DISTINCT sender AS place, sender AS text FROM notice_count WHERE sender > ? ORDER BY sender LIMIT ?',
    erase(db, { text }, key) {
      if (suppressionKey(text) === key) db.run('DELETE FROM notice_count WHERE sender = ?', text);
    },
  },
  {
    sql: "SELECT seq AS place, coalesce(recipient, '') AS text FROM sandbox_rule WHERE seq > CAST(? AS INTEGER) ORDER BY seq LIMIT ?",
    erase(db, { place, text }, key) {
      if (text.toLowerCase() !== key) return;
      db.run('DELETE FROM sandbox_rule WHERE seq = ?', place);
      resultOf(leaveRows(sharedDb(db), 'sandbox-rule', [Number(place)]));
    },
  },
  {
    sql: `SELECT id AS place, last_response_body AS text, last_error AS more FROM webhook
      WHERE id > CAST(? AS INTEGER) ORDER BY id LIMIT ?`,
    erase(db, { place, text, more = '' }, _key, mask) {
      if (mask(text) === text && mask(more) === more) return;
      const sql = 'UPDATE webhook SET last_response_body = ?, last_error = ? WHERE id = ?';
      db.run(sql, mask(text), mask(more), place);
    },
  },
  {
    sql: `SELECT id AS place, response_body AS text, error AS more FROM webhook_call
      WHERE id > CAST(? AS INTEGER) ORDER BY id LIMIT ?`,
    erase(db, { place, text, more = '' }, _key, mask) {
      if (mask(text) === text && mask(more) === more) return;
      db.run(
        'UPDATE webhook_call SET response_body = ?, error = ? WHERE id = ?',
        mask(text),
        mask(more),
        place,
      );
    },
  },
  {
    sql: 'SELECT id AS place, reply AS text FROM cause WHERE id > CAST(? AS INTEGER) ORDER BY id LIMIT ?',
    erase: masking('UPDATE cause SET reply = ? WHERE id = ?'),
  },
  {
    sql: 'SELECT id AS place, body AS text FROM idempotency WHERE id > CAST(? AS INTEGER) ORDER BY id LIMIT ?',
    erase: masking('UPDATE idempotency SET body = ? WHERE id = ?'),
  },
];

function masking(update: string) {
  return (db: Connection, { place, text }: WalkedRow, _key: string, mask: Mask): void => {
    const masked = mask(text);
    if (masked !== text) db.run(update, masked, place);
  };
}

export const eraseLooseEvents = write(
  'eraseLooseEvents',
  'as asked',
  { synced: true, portion: true },
  ({ db }, params) => {
    const rows = db.all<EventText & { at: number }>(
      `SELECT seq, at, detail FROM event INDEXED BY event_loose
     WHERE message_seq IS NULL AND (at, seq) > (?, ?) ORDER BY at, seq LIMIT ?`,
      params.after?.at ?? 0,
      params.after?.seq ?? 0,
      params.limit,
    );
    const last = rows.at(-1);
    return {
      events: maskEvents(db, rows, maskOf(suppressionKey(params.address))),
      next: rows.length < params.limit || last === undefined ? null : { at: last.at, seq: last.seq },
    };
  },
);

/** Overwrites free pages with zeros; when there are none left, all of them are released. */
export const scrub = write('scrub', 'as asked', { portion: true }, ({ db }, params) => {
  for (let done = 0; done < params.bytes; done += SCRUB_BYTES) {
    const free = db.get<{ freelist_count: number }>('PRAGMA freelist_count')?.freelist_count ?? 0;
    if (free === 0) {
      db.run('DELETE FROM probe');
      return false;
    }
    db.run('INSERT INTO probe (filler) VALUES (zeroblob(?))', SCRUB_BYTES);
  }
  return true;
});

/** The key under which an erased address is suppressed, or null if nobody was erased here. */
export function erasedKey(db: Connection, key: string): string | null {
  const row = db.get<{ value: Uint8Array }>("SELECT value FROM meta WHERE name = 'erasing_key'");
  return row === undefined ? null : hashOf(row.value, key);
}

function keyOf(db: Connection, proposed: Uint8Array): Uint8Array {
  db.run("INSERT INTO meta (name, value) VALUES ('erasing_key', ?) ON CONFLICT DO NOTHING", proposed);
  const row = db.get<{ value: Uint8Array }>("SELECT value FROM meta WHERE name = 'erasing_key'");
  if (row === undefined) throw new Error('The key of erased addresses vanished in its own transaction');
  return row.value;
}

function hashOf(secret: Uint8Array, key: string): string {
  return `hmac:${createHmac('sha256', secret).update(key).digest('hex')}`;
}

interface MessageTexts {
  lists: string;
  from_address: string;
  domain_id: number;
  /** Its other texts by column (`KEPT_TEXTS`). */
  [column: string]: string | number | null;
}

function maskMessage(
  db: Connection,
  seq: number,
  before: MessageTexts,
  lists: AddressLists,
  key: string,
  mask: Mask,
): boolean {
  db.run(
    'UPDATE message SET lists = ?, from_address = ? WHERE seq = ?',
    mask(JSON.stringify(lists)),
    suppressionKey(before.from_address) === key ? ERASED : before.from_address,
    seq,
  );
  let changed = false;
  for (const { column } of KEPT_TEXTS) {
    const text = before[column];
    const masked = typeof text === 'string' ? mask(text) : null;
    if (masked === null || masked === text) continue;
    changed = true;
    // Changing the metadata also deletes the searchable pairs.
    db.run(`UPDATE message SET ${column} = ? WHERE seq = ?`, masked, seq);
    if (column === 'subject')
      db.run('UPDATE capture SET subject = ? WHERE message_seq = ?', foldText(masked), seq);
  }
  return changed;
}

/** An erased person gets no more notices; what a sender added to its message is masked. */
function maskWish(db: Connection, seq: number, key: string, mask: Mask): boolean {
  const row = db.get<{ sender: string; envid: string | null; orcpts: string | null }>(
    'SELECT sender, envid, orcpts FROM message_notice WHERE message_seq = ?',
    seq,
  );
  if (row === undefined) return false;
  if (suppressionKey(row.sender) === key) {
    db.run('DELETE FROM notice_due WHERE message_seq = ?', seq);
    db.run('DELETE FROM message_notice WHERE message_seq = ?', seq);
    db.run('UPDATE delivery SET notify = NULL WHERE message_seq = ?', seq);
    return true;
  }
  const envid = row.envid === null ? null : mask(row.envid);
  const orcpts = row.orcpts === null ? null : mask(row.orcpts);
  if (envid === row.envid && orcpts === row.orcpts) return false;
  db.run('UPDATE message_notice SET envid = ?, orcpts = ? WHERE message_seq = ?', envid, orcpts, seq);
  return true;
}

/** `found`: the person is a recipient. `waits`: some recipient of the message is not final. */
function maskRecipients(
  db: Connection,
  seq: number,
  key: string,
  mask: Mask,
): { found: boolean; waits: boolean; rows: number } {
  let found = false;
  let waits = false;
  let rows = 0;
  for (const row of db.all<{
    id: number;
    state: number;
    address: string;
    last_reply: string | null;
    wait_reason: string | null;
  }>('SELECT id, state, address, last_reply, wait_reason FROM delivery WHERE message_seq = ?', seq)) {
    rows += 1;
    const open = row.state === 0 || row.state === 1;
    waits ||= open;
    const isPerson = suppressionKey(row.address) === key;
    found ||= isPerson;
    // Running deliveries still need the address.
    if (isPerson && open) continue;
    db.run(
      'UPDATE delivery SET address = ?, last_reply = ?, wait_reason = ? WHERE id = ?',
      isPerson ? ERASED : row.address,
      row.last_reply === null ? null : mask(row.last_reply),
      row.wait_reason === null ? null : mask(row.wait_reason),
      row.id,
    );
  }
  return { found, waits, rows };
}

interface EventText {
  seq: number;
  detail: string | null;
}

function maskEvents(db: Connection, rows: readonly EventText[], mask: Mask): number {
  let changed = 0;
  for (const { seq, detail } of rows) {
    const masked = detail === null ? null : mask(detail);
    if (masked === detail) continue;
    db.run('UPDATE event SET detail = ? WHERE seq = ?', masked, seq);
    changed += 1;
  }
  return changed;
}
