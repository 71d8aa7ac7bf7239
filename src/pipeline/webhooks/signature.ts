/**
 * Signs webhook calls by the rules of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body` with a secret of 32
 * random bytes, which the consumer has as `whsec_<base64>`. Takes the body as the exact bytes sent; returns the three
 * headers. During the day after a rotation there are two secrets and so two signatures, separated by a blank.
 */
import { createHmac } from 'node:crypto';
import type { Random } from '../../lib/random.ts';

const SECRET_BYTES = 32;

/** A new secret: the bytes to encrypt and the text to show once. */
export function newSecret(random: Random): { bytes: Uint8Array; text: string } {
  const bytes = random.bytes(SECRET_BYTES);
  return { bytes, text: secretText(bytes) };
}

/** A secret in the form that the consumer has. */
export function secretText(bytes: Uint8Array): string {
  return `whsec_${Buffer.from(bytes).toString('base64')}`;
}

/** The Standard Webhooks headers of one try at `nowMs`. */
export function signatureHeaders(params: {
  /** `webhook-id`: the same on every try of one event. */
  id: string;
  nowMs: number;
  body: Uint8Array;
  /** One, or two after a rotation; newest first. */
  secrets: readonly Uint8Array[];
}): { 'webhook-id': string; 'webhook-timestamp': string; 'webhook-signature': string } {
  const timestamp = String(Math.floor(params.nowMs / 1000));
  const prefix = `${params.id}.${timestamp}.`;
  const signatures = params.secrets.map(
    (secret) => `v1,${createHmac('sha256', secret).update(prefix).update(params.body).digest('base64')}`,
  );
  return {
    'webhook-id': params.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
