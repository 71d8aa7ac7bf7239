/**
 * The store: whole atomic operations with an invariant each, never a transaction handed outward.
 *
 * Promises every engine keeps (checked by `conformance/`):
 * - a resolved write is committed; writes marked *synced*, and all that create or change webhooks, domains, tokens,
 *   keys, epochs, have also reached the disk;
 * - everything one call changes becomes visible together or not at all;
 * - time and ids come in as parameters: a store is deterministic;
 * - a state change and its events, and the webhook calls these cause, are one transaction (the outbox);
 * - settling a delivery or call does nothing unless the caller's lease (epoch) still holds it.
 * When the engine cannot write (disk full, gone) calls reject with `StoreUnavailable` and `writable()` turns false
 * until a later write or probe succeeds. All instants are milliseconds since the Unix epoch.
 * It is one piece, though long: an engine is written against it from top to bottom, and so is what any engine must do.
 */
import type { Bounce } from '../model/bounce.ts';
import type { ClaimedDelivery, DeliveryState, RouteKind } from '../model/delivery.ts';
import type { DkimKey, Domain, DomainStatus } from '../model/domain.ts';
import type { EventKind } from '../model/event.ts';
import type { AddressLists, Lane, MessageId, RecipientKind, SandboxResult } from '../model/message.ts';
import type { SmtpCredential } from '../model/smtp-credential.ts';
import type { Suppression, SuppressionReason, SuppressionSource } from '../model/suppression.ts';
import type { Token } from '../model/token.ts';
import type { DisabledReason, Webhook, WebhookStatus } from '../model/webhook.ts';

/** The engine cannot take or give data now; the caller may try again later. */
export class StoreUnavailable extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'StoreUnavailable';
  }
}

/** An event to append. `detail` holds the kind's own facts as JSON-able data (EventDetail). */
export interface NewEvent {
  /** UUIDv7. */
  id: string;
  kind: EventKind;
  at: number;
  detail: EventDetail | null;
  /** false: a timeline entry only, no webhook call is made for it (the hourly cap on `deferred`). Default true. */
  notify?: boolean;
}

export interface EventDetail {
  attempt?: number;
  bounce?: Bounce;
  nextAttemptAt?: number;
  route?: RouteKind;
  possibleDuplicate?: boolean;
  /** A sentence in plain words. */
  reason?: string;
  remoteMta?: string;
  /** The remote's final reply, ≤ 512 characters. */
  reply?: string;
  /** The SMTP conversation, capped. */
  conversation?: string;
  tls?: string;
  durationMs?: number;
  ipAddress?: string;
  userAgent?: string;
  url?: string;
  bot?: boolean;
  webhookId?: number;
}

// ── acceptance ──────────────────────────────────────────────────────────────────────────────────────────────

export interface NewRecipient {
  address: string;
  /** Lower-case A-label. */
  domain: string;
  kind: RecipientKind;
  /** `queued` rows wait for `dueAt`; `sending` rows are born leased to `epoch` (the fresh path). */
  state: 'queued' | 'sending' | 'suppressed';
  dueAt: number;
  waitReason: string | null;
  sandbox: SandboxResult | null;
  events: readonly NewEvent[];
}

export interface NewMessage {
  id: MessageId;
  /** The verified sender domain it was accepted for. */
  domain: string;
  tokenId: string;
  lane: Lane;
  lists: AddressLists;
  subject: string;
  tags: readonly string[];
  metadata: Readonly<Record<string, string>>;
  sandbox: boolean;
  /** The composed message, unsigned. */
  content: Uint8Array;
  bodyOffset: number;
  needsSmtpUtf8: boolean;
  /** Some octet is above 127: hosts are asked for 8BITMIME. */
  eightBit: boolean;
  createdAt: number;
  expiresAt: number;
  recipients: readonly NewRecipient[];
}

/** The idempotency row that is inserted with the messages (api.md §8). */
export interface IdempotencyEntry {
  owner: string;
  /** Method and path, e.g. `POST /email`. */
  operation: string;
  key: string;
  /** SHA-256 of the raw body. */
  fingerprint: Uint8Array;
  /** The answer that a replay repeats. */
  status: number;
  body: string;
  createdAt: number;
  /** Rows older than this count as free. */
  expiresBefore: number;
}

