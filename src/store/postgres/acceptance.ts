/**
 * Acceptance: messages, their recipients, the accepted events and the idempotency rows of several operations in one
 * statement, which is one transaction in one round trip. Recipients that are inserted as `sending` are leased from the
 * start, so nothing else claims them. An operation whose key is taken, or whose epoch has ended, stores nothing and does
 * not disturb the others. What few messages need (quotas, notices) is done around the same statement.
 */

import { uuidBytes } from '../shared/codes.ts';
import { notifyBits } from '../shared/rows/notices.ts';
import type { CommitResult, NewMessage } from '../topics/acceptance.ts';
import { type Accepted, COMMIT, leases, RECENT, valuesOf, windowOf } from './acceptance-statement.ts';
import { uuids } from './engine/arrays.ts';
import { findKey, heldKey, NothingStored, takeKey } from './engine/keyed.ts';
import { read, write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';
import { isLiving } from './nodes.ts';
import { noteFacts, tellNotice } from './notices.ts';
import { charge } from './quota.ts';

/** Commits one operation. The engine commits those that arrive together by `commitTogether` where they are plain. */
export const commitAccepted = write(
  'commitAccepted',
  { lane: 'commit', repeatable: true },
  async (session, params) => {
    if (isPlain(params)) return only(await commitTogether(session, [params]));
    const earlier = await resultOf(session, params);
    if (earlier !== null) return earlier;
    if (params.messages.length === 0) return storeAnswer(session, params);
    const [exceeded] = params.quotas === undefined ? [] : await charge(session, [params.quotas]);
    // Another request with this key may have used it up while this one waited for the lock: then its answer counts.
    if (exceeded != null) throw new NothingStored((await resultOf(session, params)) ?? exceeded);
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

/** Of a batch whose messages are all refused, only the answer is stored, if it has a key. */
async function storeAnswer({ db }: Session, { idempotency }: Accepted): Promise<CommitResult> {
  const held = idempotency === null ? null : await takeKey(db, idempotency);
  return held ?? { kind: 'committed', messages: [] };
}

/** Whether an operation needs nothing but the one statement. */
export function isPlain(operation: Accepted): boolean {
  return operation.quotas === undefined && isPlainButForQuotas(operation);
}

/** Whether it needs nothing besides but its quotas. */
export function isPlainButForQuotas({ messages, tells }: Accepted): boolean {
  return (
    tells === undefined &&
    messages.length > 0 &&
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

function namesOf({ idempotency, messages }: Accepted): string[] {
  const ids = messages.map(({ id }) => `m ${id}`);
  if (idempotency === null) return ids;
  const { owner, operation, key } = idempotency;
  return [...ids, `k ${JSON.stringify([owner, operation, key])}`];
}

/**
 * Commits several operations, which must fit together (`commitGroups`); returns a result for each, in order. The
 * caller handles their quotas and notices.
 */
export async function commitTogether(
  session: Session,
  operations: readonly Accepted[],
): Promise<CommitResult[]> {
  if (operations.some((one) => isOver(session, one))) return commitApart(session, operations);
  const results = await storeTogether(session, operations, await valuesOf(session, operations));
  const answers: CommitResult[] = [];
  for (const [i, operation] of operations.entries())
    answers.push(results[i] ?? (await refused(session, operation)));
  return answers;
}

/** The one statement; null for an operation that it left out. */
async function storeTogether(
  session: Session,
  operations: readonly Accepted[],
  { values, queueIds }: Awaited<ReturnType<typeof valuesOf>>,
): Promise<(CommitResult | null)[]> {
  const rows = await session.db.all<{ op: number; seq: number; ids: number[] | null }>(COMMIT, ...values);
  let row = 0;
  let queue = 0;
  return operations.map(({ messages }, i) => {
    const isStored = rows[row]?.op === i + 1;
    const queues = messages.map(({ recipients }) => recipients.map(() => queueIds[queue++] ?? 0));
    if (!isStored) return null;
    const stored = rows.slice(row, row + messages.length).map(({ seq, ids }, n) => ({
      seq,
      deliveries: (ids ?? []).map((id, d) => ({ id, queueId: queues[n]?.[d] ?? 0 })),
    }));
    messages.forEach(({ recipients }, n) => {
      recipients.forEach(({ state }, r) => {
        if (state === 'queued') session.queues.add(queues[n]?.[r] ?? 0);
      });
    });
    row += messages.length;
    return { kind: 'committed', messages: stored };
  });
}

/**
 * Commits several operations that charge the same domains, under one lock of their rows; null for one whose quota is used up,
 * which may have been stored before. Throws where one was charged that the statement left out. These are committed alone then.
 */
export async function commitCharged(
  session: Session,
  operations: readonly Accepted[],
): Promise<(CommitResult | null)[]> {
  const charges = operations.map(({ quotas = [] }) => quotas);
  const exceeded = await charge(session, charges);
  const left = operations.filter((_, i) => exceeded[i] === null);
  if (left.length === 0) return operations.map(() => null);
  const isLost = left.some((one) => isOver(session, one));
  const results = isLost ? [null] : await storeTogether(session, left, await valuesOf(session, left));
  if (results.includes(null)) throw new Error('An operation was stored before, or its epoch has ended');
  return exceeded.map((one) => (one === null ? (results.shift() ?? null) : null));
}

/** A standby has taken over since some of their epochs began. */
async function commitApart(session: Session, operations: readonly Accepted[]): Promise<CommitResult[]> {
  const results: CommitResult[] = [];
  for (const operation of operations) {
    const refused = isOver(session, operation) ? await resultOf(session, operation) : null;
    results.push(refused ?? only(await commitTogether(session, [operation])));
  }
  return results;
}

/** Why the statement stored nothing for an operation. */
async function refused(session: Session, operation: Accepted): Promise<CommitResult> {
  const result = await resultOf(session, operation);
  if (result !== null) return result;
  // What was in its way has gone meanwhile.
  return only(await commitTogether(session, [operation]));
}

/** The result of an operation that was committed before or cannot be committed; null: it can be. */
async function resultOf(session: Session, params: Accepted): Promise<CommitResult | null> {
  const stored = await storedMessages(session, params.messages);
  if (stored !== null) return { kind: 'committed', messages: stored };
  const held = params.idempotency === null ? null : await heldKey(session.db, params.idempotency);
  if (held !== null) return held;
  if (isOver(session, params)) return { kind: 'epoch-ended' };
  if (leases(params) && !(await isLiving(session.db, params.epoch))) return { kind: 'epoch-ended' };
  return null;
}

function isOver(session: Session, params: Accepted): boolean {
  return leases(params) && session.isOver(params.epoch);
}

/** Rows of messages that were already committed because the answer was lost; null: they are new. */
async function storedMessages({ db }: Session, messages: readonly NewMessage[]) {
  const [first] = messages;
  if (first === undefined) return null;
  const rows = await db.all<{ place: number; seq: number; id: number | null; queueId: number }>(
    `SELECT g.place, m.seq, d.id, d.queue_id AS "queueId" FROM unnest($1::uuid[]) WITH ORDINALITY g (id, place)
     JOIN message m ON m.id = g.id AND ${RECENT} LEFT JOIN delivery d ON d.message_seq = m.seq ORDER BY g.place, d.id`,
    uuids(messages.map(({ id }) => uuidBytes(id))),
  );
  if (rows.length === 0) return null;
  return messages.map((_, i) => {
    const own = rows.filter(({ place }) => place === i + 1);
    const deliveries = own.flatMap(({ id, queueId }) => (id === null ? [] : [{ id, queueId }]));
    return { seq: own[0]?.seq ?? 0, deliveries };
  });
}

/** Recipients that are suppressed from the start and whose senders requested notices. */
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

export const findIdempotent = read('findIdempotent', findKey);
