/**
 * The event log: appending facts, reading and counting them. Part of the Store (`../store.ts` says what all its
 * operations promise).
 */
import type { Bounce } from '../../model/bounce.ts';
import type { RouteKind } from '../../model/delivery.ts';
import type { EventKind } from '../../model/event.ts';
import type { AddressLists, MessageId } from '../../model/message.ts';

export interface NewEvent {
  /** UUIDv7. */
  id: string;
  kind: EventKind;
  at: number;
  detail: EventDetail | null;
  /** false: only a timeline entry without webhook calls (the hourly limit of `deferred`). Default true. */
  notify?: boolean;
}

export interface EventDetail {
  attempt?: number;
  bounce?: Bounce;
  /** For a scheduled one: when it will be sent. */
  nextAttemptAt?: number;
  route?: RouteKind;
  possibleDuplicate?: boolean;
  /** A sentence. */
  reason?: string;
  remoteMta?: string;
  /** Of this server, if it was chosen by configuration. */
  sourceAddress?: string;
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
  /** What the operator is alerted of; of `endedAt` null: it begins. */
  alert?: { kind: string; subject: string; fix: string; since: number; endedAt: number | null };
  /** The recipient, if the message was deleted. */
  recipient?: string;
}

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
    /** The result of the message, or of the recipient of the event, was simulated. */
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
  /** Only deliveries that may have been repeated (`possibleDuplicate`). */
  possibleDuplicate?: true;
  /** Inclusive. */
  since?: number;
  /** Exclusive. */
  until?: number;
  /** Only events with a greater seq. */
  afterSeq?: number;
  newestFirst: boolean;
}

/** A filter, and the limits of one call. */
export interface EventLook extends EventFilter {
  /** After this position in the requested order: `next` of the previous look. */
  from?: EventPlace;
  /** The most events that are examined. */
  look: number;
}

/** A position in the order of events. */
export interface EventPlace {
  at: number;
  seq: number;
}

/** A fact about a domain, or with its id about a delivery. */
export type AppendedEvent = NewEvent & { domain: string; deliveryId: number | null };

export interface EventStore {
  /**
   * Appends facts about a delivery (opened, complained, …) or a domain, with the webhook calls they cause. Synced
   * (nobody repeats them), but they may wait some milliseconds for other operations. An unknown delivery id counts as
   * null.
   */
  appendEvents(params: { events: readonly AppendedEvent[] }): Promise<void>;
  /**
   * At most `limit` matches and where to continue, null = that was all; it may hold fewer and still continue, if `look`
   * or the size of their address lists was reached first. Sorted by time, then seq; those of one message, and with
   * `afterSeq` and oldest first, only by seq, so that a reader that continues from the last seq it saw misses nothing.
   * For very many domains the order is that of arrival.
   */
  findEvents(
    filter: EventLook & { limit: number },
  ): Promise<{ events: readonly EventView[]; next: EventPlace | null }>;
  /** How many match in one look, counted up to `upTo`, and where the next look continues. */
  countEvents(filter: EventLook & { upTo: number }): Promise<{ count: number; next: EventPlace | null }>;

  /** Seq of the newest event, 0 = there is none; all events up to it can be read. */
  lastEventSeq(): Promise<number>;
}
