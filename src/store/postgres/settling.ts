/**
 * Outcomes: each changes the row that its epoch has leased, with its events, in the caller's transaction. An outcome
 * whose lease was lost changes nothing but leaves a `late_outcome` in the timeline.
 */
import type { NoticeKind } from '../../model/notice.ts';
import { routeCode, stateCode } from '../shared/codes.ts';
import type { Settlement } from '../topics/queue.ts';
import { causeId } from './causes.ts';
import { write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';
import { appendAll, appendEvent, isStored } from './events.ts';
import { dropOrLeaveContent } from './leftovers.ts';
import { noteFacts } from './notices.ts';
import { applySignal, forgetEvidence } from './suppressions.ts';

/** Records outcomes for leased rows. */
export const settle = write('settle', { lane: 'settle' }, async (session, { settlements, now }) => {
  const answers: ('settled' | 'fenced')[] = [];
  for (const settlement of settlements) answers.push(await settleOne(session, settlement, now));
  return answers;
});

const SETTLE = `UPDATE delivery d SET state = $1, epoch = 0, due_at = coalesce($2, d.due_at), wait_reason = $3,
    attempts = d.attempts + $4, updated_at = $5, last_category = coalesce($6, d.last_category),
    last_reply = coalesce($7, d.last_reply), last_code = coalesce($8, d.last_code), route = coalesce($9, d.route),
    may_be_duplicate = coalesce($10, d.may_be_duplicate), first_deferred_at = coalesce(d.first_deferred_at, $11),
    last_deferred_event_at = coalesce($12, d.last_deferred_event_at),
    cause_id = CASE WHEN $13 THEN NULL ELSE coalesce($14, d.cause_id) END
  FROM message m WHERE m.seq = d.message_seq AND d.id = $15 AND d.state = 1 AND d.epoch = $16
  RETURNING d.message_seq, d.address, d.notify, m.domain_id, m.keep_content`;

async function settleOne(session: Session, outcome: Settlement, now: number): Promise<'settled' | 'fenced'> {
  const waits = outcome.state === 'queued';
  const deferred = outcome.events.find((event) => event.kind === 'deferred');
  const row = await session.db.get<{
    message_seq: number;
    address: string;
    notify: number | null;
    domain_id: number;
    keep_content: boolean;
  }>(
    SETTLE,
    stateCode.of(outcome.state),
    waits ? (outcome.dueAt ?? now) : null,
    waits ? (outcome.waitReason ?? null) : null,
    outcome.countAttempt ? 1 : 0,
    now,
    outcome.category ?? null,
    outcome.lastReply ?? null,
    outcome.lastCode ?? null,
    outcome.route === undefined ? null : routeCode.of(outcome.route),
    outcome.mayBeDuplicate ?? null,
    deferred?.at ?? null,
    deferred === undefined || deferred.notify === false ? null : deferred.at,
    outcome.state === 'delivered',
    outcome.cause === undefined ? null : await causeId(session, outcome.cause, now),
    outcome.deliveryId,
    outcome.epoch,
  );
  if (row === undefined) return recordLate(session, outcome);
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
  if (outcome.suppress !== undefined) await applySignal(session, outcome.suppress, subject, address, now);
  if (outcome.state === 'delivered' && outcome.route !== 'sandbox') {
    await forgetEvidence(session.db, domainId, address);
  }
  if (!waits && !row.keep_content) await dropOrLeaveContent(session, messageSeq);
  return 'settled';
}

/** The kind of notice for an outcome; null if there is none. */
function toldAs(state: Settlement['state']): NoticeKind | null {
  switch (state) {
    case 'delivered':
      return 'success';
    case 'queued':
      return 'delay';
    case 'bounced':
    case 'failed':
    case 'suppressed':
    case 'rejected':
      return 'failure';
    case 'sending':
    case 'canceled':
      return null;
  }
}

/**
 * One timeline entry with the id of the outcome's first event; an outcome without events leaves none. A repeated one,
 * after a lost answer, was settled under its lease.
 */
async function recordLate(session: Session, outcome: Settlement): Promise<'settled' | 'fenced'> {
  const { db } = session;
  const [first] = outcome.events;
  if (first === undefined) return 'fenced';
  const row = await db.get<{ message_seq: number; domain_id: number }>(
    'SELECT d.message_seq, m.domain_id FROM delivery d JOIN message m ON m.seq = d.message_seq WHERE d.id = $1',
    outcome.deliveryId,
  );
  if (row === undefined) return 'fenced';
  const { domain_id: domainId, message_seq: messageSeq } = row;
  if (await isStored(db, domainId, first)) return 'settled';
  const late = { id: first.id, kind: 'late_outcome', at: first.at } as const;
  if (await isStored(db, domainId, late)) return 'fenced';
  const reason = `The outcome "${outcome.state}" came after the lease was lost`;
  const subject = { domainId, messageSeq, deliveryId: outcome.deliveryId };
  await appendEvent(session, { ...late, detail: { ...first.detail, reason } }, subject);
  return 'fenced';
}
