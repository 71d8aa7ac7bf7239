/**
 * Acceptance: messages, their recipients, the accepted events and the idempotency rows of several operations in one
 * statement, which is one transaction in one round trip. Recipients that are inserted as `sending` are leased from the
 * start, so nothing else claims them. An operation whose key is taken, or whose epoch has ended, stores nothing and does
 * not disturb the others. What few messages need (quotas, notices) is done around the same statement.
 */
import { laneCode, recipientKindCode, sandboxCode, stateCode, uuidBytes } from '../shared/codes.ts';
import type { CommitResult, NewMessage, NewRecipient } from '../topics/acceptance.ts';
import type { NewEvent } from '../topics/events.ts';
import { MOST_CALLS } from './call-portions.ts';
import { bools, byteas, int2s, int4s, int8s, storable, texts, uuids } from './engine/arrays.ts';
import type { Value } from './engine/db.ts';
import { findKey, heldKey, NothingStored } from './engine/keyed.ts';
import { type ParamsOf, read, write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';
import { eventColumns, storingEvents, TAKE_XID } from './events.ts';
import { isLiving, LIVING } from './nodes.ts';
import { noteFacts, notifyBits, orcptsOf, tellNotice } from './notices.ts';
import { charge } from './quota.ts';

type Accepted = ParamsOf<'commitAccepted'>;

/** Commits one operation. The engine commits those that arrive together by `commitTogether` where they are plain. */
export const commitAccepted = write(
  'commitAccepted',
  { lane: 'commit', repeatable: true },
  async (session, params) => {
    if (isPlain(params)) return only(await commitTogether(session, [params]));
    const earlier = await resultOf(session, params);
    if (earlier !== null) return earlier;
    const exceeded = params.quotas === undefined ? null : await charge(session, params.quotas);
    if (exceeded !== null) throw new NothingStored(exceeded);
    if (params.tells !== undefined && !(await tellNotice(session, params.tells))) {
      throw new NothingStored({ kind: 'told' });
    }
    const result = only(await commitTogether(session, [params]));
    if (result.kind !== 'committed') throw new NothingStored(result);
    await noteFacts(session, factsOf(params, result));
    for (const { releases, createdAt, id } of params.messages) {
      if (releases === undefined) continue;
      const sql = 'UPDATE capture SET released_at = $1, released_as = $2 WHERE id = $3';
      await session.db.run(sql, createdAt, id, releases);
    }
    return result;
  },
);

/** Whether an operation needs nothing but the one statement. */
export function isPlain({ messages, quotas, tells }: Accepted): boolean {
  return (
    quotas === undefined &&
    tells === undefined &&
    messages.every(
      ({ releases, notice, recipients }) =>
        releases === undefined &&
        (notice === undefined || recipients.every(({ state }) => state !== 'suppressed')),
    )
  );
}

function only<Item>(items: readonly Item[]): Item {
  const [item] = items;
  if (item === undefined) throw new Error('A commit had no result');
  return item;
}

/** Operations that one statement can commit: those with the same validity of keys, each key and message once. */
export function commitGroups(batch: readonly Accepted[]): Accepted[][] {
  const groups: { window: number | null; seen: Set<string>; operations: Accepted[] }[] = [];
  for (const operation of batch) {
    const window = windowOf(operation);
    const names = namesOf(operation);
    let group = groups.find(
      (one) =>
        (window === null || one.window === null || one.window === window) &&
        names.every((name) => !one.seen.has(name)),
    );
    if (group === undefined) {
      group = { window, seen: new Set(), operations: [] };
      groups.push(group);
    }
    group.window ??= window;
    for (const name of names) group.seen.add(name);
    group.operations.push(operation);
  }
  return groups.map(({ operations }) => operations);
}

function windowOf({ idempotency }: Accepted): number | null {
  return idempotency === null ? null : idempotency.createdAt - idempotency.expiresBefore;
}

function namesOf({ idempotency, messages }: Accepted): string[] {
  const ids = messages.map(({ id }) => `m ${id}`);
  if (idempotency === null) return ids;
  const { owner, operation, key } = idempotency;
  return [...ids, `k ${JSON.stringify([owner, operation, key])}`];
}

const COMMIT = `WITH ${TAKE_XID},
  op AS MATERIALIZED (
    SELECT o.* FROM tx CROSS JOIN unnest($1::int8[], $2::bool[], $3::uuid[], $4::text[], $5::text[], $6::text[],
      $7::bytea[], $8::int4[], $9::text[], $10::int8[]) WITH ORDINALITY
      o (epoch, leased, first_id, owner, operation, key, fingerprint, status, body, created_at, op)
    WHERE tx.xid IS NOT NULL AND (NOT o.leased OR ${LIVING('o.epoch')})
      AND NOT EXISTS (SELECT FROM message m WHERE m.id = o.first_id)),
  keyed AS (
    INSERT INTO idempotency (owner, operation, key, fingerprint, status, body, created_at)
    SELECT owner, operation, key, fingerprint, status, body, created_at FROM op WHERE owner IS NOT NULL
    ORDER BY owner, operation, key
    ON CONFLICT (owner, operation, key) DO UPDATE SET fingerprint = excluded.fingerprint, status = excluded.status,
      body = excluded.body, created_at = excluded.created_at
    WHERE idempotency.created_at < excluded.created_at - $11::int8
    RETURNING owner, operation, key),
  won AS MATERIALIZED (
    SELECT op.op, op.epoch FROM op LEFT JOIN keyed k
      ON k.owner = op.owner AND k.operation = op.operation AND k.key = op.key
    WHERE op.owner IS NULL OR k.owner IS NOT NULL),
  msg AS MATERIALIZED (
    SELECT nextval('message_seq_seq') AS seq, g.* FROM (
      SELECT won.epoch, g.* FROM won JOIN unnest($12::int8[], $13::uuid[], $14::int8[], $15::int8[], $16::int2[],
        $17::bool[], $18::bool[], $19::bool[], $20::int4[], $21::int4[], $22::int8[], $23::int8[], $24::text[], $25::text[],
        $26::text[], $27::text[], $28::text[], $29::int8[], $30::bool[], $31::int4[], $32::bool[], $33::int2[], $34::bool[],
        $35::int4[], $36::text[]) WITH ORDINALITY g (op, id, domain_id, token_name_id, lane, sandbox, needs_smtputf8,
        eight_bit, body_offset, size, created_at, expires_at, from_address, subject, lists, tags, metadata, send_at,
        expiry_given, date_offset, keep_content, personal, null_sender, starts, places, place) ON g.op = won.op
      ORDER BY g.place) g),
  messages AS (
    INSERT INTO message (seq, id, domain_id, token_name_id, lane, sandbox, needs_smtputf8, eight_bit, body_offset, size,
      created_at, expires_at, from_address, subject, lists, tags, metadata, send_at, expiry_given, date_offset, keep_content,
      personal, null_sender)
    SELECT seq, id, domain_id, token_name_id, lane, sandbox, needs_smtputf8, eight_bit, body_offset, size, created_at,
      expires_at, from_address, subject, lists,
      CASE WHEN tags IS NOT NULL THEN ARRAY(SELECT json_array_elements_text(tags::json)) END, metadata, send_at,
      expiry_given, date_offset, keep_content, personal, null_sender FROM msg),
  contents AS (
    INSERT INTO content (message_seq, domain_id, size, bytes, places)
    SELECT seq, domain_id, size, substring($37::bytea FROM starts + 1 FOR size), places FROM msg),
  metadata AS (
    INSERT INTO message_metadata (domain_id, name, value, message_seq)
    SELECT m.domain_id, g.name, g.value, m.seq FROM unnest($38::int8[], $39::text[], $40::text[]) g (place, name, value)
      JOIN msg m ON m.place = g.place),
  wishes AS (
    INSERT INTO message_notice (message_seq, sender, ret, envid, orcpts)
    SELECT m.seq, g.sender, g.ret, g.envid, g.orcpts
    FROM unnest($41::int8[], $42::text[], $43::bool[], $44::text[], $45::text[]) g (place, sender, ret, envid, orcpts)
      JOIN msg m ON m.place = g.place),
  dlv AS MATERIALIZED (
    SELECT nextval('delivery_id_seq') AS id, g.* FROM (
      SELECT m.seq, m.domain_id, m.expires_at, m.created_at, CASE g.state WHEN 1 THEN m.epoch ELSE 0 END AS epoch, g.*
      FROM unnest($46::int8[], $47::int8[], $48::int2[], $49::int8[], $50::int2[], $51::int2[], $52::text[], $53::text[],
        $54::int2[]) WITH ORDINALITY
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
      FROM unnest($55::uuid[], $56::int2[], $57::int8[], $58::text[], $59::text[], $60::int8[]) WITH ORDINALITY
        e (event_id, kind, at, detail, token, delivery, place)
        JOIN dlv d ON d.place = e.delivery ORDER BY e.place) g),
  ${storingEvents(String(MOST_CALLS))}
  SELECT m.op, m.seq, array_agg(d.id ORDER BY d.place) FILTER (WHERE d.id IS NOT NULL) AS ids
  FROM msg m LEFT JOIN dlv d ON d.message = m.place GROUP BY m.op, m.seq ORDER BY m.seq`;

/**
 * Commits several operations, which must fit together (`commitGroups`); a result for each in order. Quotas and notices of
 * theirs are the caller's.
 */
export async function commitTogether(
  session: Session,
  operations: readonly Accepted[],
): Promise<CommitResult[]> {
  const { values, queueIds } = await valuesOf(session, operations);
  const rows = await session.db.all<{ op: number; seq: number; ids: number[] | null }>(COMMIT, ...values);
  const results: CommitResult[] = [];
  let row = 0;
  let queue = 0;
  for (const [i, operation] of operations.entries()) {
    const count = operation.messages.length;
    const isStored = count === 0 || rows[row]?.op === i + 1;
    const queues = operation.messages.map(({ recipients }) => recipients.map(() => queueIds[queue++] ?? 0));
    if (!isStored) {
      results.push(await refused(session, operation));
      continue;
    }
    const messages = rows.slice(row, row + count).map(({ seq, ids }, n) => ({
      seq,
      deliveries: (ids ?? []).map((id, d) => ({ id, queueId: queues[n]?.[d] ?? 0 })),
    }));
    row += count;
    results.push({ kind: 'committed', messages });
  }
  return results;
}

/** Why the statement left an operation out. */
async function refused(session: Session, operation: Accepted): Promise<CommitResult> {
  const result = await resultOf(session, operation);
  if (result !== null) return result;
  // What was in its way has gone meanwhile.
  return only(await commitTogether(session, [operation]));
}

/** The result of an operation that was committed before, or cannot be; null: it can be committed. */
async function resultOf(session: Session, params: Accepted): Promise<CommitResult | null> {
  const stored = await storedMessages(session, params.messages);
  if (stored !== null) return { kind: 'committed', messages: stored };
  const held = params.idempotency === null ? null : await heldKey(session.db, params.idempotency);
  if (held !== null) return held;
  if (leases(params) && !(await isLiving(session.db, params.epoch))) return { kind: 'epoch-ended' };
  return null;
}

function leases({ messages }: Accepted): boolean {
  return messages.some(({ recipients }) => recipients.some(({ state }) => state === 'sending'));
}

/** Rows of messages that were already committed because the answer was lost; null: they are new. */
async function storedMessages({ db }: Session, messages: readonly NewMessage[]) {
  const [first] = messages;
  if (first === undefined) return null;
  const rows = await db.all<{ place: number; seq: number; id: number | null; queueId: number }>(
    `SELECT g.place, m.seq, d.id, d.queue_id AS "queueId" FROM unnest($1::uuid[]) WITH ORDINALITY g (id, place)
     JOIN message m ON m.id = g.id LEFT JOIN delivery d ON d.message_seq = m.seq ORDER BY g.place, d.id`,
    uuids(messages.map(({ id }) => uuidBytes(id))),
  );
  if (rows.length === 0) return null;
  return messages.map((_, i) => {
    const own = rows.filter(({ place }) => place === i + 1);
    const deliveries = own.flatMap(({ id, queueId }) => (id === null ? [] : [{ id, queueId }]));
    return { seq: own[0]?.seq ?? 0, deliveries };
  });
}

/** The values of COMMIT. Names and queues get their numbers before. */
async function valuesOf(session: Session, operations: readonly Accepted[]) {
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
    uuids(messages.map(({ id }) => uuidBytes(id))),
    int8s(messages.map(({ domain }) => nameOf(domain))),
    int8s(messages.map(({ tokenId }) => nameOf(tokenId))),
    int2s(messages.map(({ lane }) => laneCode.of(lane))),
    bools(messages.map(({ sandbox }) => sandbox)),
    bools(messages.map(({ needsSmtpUtf8 }) => needsSmtpUtf8)),
    bools(messages.map(({ eightBit }) => eightBit)),
    int4s(messages.map(({ bodyOffset }) => bodyOffset)),
    int4s(messages.map(({ content }) => content.length)),
    int8s(messages.map(({ createdAt }) => createdAt)),
    int8s(messages.map(({ expiresAt }) => expiresAt)),
    texts(messages.map(({ lists }) => lists.from.address)),
    texts(messages.map(({ subject }) => subject)),
    texts(messages.map(({ lists }) => JSON.stringify(lists))),
    texts(messages.map(({ tags }) => (tags.length === 0 ? null : JSON.stringify(tags.map(parsable))))),
    texts(messages.map(({ metadata }) => (isEmpty(metadata) ? null : JSON.stringify(metadata)))),
    int8s(messages.map(({ sendAt }) => sendAt)),
    bools(messages.map(({ expiryGiven }) => expiryGiven)),
    int4s(messages.map(({ dateOffset }) => dateOffset)),
    bools(messages.map(({ keepContent }) => keepContent !== false)),
    int2s(messages.map(({ places }) => personalBits(places))),
    bools(messages.map(({ nullSender }) => nullSender === true)),
    int4s(starts),
    texts(messages.map(({ places }) => (places === undefined ? null : JSON.stringify(places)))),
    Buffer.concat(messages.map(({ content }) => content)),
  ];
}

