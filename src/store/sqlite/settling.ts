/**
 * Outcomes: each changes the row that its epoch has leased, with its events, in one transaction. One whose lease was lost
 * changes nothing but leaves a `late_outcome` in the timeline.
 */

import { routeCode, stateCode } from '../shared/codes.ts';
import { insertCapture } from '../shared/rows/captures.ts';
import { causeIdOf } from '../shared/rows/causes.ts';
import { toldAs } from '../shared/rows/notices.ts';
import { recordLate } from '../shared/rows/queue.ts';
import { applySignal } from '../shared/suppressing.ts';
import { resultOf } from '../shared/work.ts';
import type { NewCause } from '../topics/causes.ts';
import type { Settlement } from '../topics/queue.ts';
import { dropOrLeaveContent } from './contents.ts';
import { write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';
import { sharedDb } from './engine/shared-db.ts';
import { appendEvent } from './events.ts';
import { noteFact } from './notices.ts';
import { sharedSession } from './shared-session.ts';
import { forgetEvidence } from './suppressions.ts';

/** Records outcomes for leased rows. */
export const settle = write(
  'settle',
  'by key',
  {
    rows: 'settlements',
    patient: ({ settlements }) =>
      // A test that waits for its captured mail waits for this commit.
      settlements.some(({ capture }) => capture !== undefined) ? null : settlements.length,
  },
  (session, params) => {
    return params.settlements.map((settlement) => settleOne(session, settlement, params.now));
  },
);

function settleOne(session: Session, outcome: Settlement, now: number): 'settled' | 'lease-lost' {
  const { db } = session;
  const waits = outcome.state === 'queued';
  const deferred = outcome.events.find((event) => event.kind === 'deferred');
  const row = db.get<{
    message_seq: number;
    address: string;
    notify: number | null;
    domain_id: number;
    keep_content: number;
  }>(
    `UPDATE delivery SET state = ?, epoch = 0, due_at = coalesce(?, due_at), wait_reason = ?, attempts = attempts + ?,
       updated_at = ?, last_category = coalesce(?, last_category), last_reply = coalesce(?, last_reply),
       last_code = coalesce(?, last_code), route = coalesce(?, route),
       may_be_duplicate = coalesce(?, may_be_duplicate),
       first_deferred_at = CASE WHEN last_category IS ? THEN coalesce(first_deferred_at, ?) ELSE coalesce(?, first_deferred_at) END,
       last_deferred_event_at = coalesce(?, last_deferred_event_at),
       cause_id = CASE WHEN ? THEN NULL ELSE coalesce(?, cause_id) END
     WHERE id = ? AND state = 1 AND epoch = ?
     RETURNING message_seq, address, notify, (SELECT domain_id FROM message WHERE seq = message_seq) AS domain_id,
       (SELECT keep_content FROM message WHERE seq = message_seq) AS keep_content`,
    stateCode.of(outcome.state),
    waits ? (outcome.dueAt ?? now) : null,
    waits ? (outcome.waitReason ?? null) : null,
    outcome.countAttempt ? 1 : 0,
    now,
    outcome.category ?? null,
    outcome.lastReply ?? null,
    outcome.lastCode ?? null,
    outcome.route === undefined ? null : routeCode.of(outcome.route),
    outcome.mayBeDuplicate === undefined ? null : outcome.mayBeDuplicate ? 1 : 0,
    outcome.category ?? null,
    deferred?.at ?? null,
    deferred?.at ?? null,
    deferred === undefined || deferred.notify === false ? null : deferred.at,
    outcome.state === 'delivered' ? 1 : 0,
    outcome.cause === undefined ? null : causeId(session, outcome.cause, now),
    outcome.deliveryId,
    outcome.epoch,
  );
  if (row === undefined) return resultOf(recordLate(sharedSession(session), outcome));
  const subject = { domainId: row.domain_id, messageSeq: row.message_seq, deliveryId: outcome.deliveryId };
  let eventSeq: number | null = null;
  for (const event of outcome.events) eventSeq = appendEvent(session, event, subject);
  if (row.notify !== null) {
    const { messageSeq, deliveryId } = subject;
    const kind = toldAs(outcome.state);
    if (kind !== null) noteFact(db, { messageSeq, deliveryId, notify: row.notify, kind, eventSeq, at: now });
  }
  if (outcome.capture !== undefined) {
    resultOf(insertCapture(sharedSession(session), outcome.capture, { ...subject, envelopeTo: row.address }));
  }
  if (outcome.suppress !== undefined)
    resultOf(applySignal(sharedSession(session), outcome.suppress, subject, row.address, now));
  if (outcome.state === 'delivered' && outcome.route !== 'sandbox') {
    forgetEvidence(session, row.domain_id, row.address);
  }
  if (!waits && row.keep_content === 0) dropOrLeaveContent(session, row.message_seq);
  return 'settled';
}

/** The id of a cause, created if new; null if there are too many. */
function causeId(session: Session, cause: NewCause, now: number): number | null {
  const sender = cause.senderDomain === '' ? 0 : session.nameId(cause.senderDomain);
  return resultOf(causeIdOf(sharedDb(session.db), sender, cause, now));
}
