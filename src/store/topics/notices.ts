/**
 * Notices to senders of SMTP mail that are still to be written. Part of the Store (`../store.ts` has the promises of
 * all its operations).
 */
import type { DeliveryState, RouteKind } from '../../model/delivery.ts';
import type { MessageId } from '../../model/message.ts';
import type { NoticeKind, NoticeWish } from '../../model/notice.ts';
import type { EventDetail } from './events.ts';

/** One recipient that a notice reports: the newest fact about it. */
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
  /** Of its event; null if that was deleted or there was none. */
  detail: EventDetail | null;
}

/** Everything to be reported about one message. */
export interface DueNotice extends NoticeWish {
  messageSeq: number;
  messageId: MessageId;
  subject: string;
  createdAt: number;
  bodyOffset: number;
  /** It stayed in the sandbox. */
  sandbox: boolean;
  /** The facts up to here are reported. */
  upToId: number;
  /** When the oldest of them happened. */
  oldestAt: number;
  /** Failures first; limited. */
  recipients: readonly DueRecipient[];
  /** Recipients that do not fit into `recipients`. */
  more: number;
  /** Notices written to this sender in the hour of `now`. */
  toldThisHour: number;
}

export interface NoticeStore {
  /**
   * Messages with a fact due at or before `dueBefore`, longest due first, with all facts about them, at most `limit`
   * messages. A delay that has ended, or a fact replaced by a later one of the same recipient, is left out;
   * `recipients` may be empty then.
   */
  dueNotices(params: {
    dueBefore: number;
    now: number;
    limit: number;
    maxRecipients: number;
  }): Promise<readonly DueNotice[]>;
  /**
   * Facts of a message up to one: due from `dueFrom` on, or (null) never to be reported. Returns how many there were.
   */
  putOffNotices(params: { messageSeq: number; upToId: number; dueFrom: number | null }): Promise<number>;
}
