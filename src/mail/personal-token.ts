/**
 * Tokens of personal links: `<id><link><mac>`, 32 octets of base32 (Crockford, lower case), the same length for every
 * recipient so that they can be written into composed bytes. `id`: 14 digits of version (4 bits), key id (4 bits) and
 * delivery id (60 bits), as in return-path tokens. `link`: two digits. `mac`: 16 digits, the first 80 bits of
 * HMAC-SHA256 over purpose, id, link, the host of the link, and the digest of a click's target.
 *
 * A click's target is in the URL beside its token, so following a link needs no store, and nobody can make a link to
 * another target, or use one at another customer's host. A token contains no address and no time. An invalid token
 * gives null.
 */
import { createHash, createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';

/** `o` the open pixel, `c` a link, `u` unsubscribing. */
export type PersonalPurpose = 'o' | 'c' | 'u';

/** What a token is bound to in addition to its delivery. */
export interface PersonalBinding {
  purpose: PersonalPurpose;
  /** The tracking host in lower case, '' for the public URL. */
  host: string;
  /** `targetDigest` of a click's target, '' for the others. */
  digest: string;
}

export interface PersonalTokens {
  /** Throws `RangeError` for an id or link number out of range. */
  make(binding: PersonalBinding, deliveryId: number, link: number): string;
  /** The delivery and link of a token that was made here for exactly this binding, otherwise null. */
  parse(binding: PersonalBinding, token: string): { deliveryId: number; link: number } | null;
}

/** Number of distinguishable links in one message. */
export const MAX_LINKS = 1024;
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TOKEN = /^[0-9a-hjkmnp-tv-z]{32}$/;
const VERSION = 1;
const HEAD_DIGITS = 2;
const ID_DIGITS = 12;
const LINK_DIGITS = 2;
const MAC_BYTES = 10;

/** The first key makes tokens, all are accepted. `id` 0–15; two keys may share one. */
export function createPersonalTokens(keys: readonly { id: number; secret: Uint8Array }[]): PersonalTokens {
  const [first] = keys;
  if (first === undefined) throw new RangeError('tokens need a key');
  for (const { id, secret } of keys) {
    if (!Number.isInteger(id) || id < 0 || id > 15) throw new RangeError('a key id is not 0 to 15');
    if (secret.length < 16) throw new RangeError('a key has fewer than 16 octets');
  }
  // Passing the octets for each token costs as much as the rest of the token.
  const macKeys = keys.map(({ id, secret }) => ({ id, key: createSecretKey(secret) }));
  const firstKey = createSecretKey(first.secret);
  return {
    make(binding, deliveryId, link) {
      if (!Number.isSafeInteger(deliveryId) || deliveryId < 0) throw new RangeError('not a delivery id');
      if (!Number.isInteger(link) || link < 0 || link >= MAX_LINKS) throw new RangeError('not a link number');
      const body =
        digits((VERSION << 4) | first.id, HEAD_DIGITS) +
        digits(deliveryId, ID_DIGITS) +
        digits(link, LINK_DIGITS);
      return body + macOf(firstKey, binding, body);
    },
    parse(binding, token) {
      if (token.length !== 32) return null;
      const folded = token.toLowerCase();
      if (!TOKEN.test(folded)) return null;
      const head = numberOf(folded.slice(0, HEAD_DIGITS));
      if (head >>> 4 !== VERSION) return null;
      const bodyEnd = HEAD_DIGITS + ID_DIGITS + LINK_DIGITS;
      const body = folded.slice(0, bodyEnd);
      const mac = Buffer.from(folded.slice(bodyEnd), 'latin1');
      const isOurs = macKeys.some(
        ({ id, key }) =>
          id === (head & 15) && timingSafeEqual(Buffer.from(macOf(key, binding, body), 'latin1'), mac),
      );
      if (!isOurs) return null;
      const deliveryId = numberOf(body.slice(HEAD_DIGITS, HEAD_DIGITS + ID_DIGITS));
      const link = numberOf(body.slice(HEAD_DIGITS + ID_DIGITS));
      return Number.isSafeInteger(deliveryId) ? { deliveryId, link } : null;
    },
  };
}

/** 22 characters that represent a link's target in a token's binding. */
export function targetDigest(target: string): string {
  return createHash('sha256').update(target).digest().subarray(0, 16).toString('base64url');
}

/** Fields have fixed lengths or cannot contain the separator, so no two bindings give the same text. */
function macOf(key: KeyObject, { purpose, host, digest }: PersonalBinding, body: string): string {
  const mac = createHmac('sha256', key).update(`${purpose}\n${body}\n${host}\n${digest}`).digest();
  let text = '';
  // Five octets are exactly eight digits.
  for (let at = 0; at < MAC_BYTES; at += 5) text += digits(mac.readUIntBE(at, 5), 8);
  return text;
}

/** `value` in `count` base32 digits; exact up to 2^53. */
function digits(value: number, count: number): string {
  let text = '';
  let rest = value;
  for (let i = 0; i < count; i++) {
    text = `${ALPHABET[rest % 32]}${text}`;
    rest = Math.floor(rest / 32);
  }
  return text;
}

function numberOf(text: string): number {
  let value = 0;
  for (const digit of text) value = value * 32 + ALPHABET.indexOf(digit);
  return value;
}
