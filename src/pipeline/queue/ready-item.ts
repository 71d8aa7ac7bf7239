/** A row in memory: what the window holds and delivery works on. */
import type { ClaimedDelivery } from '../../model/delivery.ts';

/**
 * The bytes of a message and how many items in the window share them. The count is kept here and not in a map by content:
 * V8 keeps the outgrown tables of a map, and what they refer to, until the next full collection.
 */
export interface SharedContent {
  readonly bytes: Uint8Array;
  sharers: number;
}

/** A leased delivery in memory. */
export interface ReadyItem {
  delivery: ClaimedDelivery;
  /** One for all recipients of the message; null where the bytes have to be read back first, and once the item has left. */
  content: SharedContent | null;
  /** Where it goes; work of one site shares connections and limits. The window changes it when the site is known better. */
  site: string;
  /** Bytes it counts for in the window; those of `content` are counted beside it, once for all who share them. */
  heldBytes: number;
  /** Times it was handed to another connection without an attempt being charged. */
  redispatched: number;
  /** A connection that had carried others ended under it: it goes on one that has carried nothing. */
  fresh: boolean;
  /** It is being sent at this moment, cannot be taken back any more, and waits for nothing. */
  underWay: boolean;
  /** Its outcome or its return is being stored: it waits for nothing any more. */
  leaving: boolean;
  /** Given up for a change in the store: whoever took it lets go of it. It never comes back; a copy of it may. */
  withdrawn: boolean;
  /** Which change of the gate it was last found free to go after; -1 = not looked at yet. */
  checked: number;
}
