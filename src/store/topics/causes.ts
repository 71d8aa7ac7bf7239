/**
 * Cause groups: recipients that failed or wait for one reason. Part of the Store (`../store.ts` says what all its
 * operations promise).
 */
import type { BounceScope } from '../../model/bounce.ts';
import type { Lane } from '../../model/message.ts';

/** The cause of an outcome: two are the same cause if everything except `reply` is equal. */
export interface NewCause {
  category: string;
  scope: BounceScope;
  /** The site where it occurred. */
  site: string;
  /** '' if the fault is the path's and concerns all senders. */
  senderDomain: string;
  /** The reply without what differs between recipients; at most 200 characters. */
  shape: string;
  /** The first reply; at most 512 characters. */
  reply: string;
}

export interface CauseView extends NewCause {
  id: number;
  firstSeen: number;
  /** Up to a minute before it was. */
  lastSeen: number;
  /** Recipients that wait for another try, counted up to `countUpTo`. */
  waiting: number;
  /** Recipients that bounced or were given up, counted up to `countUpTo`. */
  failed: number;
  /** The latest of them; null = none is left. */
  example: { messageId: string; recipient: string } | null;
}

/** A recipient of a cause. */
export interface CauseMember {
  deliveryId: number;
  messageSeq: number;
  domain: string;
  lane: Lane;
  sandbox: boolean;
  address: string;
  /** The route key of its queue (model/route-key.ts); '' = none. */
  routeKey: string;
}

export interface CauseStore {
  /**
   * Causes with recipients, the latest seen first, then by id; after `before` if given. May be fewer than `limit` if
   * they have very many recipients; an empty list = there are no more.
   */
  listCauses(params: {
    before?: { lastSeen: number; id: number };
    limit: number;
    countUpTo: number;
  }): Promise<readonly CauseView[]>;
  /** null if there is no such cause, or no recipient is left in it. */
  getCause(params: { id: number; countUpTo: number }): Promise<CauseView | null>;
  /** Its recipients that wait, bounced or were given up, by delivery id, after `afterId`. */
  causeMembers(params: { id: number; afterId: number; limit: number }): Promise<readonly CauseMember[]>;
  /** Deletes causes without recipients that were last seen before `before`; returns how many. */
  purgeCauses(params: { before: number; limit: number }): Promise<number>;
}
