/**
 * The queue: claims under a lease, outcomes, and what waits. Part of the Store (`../store.ts` says what all its
 * operations promise).
 */
import type { ClaimedDelivery, DeliveryState, RouteKind } from '../../model/delivery.ts';
import type { Lane } from '../../model/message.ts';
import type { NewCapture } from './captures.ts';
import type { NewCause } from './causes.ts';
import type { NewEvent } from './events.ts';
import type { SuppressionSignal } from './suppressions.ts';

export interface QueueHint {
  queueId: number;
  lane: Lane;
  senderDomain: string;
  recipientDomain: string;
  /** The sandbox plays its rows: they wait for no site. */
  sandbox: boolean;
  /** What else its rows' way goes by (model/route-key.ts); absent = ''. */
  routeKey?: string;
  /** Earliest due time of its queued rows. */
  nextDueAt: number;
}

export interface Settlement {
  deliveryId: number;
  epoch: number;
  /** `queued` puts it back to wait until `dueAt`. */
  state: DeliveryState;
  dueAt?: number;
  /** Shown while it waits: `deferred`, `held: …`, `scheduled`, a path reason; null = none. */
  waitReason?: string | null;
  /** Adds one finished attempt. */
  countAttempt: boolean;
  category?: string;
  /** ≤ 512 characters. */
  lastReply?: string;
  lastCode?: number;
  route?: RouteKind;
  mayBeDuplicate?: boolean;
  events: readonly NewEvent[];
  /** The sandbox's capture of this copy, stored with the outcome. */
  capture?: NewCapture;
  /** What the outcome says about writing to this recipient again. */
  suppress?: SuppressionSignal;
  /** What it failed or waits for; left out: its last one stays. A delivery ends it. */
  cause?: NewCause;
}

export interface WaitingQueue {
  lane: Lane;
  senderDomain: string;
  recipientDomain: string;
  sandbox: boolean;
  routeKey: string;
  /** Rows looked at; `complete`: all there are. The other figures are about these. */
  waiting: number;
  complete: boolean;
  /** Of them due already. */
  due: number;
  oldestCreatedAt: number;
  nextDueAt: number;
  /** One more than there are age limits. */
  byAge: readonly number[];
  /** Most frequent first; '' = none. */
  reasons: readonly { reason: string; count: number }[];
}

export type WaitingCount = Pick<
  WaitingQueue,
  'lane' | 'senderDomain' | 'recipientDomain' | 'sandbox' | 'waiting'
>;

export interface QueueCounts {
  /** Recipients waiting or being sent. */
  queued: number;
  sending: number;
  /** Due time of the oldest row that is due already, or null. */
  oldestDueAt: number | null;
  pendingCalls: number;
}

/** A recipient that is to be changed while it waits. */
export interface ChangedRecipient {
  deliveryId: number;
  event: NewEvent;
  /** It is leased under this epoch, and whoever holds it has given it up for this change. */
  epoch?: number;
}

