/**
 * Acceptance: messages, their recipients, the accepted events and the idempotency row, in one transaction. Recipients
 * that are inserted as `sending` are leased from the start, so nothing else claims them. If the idempotency key is
 * taken, nothing is stored.
 */

import type { SQLInputValue } from 'node:sqlite';
import { recipientKindCode, sandboxCode, stateCode, uuidBytes } from '../shared/codes.ts';
import { heldBy } from '../shared/keyed.ts';
import type { ResultOf } from '../shared/operation.ts';
import { MESSAGE_COLUMNS, type MessageColumnName } from '../shared/rows/messages.ts';
import { notifyBits } from '../shared/rows/notices.ts';
import type { Tables } from '../shared/tables.ts';
import type { IdempotencyEntry, KeyHeld, NewMessage } from '../topics/acceptance.ts';
import type { Connection } from './engine/connection.ts';
import { read, write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';
import { appendEvent } from './events.ts';
import { insertWish, noteFact, tellNotice } from './notices.ts';
import { charge } from './quota.ts';

/** Commits messages, or returns the stored answer of the idempotency key. */
export const commitAccepted = write(
  'commitAccepted',
  'by key',
  {
    synced: true,
    rows: ({ messages }) => messages.reduce((sum, { recipients }) => sum + recipients.length, 1),
  },
  (session, params) => {
    const stored = storedMessages(session.db, params.messages);
    if (stored !== null) return { kind: 'committed', messages: stored };
    if (params.idempotency !== null) {
      const taken = heldKey(session.db, params.idempotency);
      if (taken !== null) return taken;
    }
    const leases = params.messages.some(({ recipients }) =>
      recipients.some(({ state }) => state === 'sending'),
    );
    if (leases && session.hasEnded(params.epoch)) return { kind: 'epoch-ended' };
    const exceeded = params.quotas === undefined ? null : charge(session, params.quotas);
    if (exceeded !== null) return exceeded;
    if (params.tells !== undefined && !tellNotice(session, params.tells)) return { kind: 'told' };
    if (params.idempotency !== null) storeKey(session.db, params.idempotency);
    return {
      kind: 'committed',
      messages: params.messages.map((message) => insertMessage(session, message, params.epoch)),
    };
  },
);

/** Rows of messages that were already committed because the answer was lost; null: they are new. */
function storedMessages(db: Connection, messages: readonly NewMessage[]) {
  const seqOf = ({ id }: NewMessage) =>
    db.get<{ seq: number }>('SELECT seq FROM message WHERE id = ?', uuidBytes(id))?.seq;
  const [first] = messages;
  if (first === undefined || seqOf(first) === undefined) return null;
  return messages.map((message) => {
    const seq = seqOf(message) ?? 0;
    const sql = 'SELECT id, queue_id AS queueId FROM delivery WHERE message_seq = ? ORDER BY id';
    return { seq, deliveries: db.all<{ id: number; queueId: number }>(sql, seq) };
  });
}

/** The stored answer for a key younger than `expiresBefore`, or null. */
export const findIdempotent = read('findIdempotent', 'by key', (db, params) => {
  const row = db.get<NonNullable<ResultOf<'findIdempotent'>> & { created_at: number }>(
    'SELECT fingerprint, status, body, created_at FROM idempotency WHERE owner = ? AND operation = ? AND key = ?',
    params.owner,
    params.operation,
    params.key,
  );
  if (row === undefined || row.created_at < params.expiresBefore) return null;
  return { fingerprint: row.fingerprint, status: row.status, body: row.body };
});

/** The answer stored with the key; null = the key is free. */
export function heldKey(db: Connection, entry: IdempotencyEntry): KeyHeld | null {
  return heldBy(findIdempotent(db, entry), entry);
}

/** Takes a free key, replacing an expired row. */
export function storeKey(db: Connection, entry: IdempotencyEntry): void {
  db.run(
    `INSERT OR REPLACE INTO idempotency (owner, operation, key, fingerprint, status, body, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    entry.owner,
    entry.operation,
    entry.key,
    entry.fingerprint,
    entry.status,
    entry.body,
    entry.createdAt,
  );
}

function insertMessage(session: Session, message: NewMessage, epoch: number) {
  const { db } = session;
  const domainId = session.nameId(message.domain);
  const seq = db.run(INSERT_MESSAGE, ...messageValues(message, session.nameId)).lastId;
  for (const [name, value] of Object.entries(message.metadata)) {
    db.run('INSERT INTO message_metadata VALUES (?, ?, ?, ?)', domainId, name, value, seq);
  }
  db.insert('content', {
    message_seq: seq,
    bytes: message.content,
    places: message.places === undefined ? null : JSON.stringify(message.places),
  });
  db.insert('kept_content', { domain_id: domainId, message_seq: seq, size: message.content.length });

  insertWish(db, seq, message);
  if (message.releases !== undefined) {
    const sql = 'UPDATE capture SET released_at = ?, released_as = ? WHERE id = ?';
    db.run(sql, message.createdAt, message.id, message.releases);
  }
  const deliveries = message.recipients.map((recipient) => {
    const queueId = session.queueId(
      message.lane,
      recipient.sandbox !== null,
      domainId,
      recipient.domain,
      recipient.routeKey ?? '',
    );
    const notify = message.notice === undefined ? null : notifyBits(recipient.notify);
    const id = db.insert('delivery', {
      message_seq: seq,
      queue_id: queueId,
      state: stateCode.of(recipient.state),
      epoch: recipient.state === 'sending' ? epoch : 0,
      attempts: 0,
      due_at: recipient.dueAt,
      expires_at: message.expiresAt,
      updated_at: message.createdAt,
      kind: recipientKindCode.of(recipient.kind),
      may_be_duplicate: 0,
      sandbox: recipient.sandbox === null ? null : sandboxCode.of(recipient.sandbox),
      address: recipient.address,
      wait_reason: recipient.waitReason,
      notify,
    }).lastId;
    let eventSeq: number | null = null;
    for (const event of recipient.events)
      eventSeq = appendEvent(session, event, { domainId, messageSeq: seq, deliveryId: id });
    if (notify !== null && recipient.state === 'suppressed') {
      const at = message.createdAt;
      noteFact(db, { messageSeq: seq, deliveryId: id, notify, kind: 'failure', eventSeq, at });
    }
    return { id, queueId };
  });
  return { seq, deliveries };
}

// A column that no migration makes does not compile; the error shows the text.
({}) satisfies Record<
  Exclude<MessageColumnName, Tables['message']>,
  'add the column in src/store/migrations, then npm run docs'
>;

const INSERT_MESSAGE = `INSERT INTO message (${MESSAGE_COLUMNS.map(({ name }) => name).join(', ')})
  VALUES (${MESSAGE_COLUMNS.map(() => '?').join(', ')})`;

function messageValues(message: NewMessage, nameOf: (text: string) => number): SQLInputValue[] {
  return MESSAGE_COLUMNS.map(({ value: of }) => {
    const value = of(message, nameOf);
    if (typeof value === 'boolean') return value ? 1 : 0;
    return isList(value) ? JSON.stringify(value) : value;
  });
}

function isList(value: unknown): value is readonly string[] {
  return Array.isArray(value);
}
