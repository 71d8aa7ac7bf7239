/**
 * The HTTP listener: one port for the API and the plain routes mounted beside it. A `Service` that answers requests
 * between `start()` and `stop()`. It authenticates before it reads a body, limits everything that it reads, sets the
 * same headers on every answer, and sends every error, also those of the HTTP parser, as a problem body. While
 * stopping, running requests are finished, new ones get 503, and idle connections are closed.
 */

import { createByteBudget } from '../../lib/byte-budget.ts';
import type { Service } from '../../lib/service.ts';
import { createFairTurns } from '../../lib/turns.ts';
import type { Problems } from '../../pipeline/alerts/alerts.ts';
import { createApp } from './app.ts';
import { createAudit } from './audit.ts';
import { createCallers } from './callers.ts';
import { createConnectionLimit } from './connection-limit.ts';
import { DEFAULT_HTTP_OPTIONS, type HttpDeps, type HttpOptions } from './deps.ts';
import { createErrorAnswers } from './error-answers.ts';
import { createWithKey } from './idempotency.ts';
import { mountRoutes } from './mount.ts';
import { gatherProblems } from './operations/attention-problems.ts';
import { apiRoutes } from './operations/table.ts';
import { createOwnAddress, type OwnAddress } from './own-address.ts';
import { plainRoutes } from './plain-routes.ts';
import { createMethodTable } from './request-facts.ts';
import { BASE } from './route.ts';
import { createRunningRequests } from './running-requests.ts';
import { createCaptureTexts } from './sandbox/capture-texts.ts';
import { createCapturedReader } from './sandbox/captured-reader.ts';
import { createSecurePort, type SecurePort } from './secure-port.ts';
import { createWorkerPool } from './worker-pool.ts';

/** `address`: where it listens, after `start()`. */
export interface HttpListener extends Service, Pick<OwnAddress, 'address'> {
  /** What the operator is alerted of, from the facts of `GET /attention`. */
  problems(): Promise<Problems>;
}

/** Nothing listens before `start()`. A port that is taken rejects `start()`. */
export function createHttpListener(deps: HttpDeps, given: Partial<HttpOptions> = {}): HttpListener {
  const options: HttpOptions = { ...DEFAULT_HTTP_OPTIONS, ...given };
  const own = createOwnAddress(options.publicUrl, deps.ownUrl);
  const workers = createWorkerPool(deps, {
    maxWorkers: options.maxWorkers,
    maxQueue: options.maxWorkerQueue,
    deadlineMs: options.workerDeadlineMs,
  });
  const captured = createCapturedReader(workers, { hereBytes: options.capturedHereBytes });
  const captureTexts = createCaptureTexts({ ...deps, reader: captured });
  const withKey = createWithKey(deps, { windowMs: options.idempotencyWindowMs });
  const routes = apiRoutes(deps, options, { workers, captured, withKey });
  const plain = [
    ...plainRoutes(routes, { access: deps.access, publicUrl: own.publicUrl }),
    ...(deps.routes ?? []),
  ];
  const callers = createCallers(deps, options.publicUrl);
  const audit = createAudit(deps);
  const methodsOf = createMethodTable([
    ...routes.map(({ method, path, endless }) => ({ method, path: BASE + path, endless })),
    ...plain,
  ]);
  const errors = createErrorAnswers(deps, { methodsOf, own });
  const requests = createRunningRequests(deps.clock);
  const { clock, random, log, certificates, sendRate } = deps;
  const turns = createFairTurns(clock);
  const limit = createConnectionLimit({ clock, log, turns }, options);
  const app = createApp(
    {
      ...{
        clock,
        random,
        errors,
        requests,
        own,
        limit,
        bodies: createByteBudget(options.maxHeldBodyBytes),
      },
      ...(deps.missingPage === undefined ? {} : { missingPage: deps.missingPage }),
      isPlainStranger: (request) => secure?.isPlainStranger(request) === true,
    },
    options,
  );
  const secure: SecurePort | null =
    certificates === undefined
      ? null
      : createSecurePort(
          { server: app.server, handle: app.routing, limit, certificates, clock, log },
          options,
        );
  limit.watch(app.server);
  mountRoutes(
    app,
    { api: routes, plain },
    {
      ...{ callers, audit, clock, errors, requests, sendRate, turns },
      answers: createByteBudget(options.maxHeldAnswerBytes),
    },
    options,
  );

  return {
    async start() {
      await app.listen({ host: options.host, port: options.port });
      const address = app.server.address();
      if (address === null || typeof address === 'string') throw new TypeError('expected a TCP address');
      own.listens(address);
      captureTexts.start();
    },
    async stop(deadlineMs) {
      requests.stop();
      secure?.drain();
      const read = captureTexts.stop();
      app.server.closeIdleConnections();
      await requests.finished(deadlineMs);
      app.server.closeIdleConnections();
      const closed = app.close();
      app.server.closeAllConnections();
      secure?.destroy();
      await closed;
      await read;
      await workers.close();
    },
    address: own.address,
    problems: () => gatherProblems(deps),
  };
}
