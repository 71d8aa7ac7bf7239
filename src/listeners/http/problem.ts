/**
 * The error body: RFC 9457 members, an `Errors` array with stable codes and an `Error` text, for the three kinds of
 * clients. Takes an `AppError`, or anything that was thrown; returns status, headers and text. What is not an expected
 * refusal becomes 500 or 503 without internal details.
 */

import { z } from 'zod';
import { AppError, ERRORS, type ErrorName, type Problem } from '../../lib/errors.ts';
import { isUuid } from '../../lib/ids.ts';
import { StoreUnavailable } from '../../store/store.ts';
import type { Answer } from './answer-schemas.ts';
import { BASE } from './route.ts';
import { captureSummary } from './sandbox/captures.ts';

export const shownProblem = z
  .object({
    Code: z.int().describe('Stable'),
    Name: z.string().describe('Stable'),
    Message: z.string(),
    Field: z.string().optional().describe('A JSON Pointer in documented spelling'),
    Line: z.int().optional().describe('Where in a template, from 1'),
    Column: z.int().optional(),
  })
  .meta({ id: 'ProblemItem' });

export const problemBody = z
  .object({
    type: z.string().describe('Address of the page that explains the first error'),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string().describe('Names the request'),
    Error: z.string().describe('The first error in words'),
    Errors: z.array(shownProblem).min(1).describe('Every error that was found, in the order of the fields'),
    Nearest: z
      .array(captureSummary)
      .optional()
      .describe(
        'GET /sandbox/wait, 408: the newest captures where it looked, or else elsewhere; at most three',
      ),
  })
  .meta({ id: 'Problem', description: 'Why a request was refused' });

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

export interface ProblemAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Shapes an error. `publicUrl`: base of the `type` links; `requestId`: what X-Request-Id says. */
export function problemAnswer(error: AppError, publicUrl: string, requestId: string): ProblemAnswer {
  const [first] = error.problems;
  const status = error.status;
  const title = first.message ?? ERRORS[first.name].text;
  const body: Answer<typeof problemBody> = {
    type: `${publicUrl}${BASE}/problems/${first.name}`,
    title: ERRORS[first.name].text,
    status,
    detail: detailText(error.problems, title),
    instance: isUuid(requestId) ? `urn:uuid:${requestId}` : `urn:request:${requestId}`,
    Error: title,
    Errors: error.problems.map(problemItem),
    ...error.members,
  };
  const headers: Record<string, string> = { 'content-type': PROBLEM_MEDIA_TYPE };
  const challenge = challengeFor(first.name, error.scope);
  if (challenge !== null) headers['www-authenticate'] = challenge;
  const wait = error.retryAfterSeconds ?? defaultWait(status);
  if (wait !== undefined) headers['retry-after'] = String(Math.max(1, Math.ceil(wait)));
  if (error.limit !== undefined) {
    const { name, quota, windowSeconds, left, resetSeconds } = error.limit;
    headers['ratelimit-policy'] = `"${name}";q=${quota};w=${windowSeconds}`;
    headers.ratelimit = `"${name}";r=${left};t=${resetSeconds}`;
  }
  return { status, headers, body: JSON.stringify(body) };
}

/** The meaning of a thrown value for a client. `expected` false: a bug, to be logged as such. */
export function toAppError(thrown: unknown): { error: AppError; expected: boolean } {
  if (thrown instanceof AppError) return { error: thrown, expected: thrown.status !== 500 };
  if (thrown instanceof StoreUnavailable) {
    return { error: new AppError('unavailable', { cause: thrown, retryAfterSeconds: 5 }), expected: true };
  }
  const fastify = fromFramework(thrown);
  if (fastify !== null) return { error: fastify, expected: true };
  return { error: new AppError('internal', { cause: thrown }), expected: false };
}

/** One problem as answers list it. */
export function problemItem(problem: Problem): Answer<typeof shownProblem> {
  const facts = ERRORS[problem.name];
  const item = { Code: facts.code, Name: problem.name, Message: problem.message ?? facts.text };
  return {
    ...item,
    ...(problem.field === undefined ? {} : { Field: problem.field }),
    ...(problem.line === undefined ? {} : { Line: problem.line }),
    ...(problem.column === undefined ? {} : { Column: problem.column }),
  };
}

function detailText(problems: readonly Problem[], title: string): string {
  if (!problems.some((problem) => problem.field !== undefined)) return title;
  return problems.length === 1 ? '1 problem in the request.' : `${problems.length} problems in the request.`;
}

/** RFC 6750 §3. */
function challengeFor(name: ErrorName, scope: string | undefined): string | null {
  const status = ERRORS[name].status;
  if (status === 401) return 'Bearer realm="api", error="invalid_token"';
  if (name !== 'scope-missing') return null;
  return `Bearer realm="api", error="insufficient_scope"${scope === undefined ? '' : `, scope="${scope}"`}`;
}

function defaultWait(status: number): number | undefined {
  if (status === 503) return 5;
  return status === 429 ? 1 : undefined;
}

/** Errors that the HTTP framework raises for what a client sent. */
function fromFramework(thrown: unknown): AppError | null {
  if (!(thrown instanceof Error) || !('code' in thrown) || typeof thrown.code !== 'string') return null;
  switch (thrown.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new AppError('body-too-large');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new AppError('media-type');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
    case 'FST_ERR_BAD_URL':
    case 'ERR_STREAM_PREMATURE_CLOSE':
    case 'ECONNRESET':
      return new AppError('http-malformed');
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new AppError('not-found');
    default:
      return null;
  }
}
