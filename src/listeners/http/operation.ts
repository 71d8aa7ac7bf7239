/**
 * An operation of the API as one value: its path, who may call it, the schemas of its input and answer, and its
 * handler. The schemas read the query and the body, give the handler and its answer their types, and make the document,
 * the reference and the client's types. Answers are not checked at run time; a test checks each against its schema.
 */

import type { z } from 'zod';
import type { Caller } from '../../model/submission.ts';
import { pickDomain } from '../../policy/access/rights.ts';
import type { IdempotencyEntry } from '../../store/topics/acceptance.ts';
import type { Answer } from './answer-schemas.ts';
import { readJsonBody } from './body/json-request.ts';
import { prefersStrict } from './body/prefer.ts';
import type { CreateOnce } from './create-once.ts';
import { jsonText } from './json-text.ts';
import { queryReader } from './query.ts';
import type { ApiAnswer, ApiRequest, ApiRoute } from './route.ts';
import { ownDomains } from './tenancy.ts';

/** `/domains/:name` has the parameter `name`. */
type Params<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Readonly<Record<Name, string>> & Params<Rest>
  : Path extends `${string}:${infer Name}`
    ? Readonly<Record<Name, string>>
    : unknown;

/** One parsed request of an operation. */
export interface Call<Path extends string, Query, Body> {
  caller: Caller;
  params: Params<Path>;
  query: Query;
  body: Body;
  /**
   * For the store: the caller's domains, narrowed by the query's `Domain`. Throws AppError not-found for a domain of
   * others.
   */
  visible: { domains?: readonly string[] };
  /**
   * The sender domain in the query's `Domain`, otherwise the only one of the token. Throws AppError domain-ambiguous.
   */
  domain: string;
  /**
   * For creating operations: what the store keeps with the created thing under the Idempotency-Key, for an answer
   * without secrets. Undefined if the request has no key.
   */
  key: ((answerWithoutSecrets: object) => IdempotencyEntry) | undefined;
  request: ApiRequest;
}

/** `GET /domains/:name`: the method, and the path below /api/v1. */
type At<Path extends string> = `${ApiRoute['method']} ${Path}`;

type Description<Query extends z.ZodRawShape, Schema extends z.ZodType> = Omit<
  ApiRoute,
  'method' | 'path' | 'query' | 'answer' | 'body' | 'media' | 'idempotent' | 'endless' | 'handle'
> & {
  query?: Query;
  /** The handler reads the parameters whose names begin with this. */
  namesAfter?: string;
  answer: Schema;
};

/** An answer with additional headers. */
export interface WithHeaders<Body> {
  [HEADERS]: Readonly<Record<string, string | string[]>>;
  body: Body;
  caller: Caller | undefined;
}
const HEADERS = Symbol('headers');

/** Gives an answer headers. `caller`: who has just signed in. */
export function withHeaders<Body>(
  body: Body,
  headers: Readonly<Record<string, string | string[]>>,
  caller?: Caller,
): WithHeaders<Body> {
  return { [HEADERS]: headers, body, caller };
}

/** An answer, maybe with headers, or as JSON text. */
type Answered<Schema extends z.ZodType> = Answer<Schema> | WithHeaders<Answer<Schema>> | Uint8Array;

/**
 * An operation that answers with JSON. `once`: accepts an Idempotency-Key, and runs at most once for each. `read`:
 * reads the body if its schema is not enough.
 */
export function operation<
  Path extends string,
  Schema extends z.ZodType,
  Query extends z.ZodRawShape = Record<never, never>,
  Shape extends z.ZodRawShape = Record<never, never>,
  Body = z.output<z.ZodObject<Shape>>,
>(
  at: At<Path>,
  given: Description<Query, Schema> & {
    body?: { schema: z.ZodObject<Shape>; example: Readonly<Record<string, unknown>>; mayBeEmpty?: true };
    once?: CreateOnce;
    read?: (request: ApiRequest) => Promise<Body>;
    handle(
      call: Call<Path, z.output<z.ZodObject<Query>>, Body>,
    ): Answered<Schema> | Promise<Answered<Schema>>;
  },
): ApiRoute {
  const place = placeOf(at);
  const { once, read, handle, ...described } = given;
  const { body, status = 200 } = described;
  const readQuery = queryReader<Query>(given.query ?? ({} as Query), given.namesAfter);
  const readBody = read ?? ((request) => readShape(request, body) as Body);

  async function answered(request: ApiRequest): Promise<ApiAnswer> {
    const query = readQuery(request.query, NARROWED.has(place.method) || isStrict(request));
    const run = async (key: Call<Path, unknown, unknown>['key']) => {
      const read = await readBody(request);
      const answer = await handle(new RequestCall<Path, typeof query, Body>(request, query, read, key));
      const plain = await written(answer, status);
      return place.method === 'PATCH' ? { ...plain, changed: settingsOf(read, answer) } : plain;
    };
    if (once === undefined) return run(undefined);
    const asked = at.replace(/:(\w+)/g, (_, name) => request.params[name] ?? '');
    return once(request, asked, (key) =>
      run(key && ((answerWithoutSecrets) => key(status, answerWithoutSecrets))),
    );
  }
  return { ...place, ...described, ...(once === undefined ? {} : { idempotent: true }), handle: answered };
}

