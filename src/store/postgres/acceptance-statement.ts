/**
 * The statement that commits messages, their recipients, the accepted events and the idempotency rows of several operations
 * in one transaction and one round trip, and the values it takes: arrays of columns. Names and queues get their numbers
 * before.
 */

import { asBuffer } from '../../lib/as-buffer.ts';
import { recipientKindCode, sandboxCode, stateCode, uuidBytes } from '../shared/codes.ts';
import type { ParamsOf } from '../shared/operation.ts';
import { MESSAGE_COLUMNS } from '../shared/rows/messages.ts';
import { notifyBits, orcptsOf } from '../shared/rows/notices.ts';
import type { NewMessage, NewRecipient } from '../topics/acceptance.ts';
import type { NewEvent } from '../topics/events.ts';
import { MOST_CALLS } from './call-portions.ts';
import { bools, byteas, int2s, int4s, int8s, storable, texts, uuids } from './engine/arrays.ts';
import type { Value } from './engine/db.ts';
import { NUMBER_BITS } from './engine/eras.ts';
import type { Session } from './engine/session.ts';
import { eventColumns, storingEvents, TAKE_XID } from './events.ts';
import { LIVING } from './nodes.ts';

export type Accepted = ParamsOf<'commitAccepted'>;

const ARRAYS = { int2: int2s, int4: int4s, int8: int8s, bool: bools, text: texts, uuid: uuids };

/** Each column of `message` as an array: its type, the value of each message, and what is stored of it. */
const MESSAGE = MESSAGE_COLUMNS.map(({ name, type, value }) => {
  if (type !== 'texts') return { name, type, value, stored: name };
  const list = `ARRAY(SELECT json_array_elements_text(${name}::json))`;
  return {
    name,
    type: 'text' as const,
    value: (...given: Parameters<typeof value>) => {
      const texts = value(...given) as readonly string[] | null;
      return texts === null ? null : JSON.stringify(texts.map(parsable));
    },
    stored: `CASE WHEN ${name} IS NOT NULL THEN ${list} END`,
  };
});

/**
 * Only messages of the current era and the one before: repetitions come within seconds, and searching sixty eras
 * would cost more than the rest of an acceptance.
 */
export const RECENT = `m.seq >= (SELECT ((last_value >> ${NUMBER_BITS}) - 1) << ${NUMBER_BITS} FROM message_seq_seq)`;

