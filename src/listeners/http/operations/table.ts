/**
 * Every operation of the API in one list, in documented order (api.md §3). The server mounts what stands here and
 * nothing else; the reference pages and the contract are checked against it.
 */
import type { HttpDeps, HttpOptions } from '../deps.ts';
import type { EmailWorkerPool } from '../email-worker-pool.ts';
import type { Idempotency } from '../idempotency.ts';
import type { ApiRoute } from '../route.ts';
import { sendEmailRoute } from './send-email.ts';

/** What the operations share inside this listener. */
export interface Shared {
  workers: EmailWorkerPool;
  idempotency: Idempotency;
}

/** The routes below /api/v1. */
export function apiRoutes(deps: HttpDeps, options: HttpOptions, shared: Shared): readonly ApiRoute[] {
  return [
    sendEmailRoute(
      { ...shared, acceptance: deps.acceptance, clock: deps.clock, random: deps.random },
      {
        limits: options.email,
        blockedExtensions: options.blockedExtensions,
        workerThresholdBytes: options.workerThresholdBytes,
      },
    ),
  ];
}
