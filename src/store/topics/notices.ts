/**
 * Notices to senders of SMTP mail that are still to be written. Part of the Store (`../store.ts` says what all its
 * operations promise).
 */
import type { DeliveryState, RouteKind } from '../../model/delivery.ts';
import type { MessageId } from '../../model/message.ts';
import type { NoticeKind, NoticeWish } from '../../model/notice.ts';
import type { EventDetail } from './events.ts';

/** One recipient that a notice tells of: the newest fact about it. */
export interface DueRecipient {
  address: string;
  /** `type;address` as the sender gave it, decoded; null = not given. */
  orcpt: string | null;
  kind: NoticeKind;
  /** When it happened. */
  at: number;
  state: DeliveryState;
  route: RouteKind | null;
  expiresAt: number;
  lastReply: string | null;
  /** Of its event; null where that is gone or there was none. */
  detail: EventDetail | null;
}

/** Everything that is to be told about one message. */
export interface DueNotice extends NoticeWish {
  messageSeq: number;
  messageId: MessageId;
  /** The sender domain it was accepted for. */
  domain: string;
  subject: string;
  createdAt: number;
  bodyOffset: number;
  size: number;
  /** It never left the sandbox. */
  sandbox: boolean;
  /** The facts up to here are what is told. */
  upToId: number;
  /** When the oldest of them happened. */
  oldestAt: number;
  /** Failures first; bounded. */
  recipients: readonly DueRecipient[];
  /** Recipients that found no room in `recipients`. */
  more: number;
  /** Notices written to this sender in the hour of `now`. */
  toldThisHour: number;
}

export interface NoticeStore {
  /**
   * Messages of which some fact is due at or before `dueBefore`, longest due first, with all facts about them, at most
   * `limit` messages. A delay that is over by now, or a fact that a later one of the same recipient replaces, is left out;
   * `recipients` may be empty then.
   */
  dueNotices(params: {
    dueBefore: number;
    now: number;
    limit: number;
    maxRecipients: number;
  }): Promise<readonly DueNotice[]>;
  /** Facts of a message up to one: due from `dueFrom` on, or (null) not to be told at all. How many there were. */
  putOffNotices(params: { messageSeq: number; upToId: number; dueFrom: number | null }): Promise<number>;
}
