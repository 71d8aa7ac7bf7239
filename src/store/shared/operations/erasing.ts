/**
 * Erasing a person: an address is masked wherever it occurs, in any case and only as a whole address, and the messages
 * to it are deleted. A suppression stays as a hash with a key of this database, so that it stops mail without
 * containing the address. SQLite overwrites deleted octets inside pages with zeros, and `scrub` whole free pages; what
 * PostgreSQL keeps of deleted rows (until VACUUM, in its log, on replicas) is the operator's.
 */
import type { AddressLists } from '../../../model/message.ts';
import { suppressionKey } from '../../../model/suppression.ts';
import { ERASED, ERASING_KEY, EVENTS_READ, hashOf, type Mask, maskLists, maskOf } from '../erased.ts';
import { anyOf, type Db, type Session, write } from '../operation.ts';
import { searchedSubject } from '../rows/captures.ts';
import { KEPT_TEXTS } from '../rows/messages.ts';
import type { Tables } from '../tables.ts';
import type { Work } from '../work.ts';
import { leaveRows } from './removal.ts';

const PORTION = { synced: true, portion: true } as const;

interface Person {
  /** The address as suppressions compare it. */
  key: string;
  mask: Mask;
}

const personOf = (address: string): Person => {
  const key = suppressionKey(address);
  return { key, mask: maskOf(key) };
};

export const eraseMessages = write('eraseMessages', 'measured', PORTION, function* (on, params) {
  const person = personOf(params.address);
  const result = { messages: 0, events: 0, pending: 0, done: 0, afterEvent: null as number | null };
  let room = EVENTS_READ;
  for (const seq of params.seqs) {
    if (room <= 0) break;
    const after = result.done === 0 ? (params.afterEvent ?? 0) : 0;
    const sql = 'SELECT seq, detail FROM event WHERE message_seq = ? AND seq > ? ORDER BY seq LIMIT ?';
    const told = yield* on.db.all<EventText>(sql, seq, after, room);
    const events = yield* maskEvents(on.db, told, person.mask);
    result.events += events;
    if (told.length === room) {
      // It may have more events: the message itself follows after the last of them.
      result.afterEvent = told.at(-1)?.seq ?? 0;
      break;
    }
    const { touched, pending, rows } = yield* eraseMessage(on, seq, person);
    if (touched || events > 0) result.messages += 1;
    if (pending) result.pending += 1;
    result.done += 1;
    room -= told.length + rows;
  }
  return result;
});

/** The message itself, its recipients, contents and captures. */
function* eraseMessage(
  on: Session,
  seq: number,
  person: Person,
): Work<{ touched: boolean; pending: boolean; rows: number }> {
  const { db } = on;
  const recipients = yield* maskRecipients(db, seq, person);
  const message = yield* db.get<MessageTexts>(`${TEXTS_SQL} {|FOR UPDATE}`, seq);
  if (message === undefined) return { touched: false, pending: false, rows: 0 };
  const named = maskLists(JSON.parse(message.lists) as AddressLists, person.key);
  const texts = yield* maskMessage(db, seq, message, named.lists, person);
  const notices = yield* maskNotices(db, seq, person);
  const isTheirs = named.found || recipients.found;
  if (isTheirs && recipients.waits) {
    yield* db.run('UPDATE message SET keep_content = {0|false} WHERE seq = ?', seq);
  } else if (isTheirs) {
    yield* db.run('DELETE FROM capture WHERE message_seq = ?', seq);
    yield* on.deleteContent({ seq, domainId: message.domain_id });
  }
  return {
    touched: isTheirs || texts || notices,
    pending: isTheirs && recipients.waits,
    rows: recipients.rows,
  };
}

/** `found`: the person is a recipient. `waits`: some recipient of the message is not final. */
function* maskRecipients(
  db: Db,
  seq: number,
  { key, mask }: Person,
): Work<{ found: boolean; waits: boolean; rows: number }> {
  const rows = yield* db.all<{
    id: number;
    state: number;
    address: string;
    last_reply: string | null;
    wait_reason: string | null;
  }>(
    `SELECT id, state, address, last_reply, wait_reason FROM delivery WHERE message_seq = ?
     ORDER BY id {|FOR NO KEY UPDATE}`,
    seq,
  );
  let found = false;
  let waits = false;
  for (const row of rows) {
    const isOpen = row.state === 0 || row.state === 1;
    const isPerson = suppressionKey(row.address) === key;
    waits ||= isOpen;
    found ||= isPerson;
    // Running deliveries still need the address.
    if (isPerson && isOpen) continue;
    const reply = maskOrNull(mask, row.last_reply);
    const reason = maskOrNull(mask, row.wait_reason);
    if (!isPerson && reply === row.last_reply && reason === row.wait_reason) continue;
    const sql = 'UPDATE delivery SET address = ?, last_reply = ?, wait_reason = ? WHERE id = ?';
    yield* db.run(sql, isPerson ? ERASED : row.address, reply, reason, row.id);
  }
  return { found, waits, rows: rows.length };
}

