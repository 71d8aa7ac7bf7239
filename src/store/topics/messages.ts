/** Messages, as shown to their senders. Part of the Store (`../store.ts` has the promises of all its operations). */
import type { DeliveryState, RouteKind } from '../../model/delivery.ts';
import type { AddressLists, Lane, MessageId, RecipientKind } from '../../model/message.ts';
import type { KeptFields } from '../../model/submission.ts';

export interface RecipientView {
  deliveryId: number;
  address: string;
  kind: RecipientKind;
  state: DeliveryState;
  /** Of its queue (model/route-key.ts). */
  routeKey: string;
  attempts: number;
  dueAt: number;
  expiresAt: number;
  waitReason: string | null;
  lastCode: number;
  lastReply: string | null;
  lastCategory: string | null;
  route: RouteKind | null;
  /** An earlier attempt, whose outcome is not known, may have been taken. */
  mayBeDuplicate: boolean;
  /** Why it failed or waits, where others may do for the same. */
  causeId: number | null;
  updatedAt: number;
}

export interface MessageView extends KeptFields {
  seq: number;
  id: MessageId;
  domain: string;
  lists: AddressLists;
  sandbox: boolean;
  /** One of its links unsubscribes. */
  listUnsubscribe: boolean;
  size: number;
  createdAt: number;
  expiresAt: number;
  /** The sender set the expiry; otherwise it depends on when the message is sent. */
  expiryGiven: boolean;
  recipients: readonly RecipientView[];
}

export interface MessageFilter {
  domains?: readonly string[];
  from?: string;
  /** Address of at least one recipient, in any case. */
  to?: string;
  /** An A-label: at least one recipient has an address in this domain. */
  recipientDomain?: string;
  /** At least one recipient failed or waits for this cause. */
  cause?: number;
  /** Substring, case-insensitive. */
  subject?: string;
  tag?: string;
  lane?: Lane;
  /** Pairs that its metadata must contain. */
  metadata?: readonly (readonly [name: string, value: string])[];
  /** Messages with at least one recipient, one that `to` and `recipientDomain` ask for, in one of these states. */
  states?: readonly DeliveryState[];
  /** With `states`: that recipient is scheduled, or was tried before. */
  waiting?: 'scheduled' | 'tried';
  /** With `states`: that recipient was reached by this route. */
  route?: RouteKind;
  /** With `states`: and at least one such recipient has another state. */
  mixed?: true;
  since?: number;
  until?: number;
  /** Only messages with a smaller seq (newest first paging). */
  beforeSeq?: number;
  limit: number;
  /** The most messages that are examined. */
  look: number;
}

export interface MessageStore {
  getMessage(params: { id: string; domains?: readonly string[] }): Promise<MessageView | null>;
  /**
   * At most `limit` matches, newest first, and `beforeSeq` of the next look, null = that was all. It may hold fewer and
   * still continue, if `look` or the number of their recipients was reached first.
   */
  listMessages(filter: MessageFilter): Promise<{ messages: readonly MessageView[]; nextSeq: number | null }>;
  /**
   * Prepares searches by recipient: indexes the next `limit` recipients, if so many are there. true: there may be more.
   * Those that are not indexed yet are found too, but slowly.
   */
  indexRecipients(params: { limit: number }): Promise<boolean>;
}
