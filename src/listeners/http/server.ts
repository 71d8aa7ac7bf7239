/**
 * The HTTP listener: one port for the API and the plain routes mounted beside it. A `Service` that answers requests
 * between `start()` and `stop()`. It authenticates before it reads a body, limits everything that it reads, sets the
 * same headers on every answer, and sends every error, also those of the HTTP parser, as a problem body. While
 * stopping, running requests are finished, new ones get 503, and idle connections are closed.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { AppError, type Problem } from '../../lib/errors.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Service } from '../../lib/loop.ts';
import type { Caller } from '../../model/submission.ts';
import type { Problems } from '../../pipeline/alerts/alerts.ts';
import { addressKey } from '../../policy/access/failed-logins.ts';
import { lineOf } from '../../policy/access/rights.ts';
import { closeAfter, endIfStalled, heldBytes, sendAnswer } from './answers.ts';
import { createAudit } from './audit.ts';
import { readBody } from './body/body-reader.ts';
import { type ByteShare, createByteBudget } from './byte-budget.ts';
import { type Asking, createCallers, NOBODY } from './callers.ts';
import { limitConnections } from './connection-limit.ts';
import { DEFAULT_HTTP_OPTIONS, type HttpDeps, type HttpOptions } from './deps.ts';
import { createErrorAnswers } from './error-answers.ts';
import { createIdempotency } from './idempotency.ts';
import { gatherProblems } from './operations/attention-problems.ts';
import { apiRoutes } from './operations/table.ts';
import { plainRoutes } from './plain-routes.ts';
import { clientIp, contextOf, createMethodTable, ipOf, pathOfAbsoluteForm } from './request-facts.ts';
import {
  type ApiAnswer,
  type ApiRoute,
  BASE,
  type PlainRoute,
  type RequestEnd,
  SMALL_BODY_BYTES,
} from './route.ts';
import { createCaptureTexts } from './sandbox/capture-texts.ts';
import { createCapturedReader } from './sandbox/captured-reader.ts';
import { createSecurePort, type SecurePort } from './secure-port.ts';
import { createWorkerPool } from './worker-pool.ts';

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

export interface HttpListener extends Service {
  /** Where it listens, after `start()`. */
  address(): { host: string; port: number; url: string };
  /** What the operator is alerted of, from the facts of `GET /attention`. */
  problems(): Promise<Problems>;
}

const REQUEST_ID = /^[A-Za-z0-9_-]{1,64}$/;
/** The system takes so much for a client that reads nothing. */
const SMALL_ANSWER_BYTES = 64 * 1024;
/** Of a request that anybody may send. */
const OPEN_BODY_BYTES = 8 * 1024;

