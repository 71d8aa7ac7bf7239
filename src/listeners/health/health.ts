/**
 * Three plain routes: `/healthz` answers while the process runs, and proves to a command which server it is; `/readyz` answers 503 with the name of a failing
 * check; `/metrics` answers administrators of all domains, because its figures cover all tenants, and the addresses
 * that the operator allows.
 */
import { CHALLENGE_HEADER, PROOF_HEADER } from '../../lib/data-files.ts';
import { AppError } from '../../lib/errors.ts';
import type { PlainAnswer, PlainRequest, PlainRoute } from '../../lib/plain-route.ts';
import type { Access } from '../../policy/access/access.ts';
import { createIpMatcher } from '../../policy/access/ip-allow-list.ts';
import { requireAllDomains, requireScope } from '../../policy/access/rights.ts';

/** One named condition of readiness; `detail` is a sentence without secrets. */
export interface ReadyCheck {
  name: string;
  ok: boolean;
  detail: string;
}

export interface HealthDeps {
  ready(): Promise<readonly ReadyCheck[]>;
  /** Proves to a command that this is the server of its data folder. */
  prove(challenge: string): string;
  /** A prom-client registry; absent: /metrics is 404. */
  metrics?: { contentType: string; metrics(): Promise<string> };
  access: Pick<Access, 'authenticate'>;
  /** Address ranges that may read the metrics without a token. */
  metricsFrom: readonly string[];
}

/** The three routes, from the root. */
export function createHealthRoutes(deps: HealthDeps): readonly PlainRoute[] {
  // For the matcher, an empty list would mean any address.
  const isNamed = deps.metricsFrom.length === 0 ? () => false : createIpMatcher(deps.metricsFrom);
  return [
    route('/healthz', async ({ header }) => {
      const challenge = header(CHALLENGE_HEADER);
      const proof = challenge === undefined ? {} : { [PROOF_HEADER]: deps.prove(challenge) };
      return json(200, { Status: 'ok', Checks: [] }, proof);
    }),
    route('/readyz', async () => {
      const checks = await readyChecks(deps);
      const ok = checks.every((check) => check.ok);
      const body = {
        Status: ok ? 'ok' : 'unavailable',
        Checks: checks.map(({ name, ok, detail }) => ({ Name: name, Ok: ok, Detail: detail })),
      };
      return ok ? json(200, body) : json(503, body, { 'retry-after': '5' });
    }),
    route('/metrics', async (request) => {
      if (deps.metrics === undefined) throw new AppError('not-found');
      if (isForwarded(request) || !isNamed(request.ip)) await requireOperator(deps, request);
      return {
        status: 200,
        headers: { 'content-type': deps.metrics.contentType },
        body: await deps.metrics.metrics(),
      };
    }),
  ];
}

function route(path: string, handle: PlainRoute['handle']): PlainRoute {
  return { method: 'GET', path, whileStopping: true, handle };
}

/** A check that itself fails counts as not met. */
async function readyChecks(deps: HealthDeps): Promise<readonly ReadyCheck[]> {
  try {
    return await deps.ready();
  } catch {
    return [{ name: 'checks', ok: false, detail: 'the checks could not be made' }];
  }
}

/** Throws AppError token-missing, token-invalid or scope-missing. */
async function requireOperator(deps: HealthDeps, request: PlainRequest): Promise<void> {
  const caller = await deps.access.authenticate(request.header('authorization'), request.ip);
  requireScope(caller, 'admin');
  requireAllDomains(caller);
}

/** A proxy forwards requests of others, so its own address does not count. */
function isForwarded(request: PlainRequest): boolean {
  return (request.header('x-forwarded-for') ?? request.header('forwarded')) !== undefined;
}

function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): PlainAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: JSON.stringify(value),
  };
}
