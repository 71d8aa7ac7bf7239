/**
 * What an operation is, apart from any HTTP framework: a method, a path, the scope it asks for, and a function from a
 * request to an answer. Operations throw `AppError` for refusals; the server shapes them. Given to the server as
 * tables; also the small tools every operation uses to read its query and shape its answer.
 */
import type { Readable } from 'node:stream';
import { AppError, type ErrorName, type Problem } from '../../lib/errors.ts';
import { parseAddress } from '../../mail/address.ts';
import type { Caller } from '../../model/submission.ts';
import type { Scope } from '../../model/token.ts';
import type { ApiContract } from './contract/operation.ts';

/** Query parameters that carry a key of the caller's own behind this prefix keep the case of that key. */
export const METADATA_PREFIX = 'metadata.';

export interface ApiRequest {
  caller: Caller;
  /** Decoded path parameters. */
  params: Readonly<Record<string, string>>;
  /** Query parameters by lower-case name (but for what follows `METADATA_PREFIX`); the first of a repeated one. */
  query: ReadonlyMap<string, string>;
  /** By lower-case name. */
  header(name: string): string | undefined;
  /** Inflated bytes; empty where there is none. An operation that waits after it has read them may put nothing here. */
  body: Uint8Array;
  /** Tells of a part of the request that was refused while the whole was answered. */
  refused(problem: Problem, domain: string | null): void;
  /** For answers that wait: aborted when the client has gone or the listener stops, with which of the two. */
  ended(): AbortSignal;
}

/** Why a waiting request ends: the reason of its signal. */
export type RequestEnd = 'gone' | 'stopping';

export interface ApiAnswer {
  status: number;
  headers?: Readonly<Record<string, string>>;
  /** A text is JSON unless the headers say otherwise. A stream is read as fast as the client takes it. */
  body: string | Uint8Array | Readable;
}

/** Octets of JSON that are read on the event loop: nested as deep as can be they take some 25 ms. */
export const SMALL_BODY_BYTES = 512 * 1024;

export interface ApiRoute {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Below /api/v1, e.g. `/email/:id`. */
  path: string;
  /** null: any valid token. */
  scope: Scope | null;
  /**
   * A token that is limited to domains may call it, and meets only what belongs to those. Left out: the operation is about
   * the whole server, and only tokens of all domains may.
   */
  limitedTokens?: true;
  /** What the document of the interface says of it. */
  contract: ApiContract;
  /** Each request takes one send of the token's rate, or is refused where none is left and takes its sends itself. */
  countsAsSend?: true | 'by-message';
  /** Its body may be as large as a message, and is read in a worker where it is; all others have `SMALL_BODY_BYTES`. */
  takesLargeBody?: true;
  /** The answer has no end of its own: HEAD does not exist for it. */
  endless?: boolean;
  handle(request: ApiRequest): Promise<ApiAnswer> | ApiAnswer;
}

/** A route without authentication of ours, at the root of the same port (health, keys, tracking). */
export interface PlainRoute {
  method: 'GET' | 'POST';
  /** From the root, e.g. `/healthz`. */
  path: string;
  /** Answered also while the listener stops (health). */
  whileStopping?: boolean;
  /** Octets of a request body; the listener's own limit where left out. */
  maxBodyBytes?: number;
  handle(request: {
    /** HEAD is given to the route of GET. */
    method: string;
    /** Asked for, without the port; forwarded ones resolved. */
    host: string;
    params: Readonly<Record<string, string>>;
    query: ReadonlyMap<string, string>;
    header(name: string): string | undefined;
    body: Uint8Array;
    ip: string;
  }): Promise<ApiAnswer> | ApiAnswer;
}

/** An answer with a JSON body. */
export function json(value: unknown, status = 200, headers?: Readonly<Record<string, string>>): ApiAnswer {
  return headers === undefined
    ? { status, body: JSON.stringify(value) }
    : { status, headers, body: JSON.stringify(value) };
}

