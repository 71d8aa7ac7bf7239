/**
 * The application that answers requests: Fastify with its limits, the headers of every answer, errors as problem bodies, and
 * the hooks that every request goes through before its route.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { ByteBudget, ByteShare } from '../../lib/byte-budget.ts';
import { AppError } from '../../lib/errors.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { forwardedIp } from '../../lib/loopback.ts';
import type { Caller } from '../../model/submission.ts';
import { createIpMatcher } from '../../policy/access/ip-allow-list.ts';
import { closeAfter, sendAnswer } from './answers.ts';
import { readBody } from './body/body-reader.ts';
import type { ConnectionLimit } from './connection-limit.ts';
import type { HttpDeps, HttpOptions } from './deps.ts';
import type { createErrorAnswers } from './error-answers.ts';
import type { OwnAddress } from './own-address.ts';
import { clientIp, contextOf, ownerOf, pathOfAbsoluteForm } from './request-facts.ts';
import { type ApiAnswer, BASE } from './route.ts';
import type { RunningRequests } from './running-requests.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null;
    bodyShare: ByteShare | null;
    answerShare: ByteShare | null;
    /** Kept from the beginning: a request of HTTP/2 that has ended has no socket. */
    from: { ip: string; peer: string } | null;
    /** The answer was sent, or its client has gone. */
    hasEnded: boolean;
  }
  interface FastifyContextConfig {
    whileStopping?: boolean;
    maxBodyBytes?: number;
  }
}

interface AppDeps extends Pick<HttpDeps, 'clock' | 'random' | 'missingPage'> {
  /** Octets of bodies in memory. */
  bodies: ByteBudget;
  errors: ReturnType<typeof createErrorAnswers>;
  requests: RunningRequests;
  own: OwnAddress;
  limit: Pick<ConnectionLimit, 'Request' | 'endsAfter'>;
  /** Whether a request came without TLS where TLS is required. */
  isPlainStranger(request: IncomingMessage): boolean;
}

const REQUEST_ID = /^[A-Za-z0-9_-]{1,64}$/;

