/**
 * The running half of the queue, as acceptance and delivery see it: rows of the store that are leased to this node and wait
 * in a bounded window in memory. `createQueue` (create-queue.ts) makes one.
 */
import type { Service } from '../../lib/service.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { Lane } from '../../model/message.ts';
import type { Hint } from '../../store/topics/hints.ts';
import type { Settlement } from '../../store/topics/queue.ts';
import type { Changing } from './changing.ts';
import type { QueueRef } from './due-queues.ts';
import type { SiteQuestion } from './gate.ts';
import type { ReadyItem } from './ready-item.ts';
import type { WindowLimits } from './ready-window.ts';
import type { Holding } from './strays.ts';

export interface QueueOptions extends WindowLimits {
  /** The store is searched for rows that become due within this time. */
  lookAheadMs: number;
  /** The same while the store receives no hints of other nodes; absent: there are no other nodes. */
  lookAheadWithoutHintsMs?: number;
  /** How often that is searched for, at least once in the time above; and expired rows, and waiting rows counted. */
  checkMs: number;
  /** With more waiting recipients than this, `backlogged` gives a reason. */
  highWaterMark: number;
}

export const QUEUE_DEFAULTS: QueueOptions = {
  maxRows: 4096,
  maxBytes: 64 * 1024 * 1024,
  maxRowsPerSite: 256,
  lookAheadMs: 10_000,
  checkMs: 5_000,
  highWaterMark: 5_000_000,
};

/** Settles a claimed row whose recipient was suppressed; null = it may be sent. */
export type SuppressionSettler = (delivery: ClaimedDelivery, now: number) => Settlement | null;

/** Settles an expired claimed row with its events. `waitedFor`: why its site waited, or null. */
export type ExpirySettler = (delivery: ClaimedDelivery, now: number, waitedFor: string | null) => Settlement;

/** The part that takes items. */
export interface Worker {
  /** A site has items to take, or a reason to look again. */
  wake(site: string): void;
  /** How many rows a site can use within the next seconds: no more are claimed for it. */
  demand(site: string): number;
  /** How many it sent within about the last second. */
  throughput(site: string): number;
}

/** Places reserved for a message until it is committed. */
export interface Reservation {
  /**
   * For each recipient: the site in which a place is reserved, so that its row is inserted as leased; null = none, it
   * is inserted as queued.
   */
  readonly sites: readonly (string | null)[];
  /** Of all of them. */
  readonly lane: Lane;
  readonly senderDomain: string;
  readonly rows: number;
  readonly bytes: number;
  /** When it was requested (monotonic): later suppressions are applied when the rows arrive. */
  readonly sinceMs: number;
}

/** A recipient that was stored as queued. */
export interface StoredRow extends QueueRef {
  dueAt: number;
}

export interface Queue extends Service {
  /** Reserves places in memory before a message is committed. Must be followed by `admit` or `unreserve`. */
  reserve(recipients: readonly SiteQuestion[], bytes: number): Reservation;
  unreserve(reservation: Reservation): void;
  /** The committed, leased rows of one message with their content. */
  admit(deliveries: readonly ClaimedDelivery[], content: Uint8Array, reservation: Reservation): void;
  /** These rows were stored as queued. */
  stored(rows: readonly StoredRow[]): void;
  /** Other nodes have stored rows in these queues. */
  hinted(queues: Hint['queues']): void;
  /** Other nodes have changed suppressions, and it is not known which: those of the mail in memory are read again. */
  suppressionsChanged(): void;
  /** Some rows are due at that time; absent: now. The store is asked which. */
  wake(at?: number): void;
  /**
   * The gate's answer changed for this site, or for some mail of any site. Mail in memory for a site that closed goes
   * back to the store with the reason and its due time; for one that opened, rows are claimed. Nothing else is
   * rewritten.
   */
  gateChanged(site?: string): void;
  /** Changes waiting deliveries in the store, including those in memory. */
  changing: Changing;
  /**
   * Mail of a site or of a recipient domain with a later due time because of its path becomes due now; with `deferred` also
   * what a reply put off. Resolves to its recipients when that is stored.
   */
  hurry(mail: { site: string; deferred?: boolean } | { recipientDomain: string }): Promise<number>;
  /**
   * Whether an item that was taken may be sent. If not (it expired, was suppressed, has to wait, or its lease is gone),
   * it was settled or given back, and the caller drops it.
   */
  mayGoOn(item: ReadyItem): boolean;
  /** Sets the worker. Until then a site may hold as much as the window allows. */
  onWork(worker: Worker): void;
  /**
   * Next item of a site, optionally of one lane, for which `admits` returns true; only the first item of each sender
   * domain is asked. null if none waits, the site is blocked, or the store cannot record an outcome.
   */
  take(site: string, lane?: Lane, admits?: (item: ReadyItem) => boolean): ReadyItem | null;
  /**
   * Whether an outcome could be stored now, under a lease that is certainly valid. If not, nothing may be sent; the
   * sites are woken when it can.
   */
  recordable(): boolean;
  /** The node has a new epoch: waiting items of the old one are given back, and taken ones are checked again. */
  epochChanged(): void;
  /** To the front of the waiting items; to the store if its site is blocked. */
  putBack(item: ReadyItem): void;
  /** Records an outcome. Resolves when it is stored, and the item has left memory. */
  settle(item: ReadyItem, settlement: Settlement): Promise<void>;
  /** Releases an item's lease. */
  giveBack(item: ReadyItem, dueAt: number, waitReason: string | null): void;
  /** Waiting items in memory, by lane. */
  waiting(site: string): Readonly<Record<Lane, number>>;
  /** Rows in memory, including those being sent. */
  rowsOf(site: string): number;
  /** Whether mail for the site is in memory, or due in the store. */
  hasMail(site: string): boolean;
  /** Some recipients belong to another site now: their waiting items move there. */
  regroup(site: string): void;
  /** Counts what waits, for a node that accepts mail but delivers none. */
  counting: Service;
  /** Why new mail must not be accepted: too much is queued, or outcomes cannot be stored. */
  backlogged(): string | null;
  inMemory(): { rows: number; bytes: number };
  /** The recipients that this node knows to be leased to it. */
  holding(): Holding;
  /** All items in memory, including those being sent. */
  items(): Iterable<ReadyItem>;
  /** One of them, or null. */
  itemOf(deliveryId: number): ReadyItem | null;
}
