/**
 * What the client throws. `PostriderError` is an answer of the server that says no; `PostriderConnectionError` is no
 * answer at all, after every retry; `WebhookVerificationError` is a call that did not come from the server.
 */
import type { ProblemItem } from './api-types.ts';

/** One problem of a request, as the API names it. */
export type ApiProblem = ProblemItem;

/** The server refused. `message` is the first problem's text; `problems` holds them all. */
export class PostriderError extends Error {
  /** HTTP status. */
  readonly status: number;
  /** Code of the first problem; 0 where the answer was none of the API's. */
  readonly code: number;
  /** Stable name of the first problem; '' where the answer was none of the API's. */
  readonly problem: string;
  readonly problems: readonly ApiProblem[];
  /** Quote it when asking the operator. */
  readonly requestId: string | null;
  /** Seconds the server asked to wait, or null. */
  readonly retryAfter: number | null;

  constructor(facts: {
    status: number;
    message: string;
    problems: readonly ApiProblem[];
    requestId: string | null;
    retryAfter: number | null;
  }) {
    super(facts.message);
    this.name = 'PostriderError';
    this.status = facts.status;
    this.problems = facts.problems;
    this.code = facts.problems[0]?.Code ?? 0;
    this.problem = facts.problems[0]?.Name ?? '';
    this.requestId = facts.requestId;
    this.retryAfter = facts.retryAfter;
  }
}

/** The server gave no answer: refused connection, time-out, broken transfer. `cause` holds the last failure. */
export class PostriderConnectionError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'PostriderConnectionError';
  }
}

/** Why a webhook call is not to be believed. */
export class WebhookVerificationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WebhookVerificationError';
  }
}