export function createApp(deps: AppDeps, options: HttpOptions): FastifyInstance {
  const { clock, random, bodies, errors, requests, own } = deps;
  const isProxy = createIpMatcher(options.trustedProxies);
  const app = Fastify({
    logger: false,
    bodyLimit: options.maxBodyBytes,
    // One proxy may name another with its port. A connection that has ended has no address.
    trustProxy:
      options.trustedProxies.length > 0 && ((ip: string | undefined) => isProxy(forwardedIp(ip ?? '') ?? '')),
    requestIdHeader: false,
    genReqId: (request) => {
      const wanted = request.headers['x-request-id'];
      return typeof wanted === 'string' && REQUEST_ID.test(wanted) ? wanted : uuidv7(clock, random);
    },
    routerOptions: {
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
      maxParamLength: 400,
    },
    rewriteUrl: (request) => pathOfAbsoluteForm(request.url ?? '/'),
    return503OnClosing: false,
    forceCloseConnections: false,
    keepAliveTimeout: options.keepAliveTimeoutMs,
    requestTimeout: options.requestTimeoutMs,
    connectionTimeout: options.silentConnectionMs,
    http: {
      IncomingMessage: deps.limit.Request,
      headersTimeout: options.headersTimeoutMs,
      connectionsCheckingInterval: 1000,
      requireHostHeader: false,
      noDelay: true,
    },
    // A path that cannot be decoded, for example.
    frameworkErrors(error, request, reply) {
      const page = missingPageFor(request);
      if (page === null) return errors.sendError(error, request, reply);
      errors.setCommonHeaders(request, reply);
      sendAnswer(reply, page);
    },
    clientErrorHandler: (error, socket) => errors.onClientError(error, socket),
  });
  app.decorateRequest('caller', null);
  app.decorateRequest('bodyShare', null);
  app.decorateRequest('answerShare', null);
  app.decorateRequest('from', null);
  app.decorateRequest('hasEnded', false);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', takeBody);
  app.addHook('onRequest', begin);
  // A request that ran when the stop began is the last of its connection: a client that is not told would send its
  // next one into a connection that is about to be closed.
  app.addHook('onSend', (request, reply, payload, done) => {
    if (requests.isStopping() || leavesBody(request.raw)) closeAfter(request, reply);
    // Fastify ends the connection of a body that was refused; HTTP/2 ends only the request, and has no such header.
    if (request.raw.httpVersionMajor !== 1) reply.removeHeader('connection');
    else if (!request.raw.complete && isLast(reply)) deps.limit.endsAfter(request.raw);
    done(null, payload);
  });
  app.setErrorHandler((error, request, reply) => errors.sendError(error, request, reply));
  app.setNotFoundHandler((request, reply) =>
    errors.sendError(errors.notFound(request, reply), request, reply),
  );
  // Who ends their side after the request still gets the answer; Node's default would store the message and drop it.
  Object.assign(app.server, { httpAllowHalfOpen: true });
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    // Who announces too much is answered before it is sent.
    if (!(Number(request.headers['content-length'] ?? 0) > options.maxBodyBytes)) response.writeContinue();
    app.server.emit('request', request, response);
  });
  app.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    delete request.headers.expect; // An expectation nobody knows is no reason to refuse (RFC 9110 §10.1.1).
    app.server.emit('request', request, response);
  });
  return app;

  function begin(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
    request.from = { ip: clientIp(request), peer: request.socket.remoteAddress ?? '' };
    errors.setCommonHeaders(request, reply);
    requests.began();
    reply.raw.once('close', () => end(request));
    const fault = faultOf(request.raw);
    if (deps.isPlainStranger(request.raw)) leadToTls(request, reply, done);
    else if (requests.isStopping() && request.routeOptions.config?.whileStopping !== true) {
      closeAfter(request, reply);
      done(new AppError('unavailable', { message: 'The server is stopping', retryAfterSeconds: 5 }));
    } else if (fault !== null) {
      closeAfter(request, reply);
      done(new AppError('http-malformed', { message: fault }));
    } else if (request.is404) {
      refuseUnknown(request, reply, done);
    } else done();
  }

  /** A person is shown a page with a way back; null: a program gets a problem, and so does everybody below `/api`. */
  function missingPageFor(request: FastifyRequest): ApiAnswer | null {
    const isPage = isRead(request) && !/^\/api(?:[/?]|$)/.test(request.url);
    return isPage ? (deps.missingPage?.(contextOf(request).header) ?? null) : null;
  }

  function refuseUnknown(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
    const page = missingPageFor(request);
    if (page === null) done(errors.notFound(request, reply));
    else sendAnswer(reply, page);
  }

  function end(request: FastifyRequest): void {
    request.hasEnded = true;
    request.bodyShare?.end();
    request.answerShare?.end();
    requests.ended();
  }

  async function takeBody(request: FastifyRequest, payload: IncomingMessage): Promise<Uint8Array> {
    // While the token was checked: nobody would give back what is taken now.
    if (request.hasEnded) throw new AppError('http-malformed', { message: 'The client has gone' });
    const share = bodies.open(ownerOf(request), request.caller === null);
    request.bodyShare = share;
    return readBody(payload, {
      maxBytes: request.routeOptions.config?.maxBodyBytes ?? options.maxBodyBytes,
      withinMs: options.requestTimeoutMs,
      clock,
      share,
    });
  }

  /** A person is led on; a program is told, because it would send its token in the clear again each time. */
  function leadToTls(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
    closeAfter(request, reply);
    if (isRead(request) && own.isPublicByTls && !request.url.startsWith(`${BASE}/`)) {
      reply
        .code(308)
        .header('location', own.publicUrl() + request.url)
        .send('');
      return;
    }
    const exposed =
      request.headers.authorization === undefined
        ? ''
        : '. The token of this request went over the network in the clear: replace it';
    const message = `This port takes HTTPS: use ${own.publicUrl()}${exposed}`;
    done(new AppError('http-malformed', { message }));
  }
}

/** What a proxy in front may have read in another way than this server does, and Node lets through (RFC 9112 §3.2, §6.1). */
function faultOf({ httpVersion, headers, rawHeaders }: IncomingMessage): string | null {
  const isOld = httpVersion === '1.0';
  if (isOld && headers['transfer-encoding'] !== undefined) return 'HTTP/1.0 has no Transfer-Encoding';
  if (headers.host === undefined) return isOld ? null : 'The Host header is missing';
  const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'host');
  return hosts.length > 1 ? 'There are several Host headers' : null;
}

/** Node would read the rest of it, however many chunks it has, so that the connection can be used again. */
function leavesBody({ complete, headers }: IncomingMessage): boolean {
  return !complete && headers['transfer-encoding'] !== undefined;
}

/** The client, HTTP/1.0 or this answer ends the connection after it. */
function isLast(reply: FastifyReply): boolean {
  return !reply.raw.shouldKeepAlive || reply.getHeader('connection') === 'close';
}

function isRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}
