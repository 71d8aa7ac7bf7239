/**
 * Idempotency-Key for creating operations other than mail (webhooks, domains, tokens …). The key is stored in the
 * transaction that creates the thing: the operation passes it to the store with the answer to keep. That answer never
 * contains secrets: the full one is kept in memory for five minutes; later repetitions get it without its secret.
 */
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { KeyTaken } from '../../store/store.ts';
import type { IdempotencyEntry } from '../../store/topics/acceptance.ts';
import { type Idempotency, replayedAnswer, withKey } from './idempotency.ts';
import type { ApiAnswer, ApiRequest } from './route.ts';

const KEEP_SECRETS_MS = 5 * 60_000;
const MAX_KEPT = 1000;

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
  deps: { idempotency: Idempotency; clock: Clock },
  options: { windowMs: number },
): CreateOnce {
  const fresh = new Map<string, { answer: ApiAnswer; until: number }>();

  return async (request, operation, create) => {
    const { owner } = request.caller;
    const id = `${owner}\0${operation}\0${request.header('idempotency-key') ?? ''}`;
    const answer = await withKey(deps.idempotency, request, operation, async (key) => {
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
        keep(id, made, createdAt);
        return made;
      } catch (error) {
        // Another process was faster: its answer counts.
        if (!(error instanceof KeyTaken)) throw error;
        if (error.held.kind === 'key-reused') throw new AppError('idempotency-key-reused');
        return replayedAnswer(error.held.status, error.held.body);
      }
    });
    return answer.headers?.['idempotency-replayed'] === undefined ? answer : (kept(id) ?? answer);
  };

  function kept(id: string): ApiAnswer | undefined {
    const entry = fresh.get(id);
    if (entry === undefined || entry.until <= deps.clock.now()) return undefined;
    return { ...entry.answer, headers: { ...entry.answer.headers, 'idempotency-replayed': 'true' } };
  }

  function keep(id: string, answer: ApiAnswer, now: number): void {
    for (const [old, entry] of fresh) {
      if (entry.until > now && fresh.size < MAX_KEPT) break;
      fresh.delete(old);
    }
    fresh.set(id, { answer, until: now + KEEP_SECRETS_MS });
  }
}