export type CommitResult =
  | {
      kind: 'committed';
      /** In the order given; ids of their recipients in the order given. */
      messages: readonly { seq: number; deliveries: readonly { id: number; queueId: number }[] }[];
    }
  | { kind: 'replay'; status: number; body: string }
  | { kind: 'key-reused' };

// ── queue ───────────────────────────────────────────────────────────────────────────────────────────────────

/** A destination queue: rows of one lane, sender domain and recipient domain. */
export interface QueueHint {
  queueId: number;
  lane: Lane;
  senderDomain: string;
  recipientDomain: string;
  /** Earliest due time of its queued rows. */
  nextDueAt: number;
}

/** What became of one leased delivery. */
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
}

export interface NewCapture {
  id: string;
  at: number;
  envelopeFrom: string;
  inbox: string;
  /** Header lines that delivery put in front of the content (signature, trace). */
  prefix: Uint8Array;
}

// ── suppressions ────────────────────────────────────────────────────────────────────────────────────────────

export interface NewSuppression {
  address: string;
  reason: SuppressionReason;
  note: string;
  expiresAt: number | null;
  source: SuppressionSource | null;
}

/** An outcome that suppresses its recipient for the sender domain, at once or when there is enough of its kind. */
export interface SuppressionSignal {
  reason: SuppressionReason;
  expiresAt: number | null;
  /** ≤ 512 characters. */
  reply: string;
  rule: string;
  /**
   * null: at once. Else signals of this reason count, each UTC day once, and the entry is made when there are so many
   * days and so much time lies between the first and the last; a delivery to the address starts the count again.
   */
  needs: { days: number; spanMs: number } | null;
  /** Stored only if the entry is new. */
  event: NewEvent;
}

// ── webhooks ────────────────────────────────────────────────────────────────────────────────────────────────

export interface NewWebhook {
  domain: string;
  event: string;
  url: string;
  description: string;
  secretSealed: Uint8Array;
  createdAt: number;
  /** Refused with `limit` where the domain has this many. */
  maxPerDomain: number;
}

/** A call this node holds under its lease, with what its payload needs. */
export interface ClaimedCall {
  id: number;
  webhook: Webhook;
  /** Finished tries so far. */
  tries: number;
  event: EventView;
}

export interface CallSettlement {
  callId: number;
  epoch: number;
  webhookId: number;
  /** `pending` waits until `dueAt` for the next try. */
  state: 'pending' | 'succeeded' | 'failed';
  dueAt?: number;
  /** Number of the try that just ended, 1 = first. 0 = no try was made (lease given back). */
  tryNumber: number;
  at: number;
  /** HTTP status, 0 = no answer. */
  responseCode: number;
  /** First 1024 bytes as text. */
  responseBody: string;
  error: string;
  latencyMs: number;
  blocked: boolean;
  /** Set where this try switches the webhook off, with the event that says so. */
  disable?: { reason: DisabledReason; event: NewEvent };
}

export interface CallLogEntry {
  id: number;
  eventId: string;
  state: 'pending' | 'sending' | 'succeeded' | 'failed';
  tries: number;
  responseCode: number;
  error: string;
  createdAt: number;
  updatedAt: number;
}

// ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────

/** An event with what every view of it needs. */
export interface EventView {
  seq: number;
  id: string;
  kind: EventKind;
  at: number;
  domain: string;
  detail: EventDetail | null;
  /** null for events that concern no message. */
  message: {
    id: MessageId;
    lists: AddressLists;
    subject: string;
    size: number;
    tags: readonly string[];
    metadata: Readonly<Record<string, string>>;
    sandbox: boolean;
  } | null;
  recipient: string | null;
  deliveryId: number | null;
  route: RouteKind | null;
}

export interface EventFilter {
  /** Empty array: none match; undefined: every domain. */
  domains?: readonly string[];
  kinds?: readonly EventKind[];
  messageId?: string;
  recipient?: string;
  tag?: string;
  /** Inclusive. */
  since?: number;
  /** Exclusive. */
  until?: number;
  /** Only events with a greater seq. */
  afterSeq?: number;
  offset: number;
  limit: number;
  /** Count stops here. */
  countUpTo: number;
  newestFirst: boolean;
}

