/**
 * What the server mounts, independent of the HTTP framework: a method, a path, the required scope, its documentation,
 * and a function from a request to an answer. `operation()` makes it from typed values. Refusals are thrown as
 * `AppError`; the server turns them into answers.
 */
import type { z } from 'zod';
import { AppError, type ErrorName, type Problem } from '../../lib/errors.ts';
import type { PlainAnswer } from '../../lib/plain-route.ts';
import { wellFormedJson } from '../../lib/well-formed-json.ts';
import type { Caller } from '../../model/submission.ts';
import type { Scope } from '../../model/token.ts';

/** Where the API is on its port. */
export const BASE = '/api/v1';

/** Query parameters with this prefix contain a key of the caller, whose case is kept. */
export const METADATA_PREFIX = 'metadata.';

export interface ApiRequest {
  caller: Caller;
  /** Decoded path parameters. */
  params: Readonly<Record<string, string>>;
  /** Query parameters by lower-case name (except after `METADATA_PREFIX`); the first of a repeated one. */
  query: ReadonlyMap<string, string>;
  /** By lower-case name. */
  header(name: string): string | undefined;
  /** Inflated bytes; empty if there are none. An operation that waits after reading them may set this to empty. */
  body: Uint8Array;
  /** Reports a part of the request that was refused although the whole was answered. */
  refused(problem: Problem, domain: string | null): void;
  /** Where it comes from; forwarded addresses are resolved. */
  ip: string;
  /**
   * Throws AppError `proof-required` as for a route with `proven`: for an operation of which only some requests change
   * what outlives a session.
   */
  requireProof(): Promise<void>;
  /** For answers that wait: aborted when the client disconnects or the listener stops, with the reason. */
  ended(): AbortSignal;
}

/** Why a waiting request ends: the reason of its signal. */
export type RequestEnd = 'gone' | 'stopping';

export interface ApiAnswer extends PlainAnswer {
  /** The person who has just signed in, by a request without a caller. */
  caller?: Caller;
  /** For the audit: settings that the request named, as `Name=value`. */
  changed?: readonly string[];
}

/** Octets of JSON that are parsed on the event loop: with the deepest nesting this takes some 25 ms. */
export const SMALL_BODY_BYTES = 512 * 1024;

export interface ApiRoute {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Below /api/v1, e.g. `/email/:id`. */
  path: string;
  /** null: any valid token. */
  scope: Scope | null;
  /** Of an operation with the scope `admin`: a token limited to domains may call it (`needsAllDomains`). */
  limitedTokens?: true;
  /**
   * Needs no token and no session, but must come from the dashboard of this server: signing in. `caller` has no
   * rights.
   */
  open?: true;
  /**
   * Creates something that outlives a session, or changes who may sign in: a person must have authenticated within
   * `PROOF_MS`. Tokens are not affected.
   */
  proven?: true;
  /** `operationId`: what a generated client calls it. */
  id: string;
  /** A short title, for lists. */
  summary: string;
  /** Sentences in Markdown, as in the reference. */
  description: string;
  /** Query parameters by documented name. */
  query?: z.ZodRawShape;
  body?: {
    schema: z.ZodType;
    /** A valid body, if what it names exists. */
    example: Readonly<Record<string, unknown>>;
    /** An empty body counts as `{}`. */
    mayBeEmpty?: true;
  };
  /** Default 200. */
  status?: 201;
  /** Of the JSON body; with another `media`, of its content. */
  answer: z.ZodType;
  media?: 'message/rfc822' | 'text/event-stream' | 'text/html' | '*/*';
  /** Headers of the answer besides the common ones, with their meaning. */
  headers?: Readonly<Record<string, string>>;
  /** Accepts an Idempotency-Key. */
  idempotent?: true;
  /** Refusals besides those of any operation with such a path, query and body. */
  errors?: readonly ErrorName[];
  /** Each request counts towards the token's send rate and is refused if none is left, or counts its sends itself. */
  countsAsSend?: true | 'by-message';
  /** Its body may be as large as a message, and is then read in a worker; all others have `SMALL_BODY_BYTES`. */
  takesLargeBody?: true;
  /** The answer never ends by itself, so there is no HEAD. */
  endless?: boolean;
  handle(request: ApiRequest): Promise<ApiAnswer> | ApiAnswer;
}

/**
 * An operation with the scope `admin` is about the whole server: only tokens of all domains may call it. Any other one may be
 * called with a token limited to domains, and must show it only what belongs to those.
 */
export function needsAllDomains({
  scope,
  limitedTokens,
}: Pick<ApiRoute, 'scope' | 'limitedTokens'>): boolean {
  return scope === 'admin' && limitedTokens !== true;
}

export function json(value: unknown, headers: Readonly<Record<string, string>>): ApiAnswer {
  return { status: 200, headers, body: wellFormedJson(value) };
}

/** A time as the API writes it: ISO 8601, UTC, milliseconds. */
export function isoTime(at: number): string {
  return new Date(at).toISOString();
}

/** The same, null for never. */
export function isoTimeOrNull(at: number | null): string | null {
  return at === null ? null : isoTime(at);
}

/** 422/422 that names the parameter. */
export function invalidParameter(message: string, name: string): AppError {
  return new AppError('invalid-parameter', { message, field: `/${name}` });
}

/** What a path names. Throws AppError not-found where there is no such thing. */
export function existing<Found>(found: Found | null | false): Found {
  if (found === null || found === false) throw refuse('not-found');
  return found;
}

export function refuse(name: ErrorName, message?: string): AppError {
  return message === undefined ? new AppError(name) : new AppError(name, { message });
}