export interface QueueStore {
  /**
   * Puts queued rows into the queues that follow from their messages' tags and those that routes name now, at most
   * `limit` rows a call; to be called until it is done. Costs nothing where the tags are those of the last time.
   */
  refile(params: { tags: readonly string[]; limit: number }): Promise<{ done: boolean; moved: number }>;
  /** Queues that have a queued row due at or before `dueBefore`, earliest first, behind the last one of the page before. */
  dueQueues(params: {
    dueBefore: number;
    limit: number;
    after?: Pick<QueueHint, 'nextDueAt' | 'queueId'>;
  }): Promise<readonly QueueHint[]>;
  /**
   * Leases the earliest due rows of one queue whose expiry is still ahead; bounded in rows and content bytes, but never
   * empty because the first is large. A row whose scheduled time came gets its `accepted` event now, under `eventId` or,
   * for the second and later ones, an id that counts on from it. Synced: a claim that vanished with the power would
   * hide a possible duplicate.
   */
  claimDue(params: {
    queueId: number;
    epoch: number;
    now: number;
    limit: number;
    maxBytes: number;
    eventId: string;
  }): Promise<readonly ClaimedDelivery[]>;
  /** Leases queued rows whose expiry is at or before `now`, due or not; `eventId` as above. */
  claimExpired(params: {
    epoch: number;
    now: number;
    limit: number;
    eventId: string;
  }): Promise<readonly ClaimedDelivery[]>;
  /** Composed bytes of a message; null where they are no longer kept. */
  readContent(params: { messageSeq: number }): Promise<Uint8Array | null>;
  /**
   * Records outcomes with their events. Not synced on its own account; may wait some milliseconds for company, so do
   * not hold anything scarce while awaiting it. What a settlement leaves out keeps its value; a `deferred` event sets
   * firstDeferredAt once, and lastDeferredEventAt unless `notify` is false. Per item: 'settled', or 'fenced' where the
   * lease was lost: then one `late_outcome` is stored under the id, time and detail of its first event (none without
   * events), and nothing else changes.
   */
  settle(params: {
    settlements: readonly Settlement[];
    now: number;
  }): Promise<readonly ('settled' | 'fenced')[]>;
  /** Gives leases back unchanged (shutdown, window full): due again at `dueAt`, no attempt counted. */
  release(params: {
    deliveryIds: readonly number[];
    epoch: number;
    dueAt: number;
    waitReason: string | null;
  }): Promise<void>;
  queueCounts(params: { now: number }): Promise<QueueCounts>;
  /**
   * Queues with rows that wait, earliest due first, at most `limit` (`more`: there are others); of each at most
   * `rowsPerQueue` rows are looked at, the earliest due.
   */
  waitingQueues(params: {
    domains?: readonly string[];
    recipientDomains?: readonly string[];
    now: number;
    limit: number;
    rowsPerQueue: number;
    /** Ascending; a recipient counts under the first that its message's age is below, or last of all. */
    ageLimitsMs: readonly number[];
  }): Promise<{ queues: readonly WaitingQueue[]; more: boolean }>;
  /**
   * How many recipients wait in each queue, earliest due first; at most `limit` queues (`more`: there are others). From
   * figures that are kept: no recipient is looked at.
   */
  waitingCounts(params: {
    domains?: readonly string[];
    limit: number;
  }): Promise<{ queues: readonly WaitingCount[]; more: boolean }>;
  /**
   * Makes rows due now that wait for their path (`wait_reason` 'path: …'); of each queue the earliest 500 that are due
   * later are looked at. How many were changed.
   */
  hurry(params: { queueIds: readonly number[]; now: number }): Promise<number>;
  /** Earliest due time over all queued rows, or null. */
  nextDueAt(): Promise<number | null>;
  /**
   * Cancels those of the given recipients of one message that are queued at this moment or given up for it, each with
   * its event (`changed`), and says how many of the whole message are past that (being sent, delivered). Synced. Throws
   * for an unknown message.
   */
  cancelQueued(params: {
    messageSeq: number;
    now: number;
    recipients: readonly ChangedRecipient[];
  }): Promise<{ changed: readonly number[]; tooLate: number }>;
  /**
   * Gives a message that is scheduled another time: its recipients that wait for it, its expiry, and the Date in its
   * content where that is ours (`date`: as many octets as the old one), with an event each. Nothing happens where some
   * recipient was tried or is being sent, none waits, or the content is no longer kept. Synced. Throws for an unknown
   * message.
   */
  reschedule(params: {
    messageSeq: number;
    now: number;
    sendAt: number;
    expiresAt: number;
    date: string;
    recipients: readonly ChangedRecipient[];
  }): Promise<
    { kind: 'rescheduled'; changed: readonly number[] } | { kind: 'not-scheduled' | 'content-gone' }
  >;
  /**
   * Makes those of the given recipients of one message that are failed, bounced or deferred (not held) due now, each
   * with its event; attempts stay counted, the expiry moves to `expiresAt` where that is later. Nothing happens where
   * the content is no longer kept. Synced. Throws for an unknown message.
   */
  requeue(params: {
    messageSeq: number;
    now: number;
    expiresAt: number;
    recipients: readonly { deliveryId: number; event: NewEvent }[];
  }): Promise<{ kind: 'requeued'; count: number } | { kind: 'content-gone' }>;
}
