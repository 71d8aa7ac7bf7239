/** The refusals of an operation as responses: by status, with the names of the errors and their meaning. */
import { isDeepStrictEqual } from 'node:util';
import { ERRORS, type ErrorName } from '../../../lib/errors.ts';
import { PROBLEM_MEDIA_TYPE } from '../problem.ts';
import { type ApiRoute, BASE } from '../route.ts';
import type { Json } from './components.ts';

const ALWAYS: readonly ErrorName[] = [
  'http-malformed',
  'origin-not-allowed',
  'rate-limited',
  'internal',
  'unavailable',
];
/** Of all that need a token or a session. */
const WITH_CALLER: readonly ErrorName[] = [
  'token-missing',
  'token-invalid',
  'account-disabled',
  'session-ended',
  'scope-missing',
  'ip-not-allowed',
  'second-factor-required',
];
const WITH_BODY: readonly ErrorName[] = [
  'json-malformed',
  'content-encoding',
  'body-too-large',
  'media-type',
  'invalid-parameter',
  'unknown-property',
  'duplicate-property',
];
const WITH_KEY: readonly ErrorName[] = [
  'idempotency-key-invalid',
  'idempotency-key-reused',
  'idempotency-key-in-flight',
];

/** Responses that most operations share, by name, as `components.responses` holds them. */
const SHARED: Readonly<Record<string, readonly ErrorName[]>> = {
  BadRequest: ['http-malformed'],
  Unauthorized: ['token-missing', 'account-disabled', 'token-invalid', 'session-ended'],
  Forbidden: ['scope-missing', 'ip-not-allowed', 'origin-not-allowed', 'second-factor-required'],
  NotFound: ['not-found'],
  InvalidParameter: ['invalid-parameter'],
  RateLimited: ['rate-limited'],
  Internal: ['internal'],
  Unavailable: ['unavailable'],
};

/** Every refusal of an operation, in the order of the registry. */
export function errorsOf(route: ApiRoute): readonly ErrorName[] {
  const { path, query, body, idempotent, open, proven, errors = [] } = route;
  const found = new Set<ErrorName>([...ALWAYS, ...(open === true ? [] : WITH_CALLER), ...errors]);
  if (proven === true) found.add('proof-required');
  if (path.includes(':')) found.add('not-found');
  if (query !== undefined) found.add('invalid-parameter');
  // Another tenant's domain is as good as none.
  if (query?.Domain !== undefined) found.add('not-found');
  if (body !== undefined) for (const name of WITH_BODY) found.add(name);
  if (idempotent === true) for (const name of WITH_KEY) found.add(name);
  return (Object.keys(ERRORS) as ErrorName[]).filter((name) => found.has(name));
}

/** Status → response. */
export function refusals(names: readonly ErrorName[]): Json {
  const byStatus = Map.groupBy(names, (name) => ERRORS[name].status);
  return Object.fromEntries([...byStatus].map(([status, group]) => [String(status), reference(group)]));
}

/** `components.responses`. */
export function sharedRefusals(): Json {
  return Object.fromEntries(Object.entries(SHARED).map(([name, group]) => [name, response(group)]));
}

function reference(group: readonly ErrorName[]): Json {
  const shared = Object.entries(SHARED).find(([, names]) => isDeepStrictEqual(names, group));
  return shared === undefined ? response(group) : { $ref: `#/components/responses/${shared[0]}` };
}

function response(group: readonly ErrorName[]): Json {
  const [first] = group;
  if (first === undefined) throw new TypeError('a response needs an error');
  const { status } = ERRORS[first];
  return {
    description: group
      .map((name) => `\`${name}\` (${ERRORS[name].code}): ${ERRORS[name].text}.`)
      .join('\n\n'),
    headers: {
      'X-Request-Id': { $ref: '#/components/headers/RequestId' },
      ...(status === 401 ? { 'WWW-Authenticate': { $ref: '#/components/headers/Challenge' } } : {}),
      ...(status === 429 || status === 503
        ? { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }
        : {}),
    },
    content: {
      [PROBLEM_MEDIA_TYPE]: { schema: { $ref: '#/components/schemas/Problem' }, example: example(first) },
    },
    'x-problems': group,
  };
}

function example(name: ErrorName): Json {
  const { code, status, text } = ERRORS[name];
  return {
    type: `https://mail.example.com${BASE}/problems/${name}`,
    title: text,
    status,
    detail: text,
    instance: 'urn:uuid:019aa3f0-5d7c-7c3e-8f1a-2b3c4d5e6f70',
    Error: text,
    Errors: [{ Code: code, Name: name, Message: text }],
  };
}
