/**
 * Idempotency-Key for creating operations other than mail (webhooks, domains, tokens …). The key is stored in the
 * transaction that creates the thing: the operation passes it to the store with the answer to keep. That answer never
 * contains secrets: the full one is kept in memory for five minutes, of each tenant at most a hundred, so that no tenant
 * removes those of others; later repetitions get it without its secret.
 */
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { lineOf } from '../../policy/access/rights.ts';
import { KeyTaken } from '../../store/store.ts';
import type { IdempotencyEntry } from '../../store/topics/acceptance.ts';
import { replayedAnswer, type WithKey } from './idempotency.ts';
import type { ApiAnswer, ApiRequest } from './route.ts';

const KEEP_SECRETS_MS = 5 * 60_000;
/** Of one tenant, and tenants: those that kept nothing for longest are forgotten first. */
const MAX_KEPT = 100;
const MAX_TENANTS = 200;

/** The key of a request, with the answer for repetitions, which must not contain a secret. */
export type KeyFor = (status: number, answerWithoutSecrets: object) => IdempotencyEntry;

/** Runs `create` at most once per key, which it must pass to the store; undefined = the request has none. */
export type CreateOnce = (
  request: ApiRequest,
  operation: string,
  create: (key: KeyFor | undefined) => Promise<ApiAnswer>,
) => Promise<ApiAnswer>;

/** One per process. */
export function createCreateOnce(
  deps: { withKey: WithKey; clock: Clock },
  options: { windowMs: number },
): CreateOnce {
  const fresh = new BoundedMap<string, Kept>(MAX_TENANTS);

  return async (request, operation, create) => {
    const { owner } = request.caller;
    const tenant = lineOf(request.caller);
    const id = `${owner}\0${operation}\0${request.header('idempotency-key') ?? ''}`;
    const answer = await deps.withKey(request, operation, async (key) => {
      if (key === null) return create(undefined);
      const createdAt = deps.clock.now();
      const expiresBefore = createdAt - options.windowMs;
      try {
        const made = await create((status, body) => ({
          ...key,
          owner,
          status,
          body: JSON.stringify(body),
          createdAt,
          expiresBefore,
        }));
        keep(tenant, id, made, createdAt);
        return made;
      } catch (error) {
        // Another process was faster: its answer counts.
        if (!(error instanceof KeyTaken)) throw error;
        if (error.held.kind === 'key-reused') throw new AppError('idempotency-key-reused');
        return replayedAnswer(error.held.status, error.held.body);
      }
    });
    return answer.headers?.['idempotency-replayed'] === undefined ? answer : (kept(tenant, id) ?? answer);
  };

  function kept(tenant: string, id: string): ApiAnswer | undefined {
    const entry = fresh.get(tenant)?.get(id);
    if (entry === undefined || entry.until <= deps.clock.now()) return undefined;
    return { ...entry.answer, headers: { ...entry.answer.headers, 'idempotency-replayed': 'true' } };
  }

  function keep(tenant: string, id: string, answer: ApiAnswer, now: number): void {
    const own: Kept = fresh.get(tenant) ?? new BoundedMap(MAX_KEPT);
    own.set(id, { answer, until: now + KEEP_SECRETS_MS });
    fresh.set(tenant, own);
    for (const [who, answers] of fresh) {
      for (const [old, entry] of answers) {
        if (entry.until > now) break;
        answers.delete(old);
      }
      if (answers.size > 0) break;
      fresh.delete(who);
    }
  }
}

type Kept = BoundedMap<string, { answer: ApiAnswer; until: number }>;
