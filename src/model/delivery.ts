/**
 * One recipient of one message: its states and what it may wait for.
 *
 *   queued ──claim──► sending ──► delivered | bounced | failed
 *     ▲                  │            └─ delivered ──later notice──► bounced
 *     └── not now ◄──────┘
 *   queued ──► suppressed | canceled | rejected | failed
 *
 * `scheduled`, `deferred` and `held` are words for a queued row with a later due time (status.ts); nothing is written when
 * they become due. Terminal: delivered (but for the later notice), bounced, failed, suppressed, canceled, rejected.
 */
import type { Lane, MessageId, RecipientKind, SandboxResult } from './message.ts';
import type { SuppressionReason } from './suppression.ts';

export type DeliveryState =
  | 'queued'
  | 'sending'
  | 'delivered'
  | 'bounced'
  | 'failed'
  | 'suppressed'
  | 'canceled'
  | 'rejected';

export const TERMINAL_STATES: readonly DeliveryState[] = [
  'delivered',
  'bounced',
  'failed',
  'suppressed',
  'canceled',
  'rejected',
];

/**
 * Copies of a message above this size share a transaction. Below it one transaction each costs less than what a return path
 * for each copy is worth.
 */
export const SHARED_FROM_BYTES = 256 * 1024;

/** How a delivered recipient was reached. */
export type RouteKind = 'mx' | 'relay' | 'sandbox';

/** A delivery this node holds under its lease, with all that is needed to send it but the content. */
export interface ClaimedDelivery {
  id: number;
  /** The node's epoch that the lease belongs to. */
  epoch: number;
  queueId: number;
  messageSeq: number;
  messageId: MessageId;
  /** The sender domain the message was accepted for: decides whose DKIM keys sign. */
  senderDomain: string;
  from: string;
  lane: Lane;
  address: string;
  recipientDomain: string;
  /** Of its queue (route-key.ts); absent = ''. */
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
  /** It travels as MAIL FROM:<>; absent = under a return path of ours. */
  nullSender?: true;
  /** Not null: this recipient never leaves the machine, and the sandbox plays this result. */
  sandbox: SandboxResult | null;
  /** An earlier attempt may have succeeded unrecorded, so a success now may be a second copy. */
  mayBeDuplicate: boolean;
  /** When the first `deferred` event was emitted; null = never. */
  firstDeferredAt: number | null;
  /** When a `deferred` event last went to webhooks; null = never. At most one an hour. */
  lastDeferredEventAt: number | null;
  lastReply: string | null;
  lastCategory: string | null;
  /** It was scheduled, and its time came with this claim; absent = no. */
  wasScheduled?: true;
  /** Its copy differs from the others of its message: tokens go into places; absent = it does not. */
  personal?: boolean;
  /** One of its links unsubscribes. */
  listUnsubscribe?: boolean;
  /** Reasons for which its sender domain had suppressed it when it was claimed; absent = none. */
  suppressedFor?: readonly SuppressionReason[];
}
