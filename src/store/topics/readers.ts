/** What readers' programs tell through personal links. Part of the Store (`../store.ts` says what all its operations promise). */
import type { TokenSlots } from '../../model/personal.ts';
import type { NewEvent } from './events.ts';

export interface ReaderFact extends NewEvent {
  deliveryId: number;
}

export interface ReaderStore {
  /** Where a message's tokens go; null where it has no places, or its content is no longer kept. */
  readPlaces(params: { messageSeq: number }): Promise<TokenSlots | null>;
  /** Whether `unsubscribe` of that delivery would be understood: it is kept, or what its link needs is. */
  knowsOptOut(params: { deliveryId: number }): Promise<boolean>;
  /**
   * Stores opens and clicks with the webhook calls they cause. A click at less than `quickMs` after its delivery is
   * marked as automatic; facts about deliveries that are no longer kept are dropped. How many were stored. Synced, as
   * `appendEvents`.
   */
  appendReaderFacts(params: { facts: readonly ReaderFact[]; quickMs: number }): Promise<number>;
  /**
   * Puts the recipient of a delivery on its sender domain's list with the reason Unsubscribe, with the event. Repeated,
   * it changes nothing while the entry is in force; a recipient of the sandbox gets the event only, once. Where
   * the message is gone, the event names the recipient itself. `unknown` where nothing is kept of the delivery. Synced.
   */
  unsubscribe(params: {
    deliveryId: number;
    event: NewEvent;
    /** How it was asked for; kept with the entry. */
    rule: string;
    now: number;
  }): Promise<{ kind: 'unsubscribed' | 'repeated'; domain: string } | { kind: 'unknown' }>;
}
