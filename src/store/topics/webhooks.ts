/** Webhooks and their calls. Part of the Store (`../store.ts` says what all its operations promise). */
import type { EventKind } from '../../model/event.ts';
import type { DisabledReason, Webhook, WebhookStatus } from '../../model/webhook.ts';
import type { IdempotencyEntry } from './acceptance.ts';
import type { EventPlace, EventView, NewEvent } from './events.ts';

export interface NewWebhook {
  domain: string;
  /** As in the model's Webhook. */
  events: readonly string[];
  url: string;
  description: string;
  secretSealed: Uint8Array;
  /** Id of the token that it is made with. */
  createdBy: string | null;
  createdAt: number;
  /** Refused with `limit` where the domain has this many. */
  maxPerDomain: number;
  /** Taken in the same transaction; `"$id"` in its body becomes the id. Rejects with KeyTaken where it is taken already. */
  idempotency?: IdempotencyEntry;
}

export interface ClaimedCall {
  id: number;
  /** The node's epoch that the lease belongs to. */
  epoch: number;
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
  eventSeq: number;
  eventId: string;
  eventKind: EventKind;
  state: 'pending' | 'sending' | 'succeeded' | 'failed';
  tries: number;
  responseCode: number;
  error: string;
  createdAt: number;
  updatedAt: number;
}

export interface WebhookStore {
  createWebhook(params: NewWebhook): Promise<{ kind: 'created'; id: number } | { kind: 'limit' }>;
  /** By id ascending, behind `afterId`. `domains` undefined = all. */
  listWebhooks(params: {
    domains?: readonly string[];
    afterId?: number;
    limit: number;
  }): Promise<readonly Webhook[]>;
  /**
   * Enabled ones whose calls fail, and those that the server switched off, at most `limit`, in no promised order.
   * `domains` undefined = all. `waiting`: calls that wait.
   */
  failingWebhooks(params: {
    domains?: readonly string[];
    limit: number;
  }): Promise<readonly (Webhook & { waiting: number })[]>;
  /** null where no such webhook exists in those domains. */
  getWebhook(params: { id: number; domains?: readonly string[] }): Promise<Webhook | null>;
  /** false where no such webhook exists in those domains. Its calls are made no more and go in portions (`purgeLeftovers`). */
  deleteWebhook(params: { id: number; domains?: readonly string[] }): Promise<boolean>;
  /**
   * Changes what is given of a webhook and moves updatedAt; false where there is none in those domains. Switched off,
   * its reason is `User`, unless it was off already. Switched on, its failures are forgotten, its pending calls become
   * due by `now` at the latest, and those made before `resumeSince` are given up as failed: some hundred at once, the
   * others by `prepareCalls`, and none is claimed before that is over.
   */
  updateWebhook(params: {
    id: number;
    domains?: readonly string[];
    now: number;
    events?: readonly string[];
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
    /** Taken in the same transaction where something is made; rejects with KeyTaken where it is taken already. */
    idempotency?: IdempotencyEntry;
  }): Promise<boolean>;
  /** Calls of a webhook that wait or are on their way, also while it is off; counted up to `countUpTo`. */
  countPendingCalls(params: { webhookId: number; countUpTo: number }): Promise<number>;
  /**
   * Leases due calls of enabled webhooks; where several wait, each first gets an even share of `limit`, and one of each
   * domain comes before the second of any.
   */
  claimCalls(params: {
    epoch: number;
    now: number;
    limit: number;
    /** Webhooks that take no more calls now. */
    excludeWebhooks: readonly number[];
    /** Domains whose webhooks take none. */
    excludeDomains?: readonly string[];
  }): Promise<readonly ClaimedCall[]>;
  /**
   * Records tries: the call, the webhook's LastResponse* as one, its failure counters, and a disable with
   * its event. A call that is no longer leased to the epoch, or gone, changes nothing. Not synced, may wait for company.
   */
  settleCalls(params: { settlements: readonly CallSettlement[] }): Promise<void>;
  /**
   * Goes on with about `limit` calls that are owed to webhooks since a commit that would have made too many at once, and
   * with the waiting calls of webhooks that were switched on; true while there is more. Until then the former are in no
   * list, and none of the latter are claimed.
   */
  prepareCalls(params: { limit: number }): Promise<boolean>;
  /** Earliest due time of the pending calls of enabled webhooks, or null; 0 where `prepareCalls` has to do. */
  nextCallDueAt(): Promise<number | null>;
  /** Those of the newest events first. */
  listCalls(params: {
    webhookId: number;
    /** Only calls of events before this one (`eventSeq` of the last entry seen). */
    beforeEventSeq?: number;
    limit: number;
  }): Promise<readonly CallLogEntry[]>;
  /**
   * Makes the calls for past events (`since` inclusive, `until` exclusive) of the webhook's domain and kinds again from
   * their first try, due now, oldest event first; calls still on their way are left alone. At most `limit` events behind
   * `after` are looked at. `made`: how many calls; `next`: where to go on, null = that was all.
   */
  replayCalls(params: {
    webhookId: number;
    /** Only these calls of the webhook; undefined = by the other conditions alone. */
    callIds?: readonly number[];
    since: number;
    until: number;
    after?: EventPlace;
    onlyFailed: boolean;
    now: number;
    limit: number;
  }): Promise<{ made: number; next: EventPlace | null }>;
}
