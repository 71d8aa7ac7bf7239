/**
 * Committing accepted messages, and the idempotency keys committed with them. Part of the Store (`../store.ts` says what
 * all its operations promise).
 */
import type { AddressLists, MessageId, RecipientKind, SandboxResult } from '../../model/message.ts';
import type { NoticeKind, NoticeWish } from '../../model/notice.ts';
import type { TokenSlots } from '../../model/personal.ts';
import type { QuotaLimits, QuotaPeriod, QuotaUse } from '../../model/quota.ts';
import type { KeptFields } from '../../model/submission.ts';
import type { NewEvent } from './events.ts';

export interface NewRecipient {
  address: string;
  /** Lower-case A-label. */
  domain: string;
  kind: RecipientKind;
  /** `queued` rows wait for `dueAt`; `sending` rows are inserted as leased to `epoch` (the fresh path). */
  state: 'queued' | 'sending' | 'suppressed';
  dueAt: number;
  waitReason: string | null;
  sandbox: SandboxResult | null;
  /** Part of its queue's key (model/route-key.ts); absent = ''. */
  routeKey?: string;
  events: readonly NewEvent[];
  /** Notices that the sender requested for it; absent or empty = none. */
  notify?: readonly NoticeKind[];
  /** `type;address` as the sender gave it, decoded. */
  orcpt?: string;
}

export interface NewMessage extends KeptFields {
  id: MessageId;
  /** The verified sender domain it was accepted for. */
  domain: string;
  tokenId: string;
  lists: AddressLists;
  sandbox: boolean;
  /** false: the content is deleted when the last recipient is final. Default: true. */
  keepContent?: boolean;
  /** The composed message, unsigned. */
  content: Uint8Array;
  /** Its token slots; absent = all copies are the same. */
  places?: TokenSlots;
  bodyOffset: number;
  needsSmtpUtf8: boolean;
  /** Some octet is above 127: hosts are asked for 8BITMIME. */
  eightBit: boolean;
  createdAt: number;
  expiresAt: number;
  /** The sender set the expiry; otherwise it depends on when the message is sent. */
  expiryGiven: boolean;
  /** Offset of the 31 octets of our Date in the content; null = the sender set the date. */
  dateOffset: number | null;
  recipients: readonly NewRecipient[];
  /** The capture that it releases, which is marked in the same transaction. */
  releases?: string;
  /** Sent with MAIL FROM:<>; nobody gets notices about it. */
  nullSender?: boolean;
  /** Where its notices go; absent = none. */
  notice?: NoticeWish;
}

/** The facts that a notice reports: those of a message up to one. */
export interface ToldNotice {
  messageSeq: number;
  upToId: number;
  sender: string;
  now: number;
}

/** Quota charged to the sender domain of messages. */
export interface QuotaCharge {
  domain: string;
  /** Recipients. */
  count: number;
  limits: QuotaLimits;
  now: number;
}

export interface IdempotencyEntry {
  owner: string;
  /** Method and path, e.g. `POST /email`. */
  operation: string;
  key: string;
  /** SHA-256 of the raw body. */
  fingerprint: Uint8Array;
  /** The answer that a repetition gets. */
  status: number;
  body: string;
  createdAt: number;
  /** Older rows count as free. */
  expiresBefore: number;
}

/** An idempotency key that is taken: the stored answer, or that it belongs to another request. */
export type KeyHeld = { kind: 'replay'; status: number; body: string } | { kind: 'key-reused' };

export type CommitResult =
  | {
      kind: 'committed';
      /** In the order given; ids of their recipients in the order given. */
      messages: readonly { seq: number; deliveries: readonly { id: number; queueId: number }[] }[];
    }
  | KeyHeld
  /** Nothing was stored: rows were to be leased to an epoch that has ended. */
  | { kind: 'epoch-ended' }
  /** The facts were already reported, or deleted. */
  | { kind: 'told' }
  /** `left` of `max` recipients until `resetAt`: fewer than were to be charged. */
  | {
      kind: 'quota-exceeded';
      domain: string;
      period: QuotaPeriod;
      max: number;
      left: number;
      resetAt: number;
    };

export interface AcceptanceStore {
  /**
   * Stores all messages or none, with the idempotency row and the quota charges; webhook calls of the events are due at
   * the event's time. Synced.
   */
  commitAccepted(params: {
    messages: readonly NewMessage[];
    epoch: number;
    idempotency: IdempotencyEntry | null;
    /** Absent if no domain has a quota; one per domain. */
    quotas?: readonly QuotaCharge[];
    /** These messages are a notice: its facts are reported with this commit, and never twice. */
    tells?: ToldNotice;
  }): Promise<CommitResult>;
  /** What domains have used of the current windows, in their order; unused windows are included. */
  quotaUses(params: { domains: readonly string[]; now: number }): Promise<readonly (readonly QuotaUse[])[]>;
  /** The stored answer for a key, without committing anything; null = the key is free. */
  findIdempotent(params: {
    owner: string;
    operation: string;
    key: string;
    expiresBefore: number;
  }): Promise<{ fingerprint: Uint8Array; status: number; body: string } | null>;

  /** Deletes idempotency rows older than `before`, at most `limit`. */
  purgeIdempotency(params: { before: number; limit: number }): Promise<number>;
}
