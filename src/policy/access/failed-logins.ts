/**
 * Slows down guessing: after ten failed authentications within a minute an address gets 429 for five minutes, only for
 * requests that fail. A valid token is not affected, so an office behind one address is not locked out by one broken
 * client. Limited: the oldest address is dropped first. An IPv6 address counts by its /64, because one host has at
 * least that many.
 */

import { isIPv6 } from 'node:net';
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';

export type FailureVerdict =
  | { kind: 'counted' }
  /** `justNow` is true for the failure that started the pause, which is the one to log. */
  | { kind: 'paused'; retryAfterSeconds: number; justNow: boolean };

export interface FailedLogins {
  /** Seconds until the pause of `ip` ends, null if it is not paused. Counts nothing; asked before expensive work. */
  pausedFor(ip: string): number | null;
  /** Counts one failure from `ip` and returns how to answer it. */
  record(ip: string): FailureVerdict;
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

/** A counter per address in monotonic time. */
export function createFailedLogins(
  clock: Clock,
  options: { perWindow: number; windowMs: number; pauseMs: number },
): FailedLogins {
  const entries = new BoundedMap<string, Entry>(MAX_ADDRESSES);

  return {
    pausedFor(ip) {
      const leftMs = (entries.get(addressKey(ip))?.pausedUntilMs ?? 0) - clock.monotonicMs();
      return leftMs > 0 ? Math.max(1, Math.ceil(leftMs / 1000)) : null;
    },
    record(ip) {
      const now = clock.monotonicMs();
      const key = addressKey(ip);
      const entry = entries.get(key) ?? { windowStartMs: now, count: 0, pausedUntilMs: 0 };
      entries.set(key, entry);

      if (entry.pausedUntilMs > now) return paused(entry.pausedUntilMs - now, false);
      if (now - entry.windowStartMs >= options.windowMs) {
        entry.windowStartMs = now;
        entry.count = 0;
      }
      entry.count += 1;
      if (entry.count <= options.perWindow) return { kind: 'counted' };
      entry.pausedUntilMs = now + options.pauseMs;
      entry.windowStartMs = entry.pausedUntilMs;
      entry.count = 0;
      return paused(options.pauseMs, true);
    },
  };
}

function paused(waitMs: number, justNow: boolean): FailureVerdict {
  return { kind: 'paused', retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)), justNow };
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
