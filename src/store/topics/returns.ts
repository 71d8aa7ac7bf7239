/**
 * Returned mail: bounces, complaints, notes. Part of the Store (`../store.ts` has the promises of all its
 * operations).
 */
import type { RouteKind } from '../../model/delivery.ts';
import type { MessageId } from '../../model/message.ts';
import type { NewEvent } from './events.ts';
import type { SuppressionSignal } from './suppressions.ts';

/** The recipient that returned mail is about. */
export interface ReturnSubject {
  deliveryId: number;
  messageId: MessageId;
  address: string;
  route: RouteKind | null;
  /** It stayed in the sandbox. */
  sandbox: boolean;
  /** When it was last delivered; if never, its last change. */
  sentAt: number;
}

export type ReturnFact =
  | {
      kind: 'bounce';
      deliveryId: number;
      /** The category: there is one bounce event for each. */
      class: string;
      /** Stored if it changes `delivered` to `bounced`, with its webhook calls … */
      event: NewEvent;
      /** … and this if it changes nothing. */
      note: NewEvent;
      /** ≤ 512 characters. */
      lastReply: string;
      lastCode: number;
      suppress: SuppressionSignal | null;
      /** Other recipients could have written it, so it does not count in the rates of its sender domain. */
      shared: boolean;
      /** false: the outcome of a running delivery is not waited for. */
      mayWait: boolean;
    }
  | { kind: 'complaint'; deliveryId: number; event: NewEvent; suppress: SuppressionSignal | null }
  /**
   * Withdraws the complaint about this delivery, and the suppression it caused, unless another complaint of the same person
   * stands, among the first thousand about the sender domain since: the entry then names that message.
   */
  | { kind: 'not-spam'; deliveryId: number; event: NewEvent }
  | { kind: 'note'; deliveryId: number; class: string; event: NewEvent };

/**
 * `recorded`: with all effects. `noted`: a bounce of something not delivered, only in the timeline. `repeated`: already
 * known, nothing changed. `under-way`: the delivery is being made at this moment; ask again. `nothing`: nothing to
 * withdraw, or no such delivery.
 */
export type ReturnResult = 'recorded' | 'noted' | 'repeated' | 'under-way' | 'nothing';

export interface OutcomeRates {
  /** The newest recipients that were delivered or bounced, up to the window; none of the sandbox. */
  outcomes: number;
  /**
   * Addresses of which one of them bounced, at once or later, as far as no other recipient could have said so. Addresses that
   * differ only after a plus sign count once: nobody should reach a limit alone, by mail that is sent at his request.
   */
  bounced: number;
  /** Addresses, counted in the same way, with a complaint since the oldest of them that was not withdrawn. */
  complained: number;
}

export interface ReturnStore {
  /** The recipient of a delivery, unless it was erased; those of a message, at most 1000. Empty if there is none. */
  returnSubjects(
    params: { deliveryId: number } | { messageSeq: number } | { messageId: string },
  ): Promise<readonly ReturnSubject[]>;
  /**
   * Records returned mail about one delivery, with its event, webhook calls and suppression. The same fact counts once:
   * bounces and notes once for each class and number of attempts, the others once for each delivery. `nothing`: also
   * if the recipient was erased. Synced.
   */
  recordReturn(params: { fact: ReturnFact; now: number }): Promise<ReturnResult>;
  /** Recent outcomes of a sender domain's mail. */
  outcomeRates(params: { domain: string; window: number }): Promise<OutcomeRates>;
  /** Sender domains with a bounce or complaint among the `look` events after `afterSeq`; `nextSeq` null = no more. */
  returnedDomains(params: {
    afterSeq: number;
    look: number;
  }): Promise<{ domains: readonly string[]; nextSeq: number | null }>;
}
