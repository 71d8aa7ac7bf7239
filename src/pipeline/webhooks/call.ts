/**
 * Makes one webhook call: decrypts the secret, signs the exact bytes, posts them through the guarded client and reads
 * the beginning of the answer. Takes a webhook and a body; returns a `TryResult`, or that it could not sign: an
 * unsigned call is never sent.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Sealer } from '../../lib/seal.ts';
import type { Webhook } from '../../model/webhook.ts';
import type { AllowHttp } from '../../net/checked-url.ts';
import type { GuardedHttp } from '../../net/guarded-http.ts';
import type { TryResult } from './outcome.ts';
import { retryAfterMs } from './retry-schedule.ts';
import { signatureHeaders } from './signature.ts';

type CallResult =
  | { kind: 'tried'; result: TryResult }
  | { kind: 'unsigned'; cause: unknown }
  /** This machine could not call, whoever the receiver is. */
  | { kind: 'local'; detail: string };

/**
 * Posts `body` to `webhook` now; `id` is its `webhook-id`; `signal` aborts the call. Never rejects because of the
 * receiver.
 */
type MakeCall = (webhook: Webhook, id: string, body: Uint8Array, signal?: AbortSignal) => Promise<CallResult>;

/** Purpose under which webhook secrets are encrypted. */
export const SECRET_SEAL = 'webhook-secret';

/** Of every call; those of the signature come with each try. */
export const FIXED_HEADERS = {
  'content-type': 'application/json',
  'user-agent': 'postrider-webhooks/1',
} as const;

const TIMEOUT_MS = 15_000;
const CONNECT_TIMEOUT_MS = 5_000;
const MAX_RESPONSE_BYTES = 65_536;
const KEPT_BODY_BYTES = 1_024;
const MAX_ERROR_CHARS = 512;

/** A caller over the guarded HTTP client. */
export function createMakeCall(
  deps: { http: Pick<GuardedHttp, 'post'>; clock: Clock; sealer: Sealer },
  allowHttp: AllowHttp,
): MakeCall {
  const { http, clock, sealer } = deps;
  return async (webhook, id, body, signal) => {
    let secrets: readonly Uint8Array[];
    try {
      secrets = sealedSecrets(webhook, clock.now()).map((sealed) => sealer.open(sealed, SECRET_SEAL));
    } catch (cause) {
      return { kind: 'unsigned', cause };
    }
    const headers = {
      ...FIXED_HEADERS,
      ...signatureHeaders({ id, nowMs: clock.now(), body, secrets }),
    };
    const startedMs = clock.monotonicMs();
    const outcome = await http.post(webhook.url, {
      headers,
      body,
      allowHttp,
      asker: webhook.domain,
      timeoutMs: TIMEOUT_MS,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      maxResponseBytes: MAX_RESPONSE_BYTES,
      ...(signal === undefined ? {} : { signal }),
    });
    const latencyMs = Math.max(0, Math.round(clock.monotonicMs() - startedMs));
    if (outcome.kind === 'answered') {
      return {
        kind: 'tried',
        result: {
          kind: 'answered',
          status: outcome.status,
          body: keptBody(outcome.bodyBytes),
          error: '',
          endedAt: outcome.answeredAt,
          latencyMs,
          retryAfterMs: retryAfterMs(outcome.status, outcome.headers['retry-after'], outcome.answeredAt),
        },
      };
    }
    if (outcome.kind === 'failed' && outcome.reason === 'local')
      return { kind: 'local', detail: outcome.detail };
    const error = outcome.detail.slice(0, MAX_ERROR_CHARS);
    const endedAt = clock.now();
    return {
      kind: 'tried',
      result: {
        kind: outcome.kind,
        status: 0,
        body: '',
        error,
        ...(outcome.kind === 'blocked' && outcome.cause !== undefined ? { cause: outcome.cause } : {}),
        endedAt,
        latencyMs,
        retryAfterMs: null,
      },
    };
  };
}

/** The secrets that sign at `now`, newest first: also the one before a rotation, for a day. */
function sealedSecrets(webhook: Webhook, now: number): readonly Uint8Array[] {
  const { secretSealed, previousSecretSealed: previous, previousSecretUntil: until } = webhook;
  return previous === null || until === null || until <= now ? [secretSealed] : [secretSealed, previous];
}

/**
 * The first 1024 bytes as text. Invalid bytes become U+FFFD, and so does NUL, which not every engine can store; a
 * character that the limit splits is left out.
 */
export function keptBody(bytes: Uint8Array): string {
  const isCut = bytes.length > KEPT_BODY_BYTES;
  return new TextDecoder('utf-8', { ignoreBOM: true })
    .decode(bytes.subarray(0, KEPT_BODY_BYTES), { stream: isCut })
    .replaceAll('\0', '\uFFFD');
}
