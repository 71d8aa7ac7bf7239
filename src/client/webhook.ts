/**
 * Verifies that a webhook call came from your server (Standard Webhooks): the signature over id, time and the exact bytes
 * of the body is right, and the time is recent. Needs only Web Crypto: Node, Deno, Bun, workers.
 */
import { WebhookVerificationError } from './errors.ts';

/** What a verified call says (docs/reference/events.md). */
export interface WebhookEvent<Data = Record<string, unknown>> {
  /** `email.delivered`, `email.bounced`, … New kinds may be added: ignore those you do not know. */
  type: string;
  /** When it happened, ISO 8601. */
  timestamp: string;
  data: Data;
  /** The same for every retry of an event: ignore a call whose id you have seen. */
  id: string;
}

/** Headers as a framework gives them: an object, a Map, or `Headers`. */
export type HeaderSource =
  | { get(name: string): string | null | undefined }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

const PREFIX = 'whsec_';
const DEFAULT_TOLERANCE_SECONDS = 300;

/**
 * The event in a call. `payload` is the body as it came, before any JSON parsing. `secret` is what creating the webhook
 * printed (`whsec_…`); while you rotate, give both. Throws WebhookVerificationError, whose message says what is wrong
 * and may be logged: it holds no secret.
 */
export async function verifyWebhook<Data = Record<string, unknown>>(params: {
  payload: string | Uint8Array;
  headers: HeaderSource;
  secret: string | readonly string[];
  /** How far the call's time may be from now. Default 300. */
  toleranceSeconds?: number;
  /** Milliseconds since 1970; for tests. */
  now?: number;
}): Promise<WebhookEvent<Data>> {
  const { payload, headers, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, now = Date.now() } = params;
  const id = header(headers, 'webhook-id');
  const time = header(headers, 'webhook-timestamp');
  const signatures = header(headers, 'webhook-signature');
  if (!/^[0-9]{1,12}$/.test(time)) throw new WebhookVerificationError('webhook-timestamp is no time');
  const ageSeconds = Math.abs(now / 1000 - Number(time));
  if (ageSeconds > toleranceSeconds) {
    throw new WebhookVerificationError(
      `The call is ${Math.round(ageSeconds)} s away from now: old, or a clock is wrong`,
    );
  }
  const body = typeof payload === 'string' ? new TextEncoder().encode(payload) : payload;
  const signed = concatenated(new TextEncoder().encode(`${id}.${time}.`), body);
  const secrets = typeof params.secret === 'string' ? [params.secret] : params.secret;
  if (!(await anyMatches(signatures, secrets, signed))) {
    throw new WebhookVerificationError(
      'No signature matches: another secret, or the body was changed or parsed before it came here',
    );
  }
  const event: unknown = JSON.parse(new TextDecoder().decode(body));
  if (typeof event !== 'object' || event === null)
    throw new WebhookVerificationError('The body is no object');
  return { ...(event as Omit<WebhookEvent<Data>, 'id'>), id };
}

async function anyMatches(
  header: string,
  secrets: readonly string[],
  signed: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const given = header
    .split(' ')
    .filter((part) => part.startsWith('v1,'))
    .map((part) => bytesOf(part.slice(3)))
    .filter((bytes) => bytes !== null);
  for (const secret of secrets) {
    const raw = bytesOf(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret);
    if (raw === null || raw.length === 0) {
      throw new WebhookVerificationError('The secret is not one: give the text that begins with whsec_');
    }
    const key = await crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, [
      'verify',
    ]);
    // Compares in constant time.
    for (const signature of given) {
      if (await crypto.subtle.verify('HMAC', key, signature, signed)) return true;
    }
  }
  return false;
}

function header(headers: HeaderSource, name: string): string {
  const value = typeof headers.get === 'function' ? headers.get(name) : plainHeader(headers, name);
  if (typeof value !== 'string' || value === '') {
    throw new WebhookVerificationError(`The header ${name} is missing`);
  }
  return value;
}

function plainHeader(headers: HeaderSource, name: string): string | undefined {
  const entry = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return Array.isArray(entry) ? entry[0] : typeof entry === 'string' ? entry : undefined;
}

/** null for what is not base64. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function concatenated(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}
