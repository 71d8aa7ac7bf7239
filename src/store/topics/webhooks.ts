/** Webhooks and their calls. Part of the Store (`../store.ts` has the promises of all its operations). */
import type { EventKind } from '../../model/event.ts';
import type { DisabledReason, Webhook, WebhookStatus } from '../../model/webhook.ts';
import type { IdempotencyEntry } from './acceptance.ts';
import type { EventPlace, EventView, NewEvent } from './events.ts';

export interface NewWebhook {
  domain: string;
  /** Id of that domain when its creator looked, null = it was not added yet. Refused with `gone` if it was removed since. */
  domainId: number | null;
  /** As in the model's Webhook. */
  events: readonly string[];
  url: string;
  description: string;
  secretSealed: Uint8Array;
  /** Id of the token or person that creates it. */
  createdBy: string | null;
  /** Id of the session in which a person makes it. */
  inSession?: string | undefined;
  createdAt: number;
  /** Refused with `limit` if the domain has this many. */
  maxPerDomain: number;
  /** Stored in the same transaction; `"$id"` in its body becomes the id. Rejects with KeyTaken if it is taken. */
  idempotency?: IdempotencyEntry | undefined;
}

export interface ClaimedCall {
  id: number;
  /** The epoch of the node that the lease belongs to. */
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
  /** Number of the try that just ended, 1 = first. 0 = no try was made (the lease was released). */
  tryNumber: number;
  at: number;
  /** HTTP status, 0 = no answer. */
  responseCode: number;
  /** First 1024 bytes as text. */
  responseBody: string;
  error: string;
  latencyMs: number;
  blocked: boolean;
  /** Set if this try switches the webhook off, with the event about it. */
  disable?: { reason: DisabledReason; event: NewEvent };
}

export interface CallLogEntry {
  id: number;
  eventSeq: number;
  eventId: string;
  eventKind: EventKind;
  /** Of the event; null = it is of no message, or of one that was deleted. */
  messageId: string | null;
  recipient: string | null;
  state: 'pending' | 'sending' | 'succeeded' | 'failed';
  tries: number;
  /** Of the last try, with its body and error. */
  responseCode: number;
  responseBody: string;
  error: string;
  /** How long each try took, since the call was last begun anew. */
  latenciesMs: readonly number[];
  createdAt: number;
  updatedAt: number;
  /** When a pending call is due; of others it says nothing. */
  dueAt: number;
}

export interface WebhookStore {
  /** `ended`: its creator is revoked, disabled or gone. `gone`: its domain was removed. */
  createWebhook(
    params: NewWebhook,
  ): Promise<{ kind: 'created'; id: number } | { kind: 'limit' } | { kind: 'ended' } | { kind: 'gone' }>;
  /** By id ascending, behind `afterId`. `domains` undefined = all. */
  listWebhooks(params: {
    domains?: readonly string[];
    afterId?: number;
    limit: number;
  }): Promise<readonly Webhook[]>;
  /**
   * Enabled webhooks whose calls fail, and those that the server switched off, at most `limit`, in no order. `domains`
   * undefined = all. `waiting`: pending calls.
   */
  failingWebhooks(params: {
    domains?: readonly string[];
    limit: number;
  }): Promise<readonly (Webhook & { waiting: number })[]>;
  /** null if those domains have no such webhook. */
  getWebhook(params: { id: number; domains?: readonly string[] }): Promise<Webhook | null>;
  /**
   * false if those domains have no such webhook. Its calls are no longer made and are deleted in portions
   * (`purgeLeftovers`).
   */
  deleteWebhook(params: { id: number; domains?: readonly string[] }): Promise<boolean>;
  /**
   * Changes the given members of a webhook and updates updatedAt; false if those domains have none with this id. When
   * switched off, its reason is `User`, unless it was off already. When switched on, its failures are reset, its
   * pending calls become due by `now` at the latest, and those created, tried and replayed only before `resumeSince` are
   * given up as failed: some at once, the others by `prepareCalls`, and none is claimed before that is complete.
   * Of one that is on already, pending calls become due in the same way, none is given up, and its failures stay.
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
   * Gives a webhook a new secret; the previous one is also used until `previousUntil`, the one before that no longer.
   * Updates updatedAt. false if those domains have no such webhook.
   */
  rotateWebhookSecret(params: {
    id: number;
    domains?: readonly string[];
    secretSealed: Uint8Array;
    previousUntil: number;
    now: number;
    /** Stored in the same transaction if something is created; rejects with KeyTaken if it is taken. */
    idempotency?: IdempotencyEntry | undefined;
  }): Promise<boolean>;
  /** Calls of a webhook that are pending or running, also while it is off; counted up to `countUpTo`. */
  countPendingCalls(params: { webhookId: number; countUpTo: number }): Promise<number>;
  /**
   * Leases due calls of enabled webhooks; if several have some, each first gets an equal share of `limit`, and one of
   * each domain comes before the second of any: neither a long backlog nor a domain with many webhooks blocks the others.
   */
  claimCalls(params: {
    epoch: number;
    now: number;
    limit: number;
    /** Webhooks that can take no more calls now. */
    excludeWebhooks: readonly number[];
    /** Domains whose webhooks can take none. */
    excludeDomains?: readonly string[];
  }): Promise<readonly ClaimedCall[]>;
  /**
   * Records tries: the call, the webhook's LastResponse* together, its failure counters, and a disabling with its
   * event. A call that is no longer leased to the epoch, or was deleted, changes nothing. Not synced, may wait for
   * other operations.
   */
  settleCalls(params: { settlements: readonly CallSettlement[] }): Promise<void>;
  /**
   * Continues with about `limit` calls that were only recorded because a commit would have created too many, and with
   * as many pending calls of webhooks that were switched on; true while there are more. Until then the former are in no
   * list, and none of the latter are claimed.
   */
  prepareCalls(params: { limit: number }): Promise<boolean>;
  /** Earliest due time of the pending calls of enabled webhooks, or null; 0 if `prepareCalls` has work. */
  nextCallDueAt(): Promise<number | null>;
  /** Those of the newest events first. */
  listCalls(params: {
    webhookId: number;
    /** Only calls of events before this one (`eventSeq` of the last entry seen). */
    beforeEventSeq?: number;
    limit: number;
  }): Promise<readonly CallLogEntry[]>;
  /** One call with the event that it reports; null if the webhook has no such call. */
  getCall(params: {
    webhookId: number;
    callId: number;
  }): Promise<(CallLogEntry & { event: EventView }) | null>;
  /**
   * Repeats the calls for past events (`since` inclusive, `until` exclusive) of the webhook's domain and kinds from
   * their first try, due now, oldest event first; pending calls are left alone. At most `limit` events after `after`
   * are examined. `made`: how many calls; `next`: where to continue, null = that was all.
   */
  replayCalls(params: {
    webhookId: number;
    /** Only these calls of the webhook; undefined = only the other conditions. */
    callIds?: readonly number[];
    since: number;
    until: number;
    after?: EventPlace;
    onlyFailed: boolean;
    now: number;
    limit: number;
  }): Promise<{ made: number; next: EventPlace | null }>;
}
