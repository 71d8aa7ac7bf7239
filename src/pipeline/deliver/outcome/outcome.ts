/**
 * The possible outcomes of an attempt. Made from replies by the classifier (classifier/) and from failures by the path;
 * read by the settlement. Unknown failures are temporary; only refusals of the recipient say something about the
 * recipient.
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

/** What an attempt ended with. */
export interface Ending {
  /** null: there was none. */
  reply: ReplyFacts | null;
  detail: string;
  facts: AttemptFacts;
}

export interface StagedEnding extends Ending {
  stage: Stage;
}

export type Outcome =
  | { kind: 'delivered'; route: RouteKind; reply: ReplyFacts | null; facts: AttemptFacts }
  /** Tried again later; counts as an attempt. */
  | ({ kind: 'deferred'; verdict: Verdict } & StagedEnding)
  /** Refused permanently. `confirm`: only if the same answer comes again later. */
  | ({ kind: 'bounced'; verdict: Verdict; confirm?: boolean } & StagedEnding)
  /** Delivery cannot continue for our own reasons. */
  | { kind: 'failed'; category: Category; detail: string; facts: AttemptFacts }
  /** A local reason: it waits, counts no attempt, and nothing is sent unsigned. */
  | { kind: 'held'; category: Category; detail: string }
  /** There was no reply to the final dot: the message may or may not have been accepted. */
  | { kind: 'unknown'; detail: string; facts: AttemptFacts }
  /** The path failed, not the message: counts no attempt, and all mail of the path waits too. */
  | ({ kind: 'path'; category: Category; verdict: Verdict | null } & StagedEnding)
  /**
   * The connection ended before this message was really tried: sent again at once on another connection. `fresh`: on a
   * new one, so that this cannot repeat.
   */
  | { kind: 'again'; detail: string; fresh: boolean };

export type OutcomeOf<Kind extends Outcome['kind']> = Extract<Outcome, { kind: Kind }>;

/** What an attempt records in the timeline. */
export interface AttemptFacts {
  remoteMta: string;
  /** The address of the source; absent = the system's choice, or no connection was opened. */
  sourceAddress?: string | undefined;
  conversation: string;
  tls: string;
  durationMs: number;
  /** The kind of route; absent if there was no transaction. */
  route?: RouteKind;
}

export const NO_FACTS: AttemptFacts = { remoteMta: '', conversation: '', tls: '', durationMs: 0 };
