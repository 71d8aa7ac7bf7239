import { describe, expect, it } from 'vitest';
import { nextCheckAt } from './check-schedule.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const T0 = 1_790_000_000_000;

const domain = (more: Partial<Parameters<typeof nextCheckAt>[0]> = {}) => ({
  id: 0,
  status: 'Pending' as const,
  verifiedBy: null,
  createdAt: T0,
  lastCheckedAt: null,
  ...more,
});
const wait = (more: Partial<Parameters<typeof nextCheckAt>[0]> = {}) =>
  (nextCheckAt(domain(more), T0 + 90 * DAY) ?? 0) - (more.lastCheckedAt ?? T0);

describe('the schedule of domain checks', () => {
  it('looks every minute for a quarter of an hour, then more and more rarely, at least once an hour', () => {
    expect(wait()).toBe(MINUTE);
    expect(wait({ lastCheckedAt: T0 + 15 * MINUTE })).toBe(MINUTE);
    expect(wait({ lastCheckedAt: T0 + 5 * HOUR })).toBe(20 * MINUTE);
    expect(wait({ lastCheckedAt: T0 + 7 * DAY })).toBe(HOUR);
    expect(wait({ lastCheckedAt: T0 + 31 * DAY })).toBe(DAY);
  });

  it('looks once a day at what is well, often at what fails', () => {
    expect(wait({ status: 'Verified', verifiedBy: 'dns', lastCheckedAt: T0 + DAY })).toBe(DAY);
    expect(wait({ status: 'Failing', verifiedBy: 'dns', lastCheckedAt: T0 + DAY })).toBe(15 * MINUTE);
  });

  it('leaves alone what the operator vouches for and what is suspended', () => {
    expect(nextCheckAt(domain({ status: 'Verified', verifiedBy: 'operator' }), T0)).toBeNull();
    expect(nextCheckAt(domain({ status: 'Suspended' }), T0)).toBeNull();
  });

  it('looks at once at what was added or seen while the clock was ahead', () => {
    const seen = domain({ status: 'Verified', verifiedBy: 'dns', lastCheckedAt: T0 + 90 * DAY });
    for (const one of [seen, domain({ createdAt: T0 + 90 * DAY })]) expect(nextCheckAt(one, T0)).toBe(T0);
  });

  it('spreads domains over a tenth of the wait', () => {
    const waits = Array.from({ length: 50 }, (_, id) => wait({ id, status: 'Failing' }));
    expect(new Set(waits).size).toBe(50);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(13.5 * MINUTE);
    expect(Math.max(...waits)).toBe(15 * MINUTE);
  });
});
