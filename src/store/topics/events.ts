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
  /** false: a timeline entry only, no webhook call is made for it (the hourly cap on `deferred`). Default true. */
  notify?: boolean;
}

export interface EventDetail {
  attempt?: number;
  bounce?: Bounce;
  /** Of a scheduled one: when it is to go. */
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
  /** Whom it is about, where the message is no longer kept. */
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
    /** The message, or the recipient that the event is about, was played by the sandbox. */
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
  newestFirst: boolean;
}

/** A filter, and how far one call goes. */
export interface EventLook extends EventFilter {
  /** Behind this place in the order asked for: `next` of the look before. */
  from?: EventPlace;
  /** Events that are looked at, at the most. */
  look: number;
}

/** A place in the order of events. */
export interface EventPlace {
  at: number;
  seq: number;
}

export type StatsGroupBy = 'tag' | 'domain' | 'recipient-domain';

export interface StatsCount {
  /** Start of the interval. */
  at: number;
  kind: EventKind;
  n: number;
}

export interface EventStore {
  /**
   * Appends facts about a delivery (opened, complained, …) or a domain, with the webhook calls they cause. Synced
   * (nobody repeats them), though they may wait some milliseconds for company. An unknown delivery id counts as null.
   */
  appendEvents(params: {
    events: readonly (NewEvent & { domain: string; deliveryId: number | null })[];
  }): Promise<void>;
  /**
   * At most `limit` matches and where to go on, null = that was all; it may hold nothing and still go on, where `look` came
   * first. Ordered by time, then seq; those of one message, and with `afterSeq` and oldest first, by seq alone, so that a
   * reader that goes on from the last seq it saw misses nothing. Over very many domains the order is that of arrival.
   */
  findEvents(
    filter: EventLook & { limit: number },
  ): Promise<{ events: readonly EventView[]; next: EventPlace | null }>;
  /** How many match in one look, counted up to `upTo`, and where the next look goes on. */
  countEvents(filter: EventLook & { upTo: number }): Promise<{ count: number; next: EventPlace | null }>;

  /** Seq of the newest event, 0 = there is none; everything up to it can be read. */
  lastEventSeq(): Promise<number>;
  /**
   * Counts of events about recipients per interval, kind and group; intervals without any are left out. At most
   * `maxGroups` groups, the largest first, the others together in `rest`. `too-many` where the range holds more than
   * `maxEvents`, or more than `maxCountedGroups` different groups or `maxEvents` counts of them, which are in memory
   * together.
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
    maxCountedGroups: number;
  }): Promise<
    | {
        kind: 'counted';
        groups: readonly { name: string; counts: readonly StatsCount[] }[];
        rest: readonly StatsCount[] | null;
      }
    | { kind: 'too-many'; of: 'events' | 'groups' }
  >;
}
