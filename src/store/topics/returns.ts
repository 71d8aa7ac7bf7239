/**
 * What comes back after delivery: bounces, complaints, opt-outs, notes. Part of the Store (`../store.ts` says what all
 * its operations promise).
 */
import type { DeliveryState, RouteKind } from '../../model/delivery.ts';
import type { MessageId } from '../../model/message.ts';
import type { NewEvent } from './events.ts';
import type { SuppressionSignal } from './suppressions.ts';

/** The recipient that something which came back is about. */
export interface ReturnSubject {
  deliveryId: number;
  messageId: MessageId;
  /** The sender domain. */
  domain: string;
  address: string;
  state: DeliveryState;
  route: RouteKind | null;
  /** It never left the machine. */
  sandbox: boolean;
  /** When it was last delivered; where it never was, its last change. */
  sentAt: number;
}

export type ReturnFact =
  | {
      kind: 'bounce';
      deliveryId: number;
      /** The category: one bounce of each is told. */
      class: string;
      /** Stored where it turns `delivered` into `bounced`, with its webhook calls … */
      event: NewEvent;
      /** … and where it changes nothing, this. */
      note: NewEvent;
      /** ≤ 512 characters. */
      lastReply: string;
      lastCode: number;
      suppress: SuppressionSignal | null;
      /** false: the outcome of a delivery under way is not waited for. */
      mayWait: boolean;
    }
  | { kind: 'complaint'; deliveryId: number; event: NewEvent; suppress: SuppressionSignal | null }
  /** Takes back the complaint about this very delivery, and the suppression it made. */
  | { kind: 'not-spam'; deliveryId: number; event: NewEvent }
  | { kind: 'unsubscribe'; deliveryId: number; event: NewEvent; suppress: SuppressionSignal | null }
  | { kind: 'note'; deliveryId: number; class: string; event: NewEvent };

/**
 * `recorded`: with all it says. `noted`: a bounce of what is not delivered, in the timeline only. `repeated`: known
 * already, nothing changed. `under-way`: the delivery is being made at this moment; ask again. `nothing`: nothing to
 * take back, or no such delivery.
 */
export type ReturnResult = 'recorded' | 'noted' | 'repeated' | 'under-way' | 'nothing';

export interface OutcomeRates {
  /** Recipients among the newest that were delivered or bounced, at most the window; none of the sandbox. */
  outcomes: number;
  /** Of them bounced, at once or later. */
  bounced: number;
  /** Complaints since the oldest of them, without those taken back. */
  complained: number;
}

export interface ReturnStore {
  /** The recipient of a delivery; those of a message, at most 1000. Empty where there is none. */
  returnSubjects(
    params: { deliveryId: number } | { messageSeq: number } | { messageId: string },
  ): Promise<readonly ReturnSubject[]>;
  /**
   * Records what came back about one delivery, with its event, webhook calls and suppression. The same fact acts once:
   * bounces and notes once for each class and number of attempts, the others once for each delivery. Synced.
   */
  recordReturn(params: { fact: ReturnFact; now: number }): Promise<ReturnResult>;
  /** How mail of a sender domain fared lately. */
  outcomeRates(params: { domain: string; window: number }): Promise<OutcomeRates>;
  /** Sender domains with a bounce or complaint among the `look` events after `afterSeq`; `nextSeq` null = no more. */
  returnedDomains(params: {
    afterSeq: number;
    look: number;
  }): Promise<{ domains: readonly string[]; nextSeq: number | null }>;
}
