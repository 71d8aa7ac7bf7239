/**
 * One recipient of one message: its states and what it may wait for.
 *
 *   queued ──claim──► sending ──► delivered | bounced | failed
 *     ▲                  │            └─ delivered ──later report──► bounced
 *     └── not now ◄──────┘
 *   queued ──► suppressed | canceled | rejected | failed
 *
 * `scheduled`, `deferred` and `held` are names for a queued row with a later due time (status.ts); nothing is written
 * when it becomes due. Final: delivered (except for a later report), bounced, failed, suppressed, canceled, rejected.
 */
import type { Lane, MessageId, RecipientKind, SandboxResult } from './message.ts';
import type { SuppressionReason } from './suppression.ts';

export const TERMINAL_STATES = [
  'delivered',
  'bounced',
  'failed',
  'suppressed',
  'canceled',
  'rejected',
] as const;
export type DeliveryState = 'queued' | 'sending' | (typeof TERMINAL_STATES)[number];

/**
 * Copies of a message above this size share a transaction. Below it, a separate return path for each copy is worth the
 * cost of a transaction each.
 */
export const SHARED_FROM_BYTES = 256 * 1024;

/** How a delivered recipient was reached. */
export type RouteKind = 'mx' | 'relay' | 'sandbox';

/** A delivery that this node holds under its lease, with everything needed to send it except the content. */
export interface ClaimedDelivery {
  id: number;
  /** The epoch of the node that the lease belongs to. */
  epoch: number;
  queueId: number;
  messageSeq: number;
  messageId: MessageId;
  /** The sender domain the message was accepted for; its DKIM keys sign. */
  senderDomain: string;
  lane: Lane;
  address: string;
  recipientDomain: string;
  /** The route key of its queue (route-key.ts); absent = ''. */
  routeKey?: string;
  kind: RecipientKind;
  /** Finished attempts so far. */
  attempts: number;
  createdAt: number;
  expiresAt: number;
  /** Octets of the composed message. */
  size: number;
  bodyOffset: number;
  needsSmtpUtf8: boolean;
  /** The content has octets above 127. */
  eightBit: boolean;
  /** Sent with MAIL FROM:<>; absent = with our own return path. */
  nullSender?: true;
  /** Not null: nothing is sent to this recipient; the sandbox simulates this result. */
  sandbox: SandboxResult | null;
  /** An earlier attempt may have succeeded without being recorded, so a success now may be a duplicate. */
  mayBeDuplicate: boolean;
  /** When the first of the `deferred` events that have lastCategory in succession was emitted; null = never. */
  firstDeferredAt: number | null;
  /** When a `deferred` event last went to webhooks; null = never. At most one per hour does. */
  lastDeferredEventAt: number | null;
  lastReply: string | null;
  lastCategory: string | null;
  /** It was scheduled and became due with this claim; absent = no. */
  wasScheduled?: true;
  /** Its copy contains personal tokens; absent = all copies of the message are the same. */
  personal?: boolean;
  /** An opt-out stops it in any lane. */
  listUnsubscribe?: boolean;
  /** Reasons for which its sender domain had suppressed it at the time of the claim; absent = none. */
  suppressedFor?: readonly SuppressionReason[];
}
