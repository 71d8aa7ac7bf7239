/**
 * Cause groups: recipients that failed or wait for one reason. Part of the Store (`../store.ts` says what all its
 * operations promise).
 */
import type { BounceScope } from '../../model/bounce.ts';
import type { DeliveryState } from '../../model/delivery.ts';
import type { Lane } from '../../model/message.ts';

/** Which cause an outcome belongs to: equal in everything but `reply` is the same cause. */
export interface NewCause {
  category: string;
  scope: BounceScope;
  /** Where it happened: a site. */
  site: string;
  /** '' where the fault is the path's and all senders meet it. */
  senderDomain: string;
  /** The reply without what differs from recipient to recipient; at most 200 characters. */
  shape: string;
  /** As it was said, the first time; at most 512 characters. */
  reply: string;
}

export interface CauseView extends NewCause {
  id: number;
  firstSeen: number;
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
  /** Of its queue (model/route-key.ts); '' = none. */
  routeKey: string;
  state: DeliveryState;
}

export interface CauseStore {
  /**
   * Causes that still have recipients, the latest seen first, then by id; behind `before` where it is given. Fewer than
   * `limit` where they have very many; none = there are no more.
   */
  listCauses(params: {
    before?: { lastSeen: number; id: number };
    limit: number;
    countUpTo: number;
  }): Promise<readonly CauseView[]>;
  /** null where there is no such cause, or nobody is left in it. */
  getCause(params: { id: number; countUpTo: number }): Promise<CauseView | null>;
  /** Its recipients that wait, bounced or were given up, by delivery id, after `afterId`. */
  causeMembers(params: { id: number; afterId: number; limit: number }): Promise<readonly CauseMember[]>;
  /** Forgets causes without recipients that were last seen before `before`; how many. */
  purgeCauses(params: { before: number; limit: number }): Promise<number>;
}
