/**
 * What an attempt can come to. Made from replies by the classifier (classifier/), from failures by the site; read by
 * the settlement. Unknown failures are temporary; only the recipient's own refusals speak about the recipient.
 */
import type { RouteKind } from '../../../model/delivery.ts';
import type { Category } from './classifier/categories.ts';
import type { Stage, Verdict } from './classifier/verdict.ts';

export interface ReplyFacts {
  code: number;
  /** RFC 3463, null where none was given. */
  enhanced: string | null;
  text: string;
}

export type Outcome =
  | { kind: 'delivered'; route: RouteKind; reply: ReplyFacts | null; facts: AttemptFacts }
  /** Try again later; one attempt is charged. */
  | {
      kind: 'deferred';
      verdict: Verdict;
      stage: Stage;
      reply: ReplyFacts | null;
      detail: string;
      facts: AttemptFacts;
    }
  /** Refused for good. `twice`: believed only when the same answer comes again later. */
  | {
      kind: 'bounced';
      verdict: Verdict;
      stage: Stage;
      reply: ReplyFacts | null;
      detail: string;
      facts: AttemptFacts;
      confirm?: boolean;
    }
  /** We cannot go on. */
  | { kind: 'failed'; category: Category; detail: string; facts: AttemptFacts }
  /** A local reason: it waits, no attempt is charged, nothing is sent unsigned. */
  | { kind: 'held'; category: Category; detail: string }
  /** The final reply never came after the final dot: it may or may not have been taken. */
  | { kind: 'unknown'; detail: string; facts: AttemptFacts }
  /** The path failed, not the message: no attempt is charged, everything behind it waits too. */
  | {
      kind: 'path';
      category: Category;
      /** Of the reply that said so; null where no reply was read. */
      verdict: Verdict | null;
      stage: Stage;
      reply: ReplyFacts | null;
      detail: string;
      facts: AttemptFacts;
    }
  /**
   * The connection ended before this message was really tried: another connection, at once. `fresh`: one that has
   * carried nothing yet, so that it cannot go on like this.
   */
  | { kind: 'again'; detail: string; fresh: boolean };

/** What an attempt leaves for the timeline. */
export interface AttemptFacts {
  remoteMta: string;
  conversation: string;
  tls: string;
  durationMs: number;
  /** The way of the transaction; absent where there was none. */
  route?: RouteKind;
}

export const NO_FACTS: AttemptFacts = { remoteMta: '', conversation: '', tls: '', durationMs: 0 };
