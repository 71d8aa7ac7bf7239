/**
 * Browsers with which people have signed in before. A sign-in sets a mark in a cookie, which identifies the browser
 * and is signed for the person's address. Failures of later sign-ins with a mark are counted separately, so that
 * other people's guesses do not lock the person out. The mark proves nothing else: the password is still required.
 * Nothing is stored on the server.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';

export interface KnownDevices {
  /** The device that a cookie marks for that person; null if there is none, or it is older than a year. */
  deviceOf(cookie: string | null, email: string): string | null;
  /** The cookie after a sign-in: keeps the person's device, and those of a few other people. */
  marked(cookie: string | null, email: string): string;
}

export const DEVICE_MS = 365 * 86_400_000;
/** Several people may share a browser; those who signed in there last are kept. */
const MAX_PEOPLE = 4;
const ID_BYTES = 16;
/** Id of the device, time of the mark (base 36), and signature. */
const MARK = /^([\w-]{22})\.([0-9a-z]{1,9})\.([\w-]{43})$/;

/** `key`: at least 16 octets, the same on every node. */
export function createKnownDevices(deps: { key: Uint8Array; clock: Clock; random: Random }): KnownDevices {
  const { key, clock, random } = deps;

  return {
    deviceOf: (cookie, email) => found(cookie, email)?.device ?? null,
    marked(cookie, email) {
      const own = found(cookie, email);
      const device = own?.device ?? Buffer.from(random.bytes(ID_BYTES)).toString('base64url');
      const at = clock.now().toString(36);
      const mark = `${device}.${at}.${signature(device, at, email).toString('base64url')}`;
      const others = marksOf(cookie).filter((one) => one !== own?.mark);
      return [mark, ...others].slice(0, MAX_PEOPLE).join('~');
    },
  };

  function found(cookie: string | null, email: string): { device: string; mark: string } | null {
    for (const mark of marksOf(cookie)) {
      const [, device = '', at = '', signed = ''] = MARK.exec(mark) ?? [];
      const isOwn = timingSafeEqual(Buffer.from(signed, 'base64url'), signature(device, at, email));
      if (isOwn && Number.parseInt(at, 36) + DEVICE_MS > clock.now()) return { device, mark };
    }
    return null;
  }

  function signature(device: string, at: string, email: string): Buffer {
    return createHmac('sha256', key).update(`${device}\0${at}\0${email}`).digest();
  }
}

/** At most `MAX_PEOPLE` marks, each in the right form. */
function marksOf(cookie: string | null): string[] {
  return (cookie ?? '')
    .split('~', MAX_PEOPLE)
    .filter((mark) => MARK.test(mark) && Buffer.from(mark.slice(-43), 'base64url').length === 32);
}