export type StatsGroupBy = 'tag' | 'domain' | 'recipient-domain';

export interface StatsCount {
  /** Start of the interval. */
  at: number;
  kind: EventKind;
  n: number;
}

export interface RecipientView {
  deliveryId: number;
  address: string;
  kind: RecipientKind;
  state: DeliveryState;
  attempts: number;
  dueAt: number;
  expiresAt: number;
  waitReason: string | null;
  lastCode: number;
  lastReply: string | null;
  lastCategory: string | null;
  route: RouteKind | null;
  updatedAt: number;
}

export interface MessageView {
  seq: number;
  id: MessageId;
  domain: string;
  lane: Lane;
  lists: AddressLists;
  subject: string;
  tags: readonly string[];
  metadata: Readonly<Record<string, string>>;
  sandbox: boolean;
  size: number;
  createdAt: number;
  expiresAt: number;
  recipients: readonly RecipientView[];
}

export interface MessageFilter {
  domains?: readonly string[];
  from?: string;
  /** Exact recipient address. */
  to?: string;
  /** Substring, case-insensitive. */
  subject?: string;
  tag?: string;
  /** Messages with at least one recipient in one of these states. */
  states?: readonly DeliveryState[];
  since?: number;
  until?: number;
  /** Only messages with a smaller seq (newest first paging). */
  beforeSeq?: number;
  limit: number;
}

export interface CaptureView {
  id: string;
  messageId: MessageId;
  messageSeq: number;
  domain: string;
  inbox: string;
  at: number;
  envelopeFrom: string;
  envelopeTo: string;
  lists: AddressLists;
  subject: string;
  size: number;
  tags: readonly string[];
  prefix: Uint8Array;
}

export interface CaptureFilter {
  domains?: readonly string[];
  inbox?: string;
  to?: string;
  from?: string;
  subject?: string;
  tag?: string;
  since?: number;
  until?: number;
  beforeId?: string;
  limit: number;
}

/** What waits in one queue. */
export interface WaitingQueue {
  lane: Lane;
  senderDomain: string;
  recipientDomain: string;
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

export interface QueueCounts {
  /** Recipients waiting or being sent. */
  queued: number;
  sending: number;
  /** Due time of the oldest row that is due already, or null. */
  oldestDueAt: number | null;
  pendingCalls: number;
}

// ── the interface ───────────────────────────────────────────────────────────────────────────────────────────

export interface Store {
  readonly capabilities: { wakeups: boolean; manyProcesses: boolean };
  /** Whether the last write or probe succeeded; `reason` says what is wrong. */
  writable(): { ok: true } | { ok: false; reason: string };
  close(): Promise<void>;

  // instance and nodes
  /** The instance's id (`urn:postrider:<uuid>` without the prefix); stored from `proposedId` at the first call. */
  instanceId(params: { proposedId: string }): Promise<string>;
  /** Starts a node: a new epoch greater than all before. */
  beginEpoch(params: { nodeId: string; now: number }): Promise<number>;
  /**
   * Gives every row and call leased under an epoch older than `epoch` back to the queue, due at `now`; reclaimed
   * deliveries are marked mayBeDuplicate. At most `limit` rows a call; returns how many were reclaimed.
   */
  reclaim(params: { epoch: number; now: number; limit: number }): Promise<number>;

  // acceptance
  /** All messages or none, with the idempotency row; events' webhook calls are due at the event's time. Synced. */
  commitAccepted(params: {
    messages: readonly NewMessage[];
    epoch: number;
    idempotency: IdempotencyEntry | null;
  }): Promise<CommitResult>;
  /** The stored answer for a key, without committing anything; null = the key is free. */
  findIdempotent(params: {
    owner: string;
    operation: string;
    key: string;
    expiresBefore: number;
  }): Promise<{ fingerprint: Uint8Array; status: number; body: string } | null>;

