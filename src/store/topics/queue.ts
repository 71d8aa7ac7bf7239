/**
 * The queue: claims with leases, outcomes, and waiting mail. Part of the Store (`../store.ts` has the promises of all
 * its operations).
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
  /** The results of its rows are simulated: they wait for no site. */
  sandbox: boolean;
  /** Its route key (model/route-key.ts); absent = ''. */
  routeKey?: string;
  /** Earliest due time of its queued rows. */
  nextDueAt: number;
}

export interface Settlement {
  deliveryId: number;
  epoch: number;
  /** `queued` lets it wait until `dueAt`. */
  state: DeliveryState;
  dueAt?: number;
  /** Shown while it waits (model/wait-reason.ts); null = none. */
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
  /** What the outcome means for writing to this recipient again. */
  suppress?: SuppressionSignal;
  /** Why it failed or waits; absent: the last one stays. A delivery ends it. */
  cause?: NewCause;
}

export interface WaitingReason {
  /** '' = none. */
  reason: string;
  count: number;
  /** What the receiver said to the first of them, if a reply deferred them. */
  reply: string | null;
}

export interface WaitingQueue {
  lane: Lane;
  senderDomain: string;
  recipientDomain: string;
  sandbox: boolean;
  routeKey: string;
  /** Rows examined; `complete`: these are all. The other counts are about these rows. */
  waiting: number;
  complete: boolean;
  /** Of them due already. */
  due: number;
  oldestCreatedAt: number;
  nextDueAt: number;
  /** One more than there are age limits. */
  byAge: readonly number[];
  /** Most frequent first; '' = none. */
  reasons: readonly WaitingReason[];
}

/** `after`: the row behind which to go on; absent: from `now` on. */
export interface HurriedQueue {
  queueId: number;
  after?: { dueAt: number; id: number };
}

export type WaitingCount = Pick<
  WaitingQueue,
  'lane' | 'senderDomain' | 'recipientDomain' | 'routeKey' | 'sandbox' | 'waiting'
>;

export interface QueueCounts {
  /** Recipients waiting or being sent. */
  queued: number;
  sending: number;
  /** Due time of the oldest row that is due already, or null. */
  oldestDueAt: number | null;
  pendingCalls: number;
}

/** A waiting recipient to be changed. */
export interface ChangedRecipient {
  deliveryId: number;
  event: NewEvent;
  /** It is leased under this epoch, and the node has released it for this change. */
  epoch?: number;
}

