/**
 * Calls of the API from this page. Given a method and a path below /api/v1; leaves the parsed answer or throws `ApiError`
 * with the sentence that the server gave, or `Unreachable` where nobody answered. Every request carries the header by which
 * the server knows its own page.
 */

import { isSomebodyThere } from './presence.ts';

export interface FieldProblem {
  Code: number;
  Message: string;
  /** JSON pointer. */
  Field?: string;
  /** Where in a template, from 1. */
  Line?: number;
  Column?: number;
}

/** An answer that refuses: what the problem body says. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** Each thing that is wrong. */
  readonly problems: readonly FieldProblem[];
  /** When the same request is worth another try; null = the server did not say. */
  readonly retryAfterMs: number | null;
  /** What is wrong with each field that was named, by its JSON pointer: `/Quota/PerDay`. */
  readonly fields: ReadonlyMap<string, string>;
  constructor(
    status: number,
    code: string,
    message: string,
    problems: readonly FieldProblem[] = [],
    retryAfterMs: number | null = null,
  ) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.problems = problems;
    this.retryAfterMs = retryAfterMs;
    this.fields = new Map(
      problems.flatMap(({ Field, Message }) => (Field === undefined ? [] : [[Field, Message]])),
    );
  }
}

/** What was said of one field; undefined where it was not refused. */
export function fieldError(error: Error | null, pointer: string): string | undefined {
  return error instanceof ApiError ? error.fields.get(pointer) : undefined;
}

