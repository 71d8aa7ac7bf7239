/**
 * Idempotency-Key: the key's syntax, running requests of this process, and the stored first answer. Repeats the first
 * answer, refuses (another body with the same key, or the first request still running), or reserves the key until the
 * caller is done. Acceptance writes the row in the transaction of the message, because only that guarantees exactly one
 * message across crashes and nodes.
 */
import { createHash, createHmac, subtle, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { Store } from '../../store/store.ts';
import type { ApiAnswer, ApiRequest } from './route.ts';

/** A larger body is hashed outside of the event loop. */
const HASH_INLINE_BYTES = 64 * 1024;

/** Visible ASCII and blanks between quotes (RFC 8941 §3.3.3), `\` only before `"` or `\`. */
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
const VISIBLE = /^[\x21-\x7e]{1,255}$/;

/**
 * Runs `run` with the request's Idempotency-Key, if it has one, or repeats the answer of an earlier run. `operation`: method and
 * path, e.g. `POST /email`. Throws AppError idempotency-key-invalid, -reused, -in-flight.
 */
export type WithKey = (
  request: Pick<ApiRequest, 'caller' | 'header' | 'body'>,
  operation: string,
  run: (key: { operation: string; key: string; fingerprint: Uint8Array } | null) => Promise<ApiAnswer>,
) => Promise<ApiAnswer>;

/** The key in a header value, unquoted. Throws AppError idempotency-key-invalid. */
export function parseIdempotencyKey(header: string): string {
  if (header.length > 600) throw new AppError('idempotency-key-invalid');
  const quoted = QUOTED.exec(header);
  const key = quoted === null ? header : (quoted[1] ?? '').replace(/\\(["\\])/g, '$1');
  if (!VISIBLE.test(key)) throw new AppError('idempotency-key-invalid');
  return key;
}

/**
 * One per process: it knows which keys are in use here. `fingerprintKey`: for bodies that hold a password, whose plain hash
 * in the database would let somebody try guesses much faster than scrypt does.
 */
export function createWithKey(
  deps: { store: Pick<Store, 'findIdempotent'>; clock: Clock },
  { windowMs, fingerprintKey }: { windowMs: number; fingerprintKey?: Uint8Array },
): WithKey {
  const running = new Set<string>();
  return async (request, operation, run) => {
    const header = request.header('idempotency-key');
    if (header === undefined) return run(null);
    const key = parseIdempotencyKey(header);
    const { owner } = request.caller;
    const id = `${owner}\0${operation}\0${key}`;
    if (running.has(id)) throw new AppError('idempotency-key-in-flight', { retryAfterSeconds: 1 });
    running.add(id);
    try {
      // The body gets no variable here: it would be kept until the answer, while `run` releases it sooner.
      const fingerprint = await fingerprintOf(request.body);
      const expiresBefore = deps.clock.now() - windowMs;
      const stored = await deps.store.findIdempotent({ owner, operation, key, expiresBefore });
      if (stored === null) return await run({ operation, key, fingerprint });
      const { length } = fingerprint;
      if (stored.fingerprint.length !== length || !timingSafeEqual(stored.fingerprint, fingerprint)) {
        throw new AppError('idempotency-key-reused');
      }
      return replayedAnswer(stored.status, stored.body);
    } finally {
      running.delete(id);
    }
  };

  async function fingerprintOf(body: Uint8Array): Promise<Uint8Array> {
    if (fingerprintKey !== undefined) return createHmac('sha256', fingerprintKey).update(body).digest();
    if (body.length <= HASH_INLINE_BYTES) return createHash('sha256').update(body).digest();
    return new Uint8Array(await subtle.digest('SHA-256', body as Uint8Array<ArrayBuffer>));
  }
}

/** A stored answer, marked as a repetition. */
export function replayedAnswer(status: number, body: string): ApiAnswer {
  return { status, headers: { 'idempotency-replayed': 'true' }, body };
}
