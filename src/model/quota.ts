/**
 * Mail quotas of a sender domain: recipients per minute, hour and day. Windows begin with the minute, hour and day
 * (UTC), so a restart does not begin a new one.
 */

/** null = no limit. */
export interface QuotaLimits {
  minute: number | null;
  hour: number | null;
  day: number | null;
}

export type QuotaPeriod = keyof QuotaLimits;

export const NO_QUOTA: QuotaLimits = { minute: null, hour: null, day: null };

/** In the order of checking; the numbers are stored and never reused. */
export const QUOTA_PERIODS: readonly { period: QuotaPeriod; code: number; ms: number }[] = [
  { period: 'minute', code: 1, ms: 60_000 },
  { period: 'hour', code: 2, ms: 3_600_000 },
  { period: 'day', code: 3, ms: 86_400_000 },
];

/** `an hour`, as in "200 recipients an hour". */
export function perPeriod(period: QuotaPeriod): string {
  return `${period === 'hour' ? 'an' : 'a'} ${period}`;
}

/** How much of a window is used. */
export interface QuotaUse {
  period: QuotaPeriod;
  used: number;
  /** When the next window starts. */
  resetAt: number;
}

/** Start of the window that `at` is in. */
export function windowStart(at: number, ms: number): number {
  return Math.floor(at / ms) * ms;
}

/** `own` if set, otherwise the server's; null if nothing is limited. */
export function effectiveQuota(own: QuotaLimits, server: QuotaLimits): QuotaLimits | null {
  const limits: QuotaLimits = {
    minute: own.minute ?? server.minute,
    hour: own.hour ?? server.hour,
    day: own.day ?? server.day,
  };
  return limits.minute === null && limits.hour === null && limits.day === null ? null : limits;
}
