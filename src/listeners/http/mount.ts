/**
 * Mounts the routes of the API and the plain ones beside it. A request of the API is authenticated and counted before its
 * body is read, then its operation is called, then the audit is written, then the answer is sent.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ByteBudget } from '../../lib/byte-budget.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError, type Problem } from '../../lib/errors.ts';
import type { PlainRoute } from '../../lib/plain-route.ts';
import type { FairTurns } from '../../lib/turns.ts';
import type { Caller } from '../../model/submission.ts';
import type { SendRate } from '../../policy/limits/send-rate.ts';
import { endIfStalled, heldBytes, sendAnswer } from './answers.ts';
import type { createAudit } from './audit.ts';
import { type Asking, type Callers, NOBODY } from './callers.ts';
import type { HttpOptions } from './deps.ts';
import type { createErrorAnswers } from './error-answers.ts';
import { contextOf, ipOf, ownerOf } from './request-facts.ts';
import { type ApiAnswer, type ApiRoute, BASE, SMALL_BODY_BYTES } from './route.ts';
import type { RunningRequests } from './running-requests.ts';

interface MountDeps {
  callers: Callers;
  audit: ReturnType<typeof createAudit>;
  /** Octets of large answers that clients have not read. */
  answers: ByteBudget;
  clock: Clock;
  errors: ReturnType<typeof createErrorAnswers>;
  requests: RunningRequests;
  sendRate: SendRate;
  turns: FairTurns;
}

/** The system takes so much for a client that reads nothing. */
const SMALL_ANSWER_BYTES = 64 * 1024;
/** Of a request that anybody may send. */
const OPEN_BODY_BYTES = 8 * 1024;

export function mountRoutes(
  app: FastifyInstance,
  routes: { api: readonly ApiRoute[]; plain: readonly PlainRoute[] },
  deps: MountDeps,
  options: Pick<HttpOptions, 'maxBodyBytes' | 'stalledAnswerMs'>,
): void {
  const { callers, audit, answers, clock, errors, requests, sendRate, turns } = deps;
  for (const route of routes.api) mountApi(route);
  for (const route of routes.plain) mountPlain(route);

  function mountApi(route: ApiRoute): void {
    app.route({
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
          ended: () => requests.endOf(reply),
          requireProof: () => callers.requireProof(caller),
          refused: (problem: Problem, domain: string | null) =>
            errors.tellRefused(request, [problem], domain),
        };
        // A body that took its time must not outlive the token it came with.
        const hasBody = request.body !== undefined && request.body !== null;
        // Bodies of many connections can end at once.
        const [owner = ''] = ownerOf(request);
        if (hasBody) await new Promise<void>((resolve) => turns(owner, resolve));
        const mustRenew = route.open !== true && hasBody;
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

  function mountPlain(route: PlainRoute): void {
    app.route({
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
        if (heldBytes(answer) > SMALL_ANSWER_BYTES) endIfStalled(reply, clock, options.stalledAnswerMs);
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
    endIfStalled(reply, clock, options.stalledAnswerMs);
  }

  /** Where a limit is on, every answer says what is left of it. */
  function takeSend(caller: Caller, reply: FastifyReply, counts: ApiRoute['countsAsSend']): void {
    const taken = sendRate.take(caller, counts === true ? 1 : 0);
    if (taken === null) return;
    reply.headers(taken.headers);
    if (counts !== undefined && taken.refused !== null) throw taken.refused;
  }
}

function askingOf(request: FastifyRequest): Asking {
  const { header } = contextOf(request);
  return { method: request.method, header, peer: request.from?.peer ?? '', ip: ipOf(request) };
}

/** Octets of a body that a route reads at the most. */
function mostBodyBytes({ takesLargeBody, open }: ApiRoute): number {
  if (open === true) return OPEN_BODY_BYTES;
  return takesLargeBody === true ? Number.POSITIVE_INFINITY : SMALL_BODY_BYTES;
}
