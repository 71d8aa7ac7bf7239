/**
 * Idempotency-Key for the creating operations that are not mail (webhooks, domains, tokens; api.md §8).
 * The row is written after the thing was made, so a crash between the two makes a retry create a second one; for mail
 * the two are one transaction. Secrets never enter the row: the full answer is kept in memory for five minutes, after
 * that a replay comes without its secret.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Store } from '../../store/store.ts';
import { type Idempotency, parseIdempotencyKey } from './idempotency.ts';
import type { ApiAnswer, ApiRequest } from './route.ts';

const KEEP_SECRETS_MS = 5 * 60_000;
const MAX_KEPT = 1000;

/** What was made: the answer, and the same without secrets. */
export interface Creation {
  answer: ApiAnswer;
  bodyWithoutSecrets: string;
}

/** Runs `create` at most once per key; `operation`: method and path. */
export type CreateOnce = (
  request: ApiRequest,
  operation: string,
  create: () => Promise<Creation>,
) => Promise<ApiAnswer>;

/** One per process. */
export function createCreateOnce(
  deps: { idempotency: Idempotency; store: Pick<Store, 'commitAccepted'>; clock: Clock },
  options: { windowMs: number },
): CreateOnce {
  const fresh = new Map<string, { answer: ApiAnswer; until: number }>();

  return async (request, operation, create) => {
    const header = request.header('idempotency-key');
    if (header === undefined) return (await create()).answer;
    const key = parseIdempotencyKey(header);
    const { owner } = request.caller;
    const id = `${owner}\0${operation}\0${key}`;
    const check = await deps.idempotency.begin({ owner, operation, key, body: request.body });
    if (check.kind === 'replay') return replayed(kept(id) ?? { status: check.status, body: check.body });
    try {
      const made = await create();
      const now = deps.clock.now();
      await deps.store.commitAccepted({
        messages: [],
        epoch: 0,
        idempotency: {
          owner,
          operation,
          key,
          fingerprint: check.fingerprint,
          status: made.answer.status,
          body: made.bodyWithoutSecrets,
          createdAt: now,
          expiresBefore: now - options.windowMs,
        },
      });
      keep(id, made.answer, now);
      return made.answer;
    } finally {
      check.release();
    }
  };

  function kept(id: string): ApiAnswer | undefined {
    const entry = fresh.get(id);
    return entry !== undefined && entry.until > deps.clock.now() ? entry.answer : undefined;
  }

  function keep(id: string, answer: ApiAnswer, now: number): void {
    for (const [old, entry] of fresh) {
      if (entry.until > now && fresh.size < MAX_KEPT) break;
      fresh.delete(old);
    }
    fresh.set(id, { answer, until: now + KEEP_SECRETS_MS });
  }
}

function replayed(answer: ApiAnswer): ApiAnswer {
  return { ...answer, headers: { ...answer.headers, 'idempotency-replayed': 'true' } };
}
