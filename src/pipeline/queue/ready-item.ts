/** A row in memory: an element of the window, on which delivery works. */
import type { ClaimedDelivery } from '../../model/delivery.ts';

/**
 * The bytes of a message and how many items in the window share them. The count is here and not in a map by content,
 * because V8 keeps the old hash tables of a map, and what they refer to, until the next full garbage collection.
 */
export interface SharedContent {
  readonly bytes: Uint8Array;
  sharers: number;
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
  /** It is being sent at this moment, and can no longer be withdrawn. */
  underWay: boolean;
  /** Its outcome or its return is being stored. */
  leaving: boolean;
  /** Released for a change in the store: the part that took it must drop it. It never comes back; a copy of it may. */
  withdrawn: boolean;
  /** The gate change after which it was last found to be allowed; -1 = not checked yet. */
  checked: number;
}
