/**
 * Codes of authenticator apps: time-based one-time passwords (RFC 6238) over HMAC-SHA-1 with steps of 30 s, on HOTP
 * (RFC 4226), and the base32 (RFC 4648) and the URI by which an app takes a secret. Pure: the time is a parameter.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** As RFC 4226 §4 recommends: 160 bits. */
export const TOTP_SECRET_BYTES = 20;
const STEP_MS = 30_000;
/** Steps before and after the present one that count, too: clocks differ and typing takes time. */
const WINDOW = 1;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The HOTP value of `counter`. */
export function hotp(secret: Uint8Array, counter: number, digits = 6): string {
  const message = Buffer.alloc(8);
  message.writeBigUInt64BE(BigInt(counter));
  const mac = createHmac('sha1', secret).update(message).digest();
  const at = mac.readUInt8(mac.length - 1) & 15;
  const value = mac.readUInt32BE(at) & 0x7fff_ffff;
  return String(value % 10 ** digits).padStart(digits, '0');
}

/** The time step of `at` (Unix time in milliseconds). */
export function totpStep(at: number): number {
  return Math.floor(at / STEP_MS);
}

/** The step later than `after` whose code `code` is, at most one step from `at`; null where there is none. */
export function stepOfCode(secret: Uint8Array, code: string, at: number, after: number): number | null {
  if (!/^[0-9]{6}$/.test(code)) return null;
  const now = totpStep(at);
  for (let step = now - WINDOW; step <= now + WINDOW; step += 1) {
    const isRight = timingSafeEqual(Buffer.from(hotp(secret, step)), Buffer.from(code));
    if (isRight && step > after) return step;
  }
  return null;
}

/** Without padding. */
export function base32(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    for (; bits >= 5; bits -= 5) text += ALPHABET[(value >>> (bits - 5)) & 31];
    value &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + ALPHABET[(value << (5 - bits)) & 31];
}

/** The secret that `text` names, in either case and with spaces; null unless it has `TOTP_SECRET_BYTES`. */
export function totpSecretOf(text: string): Uint8Array | null {
  const digits = text.replaceAll(' ', '').toUpperCase();
  if (!/^[A-Z2-7]{32}$/.test(digits)) return null;
  const bytes = new Uint8Array(TOTP_SECRET_BYTES);
  // Eight digits are five octets.
  for (let group = 0; group < 4; group += 1) {
    let value = 0;
    for (const digit of digits.slice(group * 8, group * 8 + 8)) value = value * 32 + ALPHABET.indexOf(digit);
    for (let at = 4; at >= 0; at -= 1) {
      bytes[group * 5 + at] = value % 256;
      value = Math.floor(value / 256);
    }
  }
  return bytes;
}

/** What an app reads from a QR code. */
export function totpUri({
  secret,
  account,
  issuer,
}: {
  secret: string;
  account: string;
  issuer: string;
}): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`;
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer)}`;
}
