/** The small parts of a path: the concurrency window, and the names of sites. */
import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import { siteNameOf } from '../routing/site-key.ts';
import { createConcurrencyWindow } from './concurrency.ts';
import { createThroughput } from './throughput.ts';

describe('the throughput of a path', () => {
  it('is what it gets through in a second, soon after a burst begins, and nothing after a rest', async () => {
    const clock = createVirtualClock(0);
    const throughput = createThroughput(clock);
    expect(throughput.perSecond()).toBe(0);
    for (let n = 0; n < 300; n++) throughput.ended();
    expect(throughput.perSecond()).toBe(300);
    await clock.advance(3_000);
    expect(throughput.perSecond()).toBe(100);
    await clock.advance(3_000);
    expect(throughput.perSecond()).toBe(60);
    await clock.advance(20_000);
    expect(throughput.perSecond()).toBe(0);
  });
});

describe('the concurrency window', () => {
  it('grows by one after a window’s worth of successes, up to the cap', () => {
    const window = createConcurrencyWindow(2);
    window.succeeded(2, 4);
    expect(window.size()).toBe(2);
    window.succeeded(2, 4);
    expect(window.size()).toBe(3);
    for (let n = 0; n < 100; n++) window.succeeded(window.size(), 4);
    expect(window.size()).toBe(4);
  });

  it('earns nothing while it is not in use', () => {
    const window = createConcurrencyWindow(5);
    for (let n = 0; n < 100; n++) window.succeeded(3, 20);
    expect(window.size()).toBe(5);
    for (let n = 0; n < 5; n++) window.succeeded(4, 20);
    expect(window.size()).toBe(6);
  });

  it('shrinks at the first failure of a series, then once a window', () => {
    const window = createConcurrencyWindow(5);
    window.failed();
    expect(window.size()).toBe(4);
    window.failed();
    window.failed();
    expect(window.size()).toBe(4);
  });

  it('calls the far end gone after a window’s worth of failures without a success between', () => {
    const window = createConcurrencyWindow(4);
    const verdicts = Array.from({ length: 5 }, () => window.failed());
    expect(verdicts.indexOf(true)).toBeGreaterThan(1);
    expect(verdicts.at(-1)).toBe(true);
    const other = createConcurrencyWindow(4);
    for (let n = 0; n < 50; n++) {
      expect(other.failed()).toBe(false);
      other.succeeded(4, 4);
    }
    expect(other.size()).toBeGreaterThanOrEqual(1);
  });

  it('is never empty', () => {
    const window = createConcurrencyWindow(1);
    for (let n = 0; n < 10; n++) window.failed();
    expect(window.size()).toBe(1);
    window.restart(0);
    expect(window.size()).toBe(1);
  });
});

describe('the name of a site', () => {
  const none = { provider: null, oneSite: false };
  it('is the provider’s where all of it is one site, and stands below the provider where not', () => {
    expect(siteNameOf('a.test', ['aspmx.l.google.com'], { provider: 'google', oneSite: true })).toEqual({
      site: 'google',
      provider: 'google',
    });
    const host = 'a-test.mail.protection.outlook.com';
    expect(siteNameOf('a.test', [host], { provider: 'office365', oneSite: false })).toEqual({
      site: host,
      provider: 'office365',
    });
  });

  it('is the host, or the set of hosts in whatever order and case they come', () => {
    expect(siteNameOf('a.test', ['MX.host.test'], none).site).toBe('mx.host.test');
    const one = siteNameOf('a.test', ['mx2.host.test', 'MX1.host.test'], none).site;
    expect(one).toMatch(/^mx1\.host\.test\+1~[0-9a-f]{24}$/);
    expect(siteNameOf('b.test', ['mx1.host.test', 'mx2.host.test'], none).site).toBe(one);
    expect(siteNameOf('c.test', ['mx1.host.test', 'mx3.host.test'], none).site).not.toBe(one);
  });

  it('is that of all hosts however many there are, and the domain itself where there is none', () => {
    const many = Array.from({ length: 11 }, (_, n) => `mx${n}.host.test`);
    expect(siteNameOf('a.test', many, none).site).toMatch(/^mx0\.host\.test\+10~/);
    expect(siteNameOf('a.test', [], none).site).toBe('a.test');
  });

  it('is never that of a provider because a host is called so', () => {
    expect(siteNameOf('a.test', ['Google'], none).site).toBe('google.');
    expect(siteNameOf('google', [], none).site).toBe('google.');
  });
});
