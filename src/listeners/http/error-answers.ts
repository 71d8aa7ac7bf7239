/**
 * Answers to failed requests: every error, also of the HTTP parser and of an unknown path, becomes a problem body
 * (RFC 9457). Each is added to the list of refusals; unexpected ones are logged.
 */
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, ERRORS } from '../../lib/errors.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { plainIp } from '../../lib/loopback.ts';
import { OWN_HEADER } from '../../policy/access/own-page.ts';
import type { HttpDeps } from './deps.ts';
import { missingThing } from './openapi/texts.ts';
import type { OwnAddress } from './own-address.ts';
import { problemAnswer, toAppError } from './problem.ts';
import { ipOf } from './request-facts.ts';
import { BASE } from './route.ts';
import { writeProblemToSocket } from './socket-problem.ts';

/** An unknown path, as its refusal repeats it. */
const MAX_SHOWN_PATH = 200;
const HSTS = 'max-age=31536000';

/** `methodsOf`: the value of Allow for a path; null if the path does not exist. */
export function createErrorAnswers(
  deps: Pick<HttpDeps, 'refusals' | 'log' | 'clock' | 'random'>,
  { methodsOf, own }: { methodsOf(url: string): string | null; own: OwnAddress },
) {
  return { sendError, notFound, tellRefused, onClientError, setCommonHeaders };

  function notFound(request: FastifyRequest, reply: FastifyReply): AppError {
    const allowed = methodsOf(request.url);
    const path = (request.url.split('?', 1)[0] ?? '').slice(0, MAX_SHOWN_PATH);
    const sending = request.method === 'POST' ? `mail is sent by POST ${BASE}/email, ` : '';
    if (allowed === null) {
      const base =
        path === BASE || path.startsWith(`${BASE}/`)
          ? `; ${sending}see ${BASE}/docs`
          : `: the API is below ${BASE}, e.g. POST ${BASE}/email`;
      return new AppError('not-found', { message: `There is nothing at ${path}${base}` });
    }
    reply.header('allow', allowed);
    // Other services send with a template, or several messages, at a path of their own below this one.
    const sends = sending !== '' && path.startsWith(`${BASE}/email/`);
    const hint = sends
      ? `; ${sending}also with a template, and several at once by POST ${BASE}/email/batch`
      : '';
    return new AppError('method-not-allowed', {
      message: `${request.method} is not allowed at ${path}; allowed: ${allowed}${hint}`,
    });
  }

  function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const { error: given, expected } = toAppError(thrown);
    const error = named(given, request);
    if (!expected) deps.log.error({ requestId: request.id, err: error.cause ?? error }, 'a request failed');
    if (request.url.startsWith(`${BASE}/`)) tellRefused(request, error.problems, error.about ?? null);
    const answer = problemAnswer(error, own.publicUrl(), request.id);
    setCommonHeaders(request, reply);
    // The rate of the token and the limit that refuses are members of one list (RFC 9651).
    for (const name of ['ratelimit-policy', 'ratelimit']) {
      const before = reply.getHeader(name);
      const own = answer.headers[name];
      if (typeof before === 'string' && own !== undefined) answer.headers[name] = `${before}, ${own}`;
    }
    reply.code(answer.status).headers(answer.headers).send(Buffer.from(answer.body));
  }

  /** What is not there says what it is, unless the operation did. */
  function named(error: AppError, request: FastifyRequest): AppError {
    const [{ name, message }] = error.problems;
    if (name !== 'not-found' || message !== undefined) return error;
    const thing = missingThing(pathOf(request) ?? '');
    return thing === null ? error : new AppError(name, { message: thing });
  }

  /** The pattern of the route; errors of the framework that occur before a route is found have none. */
  function pathOf(request: FastifyRequest): string | undefined {
    return (request.routeOptions as { url?: string } | undefined)?.url;
  }

  function tellRefused(
    request: FastifyRequest,
    [first, ...more]: AppError['problems'],
    domain: string | null,
  ): void {
    const { method } = request;
    // Absent as well where no route was found.
    const caller = request.caller ?? null;
    const path = pathOf(request);
    const { name, message = ERRORS[name].text, field } = first;
    const { authorization, [OWN_HEADER]: own } = request.headers;
    const [only, ...others] = caller?.domains ?? [];
    deps.refusals.record({
      caller,
      via: 'HTTP',
      // The pattern: a path may hold addresses.
      action: `${method} ${path?.slice(BASE.length) ?? '(no such path)'}`,
      status: ERRORS[name].status,
      name,
      message: `${field === undefined ? '' : `${field}: `}${message}${more.length === 0 ? '' : ` (and ${more.length} more)`}`,
      domain: domain ?? (others.length === 0 && only !== '*' ? (only ?? null) : null),
      ip: ipOf(request),
      // Failed sign-ins are for the operator to see.
      isShownToPerson:
        own !== undefined && authorization === undefined && (caller !== null || method === 'GET'),
    });
  }

  function onClientError(error: Error & { code?: string; rawPacket?: unknown }, socket: Socket): void {
    const ip = socket.remoteAddress ?? '';
    const refused = writeProblemToSocket(error, socket, own.publicUrl(), uuidv7(deps.clock, deps.random));
    if (refused === null) return;
    const { status, message, problems } = refused;
    deps.refusals.record({
      ...{ caller: null, via: 'HTTP', action: '(no request)', domain: null },
      ...{ status, message, name: problems[0].name, ip: plainIp(ip) },
    });
  }

  function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    reply.header('cache-control', 'no-store');
    // Over plain HTTP it must not be sent (RFC 6797 §7.2).
    if (own.isPublicByTls && request.protocol === 'https') reply.header('strict-transport-security', HSTS);
  }
}
