/** Mail quotas: the windows of a sender domain's minute, hour and day, and what is charged to them. */
import { QUOTA_PERIODS, windowStart } from '../../../model/quota.ts';
import type { CommitResult, QuotaCharge } from '../../topics/acceptance.ts';

export interface QuotaWindow {
  startedAt: number;
  used: number;
}

export type Exceeded = Extract<CommitResult, { kind: 'quota-exceeded' }>;

/** The stored window if it has not ended, otherwise a new one. If the clock is set back, that window continues. */
export function windowFrom(stored: QuotaWindow | undefined, start: number): QuotaWindow {
  return stored === undefined || stored.startedAt < start ? { startedAt: start, used: 0 } : stored;
}

export interface ChargedWindow extends QuotaWindow {
  domainId: number;
  code: number;
}

/** The windows after every domain is charged, or the quota that is used up. */
export function charged(
  charges: readonly QuotaCharge[],
  domainIdOf: (domain: string) => number,
  stored: (domainId: number, code: number) => QuotaWindow | undefined,
): ChargedWindow[] | Exceeded {
  const windows = new Map<string, ChargedWindow>();
  for (const { domain, count, limits, now } of charges) {
    const domainId = domainIdOf(domain);
    for (const { period, code, ms } of QUOTA_PERIODS) {
      const max = limits[period];
      if (max === null) continue;
      const key = `${domainId} ${code}`;
      const window = windowFrom(windows.get(key) ?? stored(domainId, code), windowStart(now, ms));
      const { startedAt, used } = window;
      if (used + count > max) {
        const left = Math.max(0, max - used);
        return { kind: 'quota-exceeded', domain, period, max, left, resetAt: startedAt + ms };
      }
      windows.set(key, { domainId, code, startedAt, used: used + count });
    }
  }
  return [...windows.values()];
}
