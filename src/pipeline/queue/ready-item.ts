/** A row in memory: an element of the window, on which delivery works. */
import type { ClaimedDelivery } from '../../model/delivery.ts';

/**
 * The bytes of a message and how many items in the window share them. The count is here and not in a map by content,
 * because V8 keeps the old hash tables of a map, and what they refer to, until the next full garbage collection.
 */
export interface SharedContent {
  readonly bytes: Uint8Array;
  /** Their number, also once they are freed. */
  readonly size: number;
  /** The message has no other recipient in memory, no transaction has sent the bytes, and nobody else holds the item. */
  mayFree: boolean;
  sharers: number;
}

/** Smaller ones are no burden. */
const LEAST_FREED_BYTES = 8 * 1024;

/**
 * Frees bytes that nobody will read again: they have length 0 afterwards. They must not wait in a socket, which reads them by their address.
 * A part of a larger buffer stays. V8 frees what has outlived two small collections only in the next full one, and begins a full one whenever
 * 64 MiB of such memory have gathered: that took 20 % of the CPU of mail of 100 KB, and 4 % of that of 10 KB.
 */
export function freeBytes({ buffer, length }: Uint8Array): void {
  if (length < LEAST_FREED_BYTES || length !== buffer.byteLength) return;
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/** What sends an item at the moment. */
export interface Sending {
  /** How far it is, as a sentence without its end, for display. */
  progress(): string;
}

/** A leased delivery in memory. */
export interface ReadyItem {
  delivery: ClaimedDelivery;
  /**
   * The same object for all recipients of the message; null if the bytes must be read from the store, or the item has
   * left.
   */
  content: SharedContent | null;
  /** Its site; items of one site share connections and limits. The window changes it when more is known. */
  site: string;
  /** Bytes that it counts in the window; those of `content` are counted separately, once for all that share them. */
  heldBytes: number;
  /** How often it was passed to another connection without counting an attempt. */
  redispatched: number;
  /** A connection that had carried other messages ended under it: it needs a new connection. */
  fresh: boolean;
  /** Not null: it is being sent at this moment, and can no longer be withdrawn. */
  underWay: Sending | null;
  /** Its outcome or its return is being stored. */
  leaving: boolean;
  /** Released for a change in the store: the part that took it must drop it. It never comes back; a copy of it may. */
  withdrawn: boolean;
  /** The gate change after which it was last found to be allowed; -1 = not checked yet. */
  checked: number;
}
