/**
 * An operation of the API as one value: where it is, who may call it, what it takes and answers as schemas, and its
 * handler. The schemas read the query and the body, type the handler and its answer, and make the document, the reference
 * and the types of the client. Answers are not checked at run time; a test holds every one against its schema.
 */
import type { z } from 'zod';
import type { Caller } from '../../model/submission.ts';
import type { Scope } from '../../model/token.ts';
import { pickDomain } from '../../policy/access/access.ts';
import type { IdempotencyEntry } from '../../store/topics/acceptance.ts';
import type { ApiContract } from './contract/operation.ts';
import type { CreateOnce } from './create-once.ts';
import { readJsonBody } from './json-request.ts';
import { queryReader } from './query.ts';
import { type ApiAnswer, type ApiRequest, type ApiRoute, json } from './route.ts';
import { ownDomains } from './tenancy.ts';

/** What a schema of an answer describes, as handlers give it: lists may be readonly. */
export type Answer<Schema extends z.ZodType> = Given<z.output<Schema>>;

type Given<T> = T extends readonly (infer Item)[]
  ? number extends T['length']
    ? readonly Given<Item>[]
    : { readonly [K in keyof T]: Given<T[K]> }
  : T extends object
    ? { [K in keyof T]: Given<T[K]> }
    : T;

/** `/domains/:name` has the parameter `name`. */
type Params<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Readonly<Record<Name, string>> & Params<Rest>
  : Path extends `${string}:${infer Name}`
    ? Readonly<Record<Name, string>>
    : unknown;

/** One request of an operation, read. */
export interface Call<Path extends string, Query, Body> {
  caller: Caller;
  params: Params<Path>;
  query: Query;
  body: Body;
  /** For the store: whose rows the caller may see, narrowed by the query's `Domain`. Throws AppError not-found for a foreign one. */
  visible: { domains?: readonly string[] };
  /** The sender domain that the query's `Domain` names, else the only one of the token. Throws AppError domain-ambiguous. */
  domain: string;
  /**
   * Of an operation that makes something once: what the store keeps with it under the Idempotency-Key, for an answer
   * without secrets. Undefined where the request has no key.
   */
  key: ((answerWithoutSecrets: object) => IdempotencyEntry) | undefined;
  request: ApiRequest;
}

interface Description<Path extends string, Query extends z.ZodRawShape, Schema extends z.ZodType> {
  /** `operationId`: what a generated client calls it. */
  id: string;
  method: ApiRoute['method'];
  /** Below /api/v1, e.g. `/email/:id`. */
  path: Path;
  /** null: any valid token. */
  scope: Scope | null;
  /** Tokens that are limited to domains may call it. Left out: it is about the whole server. */
  limitedTokens?: true;
  /** A few words, for lists. */
  summary: string;
  /** Sentences in Markdown, as in the reference. */
  description: string;
  query?: Query;
  /** 200 where left out. */
  status?: 201;
  answer: Schema;
  /** Headers of the answer beside the common ones, with their meaning. */
  headers?: ApiContract['headers'];
  /** Refusals beside those that any operation with such a path, query and body has. */
  errors?: ApiContract['errors'];
  countsAsSend?: ApiRoute['countsAsSend'];
  takesLargeBody?: true;
}

/** An answer with headers of its own. */
export interface WithHeaders<Body> {
  [HEADERS]: Readonly<Record<string, string>>;
  body: Body;
}
const HEADERS = Symbol('headers');

/** Gives an answer headers. */
export function withHeaders<Body>(body: Body, headers: Readonly<Record<string, string>>): WithHeaders<Body> {
  return { [HEADERS]: headers, body };
}

/** An answer, perhaps with headers, or as JSON that is written already. */
type Answered<Schema extends z.ZodType> = Answer<Schema> | WithHeaders<Answer<Schema>> | Uint8Array;

/**
 * An operation that answers with JSON. `once`: takes an Idempotency-Key, and runs at most once for each. `read`: reads the
 * body where its schema alone does not.
 */
export function operation<
  Path extends string,
  Schema extends z.ZodType,
  Query extends z.ZodRawShape = Record<never, never>,
  Shape extends z.ZodRawShape = Record<never, never>,
  Body = z.output<z.ZodObject<Shape>>,
