/** What waits, by queue and by cause, and what resending a cause did. Types only. */
import type { BounceScope } from '../../../../model/bounce.ts';
import type { Page } from './page.ts';

/** One queue of GET /queue: recipients of one site, sender domain and lane. */
export interface QueueItem {
  /** The recipients' domain. */
  Site: string;
  SenderDomain: string;
  Priority: 'critical' | 'normal' | 'bulk';
  /** Of its messages' tags, those that routes name. */
  Tags: readonly string[];
  /** Where it goes by the configuration in force, e.g. `routes[1] smtp://mail.example.net:25`. */
  Route: string;
  /** At most 1000 are looked at; `Complete` false: there are more. */
  Waiting: number;
  Complete: boolean;
  /** Of them due already. */
  Due: number;
  /** When the oldest message was accepted. */
  OldestAt: string;
  NextDueAt: string;
  /** By the age of their message. */
  Ages: { Under1m: number; Under10m: number; Under1h: number; Under1d: number; Older: number };
  /** At most five, the most frequent first; '' = none, it only waits for its turn. */
  Reasons: readonly { Reason: string; Count: number }[];
}

/** GET /queue. The sums are null for a token of some domains. */
export interface QueueAnswer {
  Waiting: number | null;
  Sending: number | null;
  PendingCalls: number | null;
  OldestDueAt: string | null;
  /** Earliest due first. */
  Queues: readonly QueueItem[];
  More: boolean;
}

/** What failed or waits for one reason: GET /causes, and GET /causes/{CauseID}. */
export interface CauseItem {
  CauseID: number;
  /** As `Class` in bounce objects. */
  Category: string;
  Scope: BounceScope;
  /** Where it happened. */
  Site: string;
  /** null: the fault is the path's, all senders meet it. */
  SenderDomain: string | null;
  /** What was said, the first time. */
  Reply: string;
  /** What it means, whose fault it is, who can mend it. */
  Explanation: string;
  /** Recipients that wait for another try, counted to 10 000. */
  Waiting: number;
  /** Recipients that bounced or were given up, counted to 10 000. */
  Failed: number;
  FirstSeen: string;
  LastSeen: string;
  Example: { MessageID: string; Recipient: string } | null;
}

/** GET /causes. */
export type CausesAnswer = Page<CauseItem>;

/** POST /causes/{CauseID}/resend, the sums of this request. `More`: call again with `NextCursor` as `After` for the rest. */
export interface ResendAnswer {
  Queued: number;
  /** Paths of theirs that were closed and are tried now. */
  Opened: number;
  LeftOut: { Suppressed: number; ContentGone: number; Moved: number };
  More: boolean;
  NextCursor: string | null;
}
