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
  /** `queued` rows wait for `dueAt`; `sending` rows are born leased to `epoch` (the fresh path). */
  state: 'queued' | 'sending' | 'suppressed';
  dueAt: number;
  waitReason: string | null;
  sandbox: SandboxResult | null;
  /** Part of its queue's key (model/route-key.ts); absent = ''. */
  routeKey?: string;
  events: readonly NewEvent[];
  /** What the sender wants to be told of it; absent or empty = nothing. */
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
  /** false: the content goes when the last recipient is final. Left out: true. */
  keepContent?: boolean;
  /** The composed message, unsigned. */
  content: Uint8Array;
  /** Where its copies differ; absent = nowhere. */
  places?: TokenSlots;
  bodyOffset: number;
  needsSmtpUtf8: boolean;
  /** Some octet is above 127: hosts are asked for 8BITMIME. */
  eightBit: boolean;
  createdAt: number;
  expiresAt: number;
  /** The sender named the expiry; else it follows from when the message goes. */
  expiryGiven: boolean;
  /** Where the 31 octets of a Date of ours stand in the content; null = the date is the sender's. */
  dateOffset: number | null;
  recipients: readonly NewRecipient[];
  /** The capture that it releases: marked in the same transaction. */
  releases?: string;
  /** It travels as MAIL FROM:<>, and nobody is told of it. */
  nullSender?: boolean;
  /** To whom its notices go; absent = there are none. */
  notice?: NoticeWish;
}

/** What a notice tells of: the facts of a message up to one, to this sender. */
export interface ToldNotice {
  messageSeq: number;
  upToId: number;
  sender: string;
  now: number;
}

/** What messages use up of the quota of their sender domain. */
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
  /** The answer that a replay repeats. */
  status: number;
  body: string;
  createdAt: number;
  /** Rows older than this count as free. */
  expiresBefore: number;
}

/** An idempotency key that is taken: what its holder answered, or that it stands for another request. */
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
  /** The facts it was to tell are told already, or gone. */
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
   * All messages or none, with the idempotency row and the charges of quotas; events' webhook calls are due at the
   * event's time. Synced.
   */
  commitAccepted(params: {
    messages: readonly NewMessage[];
    epoch: number;
    idempotency: IdempotencyEntry | null;
    /** Absent where no domain has a quota; one a domain. */
    quotas?: readonly QuotaCharge[];
    /** These messages are a notice: what it tells is told with this commit, and never twice. */
    tells?: ToldNotice;
  }): Promise<CommitResult>;
  /** What a domain has used up of the windows that `now` is in; windows of which nothing was used are there too. */
  quotaUse(params: { domain: string; now: number }): Promise<readonly QuotaUse[]>;
  /** The same of several domains, in their order. */
  quotaUses(params: { domains: readonly string[]; now: number }): Promise<readonly (readonly QuotaUse[])[]>;
  /** The stored answer for a key, without committing anything; null = the key is free. */
  findIdempotent(params: {
    owner: string;
    operation: string;
    key: string;
    expiresBefore: number;
  }): Promise<{ fingerprint: Uint8Array; status: number; body: string } | null>;

  /** Forgets idempotency rows older than `before`, at most `limit`. */
  purgeIdempotency(params: { before: number; limit: number }): Promise<number>;
}
