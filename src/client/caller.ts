/**
 * One HTTP call to the API: builds the request, sends it, and parses the answer. A call is repeated after a lost connection,
 * an answer that says "later" (`LATER`), or "the first request with this key has not ended". This is harmless, because
 * every creation has an Idempotency-Key, which the client adds itself and keeps for all tries of a call. Waits double from
 * half a second, with jitter; Retry-After takes precedence, up to a minute. Clock, timers and randomness are the platform's:
 * the client runs in programs of others and depends on nothing.
 */
import { type ApiProblem, PostriderConnectionError, PostriderError } from './errors.ts';

export interface ClientOptions {
  /** Where the API is, with or without `/api/v1`: `https://mail.example.com`. */
  baseUrl: string;
  /** The JWT that `postrider token create` printed. */
  token: string;
  /** For one try, in milliseconds. Default 30,000. */
  timeoutMs?: number;
  /** Tries after the first. Default 3; 0 = none. */
  maxRetries?: number;
  /** Another fetch, for proxies or tests. */
  fetch?: typeof fetch;
}

/** What every method takes as its last parameter. */
export interface CallOptions {
  /** With the same key and body the server repeats its first answer, for 24 hours. Default: a new key for each call. */
  idempotencyKey?: string;
  signal?: AbortSignal;
  timeoutMs?: number;
}

export type QueryValue = string | number | boolean | Date | undefined;

export interface CallRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Below /api/v1, begins with a slash; parts from outside go through `pathPart`. */
  path: string;
  query?: Readonly<Record<string, QueryValue>>;
  body?: unknown;
}

export interface Caller {
  json<Answer>(request: CallRequest, options?: CallOptions): Promise<Answer>;
  bytes(request: CallRequest, options?: CallOptions): Promise<Uint8Array>;
  /** The answer before its body has arrived. There is no time-out; `options.signal` ends it. */
  stream(
    request: CallRequest,
    options?: CallOptions & { headers?: Readonly<Record<string, string>> },
  ): Promise<Response>;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 60_000;
/** Longer than the longest wait for a captured mail. */
const DEFAULT_TIMEOUT_MS = 30_000;
const LATER: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);
/** The first request with this key has not ended. */
const IN_FLIGHT = 1703;

/** Throws TypeError if the base URL or the token is malformed. */
export function createCaller(options: ClientOptions): Caller {
  const base = apiBase(options.baseUrl);
  if (typeof options.token !== 'string' || !/^[\x21-\x7e]+$/.test(options.token)) {
    throw new TypeError('token: give the text that `postrider token create` printed, without the line end');
  }
  const send = options.fetch ?? fetch;
  const maxRetries = options.maxRetries ?? 3;
  const defaultTimeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;

  return {
    async json<Answer>(request: CallRequest, given: CallOptions = {}) {
      const text = await attempts(request, given, (response) => response.text());
      return JSON.parse(text) as Answer;
    },
    bytes: (request, given = {}) =>
      attempts(request, given, async (response) => new Uint8Array(await response.arrayBuffer())),
    async stream(request, given = {}) {
      const response = await once(request, undefined, given.signal, given.headers);
      if (!response.ok) throw await refusal(response);
      return response;
    },
  };

  async function attempts<T>(
    request: CallRequest,
    given: CallOptions,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    // All tries have the same key, so that the server recognises a repetition.
    const key = given.idempotencyKey ?? (request.method === 'POST' ? crypto.randomUUID() : undefined);
    for (let tries = 0; ; tries += 1) {
      const timeout = AbortSignal.timeout(given.timeoutMs ?? defaultTimeoutMs);
      const signal = given.signal === undefined ? timeout : AbortSignal.any([given.signal, timeout]);
      let error: PostriderError | PostriderConnectionError;
      try {
        const response = await once(request, key, signal);
        if (response.ok) return await read(response);
        error = await refusal(response);
      } catch (cause) {
        error = new PostriderConnectionError(`${request.method} ${request.path}: ${whyOf(cause)}`, cause);
      }
      given.signal?.throwIfAborted();
      if (tries >= maxRetries || !mayRepeat(error)) throw error;
      await wait(waitMs(tries, error), given.signal);
    }
  }

  function once(
    { method, path, query, body }: CallRequest,
    key: string | undefined,
    signal: AbortSignal | undefined,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
    const url = new URL(base + path);
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, queryText(value));
    }
    const headers: Record<string, string> = { authorization: `Bearer ${options.token}`, ...more };
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (key !== undefined) headers['idempotency-key'] = key;
    return send(url, {
      method,
      headers,
      redirect: 'error',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  }
}

/** A value, encoded as one part of a path. Throws TypeError if it cannot be one. */
export function pathPart(value: string | number): string {
  const text = String(value);
  // '.' and '..' would be taken as steps in the path, even encoded.
  if (text === '' || text === '.' || text === '..') throw new TypeError(`"${text}" is no id`);
  return encodeURIComponent(text);
}

function apiBase(text: string): string {
  if (!URL.canParse(text)) throw new TypeError(`baseUrl "${text}" is no URL; e.g. https://mail.example.com`);
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new TypeError(`baseUrl "${text}" must begin with https:// or http://`);
  }
  const path = url.pathname.replace(/\/+$/, '');
  return `${url.origin}${path.endsWith('/api/v1') ? path : `${path}/api/v1`}`;
}

function queryText(value: Exclude<QueryValue, undefined>): string {
  return value instanceof Date ? value.toISOString() : String(value);
}

async function refusal(response: Response): Promise<PostriderError> {
  const text = await response.text().catch(() => '');
  const body = parsed(text);
  const first = body.Errors?.[0]?.Message ?? body.Error ?? '';
  const after = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new PostriderError({
    status: response.status,
    message: first === '' ? `The server answered ${response.status} ${response.statusText}`.trim() : first,
    problems: body.Errors ?? [],
    requestId: response.headers.get('x-request-id'),
    retryAfter: Number.isFinite(after) ? after : null,
  });
}

/** A body without the form of the API's errors, for example one of a proxy, is ignored. */
function parsed(text: string): { Error?: string; Errors?: readonly ApiProblem[] } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return {};
    const { Error: error, Errors: errors } = value as { Error?: unknown; Errors?: unknown };
    return {
      ...(typeof error === 'string' ? { Error: error } : {}),
      ...(Array.isArray(errors) ? { Errors: errors as readonly ApiProblem[] } : {}),
    };
  } catch {
    return {};
  }
}

/** `fetch` says why it failed (refused, no such host, a certificate) in the cause of its error only. */
function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return 'this port does not speak TLS: begin baseUrl with http://, or name the port for https';
  const inner = cause instanceof Error ? cause.message || code : '';
  return inner === '' ? error.message : `${error.message}: ${inner}`;
}

/** Every method here is either harmless to repeat by itself or carries a key that makes it so. */
function mayRepeat(error: PostriderError | PostriderConnectionError): boolean {
  if (error instanceof PostriderConnectionError) return true;
  // A wait for captured mail is answered with 408 if none came: the request was not lost.
  if (error.status === 408 && error.problem !== '') return false;
  return LATER.has(error.status) || error.code === IN_FLIGHT;
}

function waitMs(tries: number, error: PostriderError | PostriderConnectionError): number {
  if (error instanceof PostriderError && error.retryAfter !== null) {
    return Math.min(LONGEST_WAIT_MS, error.retryAfter * 1000);
  }
  const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** tries);
  return longest / 2 + (Math.random() * longest) / 2;
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', ended);
      resolve();
    }, ms);
    signal?.addEventListener('abort', ended, { once: true });
  });
}