/**
 * An operation that reads its own body or writes its own answer: mail, downloads, streams. Its schemas describe both;
 * only its query is read here.
 */
export function rawOperation<
  Path extends string,
  Schema extends z.ZodType,
  Query extends z.ZodRawShape = Record<never, never>,
>(
  at: At<Path>,
  given: Description<Query, Schema> &
    Pick<ApiRoute, 'body' | 'media' | 'idempotent' | 'endless'> & {
      handle(call: Call<Path, z.output<z.ZodObject<Query>>, undefined>): ApiAnswer | Promise<ApiAnswer>;
    },
): ApiRoute {
  const readQuery = queryReader<Query>(given.query ?? ({} as Query));
  return {
    ...placeOf(at),
    ...given,
    handle: (request) =>
      given.handle(
        new RequestCall(request, readQuery(request.query, isStrict(request)), undefined, undefined),
      ),
  };
}

function placeOf(at: string): Pick<ApiRoute, 'method' | 'path'> {
  const [method, path] = at.split(' ') as [ApiRoute['method'], string];
  return { method, path };
}

/** Methods whose parameters narrow what is removed or changed: a misspelt one would remove or change all of it. */
const NARROWED: ReadonlySet<string> = new Set(['DELETE', 'PATCH']);

function isStrict(request: ApiRequest): boolean {
  return prefersStrict(request.header('prefer'));
}

/** Of these the audit keeps the value: no address with a key in it, and no text of somebody. */
const WORD = /^[\w.-]{0,64}$/;

/** The settings that a request names, as its answer shows them: `Retention.EventDays=30`. */
function settingsOf(body: unknown, answer: unknown): readonly string[] {
  const given = Object.entries(body ?? {}).filter(([, value]) => value !== undefined);
  const shown = (answer ?? {}) as Readonly<Record<string, unknown>>;
  return given.flatMap(([name]) => withValues(name, shown[name]));
}

function withValues(name: string, value: unknown): readonly string[] {
  if (value === undefined || Array.isArray(value)) return [name];
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([member, one]) => withValues(`${name}.${member}`, one));
  return [WORD.test(String(value)) ? `${name}=${value}` : name];
}

function readShape<Shape extends z.ZodRawShape>(
  request: ApiRequest,
  body: { schema: z.ZodObject<Shape>; mayBeEmpty?: true } | undefined,
) {
  return body === undefined ? {} : readJsonBody(request, body.schema, body);
}

/** A class, because an object with getters of its own costs 5 µs and 800 octets for each request. */
class RequestCall<Path extends string, Query, Body> implements Call<Path, Query, Body> {
  readonly caller: Caller;
  readonly params: Params<Path>;
  readonly query: Query;
  readonly body: Body;
  readonly key: Call<Path, Query, Body>['key'];
  readonly request: ApiRequest;

  constructor(request: ApiRequest, query: Query, body: Body, key: Call<Path, Query, Body>['key']) {
    this.caller = request.caller;
    this.params = request.params as Params<Path>;
    this.query = query;
    this.body = body;
    this.key = key;
    this.request = request;
  }

  get visible(): { domains?: readonly string[] } {
    const wanted = this.wanted();
    return wanted === undefined ? ownDomains(this.caller) : { domains: [pickDomain(this.caller, wanted)] };
  }

  get domain(): string {
    return pickDomain(this.caller, this.wanted());
  }

  private wanted(): string | undefined {
    return (this.query as { Domain?: string }).Domain;
  }
}

async function written(answer: unknown, status: number): Promise<ApiAnswer> {
  if (answer instanceof Uint8Array) return { status, body: answer };
  if (!hasHeaders(answer)) return { status, body: await jsonText(answer) };
  const { body, caller } = answer;
  const plain = { status, body: await jsonText(body), headers: answer[HEADERS] };
  return caller === undefined ? plain : { ...plain, caller };
}

function hasHeaders(answer: unknown): answer is WithHeaders<unknown> {
  return typeof answer === 'object' && answer !== null && HEADERS in answer;
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The members that are present: the store's filter leaves out what the request left out. */
export function withoutUndefined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Defined<T>;
}
