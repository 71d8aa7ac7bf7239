/**
 * Opens, clicks and unsubscribes by personal links. Part of the Store (`../store.ts` has the promises of all its
 * operations).
 */
import type { TokenSlots } from '../../model/personal.ts';
import type { NewEvent } from './events.ts';

export interface ReaderFact extends NewEvent {
  deliveryId: number;
}

export interface ReaderStore {
  /** A message's token slots; null if it has none, or its content was deleted. */
  readTokenSlots(params: { messageSeq: number }): Promise<TokenSlots | null>;
  /** Whether `unsubscribe` of that delivery would work: the delivery, or what its link needs, is stored. */
  knowsOptOut(params: { deliveryId: number }): Promise<boolean>;
  /**
   * Stores opens and clicks with the webhook calls they cause. A click less than `quickMs` after its delivery is marked
   * as automatic; facts about deleted deliveries and erased recipients are dropped. Returns how many were stored. Synced, as `appendEvents`.
   */
  appendReaderFacts(params: { facts: readonly ReaderFact[]; quickMs: number }): Promise<number>;
  /**
   * Puts the recipient of a delivery on its sender domain's list with the reason Unsubscribe, with the event. Repeating
   * it changes nothing while the entry is in force; a recipient of the sandbox only gets the event, once. If the
   * message was deleted, the event names the recipient itself. `unknown` if nothing is stored about the delivery, or its recipient was erased.
   * Synced.
   */
  unsubscribe(params: {
    deliveryId: number;
    event: NewEvent;
    /** How it was requested; stored with the entry. */
    rule: string;
    now: number;
  }): Promise<{ kind: 'unsubscribed' | 'repeated'; domain: string } | { kind: 'unknown' }>;
}