export interface QueueStore {
  /**
   * Moves queued rows to the queues that follow from their messages' tags and the tags that routes name now, at most
   * `limit` rows per call; to be called until it is done. Costs nothing if the tags are unchanged.
   */
  refile(params: { tags: readonly string[]; limit: number }): Promise<{ done: boolean; moved: number }>;
  /**
   * Queues with a queued row due at or before `dueBefore`, which is about now, or due at any time without it; earliest first,
   * after the last one of the previous page. What begins to wait when it has been due for over a minute may be found five minutes later, if no hint names its queue; the
   * same applies to the searches of all queues below.
   */
  dueQueues(params: {
    dueBefore?: number;
    limit: number;
    after?: Pick<QueueHint, 'nextDueAt' | 'queueId'>;
  }): Promise<readonly QueueHint[]>;
  /** Those of the given queues with a queued row due at or before `dueBefore`, earliest first. */
  dueAmong(params: {
    queueIds: readonly number[];
    now: number;
    dueBefore: number;
  }): Promise<readonly QueueHint[]>;
  /**
   * Leases the earliest due rows of one queue that have not expired; limited in rows and content bytes, but never empty
   * because the first is large, unless rows of more than `maxRowBytes` are to stay. A scheduled row whose time came gets
   * its `accepted` event now, with the id `eventId`
   * or, for the second and later ones, an id that counts up from it. Synced: if a power failure removed a claim, a
   * possible duplicate would not be marked.
   */
  claimDue(params: {
    queueId: number;
    epoch: number;
    now: number;
    limit: number;
    maxBytes: number;
    maxRowBytes?: number;
    eventId: string;
  }): Promise<readonly ClaimedDelivery[]>;
  /** Leases queued rows whose expiry is at or before `now`, due or not; `eventId` as above. */
  claimExpired(params: {
    epoch: number;
    now: number;
    limit: number;
    eventId: string;
  }): Promise<readonly ClaimedDelivery[]>;
  /** Composed bytes of a message; null if they were deleted. */
  readContent(params: { messageSeq: number }): Promise<Uint8Array | null>;
  /**
   * Records outcomes, each whole with its events; those of one call may become visible one after the other. Does not
   * start a sync itself and may wait some milliseconds for other operations, so do not hold anything scarce while
   * awaiting it. Absent members keep their value; a `deferred` event sets firstDeferredAt once for each category, and
   * lastDeferredEventAt unless `notify` is false. Per item: 'settled', or 'lease-lost' if the lease was lost: then one
   * `late_outcome` is stored with the id, time and detail of its first event (none without events), and nothing else
   * changes.
   */
  settle(params: {
    settlements: readonly Settlement[];
    now: number;
  }): Promise<readonly ('settled' | 'lease-lost')[]>;
  /** Releases leases unchanged (shutdown, window full): due again at `dueAt`, no attempt is counted. */
  release(params: {
    deliveryIds: readonly number[];
    epoch: number;
    dueAt: number;
    waitReason: string | null;
  }): Promise<void>;
  queueCounts(params: { now: number }): Promise<QueueCounts>;
  /**
   * Queues with waiting rows, earliest due first, at most `limit` (`more`: there are others); of each at most
   * `rowsPerQueue` rows are examined, the earliest due.
   */
  waitingQueues(params: {
    domains?: readonly string[];
    recipientDomains?: readonly string[];
    now: number;
    limit: number;
    rowsPerQueue: number;
    /** Ascending; a recipient counts under the first limit that its message's age is below, or at the end. */
    ageLimitsMs: readonly number[];
  }): Promise<{ queues: readonly WaitingQueue[]; more: boolean }>;
  /**
   * How many recipients wait in each queue, earliest due first; at most `limit` queues (`more`: there are others). Uses
   * stored counts; no recipient is read.
   */
  waitingCounts(params: {
    domains?: readonly string[];
    limit: number;
  }): Promise<{ queues: readonly WaitingCount[]; more: boolean }>;
  /**
   * Makes rows due now that wait for their path (`wait_reason` 'path: …'), with `deferred` also those that a reply put off; of
   * each queue at most 500 later rows are examined, the earliest first. Returns how many were changed, and where to go on in
   * queues that have more.
   */
  hurry(params: {
    queues: readonly HurriedQueue[];
    deferred?: boolean;
    now: number;
  }): Promise<{ hurried: number; more: readonly HurriedQueue[] }>;
  /**
   * Cancels those of the given recipients of one message that are queued or were released for it, each with its event
   * (`changed`), and returns how many of the whole message can no longer be canceled (being sent, delivered). Synced.
   * Throws for an unknown message.
   */
  cancelQueued(params: {
    messageSeq: number;
    now: number;
    recipients: readonly ChangedRecipient[];
  }): Promise<{ changed: readonly number[]; tooLate: number }>;
  /**
   * Reschedules a scheduled message: its waiting recipients, its expiry, and the Date in its content if that is ours
   * (`date`: as many octets as the old one), with an event each. Nothing happens if some recipient was tried or is
   * being sent, none waits, or the content was deleted. Synced. Throws for an unknown message.
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
   * with its event; attempts stay counted, the expiry moves to `expiresAt` if that is later. Nothing happens if the
   * content was deleted, or to a recipient who was erased. Synced. Throws for an unknown message.
   */
  requeue(params: {
    messageSeq: number;
    now: number;
    expiresAt: number;
    recipients: readonly { deliveryId: number; event: NewEvent }[];
  }): Promise<{ kind: 'requeued'; count: number } | { kind: 'content-gone' }>;
}
