/** UUIDv7 (RFC 9562 §5.7): time-ordered, so indexes only grow at their end; the random part is unguessable. */
import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

const DIGITS = '0123456789abcdef';
/** Reused by every call; the dashes stay in place. */
const TEXT = Buffer.from('00000000-0000-0000-0000-000000000000', 'latin1');
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A new UUIDv7 in canonical lower-case text: 48 bits of milliseconds, 74 random bits. */
export function uuidv7(clock: Clock, random: Random): string {
  const b = random.bytes(16);
  const ms = clock.now();
  const high = Math.floor(ms / 0x1_0000_0000);
  const low = ms >>> 0;
  b[0] = high >>> 8;
  b[1] = high;
  b[2] = low >>> 24;
  b[3] = low >>> 16;
  b[4] = low >>> 8;
  b[5] = low;
  b[6] = 0x70 | ((b[6] as number) & 0x0f);
  b[8] = 0x80 | ((b[8] as number) & 0x3f);
  return uuidText(b);
}

/** 16 bytes as canonical UUID text. */
export function uuidText(bytes: Uint8Array): string {
  // Makes one string. Joining pieces created twenty short strings per id, several times per message.
  let at = 0;
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) at += 1;
    const byte = bytes[i] as number;
    TEXT[at] = DIGITS.charCodeAt(byte >>> 4);
    TEXT[at + 1] = DIGITS.charCodeAt(byte & 15);
    at += 2;
  }
  return TEXT.toString('latin1');
}

/** Whether `text` is a UUID in canonical lower-case form, any version. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}
