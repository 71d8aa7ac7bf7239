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

export type IdempotencyCheck =
  | { kind: 'replay'; status: number; body: string }
  /** The key is reserved; `release` must be called when the request ends, whatever its result. */
  | { kind: 'proceed'; operation: string; key: string; fingerprint: Uint8Array; release(): void };

export interface Idempotency {
  /** Throws AppError idempotency-key-reused / -in-flight. `operation`: method and path, e.g. `POST /email`. */
  begin(request: {
    owner: string;
    operation: string;
    key: string;
    body: Uint8Array;
  }): Promise<IdempotencyCheck>;
}

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
export function createIdempotency(
  deps: { store: Pick<Store, 'findIdempotent'>; clock: Clock },
  { windowMs, fingerprintKey }: { windowMs: number; fingerprintKey?: Uint8Array },
): Idempotency {
  const running = new Set<string>();
  return {
    async begin({ owner, operation, key, body }) {
      const id = `${owner}\0${operation}\0${key}`;
      if (running.has(id)) throw new AppError('idempotency-key-in-flight', { retryAfterSeconds: 1 });
      running.add(id);
      const release = () => {
        running.delete(id);
      };
      try {
        const fingerprint =
          fingerprintKey === undefined
            ? await sha256(body)
            : createHmac('sha256', fingerprintKey).update(body).digest();
        const stored = await deps.store.findIdempotent({
          owner,
          operation,
          key,
          expiresBefore: deps.clock.now() - windowMs,
        });
        if (stored === null) return { kind: 'proceed', operation, key, fingerprint, release };
        if (
          stored.fingerprint.length !== fingerprint.length ||
          !timingSafeEqual(stored.fingerprint, fingerprint)
        ) {
          throw new AppError('idempotency-key-reused');
        }
        release();
        return { kind: 'replay', status: stored.status, body: stored.body };
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}

/** Runs `run` with the request's Idempotency-Key, if it has one, or repeats the answer of an earlier run. */
export async function withKey(
  idempotency: Idempotency,
  request: ApiRequest,
  operation: string,
  run: (key: { operation: string; key: string; fingerprint: Uint8Array } | null) => Promise<ApiAnswer>,
): Promise<ApiAnswer> {
  const header = request.header('idempotency-key');
  if (header === undefined) return run(null);
  const key = parseIdempotencyKey(header);
  const { owner } = request.caller;
  // The body gets no variable here: it would be kept until the answer, while `run` releases it sooner.
  const check = await idempotency.begin({ owner, operation, key, body: request.body });
  if (check.kind === 'replay') return replayedAnswer(check.status, check.body);
  try {
    return await run({ operation: check.operation, key: check.key, fingerprint: check.fingerprint });
  } finally {
    check.release();
  }
}

/** A stored answer, marked as a repetition. */
export function replayedAnswer(status: number, body: string): ApiAnswer {
  return { status, headers: { 'idempotency-replayed': 'true' }, body };
}

async function sha256(body: Uint8Array): Promise<Uint8Array> {
  if (body.length <= HASH_INLINE_BYTES) return createHash('sha256').update(body).digest();
  return new Uint8Array(await subtle.digest('SHA-256', body as Uint8Array<ArrayBuffer>));
}