/** An instant as the API writes it: ISO 8601, UTC, milliseconds. */
export function isoTime(at: number): string {
  return new Date(at).toISOString();
}

/** The same, null for never. */
export function isoTimeOrNull(at: number | null): string | null {
  return at === null ? null : isoTime(at);
}

/** A whole number from the query. Throws AppError invalid-parameter outside min…max. */
export function queryInteger(
  query: ReadonlyMap<string, string>,
  name: string,
  limits: { min: number; max: number; fallback: number },
): number {
  const text = query.get(name.toLowerCase());
  if (text === undefined || text === '') return limits.fallback;
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= limits.min && value <= limits.max)) {
    throw invalidParameter(`${name} must be a whole number from ${limits.min} to ${limits.max}`, name);
  }
  return value;
}

/** A text of at most `max` characters from the query; undefined where absent or empty. */
export function queryText(query: ReadonlyMap<string, string>, name: string, max = 1024): string | undefined {
  const text = query.get(name.toLowerCase());
  if (text === undefined || text === '') return undefined;
  if (text.length > max) throw invalidParameter(`${name} is too long`, name);
  return text;
}

/** An address from the query in its canonical form, or as it is where it is none (then nothing matches). */
export function queryAddress(query: ReadonlyMap<string, string>, name: string): string | undefined {
  const text = queryText(query, name, 320);
  if (text === undefined) return undefined;
  const parsed = parseAddress(text);
  return parsed.ok ? parsed.address.text : text;
}

/** An instant from the query: Unix seconds or ISO 8601; milliseconds come back. */
export function queryTime(query: ReadonlyMap<string, string>, name: string): number | undefined {
  const text = queryText(query, name, 64);
  if (text === undefined) return undefined;
  if (/^[0-9]{1,12}$/.test(text)) return Number(text) * 1000;
  const at = /^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ]|$)/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) throw invalidParameter(`${name} must be Unix seconds or an ISO 8601 time`, name);
  return at;
}

/** `true` or `false` (also 1 and 0) from the query; undefined where absent or empty. */
export function queryFlag(query: ReadonlyMap<string, string>, name: string): boolean | undefined {
  const text = queryText(query, name, 8)?.toLowerCase();
  if (text === undefined) return undefined;
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return false;
  throw invalidParameter(`${name} is true or false`, name);
}

/**
 * `After` of a list, where it looks like a cursor of it; undefined where absent or empty. Anything else is refused: taken
 * for a place in the list, it would skip or repeat without a word.
 */
export function queryCursor(
  query: ReadonlyMap<string, string>,
  looksRight: (text: string) => boolean,
  max = 320,
): string | undefined {
  const text = queryText(query, 'After', max);
  if (text === undefined || looksRight(text)) return text;
  throw invalidParameter('After is not a NextCursor of this list', 'After');
}

/** 422/422 that names the parameter. */
export function invalidParameter(message: string, name: string): AppError {
  return new AppError('invalid-parameter', { message, field: `/${name}` });
}

/** A refusal with one problem. */
export function refuse(name: ErrorName, message?: string): AppError {
  return message === undefined ? new AppError(name) : new AppError(name, { message });
}

/** A page and the cursor for the next: `rows` holds one more than `limit` where there is more. */
export function page<Row, Item>(
  rows: readonly Row[],
  limit: number,
  cursorOf: (row: Row) => string,
  itemOf: (row: Row) => Item,
): { Items: Item[]; HasMore: boolean; NextCursor: string | null } {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { Items: shown.map(itemOf), HasMore: more, NextCursor: more ? cursorOf(last) : null };
}

/** `Limit` of a list: 1 to 100, 25 where absent. */
export function pageLimit(query: ReadonlyMap<string, string>): number {
  return queryInteger(query, 'Limit', { min: 1, max: 100, fallback: 25 });
}