/** A text that the server may also read as JSON. */
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

/** Recipients that are suppressed from the start, whose senders wish to know. */
function factsOf(params: Accepted, { messages }: Extract<CommitResult, { kind: 'committed' }>) {
  return params.messages.flatMap((message, i) =>
    message.recipients.flatMap((recipient, r) => {
      const notify = message.notice === undefined ? null : notifyBits(recipient.notify);
      const messageSeq = messages[i]?.seq;
      const deliveryId = messages[i]?.deliveries[r]?.id;
      if (notify === null || recipient.state !== 'suppressed') return [];
      if (messageSeq === undefined || deliveryId === undefined) return [];
      return [{ messageSeq, deliveryId, notify, kind: 'failure' as const, at: message.createdAt }];
    }),
  );
}

/** Column `personal`: whether copies differ, and whether a link of ours can unsubscribe from them. */
function personalBits(places: NewMessage['places']): number {
  if (places === undefined) return 0;
  return places.places.some(({ kind }) => kind === 'unsubscribe') ? 3 : 1;
}

function isEmpty(record: Readonly<Record<string, string>>): boolean {
  for (const _ in record) return false;
  return true;
}

/** The stored answer for a key younger than `expiresBefore`, or null. */
export const findIdempotent = read('findIdempotent', findKey);

/** Forgets keys created before `before`, oldest first, at most `limit`; how many. */
export const purgeIdempotency = write('purgeIdempotency', { whole: true }, ({ db }, params) =>
  db.run(
    `DELETE FROM idempotency WHERE id IN
       (SELECT id FROM idempotency WHERE created_at < $1 ORDER BY created_at LIMIT $2)`,
    params.before,
    params.limit,
  ),
);