/** What was asked for is not there, or not for this person to know. */
export function isMissing(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** The rights of the person do not suffice: asking again does not help. */
export function isForbidden(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403;
}

/** What is to be removed is gone already: somebody else was quicker, or its time was over. Throws every other error. */
export function unlessGone(error: unknown): void {
  if (!isMissing(error)) throw error;
}

/** No answer: the server is stopped, starting or out of reach. */
export class Unreachable extends Error {
  constructor(cause: unknown) {
    super('The server does not answer', { cause });
    this.name = 'Unreachable';
  }
}

/** What stands in a path as one part of it. */
export const part = encodeURIComponent;

const BASE = '/api/v1';
const HEADER = 'x-postrider-dashboard';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface CallOptions {
  query?: Query | undefined;
  body?: unknown;
  signal?: AbortSignal | undefined;
  /** Lets the same request be sent again without being carried out twice. */
  key?: string;
  /** The answer holds what is edited and stored again: its texts are left as they are. */
  isOwnText?: boolean;
  /** The request outlives the page. */
  keepalive?: boolean;
}

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

const unauthorizedListeners = new Set<() => void>();

/** Calls the listener whenever a request is answered with 401, until the function it gives back is called. */
export function onUnauthorized(listener: () => void): () => void {
  unauthorizedListeners.add(listener);
  return () => unauthorizedListeners.delete(listener);
}

/** Asks the person to prove who they are; whether they did. */
type Prove = () => Promise<boolean>;
let prove: Prove | null = null;
let proving: Promise<boolean> | null = null;

/** What is called where a request is refused until the person has proved who they are, until the function it gives back is called. */
export function onProofRequired(asked: Prove): () => void {
  prove = asked;
  return () => {
    if (prove === asked) prove = null;
  };
}

/** Once for all requests that wait for it. */
function isProvenNow(): Promise<boolean> {
  proving ??= (prove?.() ?? Promise.resolve(false)).finally(() => {
    proving = null;
  });
  return proving;
}

/** A JSON answer. */
export async function call<Answer>(method: Method, path: string, options: CallOptions = {}): Promise<Answer> {
  const answer = await open(method, path, options);
  return inWrittenOrder(await answer.text(), options.isOwnText) as Answer;
}

/** What embeds, overrides or isolates a direction (Unicode, UAX #9): it shows texts in another order than they were written in. */
export const DIRECTIONS = /[\u202a-\u202e\u2066-\u2069]/g;
/** Contents of mail, which stand alone. */
const CONTENTS: ReadonlySet<string> = new Set(['HTMLContent', 'PlainContent']);

/**
 * The JSON of an answer without directions in its texts: most come from senders, receivers and tenants. Done where they arrive,
 * no place can forget it. `isOwnText`: they are edited and stored again.
 */
export function inWrittenOrder(json: string, isOwnText = false): unknown {
  return JSON.parse(json, (name, value: unknown) =>
    typeof value !== 'string' || isOwnText || CONTENTS.has(name) ? value : value.replace(DIRECTIONS, ''),
  );
}

/** The answers to a request that is repeated with the cursor of the answer before, until there is none. */
export async function* portionsOf<Answer extends { NextCursor: string | null }>(
  ask: (after: string | undefined) => Promise<Answer>,
): AsyncGenerator<Answer> {
  for (let after: string | null | undefined; after !== null; ) {
    const answer: Answer = await ask(after);
    yield answer;
    after = answer.NextCursor;
  }
}

/** Reads a list, `limit` items a page. */
export function pageReader<List>(path: string, limit: number) {
  return (after: string | undefined, signal?: AbortSignal): Promise<List> =>
    call('GET', path, { query: { Limit: limit, After: after }, signal });
}

/** How many were queued by a request that is repeated as `portionsOf` does; told how many so far. */
export async function queuedBy(
  ask: (after: string | undefined) => Promise<{ Queued: number; NextCursor: string | null }>,
  onQueued: (count: number) => void,
): Promise<number> {
  let queued = 0;
  for await (const { Queued } of portionsOf(ask)) {
    queued += Queued;
    onQueued(queued);
  }
  return queued;
}

/** Every item of a list, a page after the other; of a very long one the first `maxPages` hundreds. */
export async function everyItem<Item>(path: string, maxPages: number, signal: AbortSignal | undefined) {
  const found: Item[] = [];
  const pages = portionsOf((After) =>
    call<{ Items: Item[]; NextCursor: string | null }>('GET', path, { query: { Limit: 100, After }, signal }),
  );
  let read = 0;
  for await (const { Items } of pages) {
    found.push(...Items);
    read += 1;
    if (read === maxPages) break;
  }
  return found;
}

/** A text answer. */
export async function text(path: string, options: CallOptions = {}): Promise<string> {
  return (await open('GET', path, options)).text();
}

/** The answer before its body is read. */
export async function open(method: Method, path: string, options: CallOptions = {}): Promise<Response> {
  const { body, signal, key, keepalive = false } = options;
  const answer = await fetch(urlOf(path, options.query), {
    method,
    keepalive,
    headers: {
      [HEADER]: isSomebodyThere() ? '1' : 'idle',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((cause: unknown) => {
    if (signal?.aborted === true) throw cause;
    throw new Unreachable(cause);
  });
  if (answer.ok) return answer;
  if (isOfProxy(answer)) throw new Unreachable(`HTTP ${answer.status}`);
  if (answer.status === 401) for (const listener of unauthorizedListeners) listener();
  const problem = await problemOf(answer);
  if (problem.code.endsWith('/proof-required') && (await isProvenNow())) return open(method, path, options);
  throw problem;
}

/** A proxy before the server had no answer from it: the server itself says in words of its own why it refuses. */
function isOfProxy({ status, headers }: Response): boolean {
  return status >= 502 && headers.get('content-type')?.startsWith('application/problem+json') !== true;
}

/** Whether the server answers with its page, or with a refusal that waiting does not change. */
export async function isThere(): Promise<boolean> {
  const answer = await fetch('/', { method: 'HEAD' }).catch(() => null);
  return answer !== null && answer.status < 500 && answer.status !== 429;
}

/** Where a GET leads: for frames, pictures and links. */
export function urlOf(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const words = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]));
  return given.length === 0 ? BASE + path : `${BASE}${path}?${words}`;
}

/** How long somebody waits without a word. */
const MOMENT_MS = 5_000;
const AGAIN_MS = 10_000;

/** Whether the same request may be answered better in a moment. */
export function mayHelpAgain(error: unknown): boolean {
  if (error instanceof Unreachable) return true;
  if (!(error instanceof ApiError) || ![429, 503].includes(error.status)) return false;
  return (error.retryAfterMs ?? 0) <= MOMENT_MS;
}

/** How long after this failure the same is asked again by itself; 0: it would be refused again. */
export function asksAgainAfterMs(error: unknown): number {
  if (error instanceof Unreachable) return AGAIN_MS;
  if (!(error instanceof ApiError) || (error.status < 500 && error.status !== 429)) return 0;
  return Math.max(AGAIN_MS, error.retryAfterMs ?? 0);
}

/** Problems of a request in nobody's name: read once somebody has signed in again, and then the server's advice is of no use. */
const NOBODY = /\/(?:token-missing|session-ended)$/;

async function problemOf(answer: Response): Promise<ApiError> {
  const said = (await answer
    .text()
    .then(inWrittenOrder)
    .catch(() => null)) as Partial<Record<string, unknown>> | null;
  // Where fields are wrong, the detail only counts them.
  const problems = Array.isArray(said?.Errors) ? (said.Errors as FieldProblem[]) : [];
  const told = problems.map(({ Message }) => Message).filter((one) => typeof one === 'string');
  const type = String(said?.type ?? '');
  const message = NOBODY.test(type)
    ? 'This was not done, because the session had ended. Try again'
    : [told.join('. ') || undefined, said?.detail, said?.Message, said?.title].find(
        (one) => typeof one === 'string',
      );
  return new ApiError(
    answer.status,
    type,
    // What a proxy says has no words of ours, and over HTTP/2 none at all.
    (message as string | undefined) ?? `The answer was ${answer.status} ${answer.statusText}`.trim(),
    problems,
    retryAfterOf(answer),
  );
}

/** A page that is open asks again after so long, whatever it is told. A timer of a browser takes no more than 24 days. */
const MOST_SECONDS = 3_600;

function retryAfterOf({ headers }: Response): number | null {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) ? Math.min(seconds, MOST_SECONDS) * 1_000 : null;
}
