/**
 * What the client throws. `PostriderError`: the server refused. `PostriderConnectionError`: there was no answer after all
 * tries. `WebhookVerificationError`: a webhook call did not come from the server, or is old.
 */
import type { ProblemItem } from './api-types.ts';

/** One problem of a request, as the API names it. */
export type ApiProblem = ProblemItem;

/** The server refused. `message` is the text of the first problem; `problems` has all. */
export class PostriderError extends Error {
  /** HTTP status. */
  readonly status: number;
  /** Code of the first problem; 0 if the answer was not one of the API, for example of a proxy. */
  readonly code: number;
  /** Stable name of the first problem; '' if the answer was not one of the API. */
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

/** Why a webhook call cannot be trusted. */
export class WebhookVerificationError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WebhookVerificationError';
  }
}