interface MessageTexts {
  lists: string;
  from_address: string;
  domain_id: number;
  /** Its other texts by column (`KEPT_TEXTS`), lists of them as JSON. */
  [column: string]: string | number | null;
}

const TEXTS_SQL = `SELECT lists, from_address, domain_id, ${KEPT_TEXTS.map(({ column, isList }) =>
  isList ? `{${column}|to_json(${column})::text AS ${column}}` : column,
).join(', ')} FROM message WHERE seq = ?`;

function* maskMessage(
  db: Db,
  seq: number,
  before: MessageTexts,
  lists: AddressLists,
  { key, mask }: Person,
): Work<boolean> {
  yield* db.run(
    'UPDATE message SET lists = ?, from_address = ? WHERE seq = ?',
    mask(JSON.stringify(lists)),
    suppressionKey(before.from_address) === key ? ERASED : before.from_address,
    seq,
  );
  let changed = false;
  for (const { column, isList } of KEPT_TEXTS) {
    const text = before[column];
    const masked = typeof text === 'string' ? mask(text) : null;
    if (masked === null || masked === text) continue;
    changed = true;
    const value = isList ? '{?1|ARRAY(SELECT json_array_elements_text(?1::json))}' : '?1';
    yield* db.run(`UPDATE message SET ${column} = ${value} WHERE seq = ?2`, masked, seq);
    if (column === 'metadata') yield* db.run('DELETE FROM message_metadata WHERE message_seq = ?', seq);
    if (column === 'subject') {
      const sql = 'UPDATE capture SET subject = ? WHERE message_seq = ?';
      yield* db.run(sql, searchedSubject(masked), seq);
    }
  }
  return changed;
}

/** An erased person gets no more notices; what a sender added to its message is masked. */
function* maskNotices(db: Db, seq: number, { key, mask }: Person): Work<boolean> {
  const row = yield* db.get<{ sender: string; envid: string | null; orcpts: string | null }>(
    'SELECT sender, envid, orcpts FROM message_notice WHERE message_seq = ?',
    seq,
  );
  if (row === undefined) return false;
  if (suppressionKey(row.sender) === key) {
    yield* db.run('DELETE FROM notice_due WHERE message_seq = ?', seq);
    yield* db.run('DELETE FROM message_notice WHERE message_seq = ?', seq);
    yield* db.run('UPDATE delivery SET notify = NULL WHERE message_seq = ?', seq);
    return true;
  }
  const envid = maskOrNull(mask, row.envid);
  const orcpts = maskOrNull(mask, row.orcpts);
  if (envid === row.envid && orcpts === row.orcpts) return false;
  const sql = 'UPDATE message_notice SET envid = ?, orcpts = ? WHERE message_seq = ?';
  yield* db.run(sql, envid, orcpts, seq);
  return true;
}

export const eraseElsewhere = write('eraseElsewhere', 'measured', PORTION, function* (on, params) {
  const { db } = on;
  const person = personOf(params.address);
  if (params.from === null) {
    const suppressions = yield* eraseByKey(on, person.key, params.proposedKey);
    return { suppressions, next: { table: 0, after: '' } };
  }
  const { table, after } = params.from;
  const walk = WALKS[table];
  if (walk === undefined) return { suppressions: 0, next: null };
  const rows = yield* db.all<WalkedRow>(walk.sql, walk.byText ? String(after) : Number(after), params.limit);
  for (const row of rows) yield* walk.erase(db, row, person);
  const last = rows.at(-1);
  const isOver = rows.length < params.limit || last === undefined;
  const following = table + 1 < WALKS.length ? { table: table + 1, after: '' } : null;
  return { suppressions: 0, next: isOver ? following : { table, after: last.place } };
});

