/**
 * Outcomes: each changes the row that its epoch has leased, with its events, in one transaction. Ordinary ones of several
 * calls are one statement (`settleTogether`); those that do more, or whose lease was lost, which leaves a `late_outcome`
 * in the timeline, follow one by one (`settle`).
 */

import { suppressionKey } from '../../model/suppression.ts';
import { routeCode, stateCode } from '../shared/codes.ts';
import type { ParamsOf } from '../shared/operation.ts';
import { insertCapture } from '../shared/rows/captures.ts';
import { causeIdOf } from '../shared/rows/causes.ts';
import { toldAs } from '../shared/rows/notices.ts';
import { recordLate } from '../shared/rows/queue.ts';
import { applySignal } from '../shared/suppressing.ts';
import { finished } from '../shared/work.ts';
import type { NewCause } from '../topics/causes.ts';
import type { Settlement } from '../topics/queue.ts';
import { MOST_CALLS } from './call-portions.ts';
import { dropOrLeaveContent } from './contents.ts';
import { bools, int2s, int4s, int8s, texts } from './engine/arrays.ts';
import { write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';
import { sharedDb } from './engine/shared-db.ts';
import { appendAll, eventColumns, storingEvents, TAKE_XID } from './events.ts';
import { noteFacts } from './notices.ts';
import { sharedSession } from './shared-session.ts';
import { forgetEvidence } from './suppressions.ts';

const DELIVERED = stateCode.of('delivered');

/** Records outcomes one by one. */
export const settle = write(
  'settle',
  { lane: 'settle', repeatable: true },
  async (session, { settlements, now }) => {
    const answers = new Map<Settlement, 'settled' | 'lease-lost'>();
    const inOrder = settlements.length > 1 ? await lockTogether(session, settlements, now) : settlements;
    for (const settlement of inOrder) answers.set(settlement, await settleOne(session, settlement, now));
    return settlements.map((settlement) => answers.get(settlement) ?? 'lease-lost');
  },
);

/**
 * Several nodes settle outcomes with the same causes, recipients of the same messages and mail to the same addresses at the
 * same time. All of them take these in one order, as otherwise each could wait for the other: causes, recipients, messages, and
 * then what is kept of each address. Returns the outcomes in the order of the addresses.
 */
async function lockTogether(
  session: Session,
  settlements: readonly Settlement[],
  now: number,
): Promise<readonly Settlement[]> {
  const { db } = session;
  const causes = new Map(
    settlements.flatMap(({ cause }) => (cause === undefined ? [] : [[nameOf(cause), cause]])),
  );
  for (const [, cause] of [...causes].sort(byFirst)) await causeId(session, cause, now);
  const ids = int8s(settlements.map(({ deliveryId }) => deliveryId));
  const captures = settlements.some(({ capture }) => capture !== undefined);
  const [rows] = await Promise.all([
    db.all<{ id: number; domain: string; address: string }>(LOCK_RECIPIENTS, ids),
    db.run(LOCK_MESSAGES, ids, captures),
  ]);
  const places = new Map(rows.map(({ id, domain, address }) => [id, `${domain} ${suppressionKey(address)}`]));
  return settlements
    .map((settlement) => [places.get(settlement.deliveryId) ?? '', settlement] as const)
    .sort(byFirst)
    .map(([, settlement]) => settlement);
}

function nameOf({ category, site, senderDomain, shape }: NewCause): string {
  return JSON.stringify([category, site, senderDomain, shape]);
}

function byFirst([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const OF_THESE = `FROM unnest($1::int8[]) g (id) JOIN delivery d ON d.id = g.id JOIN message m ON m.seq = d.message_seq`;
const LOCK_RECIPIENTS = `SELECT d.id, n.text AS domain, d.address ${OF_THESE} JOIN name n ON n.id = m.domain_id
  ORDER BY d.id FOR UPDATE OF d`;
/** $2: the sandbox captures some of them. */
const LOCK_MESSAGES = `SELECT ${OF_THESE} WHERE $2 OR NOT m.keep_content ORDER BY m.seq FOR UPDATE OF m`;

/** Whether an outcome needs only the one statement, as far as is known before it runs. */
function isPlain(outcome: Settlement): boolean {
  return outcome.capture === undefined && outcome.suppress === undefined;
}

/**
 * `state + 0` keeps the planner from using the index over leased rows: with many eras it would read all leased rows
 * instead of looking up each by its number. OFFSET 0 makes it look up evidence by domain instead of scanning it.
 */
const SETTLE_TOGETHER = `WITH ${TAKE_XID},
  s AS MATERIALIZED (
    SELECT * FROM unnest($1::int8[], $2::int8[], $3::int2[], $4::int8[], $5::text[], $6::int4[], $7::int8[], $8::text[],
      $9::text[], $10::int4[], $11::int2[], $12::bool[], $13::int8[], $14::int8[], $15::int8[], $16::bool[]) WITH ORDINALITY
      s (id, epoch, state, due_at, wait_reason, attempts, now, category, reply, code, route, duplicate, deferred_at, told_at,
        cause_id, forgets, place) ORDER BY id),
  done AS MATERIALIZED (
    UPDATE delivery d SET state = s.state, epoch = 0, due_at = coalesce(s.due_at, d.due_at), wait_reason = s.wait_reason,
      attempts = d.attempts + s.attempts, updated_at = s.now, last_category = coalesce(s.category, d.last_category),
      last_reply = coalesce(s.reply, d.last_reply), last_code = coalesce(s.code, d.last_code),
      route = coalesce(s.route, d.route), may_be_duplicate = coalesce(s.duplicate, d.may_be_duplicate),
      first_deferred_at = CASE WHEN d.last_category IS NOT DISTINCT FROM s.category
        THEN coalesce(d.first_deferred_at, s.deferred_at) ELSE coalesce(s.deferred_at, d.first_deferred_at) END,
      last_deferred_event_at = coalesce(s.told_at, d.last_deferred_event_at),
      cause_id = CASE WHEN s.state <> ${DELIVERED} THEN coalesce(s.cause_id, d.cause_id) END
    FROM s CROSS JOIN tx, message m
    WHERE tx.xid IS NOT NULL AND d.id = s.id AND d.state + 0 = 1 AND d.epoch = s.epoch AND m.seq = d.message_seq
      AND d.notify IS NULL AND (m.keep_content OR s.state = 0)
      AND NOT (s.forgets AND EXISTS (SELECT FROM suppression_evidence e WHERE e.domain_id = m.domain_id OFFSET 0))
    RETURNING s.place, d.id, d.message_seq, m.domain_id),
  ev AS MATERIALIZED (
    SELECT nextval('event_seq_seq') AS seq, g.* FROM (
      SELECT e.event_id, e.kind, e.at, e.detail, e.token, done.domain_id, done.message_seq, done.id AS delivery_id
      FROM unnest($17::uuid[], $18::int2[], $19::int8[], $20::text[], $21::text[], $22::int8[]) WITH ORDINALITY
        e (event_id, kind, at, detail, token, outcome, place)
        JOIN done ON done.place = e.outcome ORDER BY e.place) g),
  ${storingEvents(String(MOST_CALLS))}
  SELECT place FROM done`;

type Settling = ParamsOf<'settle'>;

/**
 * Stores the ordinary outcomes of several calls; `null` for those that must be settled one by one, because they do
 * more or because their lease is lost.
 */
export async function settleTogether(
  session: Session,
  calls: readonly Settling[],
): Promise<('settled' | null)[][]> {
  const seen = new Set<number>();
  const plain = calls.flatMap(({ settlements, now }, call) =>
    settlements.flatMap((outcome, i) => {
      if (!isPlain(outcome) || seen.has(outcome.deliveryId)) return [];
      seen.add(outcome.deliveryId);
      return [{ outcome, now, call, i }];
    }),
  );
  const answers = calls.map(({ settlements }) => settlements.map((): 'settled' | null => null));
  if (plain.length === 0) return answers;
  const columns = await Promise.all(plain.map(({ outcome, now }) => columnsOf(session, outcome, now)));
  const events = plain.flatMap(({ outcome }, i) => outcome.events.map((event) => ({ event, place: i + 1 })));
  const rows = await session.db.all<{ place: number }>(
    SETTLE_TOGETHER,
    int8s(plain.map(({ outcome }) => outcome.deliveryId)),
    int8s(plain.map(({ outcome }) => outcome.epoch)),
    int2s(columns.map(({ state }) => state)),
    int8s(columns.map(({ dueAt }) => dueAt)),
    texts(columns.map(({ waitReason }) => waitReason)),
    int4s(columns.map(({ attempts }) => attempts)),
    int8s(plain.map(({ now }) => now)),
    texts(columns.map(({ category }) => category)),
    texts(columns.map(({ reply }) => reply)),
    int4s(columns.map(({ code }) => code)),
    int2s(columns.map(({ route }) => route)),
    bools(columns.map(({ duplicate }) => duplicate)),
    int8s(columns.map(({ deferredAt }) => deferredAt)),
    int8s(columns.map(({ toldAt }) => toldAt)),
    int8s(columns.map(({ causeId }) => causeId)),
    bools(plain.map(({ outcome }) => forgets(outcome))),
    ...eventColumns(events.map(({ event }) => event)),
    int8s(events.map(({ place }) => place)),
  );
  for (const { place } of rows) {
    const { call = 0, i = 0 } = plain[place - 1] ?? {};
    const own = answers[call];
    if (own !== undefined) own[i] = 'settled';
  }
  return answers;
}

/** What an outcome writes; null keeps the value. */
async function columnsOf(session: Session, outcome: Settlement, now: number) {
  const waits = outcome.state === 'queued';
  const deferred = outcome.events.find((event) => event.kind === 'deferred');
  return {
    state: stateCode.of(outcome.state),
    dueAt: waits ? (outcome.dueAt ?? now) : null,
    waitReason: waits ? (outcome.waitReason ?? null) : null,
    attempts: outcome.countAttempt ? 1 : 0,
    category: outcome.category ?? null,
    reply: outcome.lastReply ?? null,
    code: outcome.lastCode ?? null,
    route: outcome.route === undefined ? null : routeCode.of(outcome.route),
    duplicate: outcome.mayBeDuplicate ?? null,
    deferredAt: deferred?.at ?? null,
    toldAt: deferred === undefined || deferred.notify === false ? null : deferred.at,
    causeId: outcome.cause === undefined ? null : await causeId(session, outcome.cause, now),
  };
}

/** A delivery to a mailbox deletes the evidence against it. */
function forgets({ state, route }: Settlement): boolean {
  return state === 'delivered' && route !== 'sandbox';
}

const SETTLE = `UPDATE delivery d SET state = $1::int2, epoch = 0, due_at = coalesce($2, d.due_at), wait_reason = $3,
    attempts = d.attempts + $4, updated_at = $5, last_category = coalesce($6, d.last_category),
    last_reply = coalesce($7, d.last_reply), last_code = coalesce($8, d.last_code), route = coalesce($9, d.route),
    may_be_duplicate = coalesce($10, d.may_be_duplicate), first_deferred_at = CASE WHEN d.last_category IS NOT DISTINCT FROM $6
      THEN coalesce(d.first_deferred_at, $11) ELSE coalesce($11, d.first_deferred_at) END,
    last_deferred_event_at = coalesce($12, d.last_deferred_event_at),
    cause_id = CASE WHEN $1::int2 <> ${DELIVERED} THEN coalesce($13, d.cause_id) END
  FROM message m WHERE m.seq = d.message_seq AND d.id = $14 AND d.state = 1 AND d.epoch = $15
  RETURNING d.message_seq, d.address, d.notify, m.domain_id, m.keep_content`;

async function settleOne(
  session: Session,
  outcome: Settlement,
  now: number,
): Promise<'settled' | 'lease-lost'> {
  const columns = await columnsOf(session, outcome, now);
  const row = await session.db.get<{
    message_seq: number;
    address: string;
    notify: number | null;
    domain_id: number;
    keep_content: boolean;
  }>(
    SETTLE,
    columns.state,
    columns.dueAt,
    columns.waitReason,
    columns.attempts,
    now,
    columns.category,
    columns.reply,
    columns.code,
    columns.route,
    columns.duplicate,
    columns.deferredAt,
    columns.toldAt,
    columns.causeId,
    outcome.deliveryId,
    outcome.epoch,
  );
  if (row === undefined) return finished(recordLate(sharedSession(session), outcome));
  const { message_seq: messageSeq, domain_id: domainId, address, notify } = row;
  const subject = { domainId, messageSeq, deliveryId: outcome.deliveryId };
  const seqs = await appendAll(
    session,
    outcome.events.map((event) => ({ event, subject })),
  );
  const kind = notify === null ? null : toldAs(outcome.state);
  if (notify !== null && kind !== null) {
    const { deliveryId } = outcome;
    await noteFacts(session, [
      { messageSeq, deliveryId, notify, kind, eventSeq: seqs.at(-1) ?? null, at: now },
    ]);
  }
  if (outcome.capture !== undefined) {
    await finished(
      insertCapture(sharedSession(session), outcome.capture, { ...subject, envelopeTo: address }),
    );
  }
  if (outcome.suppress !== undefined)
    await finished(applySignal(sharedSession(session), outcome.suppress, subject, address, now));
  if (forgets(outcome)) await forgetEvidence(session.db, domainId, address);
  if (outcome.state !== 'queued' && !row.keep_content) await dropOrLeaveContent(session, messageSeq);
  return 'settled';
}

/** The id of a cause, created if new; null if there are too many. */
async function causeId(session: Session, cause: NewCause, now: number): Promise<number | null> {
  const sender = cause.senderDomain === '' ? 0 : await session.nameId(cause.senderDomain);
  return finished(causeIdOf(sharedDb(session.db, session), sender, cause, now));
}