/** Nothing listens before `start()`. A port that is taken rejects `start()`. */
export function createHttpListener(deps: HttpDeps, given: Partial<HttpOptions> = {}): HttpListener {
  const options: HttpOptions = { ...DEFAULT_HTTP_OPTIONS, ...given };
  const workers = createWorkerPool(deps, {
    maxWorkers: options.maxWorkers,
    maxQueue: options.maxWorkerQueue,
    deadlineMs: options.workerDeadlineMs,
  });
  const captured = createCapturedReader(workers, { hereBytes: options.capturedHereBytes });
  const captureTexts = createCaptureTexts({ ...deps, reader: captured });
  const idempotency = createIdempotency(deps, { windowMs: options.idempotencyWindowMs });
  const { sendRate } = deps;
  const routes = apiRoutes(deps, options, { workers, captured, idempotency, sendRate });
  const plain = [...plainRoutes(routes, { access: deps.access, publicUrl }), ...(deps.routes ?? [])];
  const callers = createCallers(deps, options.publicUrl);
  const audit = createAudit(deps);
  const bodies = createByteBudget(options.maxHeldBodyBytes);
  const answers = createByteBudget(options.maxHeldAnswerBytes);
  const isPublicByTls = options.publicUrl?.startsWith('https://') === true;
  const methodsOf = createMethodTable([
    ...routes.map(({ method, path, endless }) => ({ method, path: BASE + path, endless })),
    ...plain,
  ]);
  const { sendError, notFound, tellRefused, onClientError, setCommonHeaders } = createErrorAnswers(deps, {
    methodsOf,
    publicUrl,
    isPublicByTls,
  });
  const app = createApp();
  const secure: SecurePort | null =
    deps.certificates === undefined
      ? null
      : createSecurePort(
          {
            ...{ server: app.server, handle: app.routing, certificates: deps.certificates },
            ...{ clock: deps.clock, log: deps.log },
          },
          options,
        );
  limitConnections(app.server, deps, options);
  let running = 0;
  let stopping = false;
  /** Ends the requests that wait for something. */
  const stop = new AbortController();
  let onIdle: (() => void) | null = null;
  let listening: AddressInfo | null = null;

  for (const route of routes) mountApi(app, route);
  for (const route of plain) mountPlain(app, route);

  return {
    async start() {
      await app.listen({ host: options.host, port: options.port });
      const address = app.server.address();
      if (address === null || typeof address === 'string') throw new TypeError('expected a TCP address');
      listening = address;
      captureTexts.start();
    },
    async stop(deadlineMs) {
      stopping = true;
      stop.abort('stopping' satisfies RequestEnd);
      secure?.drain();
      const read = captureTexts.stop();
      app.server.closeIdleConnections();
      if (running > 0) await untilIdle(deadlineMs);
      app.server.closeIdleConnections();
      const closed = app.close();
      app.server.closeAllConnections();
      secure?.destroy();
      await closed;
      await read;
      await workers.close();
    },
    address() {
      if (listening === null) throw new TypeError('the HTTP listener has not started');
      const host = listening.family === 'IPv6' ? `[${listening.address}]` : listening.address;
      return { host: listening.address, port: listening.port, url: `http://${host}:${listening.port}` };
    },
    problems: () => gatherProblems(deps),
  };

  function createApp(): FastifyInstance {
    const instance = Fastify({
      logger: false,
      bodyLimit: options.maxBodyBytes,
      trustProxy: options.trustedProxies.length > 0 ? [...options.trustedProxies] : false,
      requestIdHeader: false,
      genReqId: (request) => {
        const wanted = request.headers['x-request-id'];
        return typeof wanted === 'string' && REQUEST_ID.test(wanted)
          ? wanted
          : uuidv7(deps.clock, deps.random);
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
        headersTimeout: options.headersTimeoutMs,
        connectionsCheckingInterval: 1000,
        requireHostHeader: false,
        noDelay: true,
      },
      frameworkErrors: (error, request, reply) => sendError(error, request, reply),
      clientErrorHandler: (error, socket) => onClientError(error, socket),
    });
    instance.decorateRequest('caller', null);
    instance.decorateRequest('bodyShare', null);
    instance.decorateRequest('answerShare', null);
    instance.decorateRequest('from', null);
    instance.decorateRequest('hasEnded', false);
    instance.removeAllContentTypeParsers();
    instance.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
      // While the token was checked: nobody would give back what is taken now.
      if (request.hasEnded) throw new AppError('http-malformed', { message: 'The client has gone' });
      const share = bodies.open(ownerOf(request), request.caller === null);
      request.bodyShare = share;
      return readBody(payload, {
        maxBytes: request.routeOptions.config?.maxBodyBytes ?? options.maxBodyBytes,
        withinMs: options.requestTimeoutMs,
        clock: deps.clock,
        share,
      });
    });
    instance.addHook('onRequest', (request, reply, done) => {
      request.from = { ip: clientIp(request), peer: request.socket.remoteAddress ?? '' };
      setCommonHeaders(request, reply);
      running++;
      reply.raw.once('close', () => onAnswerEnd(request));
      if (secure?.isPlainStranger(request.raw) === true) leadToTls(request, reply, done);
      else if (stopping && request.routeOptions.config?.whileStopping !== true) {
        closeAfter(request, reply);
        done(new AppError('unavailable', { message: 'The server is stopping', retryAfterSeconds: 5 }));
      } else if (request.headers.host === undefined && request.raw.httpVersion !== '1.0') {
        done(new AppError('http-malformed', { message: 'The Host header is missing' }));
      } else if (request.is404) {
        done(notFound(request, reply));
      } else done();
    });
    // A request that ran when the stop began is the last of its connection: a client that is not told would send its
    // next one into a connection that is about to be closed.
    instance.addHook('onSend', (request, reply, payload, done) => {
      if (stopping) closeAfter(request, reply);
      // Fastify ends the connection of a body that was refused; HTTP/2 ends only the request, and has no such header.
      if (request.raw.httpVersionMajor !== 1) reply.removeHeader('connection');
      done(null, payload);
    });
    instance.setErrorHandler((error, request, reply) => sendError(error, request, reply));
    instance.setNotFoundHandler((request, reply) => sendError(notFound(request, reply), request, reply));
    // Who ends their side after the request still gets the answer; Node's default would store the message and drop it.
    Object.assign(instance.server, { httpAllowHalfOpen: true });
    instance.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
      // Who announces too much is answered before it is sent.
      if (!(Number(request.headers['content-length'] ?? 0) > options.maxBodyBytes)) response.writeContinue();
      instance.server.emit('request', request, response);
    });
    instance.server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      delete request.headers.expect; // An expectation nobody knows is no reason to refuse (RFC 9110 §10.1.1).
      instance.server.emit('request', request, response);
    });
    return instance;
  }

  function mountApi(instance: FastifyInstance, route: ApiRoute): void {
    instance.route({
      method: route.method,
      url: BASE + route.path,
      exposeHeadRoute: route.endless !== true,
      config: {
        maxBodyBytes: Math.min(options.maxBodyBytes, mostBodyBytes(route)),
      },
      onRequest: async (request, reply) => {
        if (route.open === true) {
          callers.requireDashboard(askingOf(request));
          return;
        }
        const caller = await callers.callerOf(askingOf(request));
        request.caller = caller;
        await callers.requireAllowed(caller, route);
        takeSend(caller, reply, route.countsAsSend);
      },
      handler: async (request, reply) => {
        const caller = route.open === true ? NOBODY : request.caller;
        if (caller === null) throw new AppError('token-missing');
        const given = {
          caller,
          ...contextOf(request),
          ip: ipOf(request),
          ended: () => endOf(reply),
          requireProof: () => callers.requireProof(caller),
          refused: (problem: Problem, domain: string | null) => tellRefused(request, [problem], domain),
        };
        // A body that took its time must not outlive the token it came with.
        const mustRenew = route.open !== true && request.body !== undefined && request.body !== null;
        if (mustRenew) await callers.requireStill(caller);
        // The operation alone has the body from here on, and may let go of it.
        request.body = undefined;
        const answer = await route.handle(given);
        await audit.record(route, given, answer);
        hold(request, reply, answer, route.method === 'GET');
        return sendAnswer(reply, answer);
      },
    });
  }

  /** What clients do not read stays in memory: for a time only, and so much of it. */
  function hold(request: FastifyRequest, reply: FastifyReply, answer: ApiAnswer, mayRefuse: boolean): void {
    const bytes = heldBytes(answer);
    if (bytes <= SMALL_ANSWER_BYTES) return;
    const share = answers.open(ownerOf(request));
    request.answerShare = share;
    // A change that was made is told, however much waits.
    if (!request.hasEnded && !share.take(bytes) && mayRefuse) {
      const message = 'Too many large answers at once that their clients have not read';
      throw new AppError('unavailable', { message, retryAfterSeconds: 5 });
    }
    endIfStalled(reply, options.stalledAnswerMs);
  }

  function askingOf(request: FastifyRequest): Asking {
    const { header } = contextOf(request);
    return { method: request.method, header, peer: request.from?.peer ?? '', ip: ipOf(request) };
  }

  function mountPlain(instance: FastifyInstance, route: PlainRoute): void {
    instance.route({
      method: route.method,
      url: route.path,
      config: {
        whileStopping: route.whileStopping === true,
        ...(route.maxBodyBytes === undefined ? {} : { maxBodyBytes: route.maxBodyBytes }),
      },
      handler: async (request, reply) => {
        const { method, hostname: host } = request;
        const about = { method, host, ip: ipOf(request) };
        const answer = await route.handle({ ...contextOf(request), ...about });
        if (heldBytes(answer) > SMALL_ANSWER_BYTES) endIfStalled(reply, options.stalledAnswerMs);
        return sendAnswer(reply, answer);
      },
    });
  }

  /**
   * Aborted when the client of this answer has gone, or the listener stops. A client that has ended its side may still
   * read, but who waits for news that may never come cannot tell it from one that is gone.
   */
  function endOf(reply: FastifyReply): AbortSignal {
    const gone = new AbortController();
    const { raw, request } = reply;
    // Of HTTP/2, the side of the client ends with every request.
    const isHttp1 = request.raw.httpVersionMajor === 1;
    const socket = isHttp1 ? raw.socket : null;
    const onGone = (): void => gone.abort('gone' satisfies RequestEnd);
    // An answer of HTTP/2 whose request was taken back before has no socket, and says nothing any more.
    const isGone = isHttp1 ? raw.closed || socket?.readableEnded === true : !raw.socket;
    if (isGone) onGone();
    socket?.once('end', onGone);
    raw.once('close', () => {
      socket?.off('end', onGone);
      onGone();
    });
    return AbortSignal.any([gone.signal, stop.signal]);
  }

  /** A person is led on; a program is told, because it would send its token in the clear again each time. */
  function leadToTls(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
    closeAfter(request, reply);
    const isPage = request.method === 'GET' || request.method === 'HEAD';
    if (isPage && isPublicByTls && !request.url.startsWith(`${BASE}/`)) {
      reply
        .code(308)
        .header('location', publicUrl() + request.url)
        .send('');
      return;
    }
    const exposed =
      request.headers.authorization === undefined
        ? ''
        : '. The token of this request went over the network in the clear: replace it';
    done(new AppError('http-malformed', { message: `This port takes HTTPS: use ${publicUrl()}${exposed}` }));
  }

  /** Where a limit is on, every answer says what is left of it. */
  function takeSend(caller: Caller, reply: FastifyReply, counts: ApiRoute['countsAsSend']): void {
    const taken = sendRate.take(caller, counts === true ? 1 : 0);
    if (taken === null) return;
    reply.headers(taken.headers);
    if (counts !== undefined && taken.refused !== null) throw taken.refused;
  }

  function publicUrl(): string {
    if (options.publicUrl !== undefined) return options.publicUrl;
    if (listening === null) return '';
    return `http://${listening.family === 'IPv6' ? `[${listening.address}]` : listening.address}:${listening.port}`;
  }

  function onAnswerEnd(request: FastifyRequest): void {
    request.hasEnded = true;
    request.bodyShare?.end();
    request.answerShare?.end();
    running--;
    if (running === 0) onIdle?.();
  }

  function untilIdle(deadlineMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = deps.clock.setTimer(deadlineMs, resolve);
      onIdle = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}

/** Whoever shares a line of tokens shares this; without a token, whoever has the same address. */
function ownerOf({ caller, from }: FastifyRequest): string {
  return caller === null ? `from ${addressKey(from?.ip ?? '')}` : lineOf(caller);
}

/** Octets of a body that a route reads at the most. */
function mostBodyBytes({ takesLargeBody, open }: ApiRoute): number {
  if (open === true) return OPEN_BODY_BYTES;
  return takesLargeBody === true ? Number.POSITIVE_INFINITY : SMALL_BODY_BYTES;
}