>(
  given: Description<Path, Query, Schema> & {
    body?: { schema: z.ZodObject<Shape>; example: Readonly<Record<string, unknown>>; mayBeEmpty?: true };
    once?: CreateOnce;
    read?: (request: ApiRequest) => Promise<Body>;
    handle(
      call: Call<Path, z.output<z.ZodObject<Query>>, Body>,
    ): Answered<Schema> | Promise<Answered<Schema>>;
  },
): ApiRoute {
  const { body, once, status = 200, handle } = given;
  const readQuery = queryReader<Query>(given.query ?? ({} as Query));
  const readBody = given.read ?? ((request) => readShape(request, body) as Body);
  return mounted({ ...given, ...(once === undefined ? {} : { idempotent: true }) }, async (request) => {
    const query = readQuery(request.query);
    const run = async (key: Call<Path, unknown, unknown>['key']) =>
      written(
        await handle(callOf<Path, typeof query, Body>(request, query, await readBody(request), key)),
        status,
      );
    if (once === undefined) return run(undefined);
    const name = `${given.method} ${given.path.replace(/:(\w+)/g, (_, param) => request.params[param] ?? '')}`;
    return once(request, name, (key) =>
      run(key === null ? undefined : (answerWithoutSecrets) => key(status, answerWithoutSecrets)),
    );
  });
}

/**
 * An operation that reads its own body or writes its own answer: mail on its way in, downloads, streams. Its schemas
 * describe both; only its query is read here.
 */
export function rawOperation<
  Path extends string,
  Schema extends z.ZodType,
  Query extends z.ZodRawShape = Record<never, never>,
>(
  given: Description<Path, Query, Schema> &
    Pick<ApiContract, 'body' | 'media' | 'idempotent'> &
    Pick<ApiRoute, 'endless'> & {
      handle(call: Call<Path, z.output<z.ZodObject<Query>>, undefined>): ApiAnswer | Promise<ApiAnswer>;
    },
): ApiRoute {
  const readQuery = queryReader<Query>(given.query ?? ({} as Query));
  return mounted(given, (request) =>
    given.handle(callOf(request, readQuery(request.query), undefined, undefined)),
  );
}

function mounted(
  given: Omit<Description<string, z.ZodRawShape, z.ZodType>, 'path'> &
    Pick<ApiContract, 'body' | 'media' | 'idempotent'> &
    Pick<ApiRoute, 'endless' | 'path'>,
  handle: ApiRoute['handle'],
): ApiRoute {
  const { method, path, scope, limitedTokens, countsAsSend, takesLargeBody, endless, ...contract } = given;
  return withoutUndefined({
    ...{ method, path, scope, limitedTokens, countsAsSend, takesLargeBody, endless },
    ...{ contract, handle },
  }) as ApiRoute;
}

function readShape<Shape extends z.ZodRawShape>(
  request: ApiRequest,
  body: { schema: z.ZodObject<Shape>; mayBeEmpty?: true } | undefined,
) {
  return body === undefined ? {} : readJsonBody(request, body.schema, body);
}

function callOf<Path extends string, Query, Body>(
  request: ApiRequest,
  query: Query,
  body: Body,
  key: Call<Path, Query, Body>['key'],
): Call<Path, Query, Body> {
  const { caller } = request;
  const params = request.params as Params<Path>;
  const wanted = (query as { Domain?: string }).Domain;
  return {
    ...{ caller, params, query, body, key, request },
    get visible() {
      return wanted === undefined ? ownDomains(caller) : { domains: [pickDomain(caller, wanted)] };
    },
    get domain() {
      return pickDomain(caller, wanted);
    },
  };
}

function written(answer: unknown, status: number): ApiAnswer {
  if (answer instanceof Uint8Array) return { status, body: answer };
  if (!hasHeaders(answer)) return json(answer, status);
  return json(answer.body, status, answer[HEADERS]);
}

function hasHeaders(answer: unknown): answer is WithHeaders<unknown> {
  return typeof answer === 'object' && answer !== null && HEADERS in answer;
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The members that are there: what the store is asked leaves out what the request did. */
export function withoutUndefined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Defined<T>;
}
