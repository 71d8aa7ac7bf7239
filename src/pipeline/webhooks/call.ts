/**
 * Makes one webhook call: opens the secret, signs the exact bytes, posts them through the guarded client and reads
 * the first of the answer. Given a webhook and a body; leaves a `TryResult`, or says that it could not sign, in which
 * case nothing was sent: an unsigned call never leaves.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Webhook } from '../../model/webhook.ts';
import type { TryResult } from './outcome.ts';
import { retryAfterMs } from './retry-schedule.ts';
import { signatureHeaders } from './signature.ts';

/** Encrypts small secrets at rest; `open` throws where the bytes were not sealed under this master key. */
export interface SecretSealer {
  seal(plain: Uint8Array): Uint8Array;
  open(sealed: Uint8Array): Uint8Array;
}

export type CallResult = { kind: 'tried'; result: TryResult } | { kind: 'unsigned'; cause: unknown };

/** Posts `body` to `webhook` now. Never rejects for what the receiver does. */
export type MakeCall = (
  webhook: Webhook,
  id: string,
  body: Uint8Array,
  signal?: AbortSignal,
) => Promise<CallResult>;

const USER_AGENT = 'postrider-webhooks/1';
const KEPT_BODY_BYTES = 1_024;
const MAX_ERROR_CHARS = 512;

/** A caller over the guarded HTTP client. */
export function createMakeCall(deps: { http: WebhookHttp; clock: Clock; sealer: SecretSealer }): MakeCall {
  const { http, clock, sealer } = deps;
  return async (webhook, id, body, signal) => {
    let secret: Uint8Array;
    try {
      secret = sealer.open(webhook.secretSealed);
    } catch (cause) {
      return { kind: 'unsigned', cause };
    }
    const headers = {
      'content-type': 'application/json',
      'user-agent': USER_AGENT,
      ...signatureHeaders({ id, nowMs: clock.now(), body, secrets: [secret] }),
    };
    const startedMs = clock.monotonicMs();
    const outcome = await http.post(webhook.url, {
      headers,
      body,
      ...(signal === undefined ? {} : { signal }),
    });
    const latencyMs = Math.max(0, Math.round(clock.monotonicMs() - startedMs));
    if (outcome.kind === 'answered') {
      return {
        kind: 'tried',
        result: {
          kind: 'answered',
          status: outcome.status,
          body: bodyText(outcome.body),
          error: '',
          latencyMs,
          retryAfterMs: retryAfterMs(outcome.status, outcome.headers['retry-after'], clock.now()),
        },
      };
    }
    const error = outcome.reason.slice(0, MAX_ERROR_CHARS);
    return {
      kind: 'tried',
      result: { kind: outcome.kind, status: 0, body: '', error, latencyMs, retryAfterMs: null },
    };
  };
}

/**
 * The first 1024 bytes as text. Invalid bytes become U+FFFD, and so does NUL, which not every engine can store; a
 * character that the cut splits is left out.
 */
export function bodyText(bytes: Uint8Array): string {
  const isCut = bytes.length > KEPT_BODY_BYTES;
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, KEPT_BODY_BYTES), {
    stream: isCut,
  });
  return text.replaceAll('\0', '\uFFFD');
}

/** What is needed of the guarded client. */
export interface WebhookHttp {
  /** Whether `url` may be called at all: form, scheme, and where its host resolves to now. */
  checkUrl(url: string): Promise<{ kind: 'allowed' } | { kind: 'refused'; reason: string }>;
  post(
    url: string,
    request: { headers: Record<string, string>; body: Uint8Array; signal?: AbortSignal },
  ): Promise<
    | { kind: 'answered'; status: number; headers: Record<string, string | undefined>; body: Uint8Array }
    | { kind: 'blocked'; reason: string }
    | { kind: 'failed'; reason: string }
  >;
}
