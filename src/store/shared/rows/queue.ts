/** Queues with waiting mail, as rows, and outcomes that come too late for theirs. */
import type { ClaimedDelivery } from '../../../model/delivery.ts';
import type { MessageId } from '../../../model/message.ts';
import { SCHEDULED } from '../../../model/wait-reason.ts';
import type { QueueHint, Settlement } from '../../topics/queue.ts';
import { laneCode, queueLaneCode, recipientKindCode, sandboxCode } from '../codes.ts';
import type { Session } from '../operation.ts';
import { idOf, isTrue, type StoredFlag, type StoredId } from '../stored.ts';
import type { Work } from '../work.ts';

/** Rows of one queue that one `hurry` examines. */
export const HURRIED_ROWS = 500;

/**
 * How many recipients of a sender domain, whose number is `n.id`, wait or are being sent. In PostgreSQL they are found by its
 * queues, as its messages may be many.
 */
export const UNFINISHED = `{coalesce((SELECT u.recipients FROM unfinished u WHERE u.domain_id = n.id), 0)|
  (SELECT count(*) FROM dest_queue q JOIN delivery d ON d.queue_id = q.id WHERE q.sender_domain = n.id AND d.state = 0)
  + (SELECT count(*) FROM delivery d JOIN dest_queue q ON q.id = d.queue_id WHERE q.sender_domain = n.id AND d.state = 1)}`;

export interface QueueRow {
  id: number;
  due_at: number;
  lane: number;
  sender_domain: string;
  recipient_domain: string;
  route_key: string;
}

export function hintOf(row: QueueRow): QueueHint {
  return {
    queueId: row.id,
    ...queueLaneCode.word(row.lane),
    senderDomain: row.sender_domain,
    recipientDomain: row.recipient_domain,
    ...(row.route_key === '' ? {} : { routeKey: row.route_key }),
    nextDueAt: row.due_at,
  };
}

/** What is read of a recipient that is claimed. */
export interface ClaimRow {
  id: number;
  queue_id: number;
  message_seq: number;
  attempts: number;
  expires_at: number;
  kind: number;
  may_be_duplicate: StoredFlag;
  sandbox: number | null;
  first_deferred_at: number | null;
  last_deferred_event_at: number | null;
  wait_reason: string | null;
  address: string;
  last_category: string | null;
  last_reply: string | null;
  message_id: StoredId;
  lane: number;
  domain_id: number;
  created_at: number;
  size: number;
  body_offset: number;
  needs_smtputf8: StoredFlag;
  eight_bit: StoredFlag;
  personal: number;
  null_sender: StoredFlag;
  sender_domain: string;
  recipient_domain: string;
  route_key: string;
}

/** A row that was leased to `epoch`; `reasons`: what its address is suppressed for. */
export function claimedDelivery(
  row: ClaimRow,
  epoch: number,
  reasons: NonNullable<ClaimedDelivery['suppressedFor']>,
): ClaimedDelivery {
  return {
    id: row.id,
    epoch,
    queueId: row.queue_id,
    messageSeq: row.message_seq,
    messageId: idOf(row.message_id) as MessageId,
    senderDomain: row.sender_domain,
    lane: laneCode.word(row.lane),
    address: row.address,
    recipientDomain: row.recipient_domain,
    kind: recipientKindCode.word(row.kind),
    attempts: row.attempts,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    size: row.size,
    bodyOffset: row.body_offset,
    needsSmtpUtf8: isTrue(row.needs_smtputf8),
    eightBit: isTrue(row.eight_bit),
    sandbox: row.sandbox === null ? null : sandboxCode.word(row.sandbox),
    mayBeDuplicate: isTrue(row.may_be_duplicate),
    firstDeferredAt: row.first_deferred_at,
    lastDeferredEventAt: row.last_deferred_event_at,
    lastReply: row.last_reply,
    lastCategory: row.last_category,
    ...(row.wait_reason === SCHEDULED ? { wasScheduled: true as const } : {}),
    ...(row.route_key === '' ? {} : { routeKey: row.route_key }),
    ...(row.personal === 0 ? {} : { personal: true, listUnsubscribe: row.personal === 3 }),
    ...(isTrue(row.null_sender) ? { nullSender: true as const } : {}),
    ...(reasons.length === 0 ? {} : { suppressedFor: reasons }),
  };
}

/**
 * For an outcome whose lease was lost: one timeline entry with the id of its first event; an outcome without events leaves
 * none. A repeated one, after a lost answer, was settled under its lease.
 */
export function* recordLate(session: Session, outcome: Settlement): Work<'settled' | 'lease-lost'> {
  const [first] = outcome.events;
  if (first === undefined) return 'lease-lost';
  const row = yield* session.db.get<{ message_seq: number; domain_id: number }>(
    'SELECT d.message_seq, m.domain_id FROM delivery d {CROSS|} JOIN message m ON m.seq = d.message_seq WHERE d.id = ?',
    outcome.deliveryId,
  );
  if (row === undefined) return 'lease-lost';
  const { domain_id: domainId, message_seq: messageSeq } = row;
  if (yield* session.isStored(domainId, first)) return 'settled';
  const late = { id: first.id, kind: 'late_outcome', at: first.at } as const;
  if (yield* session.isStored(domainId, late)) return 'lease-lost';
  const reason = `The outcome "${outcome.state}" came after the lease was lost`;
  const subject = { domainId, messageSeq, deliveryId: outcome.deliveryId };
  yield* session.appendEvent({ ...late, detail: { ...first.detail, reason } }, subject);
  return 'lease-lost';
}