export const COMMIT = `WITH ${TAKE_XID},
  op AS MATERIALIZED (
    SELECT o.* FROM tx CROSS JOIN unnest(?::int8[], ?::bool[], ?::uuid[], ?::text[], ?::text[], ?::text[],
      ?::bytea[], ?::int4[], ?::text[], ?::int8[]) WITH ORDINALITY
      o (epoch, leased, first_id, owner, operation, key, fingerprint, status, body, created_at, op)
    WHERE tx.xid IS NOT NULL AND (NOT o.leased OR ${LIVING('o.epoch')})
      AND NOT EXISTS (SELECT FROM message m WHERE m.id = o.first_id AND ${RECENT})),
  keyed AS (
    INSERT INTO idempotency (owner, operation, key, fingerprint, status, body, created_at)
    SELECT owner, operation, key, fingerprint, status, body, created_at FROM op WHERE owner IS NOT NULL
    ORDER BY owner, operation, key
    ON CONFLICT (owner, operation, key) DO UPDATE SET fingerprint = excluded.fingerprint, status = excluded.status,
      body = excluded.body, created_at = excluded.created_at
    WHERE idempotency.created_at < excluded.created_at - ?::int8
    RETURNING owner, operation, key),
  won AS MATERIALIZED (
    SELECT op.op, op.epoch FROM op LEFT JOIN keyed k
      ON k.owner = op.owner AND k.operation = op.operation AND k.key = op.key
    WHERE op.owner IS NULL OR k.owner IS NOT NULL),
  msg AS MATERIALIZED (
    SELECT nextval('message_seq_seq') AS seq, g.* FROM (
      SELECT won.epoch, g.* FROM won JOIN unnest(?::int8[], ${MESSAGE.map(({ type }) => `?::${type}[]`).join(', ')},
        ?::int4[], ?::text[]) WITH ORDINALITY g (op, ${MESSAGE.map(({ name }) => name).join(', ')},
        starts, places, place) ON g.op = won.op
      ORDER BY g.place) g),
  messages AS (
    INSERT INTO message (seq, ${MESSAGE.map(({ name }) => name).join(', ')})
    SELECT seq, ${MESSAGE.map(({ stored }) => stored).join(', ')} FROM msg),
  contents AS (
    INSERT INTO content (message_seq, domain_id, size, bytes, places)
    SELECT seq, domain_id, size, substring(?::bytea FROM starts + 1 FOR size), places FROM msg),
  metadata AS (
    INSERT INTO message_metadata (domain_id, name, value, message_seq)
    SELECT m.domain_id, g.name, g.value, m.seq FROM unnest(?::int8[], ?::text[], ?::text[]) g (place, name, value)
      JOIN msg m ON m.place = g.place),
  wishes AS (
    INSERT INTO message_notice (message_seq, sender, ret, envid, orcpts)
    SELECT m.seq, g.sender, g.ret, g.envid, g.orcpts
    FROM unnest(?::int8[], ?::text[], ?::bool[], ?::text[], ?::text[]) g (place, sender, ret, envid, orcpts)
      JOIN msg m ON m.place = g.place),
  dlv AS MATERIALIZED (
    SELECT nextval('delivery_id_seq') AS id, g.* FROM (
      SELECT m.seq, m.domain_id, m.expires_at, m.created_at, CASE g.state WHEN 1 THEN m.epoch ELSE 0 END AS epoch, g.*
      FROM unnest(?::int8[], ?::int8[], ?::int2[], ?::int8[], ?::int2[], ?::int2[], ?::text[], ?::text[],
        ?::int2[]) WITH ORDINALITY
        g (message, queue_id, state, due_at, kind, sandbox, address, wait_reason, notify, place)
        JOIN msg m ON m.place = g.message ORDER BY g.place) g),
  deliveries AS (
    INSERT INTO delivery (id, message_seq, queue_id, state, epoch, attempts, due_at, expires_at, updated_at, kind,
      may_be_duplicate, sandbox, address, wait_reason, notify)
    SELECT id, seq, queue_id, state, epoch, 0, due_at, expires_at, created_at, kind, false, sandbox, address, wait_reason,
      notify FROM dlv),
  ev AS MATERIALIZED (
    SELECT nextval('event_seq_seq') AS seq, g.* FROM (
      SELECT e.event_id, e.kind, e.at, e.detail, e.token, d.domain_id, d.seq AS message_seq, d.id AS delivery_id
      FROM unnest(?::uuid[], ?::int2[], ?::int8[], ?::text[], ?::text[], ?::int8[]) WITH ORDINALITY
        e (event_id, kind, at, detail, token, delivery, place)
        JOIN dlv d ON d.place = e.delivery ORDER BY e.place) g),
  ${storingEvents(String(MOST_CALLS))}
  SELECT m.op, m.seq, array_agg(d.id ORDER BY d.place) FILTER (WHERE d.id IS NOT NULL) AS ids
  FROM msg m LEFT JOIN dlv d ON d.message = m.place GROUP BY m.op, m.seq ORDER BY m.seq`;

/** The values of COMMIT. Numbers of names and queues must exist before. */
export async function valuesOf(session: Session, operations: readonly Accepted[]) {
  const messages = operations.flatMap(({ messages }, i) =>
    messages.map((message) => ({ message, op: i + 1 })),
  );
  const names = await session.nameIds(messages.flatMap(({ message }) => [message.domain, message.tokenId]));
  const nameOf = (text: string) => names.get(text) ?? 0;
  const recipients = messages.flatMap(({ message }, i) =>
    message.recipients.map((recipient) => ({ recipient, message, place: i + 1 })),
  );
  const queueIds = await session.queueIds(
    recipients.map(({ recipient, message }) => ({
      lane: message.lane,
      sandbox: recipient.sandbox !== null,
      senderDomainId: nameOf(message.domain),
      recipientDomain: recipient.domain,
      routeKey: recipient.routeKey ?? '',
    })),
  );
  const values: Value[] = [
    ...operationColumns(operations),
    ...messageColumns(messages, nameOf),
    ...metadataColumns(messages),
    ...wishColumns(messages),
    ...deliveryColumns(recipients, queueIds),
    ...eventsColumns(recipients),
  ];
  return { values, queueIds };
}

