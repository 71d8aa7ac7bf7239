import { describe, expect, it } from 'vitest';
import type { Clock } from '../../lib/clock.ts';
import { createFailedLogins, MAX_ADDRESSES, networkKey } from './failed-logins.ts';

const OPTIONS = { perWindow: 10, windowMs: 60_000, pauseMs: 300_000, message: 'Too many' };

function setUp() {
  let ms = 0;
  const clock: Clock = {
    now: () => ms,
    monotonicMs: () => ms,
    setTimer: () => ({ cancel() {} }),
  };
  const advance = (byMs: number) => {
    ms += byMs;
  };
  const pauses: object[] = [];
  return { logins: createFailedLogins(clock, OPTIONS, (pause) => pauses.push(pause)), advance, pauses };
}

function fail(logins: ReturnType<typeof createFailedLogins>, ip: string, times: number) {
  return Array.from({ length: times }, () => logins.record(ip));
}

describe('failed authentications', () => {
  it('counts ten a minute, then pauses the address for five minutes', () => {
    const { logins, advance, pauses } = setUp();
    expect(fail(logins, '192.0.2.1', 10).every((paused) => paused === null)).toBe(true);
    expect(logins.record('192.0.2.1')).toMatchObject({ retryAfterSeconds: 300 });
    advance(299_000);
    expect(logins.record('192.0.2.1')).toMatchObject({ retryAfterSeconds: 1 });
    expect(pauses).toEqual([{ ip: '192.0.2.1', pauseSeconds: 300 }]);
    advance(1_000);
    expect(logins.record('192.0.2.1')).toBeNull();
  });

  it('forgets what is older than a minute', () => {
    const { logins, advance } = setUp();
    fail(logins, '192.0.2.1', 10);
    advance(60_000);
    expect(fail(logins, '192.0.2.1', 10).every((paused) => paused === null)).toBe(true);
  });

  it('does not punish another address, but counts an IPv6 /64 as one', () => {
    const { logins } = setUp();
    fail(logins, '192.0.2.1', 11);
    expect(logins.record('192.0.2.2')).toBeNull();
    for (let i = 1; i <= 10; i++) logins.record(`2001:db8:0:1::${i.toString(16)}`);
    expect(logins.record('2001:db8::1:ffff:0:0:1')).not.toBeNull();
    expect(logins.record('2001:db8:0:2::1')).toBeNull();
  });

  it('remembers a bounded number of addresses', () => {
    const { logins } = setUp();
    fail(logins, '192.0.2.1', 11);
    for (let i = 1; i < MAX_ADDRESSES; i++) logins.record(`10.0.${i >> 8}.${i & 255}`);
    expect(() => logins.refusePaused('192.0.2.1')).toThrow('Too many');
    logins.record('192.0.2.2');
    expect(() => logins.refusePaused('192.0.2.1')).not.toThrow();
  });

  it('has one key for all networks of a site of IPv6, where shares are counted', () => {
    const site = ['2001:db8:5:1::1', '2001:db8:5:ffff::', '2001:0db8:0005::7'].map(networkKey);
    expect(new Set([...site, networkKey('2001:db8:6::1')])).toEqual(new Set(['2001:db8:5', '2001:db8:6']));
    expect(networkKey('192.0.2.1')).toBe('192.0.2.1');
  });
});