  // queue
  /** Queues that have a queued row due at or before `dueBefore`, earliest first. */
  dueQueues(params: { dueBefore: number; limit: number }): Promise<readonly QueueHint[]>;
  /**
   * Leases the earliest due rows of one queue whose expiry is still ahead; bounded in rows and content bytes, but never
   * empty because the first is large. Synced: a claim that vanished with the power would hide a possible duplicate.
   */
  claimDue(params: {
    queueId: number;
    epoch: number;
    now: number;
    limit: number;
    maxBytes: number;
  }): Promise<readonly ClaimedDelivery[]>;
  /** Leases queued rows whose expiry is at or before `now`, due or not. */
  claimExpired(params: { epoch: number; now: number; limit: number }): Promise<readonly ClaimedDelivery[]>;
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
    now: number;
    limit: number;
    rowsPerQueue: number;
    /** Ascending; a recipient counts under the first that its message's age is below, or last of all. */
    ageLimitsMs: readonly number[];
  }): Promise<{ queues: readonly WaitingQueue[]; more: boolean }>;
  /** Earliest due time over all queued rows, or null. */
  nextDueAt(): Promise<number | null>;
  /**
   * Cancels those of the given recipients of one message that are queued at this moment, each with its event, and says
   * how many of the whole message are past that (being sent, delivered). Synced. Throws for an unknown message.
   */
  cancelQueued(params: {
    messageSeq: number;
    now: number;
    recipients: readonly { deliveryId: number; event: NewEvent }[];
  }): Promise<{ canceled: number; tooLate: number }>;
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

  // suppressions
  /** Entries in force for any of the addresses, each with the address as it was asked for, oldest first. */
  suppressedAmong(params: {
    domain: string;
    addresses: readonly string[];
    now: number;
  }): Promise<readonly { address: string; suppression: Suppression }[]>;
  /** Sender domains that have entries, in force or not. */
  suppressedDomains(): Promise<readonly string[]>;
  /** Adds those that are not in force yet for their address and reason; `existing` ones keep what they say. Synced. */
  addSuppressions(params: {
    domain: string;
    entries: readonly NewSuppression[];
    now: number;
  }): Promise<{ added: number; existing: number }>;
  /** Those in force, newest first. */
  listSuppressions(params: {
    domains?: readonly string[];
    reason?: SuppressionReason;
    address?: string;
    /** Created then or later. */
    since?: number;
    beforeId?: number;
    now: number;
    limit: number;
  }): Promise<readonly Suppression[]>;
  /** Lifts every entry of an address, or the one for `reason`, with what counted towards it; how many were in force. Synced. */
  removeSuppressions(params: {
    domain: string;
    address: string;
    reason?: SuppressionReason;
    now: number;
  }): Promise<number>;
  /** Removes entries past their end, and counts without news since `evidenceBefore`: at most `limit` of each; the larger number. */
  purgeSuppressions(params: { now: number; evidenceBefore: number; limit: number }): Promise<number>;

  // events
  /**
   * Appends facts about a delivery (opened, complained, …) or a domain, with the webhook calls they cause. Synced
   * (nobody repeats them), though they may wait some milliseconds for company. An unknown delivery id counts as null.
   */
  appendEvents(params: {
    events: readonly (NewEvent & { domain: string; deliveryId: number | null })[];
  }): Promise<void>;
  /**
   * One page and how many match in all, counted up to `countUpTo`. Ordered by time, then seq; with `afterSeq` and oldest
   * first by seq alone, so that a reader that goes on from the last seq it saw misses nothing.
   */
  findEvents(filter: EventFilter): Promise<{ total: number; events: readonly EventView[] }>;

  /** Seq of the newest event, 0 = there is none; everything up to it can be read. */
  lastEventSeq(): Promise<number>;
  /**
   * Counts of events about recipients per interval, kind and group; intervals without any are left out. At most
   * `maxGroups` groups, the largest first, the others together in `rest`. `too-many` where the range holds more than
   * `maxEvents`.
   */
  stats(params: {
    domains?: readonly string[];
    kinds: readonly EventKind[];
    /** Inclusive; `to` is exclusive. */
    from: number;
    to: number;
    /** Intervals start at multiples of it. */
    intervalMs: number;
    /** null: one group with the empty name. */
    groupBy: StatsGroupBy | null;
    /** Count recipients that never leave the machine, too. */
    includeSandbox: boolean;
    maxEvents: number;
    maxGroups: number;
  }): Promise<
    | {
        kind: 'counted';
        groups: readonly { name: string; counts: readonly StatsCount[] }[];
        rest: readonly StatsCount[] | null;
      }
    | { kind: 'too-many' }
  >;

  // webhooks
  createWebhook(params: NewWebhook): Promise<{ kind: 'created'; id: number } | { kind: 'limit' }>;
  /** By id ascending. `domains` undefined = all. */
  listWebhooks(params: { domains?: readonly string[] }): Promise<readonly Webhook[]>;
  /** false where no such webhook exists in those domains. Its pending calls go with it. */
  deleteWebhook(params: { id: number; domains?: readonly string[] }): Promise<boolean>;
  /**
   * Changes what is given of a webhook and moves updatedAt; false where there is none in those domains. Switched off,
   * its reason is `User`, unless it was off already. Switched on, its failures are forgotten, its pending calls become
   * due by `now` at the latest, and those made before `resumeSince` are given up as failed.
   */
  updateWebhook(params: {
    id: number;
    domains?: readonly string[];
    now: number;
    event?: string;
    url?: string;
    description?: string;
    status?: WebhookStatus;
    resumeSince: number;
  }): Promise<boolean>;
  /**
   * Gives a webhook a new secret; the one before signs too until `previousUntil`, the one before that no more. Moves
   * updatedAt. false where there is no such webhook in those domains.
   */
  rotateWebhookSecret(params: {
    id: number;
    domains?: readonly string[];
    secretSealed: Uint8Array;
    previousUntil: number;
    now: number;
  }): Promise<boolean>;
  /** Calls of a webhook that wait or are on their way, also while it is off; counted up to `countUpTo`. */
  countPendingCalls(params: { webhookId: number; countUpTo: number }): Promise<number>;
  /** Leases due calls of enabled webhooks; where several wait, each first gets an even share of `limit`. */
  claimCalls(params: {
    epoch: number;
    now: number;
    limit: number;
    /** Webhooks that take no more calls now. */
    excludeWebhooks: readonly number[];
  }): Promise<readonly ClaimedCall[]>;
  /**
   * Records tries: the call, the webhook's LastResponse* as one, its failure counters (api.md §6.3), and a disable with
   * its event. A call that is no longer leased to the epoch, or gone, changes nothing. Not synced, may wait for company.
   */
  settleCalls(params: { settlements: readonly CallSettlement[] }): Promise<void>;
  /** Earliest due time of the pending calls of enabled webhooks, or null. */
  nextCallDueAt(): Promise<number | null>;
  /** Those of the newest events first. */
  listCalls(params: { webhookId: number; limit: number }): Promise<readonly CallLogEntry[]>;
  /**
   * Makes the calls for past events (`since` inclusive, `until` exclusive) of the webhook's domain and kinds again from
   * their first try, due now, oldest event first; calls still on their way are left alone. How many were made.
   */
  replayCalls(params: {
    webhookId: number;
    since: number;
    until: number;
    onlyFailed: boolean;
    now: number;
    limit: number;
  }): Promise<number>;

  // domains
  addDomain(params: {
    name: string;
    status: DomainStatus;
    verifiedBy: 'dns' | 'operator' | null;
    verifyToken: string;
    subdomains: boolean;
    keys: readonly DkimKey[];
    now: number;
  }): Promise<{ kind: 'added'; domain: Domain } | { kind: 'exists' }>;
  getDomain(params: { name: string }): Promise<Domain | null>;
  listDomains(params: { domains?: readonly string[] }): Promise<readonly Domain[]>;
  /**
   * null where the domain is gone (then no event is stored either). `checks` null keeps the last ones and the time of
   * them; the first Verified sets verifiedAt; updatedAt moves with the status only.
   */
  setDomainStatus(params: {
    name: string;
    status: DomainStatus;
    verifiedBy: 'dns' | 'operator' | null;
    failingSince: number | null;
    checks: string | null;
    now: number;
    events: readonly NewEvent[];
  }): Promise<Domain | null>;
  /** Changes settings of a domain and moves updatedAt; null where the domain is gone. */
  updateDomain(params: { name: string; subdomains: boolean; now: number }): Promise<Domain | null>;
  /**
   * Lets the standby key `selector` sign from now on; the active one is retired. Moves updatedAt. null, and nothing
   * changes, where the domain has no standby key of that name.
   */
  rotateDomainKey(params: { name: string; selector: string; now: number }): Promise<Domain | null>;
  /**
   * Replaces a key that retired at or before `retiredBefore` by a new standby. Moves updatedAt. null, and nothing
   * changes, where there is no such key, or a standby already.
   */
  replaceRetiredKey(params: {
    name: string;
    retiredBefore: number;
    key: DkimKey;
    now: number;
  }): Promise<Domain | null>;
  /** Takes its keys and webhooks with it, so that whoever adds the name later inherits nothing; mail and events stay. */
  removeDomain(params: { name: string }): Promise<boolean>;

  // tokens and their signing keys
  /** Rejects where the id exists. */
  addToken(params: { token: Token }): Promise<void>;
  getToken(params: { id: string }): Promise<Token | null>;
  /** Oldest first; only tokens whose every domain is among `domains` (undefined = all tokens). */
  listTokens(params: { domains?: readonly string[] }): Promise<readonly Token[]>;
  /** Sets revokedAt once; false where the token does not exist. */
  revokeToken(params: { id: string; now: number }): Promise<boolean>;
  /**
   * Stores `token` and lets the old one end at `oldEndsAt` unless it ends before; where that is not after `now` it is
   * revoked. Nothing happens and false comes back where the old one does not exist or has ended already.
   */
  rotateToken(params: { oldId: string; oldEndsAt: number; token: Token; now: number }): Promise<boolean>;
  /** Notes a use; not synced, may wait for company. */
  touchToken(params: { id: string; usedAt: number; ip: string }): Promise<void>;
  signingKeys(): Promise<
    readonly { kid: string; privateSealed: Uint8Array; publicJwk: string; createdAt: number }[]
  >;
  addSigningKey(params: {
    kid: string;
    privateSealed: Uint8Array;
    publicJwk: string;
    createdAt: number;
  }): Promise<void>;

  // SMTP credentials
  /** `taken` where the user name is in use. */
  addSmtpCredential(params: { credential: SmtpCredential }): Promise<'added' | 'taken'>;
  getSmtpCredential(params: { username: string }): Promise<SmtpCredential | null>;
  /** Oldest first. `domains` undefined = all. */
  listSmtpCredentials(params: { domains?: readonly string[] }): Promise<readonly SmtpCredential[]>;
  /** false where there is none of that id in those domains. */
  removeSmtpCredential(params: { id: string; domains?: readonly string[] }): Promise<boolean>;

  // messages and captures
  getMessage(params: { id: string; domains?: readonly string[] }): Promise<MessageView | null>;
  /** Newest first. */
  listMessages(filter: MessageFilter): Promise<readonly MessageView[]>;
  /** Newest first. */
  listCaptures(filter: CaptureFilter): Promise<readonly CaptureView[]>;
  /**
   * What was captured after `afterSeq` and matches, oldest first, at most `limit`, and up to which seq that is known:
   * the next call goes on from there. With fewer than `limit` matches that is the newest capture of all.
   */
  capturesSince(
    params: Omit<CaptureFilter, 'beforeId'> & { afterSeq: number },
  ): Promise<{ captures: readonly CaptureView[]; lastSeq: number }>;
  getCapture(params: { id: string; domains?: readonly string[] }): Promise<CaptureView | null>;
  /** Those that match both conditions; with neither, all. How many. */
  deleteCaptures(params: { ids?: readonly string[]; domains?: readonly string[] }): Promise<number>;

  // care
  /** Forgets idempotency rows older than `before`, at most `limit`. */
  purgeIdempotency(params: { before: number; limit: number }): Promise<number>;
}