/** Rows found by an index on the address: one look-up per sender domain. */
function* eraseByKey(on: Session, key: string, proposedKey: Uint8Array): Work<number> {
  const { db } = on;
  const proposed = Buffer.from(proposedKey).toString('hex');
  yield* db.run(
    `INSERT INTO meta (name, value) VALUES ('erasing_key', {unhex(?)|?}) ON CONFLICT DO NOTHING`,
    proposed,
  );
  const stored = yield* db.get<{ secret: string }>(ERASING_KEY);
  if (stored === undefined) throw new Error('The key of erased addresses vanished in its own transaction');
  const hash = hashOf(stored.secret, key);
  const suppressed = anyOf(db, 'domain_id', yield* db.domainIdsIn('suppression'));
  yield* db.run(
    `DELETE FROM suppression AS o ${suppressed.where()} AND key = ? AND EXISTS
       (SELECT 1 FROM suppression s WHERE s.domain_id = o.domain_id AND s.key = ? AND s.reason = o.reason)`,
    ...suppressed.values(),
    hash,
    key,
  );
  const suppressions = yield* db.run(
    `UPDATE suppression SET key = ?, address = ?, note = '', reply = NULL, message_id = NULL
     WHERE key = ? ${suppressed.and()}`,
    hash,
    ERASED,
    key,
    ...suppressed.values(),
  );
  const evidence = anyOf(db, 'domain_id', yield* db.domainIdsIn('suppression_evidence'));
  yield* db.run(
    `DELETE FROM suppression_evidence WHERE key = ? ${evidence.and()}`,
    key,
    ...evidence.values(),
  );
  yield* db.run('DELETE FROM opt_out_reader WHERE key = ?', key);
  return suppressions;
}

interface WalkedRow {
  place: string | number;
  /** Texts by column. */
  [column: string]: string | number | null;
}

interface Walk {
  /** Its values: the place behind which to read, and the limit. */
  sql: string;
  byText?: true;
  erase(db: Db, row: WalkedRow, person: Person): Work<void>;
}

/** Tables without such an index, read in portions in the order of `place`. */
const WALKS: readonly Walk[] = [
  {
    sql: 'SELECT DISTINCT sender AS place FROM notice_count WHERE sender > ? ORDER BY sender LIMIT ?',
    byText: true,
    *erase(db, { place }, { key }) {
      if (suppressionKey(String(place)) === key)
        yield* db.run('DELETE FROM notice_count WHERE sender = ?', place);
    },
  },
  {
    sql: 'SELECT seq AS place, recipient FROM sandbox_rule WHERE seq > ? ORDER BY seq LIMIT ?',
    *erase(db, { place, recipient }, { key }) {
      if (String(recipient).toLowerCase() !== key) return;
      yield* db.run('DELETE FROM sandbox_rule WHERE seq = ?', place);
      yield* leaveRows(db, 'sandbox-rule', [Number(place)]);
    },
  },
  masked('webhook', 'last_response_body', 'last_error'),
  masked('webhook_call', 'response_body', 'error'),
  masked('cause', 'reply'),
  masked('idempotency', 'body'),
];

/** Masks some columns of a table. */
function masked(table: keyof Tables, ...columns: readonly string[]): Walk {
  return {
    sql: `SELECT id AS place, ${columns.join(', ')} FROM ${table} WHERE id > ? ORDER BY id LIMIT ?`,
    *erase(db, row, { mask }) {
      for (const column of columns) {
        const text = row[column];
        const after = typeof text === 'string' ? mask(text) : null;
        if (after === null || after === text) continue;
        yield* db.run(`UPDATE ${table} SET ${column} = ? WHERE id = ?`, after, row.place);
      }
    },
  };
}

export const eraseLooseEvents = write('eraseLooseEvents', 'as asked', PORTION, function* ({ db }, params) {
  const rows = yield* db.all<EventText & { at: number }>(
    `SELECT seq, at, detail FROM event {INDEXED BY event_loose|}
     WHERE message_seq IS NULL AND (at, seq) > ({?, ?|?::int8, ?::int8}) ORDER BY at, seq LIMIT ?`,
    params.after?.at ?? 0,
    params.after?.seq ?? 0,
    params.limit,
  );
  const last = rows.at(-1);
  return {
    events: yield* maskEvents(db, rows, personOf(params.address).mask),
    next: rows.length < params.limit || last === undefined ? null : { at: last.at, seq: last.seq },
  };
});

interface EventText {
  seq: number;
  detail: string | null;
}

/** How many changed. */
function* maskEvents(db: Db, rows: readonly EventText[], mask: Mask): Work<number> {
  let changed = 0;
  for (const { seq, detail } of rows) {
    const after = maskOrNull(mask, detail);
    if (after === detail) continue;
    yield* db.run('UPDATE event SET detail = ? WHERE seq = ?', after, seq);
    changed += 1;
  }
  return changed;
}

function maskOrNull(mask: Mask, text: string | null): string | null {
  return text === null ? null : mask(text);
}