function operationColumns(operations: readonly Accepted[]): Value[] {
  const keys = operations.map(({ idempotency }) => idempotency);
  return [
    int8s(operations.map(({ epoch }) => epoch)),
    bools(operations.map(leases)),
    uuids(operations.map(({ messages: [first] }) => (first === undefined ? null : uuidBytes(first.id)))),
    texts(keys.map((key) => key?.owner ?? null)),
    texts(keys.map((key) => key?.operation ?? null)),
    texts(keys.map((key) => key?.key ?? null)),
    byteas(keys.map((key) => key?.fingerprint ?? null)),
    int4s(keys.map((key) => key?.status ?? null)),
    texts(keys.map((key) => key?.body ?? null)),
    int8s(keys.map((key) => key?.createdAt ?? null)),
    operations.map(windowOf).find((window) => window !== null) ?? 0,
  ];
}

function messageColumns(
  given: readonly { message: NewMessage; op: number }[],
  nameOf: (text: string) => number,
): Value[] {
  const messages = given.map(({ message }) => message);
  const starts: number[] = [];
  let end = 0;
  for (const { content } of messages) {
    starts.push(end);
    end += content.length;
  }
  return [
    int8s(given.map(({ op }) => op)),
    ...MESSAGE.map(({ type, value }) =>
      arrayOf(
        type,
        messages.map((message) => value(message, nameOf)),
      ),
    ),
    int4s(starts),
    texts(messages.map(({ places }) => (places === undefined ? null : JSON.stringify(places)))),
    joined(messages.map(({ content }) => content)),
  ];
}

/** A large message comes alone: it is not copied. */
function joined(contents: readonly Uint8Array[]): Buffer {
  const [first] = contents;
  return first !== undefined && contents.length === 1 ? asBuffer(first) : Buffer.concat(contents);
}

/** The values have this type: the table states both in one row. */
function arrayOf(type: keyof typeof ARRAYS, values: readonly unknown[]): Buffer {
  return (ARRAYS[type] as (values: readonly unknown[]) => Buffer)(values);
}

/** A text that the server can also read as JSON. */
function parsable(text: string): string {
  return storable(text.toWellFormed());
}

function metadataColumns(given: readonly { message: NewMessage }[]): Value[] {
  const pairs = given.flatMap(({ message }, i) =>
    Object.entries(message.metadata).map(([name, value]) => ({ place: i + 1, name, value })),
  );
  return [
    int8s(pairs.map(({ place }) => place)),
    texts(pairs.map(({ name }) => name)),
    texts(pairs.map(({ value }) => value)),
  ];
}

function wishColumns(given: readonly { message: NewMessage }[]): Value[] {
  const wishes = given.flatMap(({ message }, i) =>
    message.notice === undefined ? [] : [{ place: i + 1, message, notice: message.notice }],
  );
  return [
    int8s(wishes.map(({ place }) => place)),
    texts(wishes.map(({ notice }) => notice.sender)),
    bools(wishes.map(({ notice: { ret } }) => (ret === null ? null : ret === 'FULL'))),
    texts(wishes.map(({ notice }) => notice.envid)),
    texts(wishes.map(({ message }) => orcptsOf(message))),
  ];
}

type Given = { recipient: NewRecipient; message: NewMessage; place: number };

function deliveryColumns(given: readonly Given[], queueIds: readonly number[]): Value[] {
  const recipients = given.map(({ recipient }) => recipient);
  return [
    int8s(given.map(({ place }) => place)),
    int8s(queueIds),
    int2s(recipients.map(({ state }) => stateCode.of(state))),
    int8s(recipients.map(({ dueAt }) => dueAt)),
    int2s(recipients.map(({ kind }) => recipientKindCode.of(kind))),
    int2s(recipients.map(({ sandbox }) => (sandbox === null ? null : sandboxCode.of(sandbox)))),
    texts(recipients.map(({ address }) => address)),
    texts(recipients.map(({ waitReason }) => waitReason)),
    int2s(
      given.map(({ recipient, message }) =>
        message.notice === undefined ? null : notifyBits(recipient.notify),
      ),
    ),
  ];
}

function eventsColumns(given: readonly Given[]): Value[] {
  const events: NewEvent[] = [];
  const places: number[] = [];
  given.forEach(({ recipient }, i) => {
    for (const event of recipient.events) {
      events.push(event);
      places.push(i + 1);
    }
  });
  return [...eventColumns(events), int8s(places)];
}

/** Whether some rows are inserted as leased. */
export function leases({ messages }: Accepted): boolean {
  return messages.some(({ recipients }) => recipients.some(({ state }) => state === 'sending'));
}

/** How long its key is valid; null: it has none. */
export function windowOf({ idempotency }: Accepted): number | null {
  return idempotency === null ? null : idempotency.createdAt - idempotency.expiresBefore;
}
