/**
 * Slows down guessing: after ten failed authentications within a minute an address gets 429 for five minutes, only for
 * requests that fail. A valid token is not affected, so an office behind one address is not locked out by one broken
 * client. Limited: the oldest address is dropped first. An IPv6 address counts by its /64, because one host has at
 * least that many.
 */

import { isIPv6 } from 'node:net';
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';

/** What began for an address, for the log. */
export type Pause = { ip: string; pauseSeconds: number };

export interface FailedLogins {
  /** Asked before expensive work: throws AppError `rate-limited` while `ip` is paused. Counts nothing. */
  refusePaused(ip: string): void;
  /** Counts one failure from `ip`. AppError `rate-limited` to throw if it is paused, null if not. `from`: the address, for `began`. */
  record(ip: string, from?: string): AppError | null;
  forget(ip: string): void;
}

interface Entry {
  windowStartMs: number;
  count: number;
  pausedUntilMs: number;
}

/** Of one IP address: ten in a minute pause it for five minutes. */
export const ADDRESS_FAILURES = {
  perWindow: 10,
  windowMs: 60_000,
  pauseMs: 300_000,
} as const;

/** So many are remembered. */
export const MAX_ADDRESSES = 10_000;

/** A counter per address in monotonic time. `message`: what is said while it is paused; `began` hears of each pause. */
export function createFailedLogins(
  clock: Clock,
  options: { perWindow: number; windowMs: number; pauseMs: number; message: string },
  began: (pause: Pause) => void = () => undefined,
): FailedLogins {
  const entries = new BoundedMap<string, Entry>(MAX_ADDRESSES);

  return {
    refusePaused(ip) {
      const leftMs = (entries.get(addressKey(ip))?.pausedUntilMs ?? 0) - clock.monotonicMs();
      if (leftMs > 0) throw paused(leftMs);
    },
    record(ip, from = ip) {
      const now = clock.monotonicMs();
      const key = addressKey(ip);
      const entry = entries.get(key) ?? { windowStartMs: now, count: 0, pausedUntilMs: 0 };
      entries.set(key, entry);

      if (entry.pausedUntilMs > now) return paused(entry.pausedUntilMs - now);
      if (now - entry.windowStartMs >= options.windowMs) {
        entry.windowStartMs = now;
        entry.count = 0;
      }
      entry.count += 1;
      if (entry.count <= options.perWindow) return null;
      entry.pausedUntilMs = now + options.pauseMs;
      entry.windowStartMs = entry.pausedUntilMs;
      entry.count = 0;
      began({ ip: from, pauseSeconds: options.pauseMs / 1000 });
      return paused(options.pauseMs);
    },
    forget: (ip) => entries.delete(addressKey(ip)),
  };

  function paused(waitMs: number): AppError {
    const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000));
    const message = `${options.message}; try again in ${Math.ceil(retryAfterSeconds / 60)} min`;
    return new AppError('rate-limited', { message, retryAfterSeconds });
  }
}

/** The key of a peer: the address itself, or the /64 of an IPv6 address. */
export function addressKey(ip: string): string {
  return beginningOf(ip, 4);
}

/**
 * The key for shares of what strangers use at the same time: as above, but the /48 of an IPv6 address. That is what one site
 * may have (RFC 6177), and so 65,536 networks of 64 bits.
 */
export function networkKey(ip: string): string {
  return beginningOf(ip, 3);
}

/** An IPv4 address whole. */
function beginningOf(ip: string, groupCount: number): string {
  if (!isIPv6(ip) || ip.includes('.')) return ip;
  const [head = '', tail] = ip.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const rest = tail === '' ? [] : tail.split(':');
    while (groups.length + rest.length < 8) groups.push('0');
    groups.push(...rest);
  }
  return groups
    .slice(0, groupCount)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
