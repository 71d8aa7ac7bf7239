/**
 * Plans played to their end: limits, faults, warm-up and nodes show in the forecast as the engine treats them, a sample
 * says what the whole says, and what is printed is fit for its reader. The forecast is held against a real server in
 * real-server.test.ts.
 */
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { forecastText } from '../../src/cli/simulate-text.ts';
import { forecastJson } from '../../src/simulation/forecast-json.ts';
import { forecastPage } from '../../src/simulation/forecast-page.ts';
import { isNear, played } from './played.ts';

const AT_ONCE = { until: '00:00' };
const DAY = 24 * 3_600_000;
const TERMINAL = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });

describe('a simulated plan', () => {
  it('ends when the limit of the provider lets it, and names the limit', async () => {
    const forecast = await played({
      mail: [{ provider: 'google', recipients: 600, ...AT_ONCE }],
      limits: [{ id: 'google', limits: { messagesPerSecond: 2 } }],
    });
    expect(forecast.groups).toMatchObject([{ recipients: 600, delivered: 600, waiting: 0 }]);
    expect(isNear(forecast.doneAtMs ?? 0, 300_000, 0.02)).toBe(true);
    expect(forecast.waits[0]).toMatchObject({ place: 'google', reason: 'rate limit of google: 2/s' });
    expect(forecast.connections.peak).toBeLessThanOrEqual(5);
  });

  it('shows what a provider defers, and that it goes after the fault', async () => {
    const forecast = await played({
      mail: [{ provider: 'yahoo', recipients: 300, lane: 'normal', ...AT_ONCE }],
      faults: [{ at: 'yahoo', what: 'defers', share: 0.2, for: '10m' }],
    });
    expect(forecast.groups).toMatchObject([{ delivered: 300 }]);
    const deferred = forecast.waits.find(({ reason }) => reason.startsWith('tried again later'));
    expect(deferred?.reason).toContain('451 4.3.0');
    expect(isNear(deferred?.peak ?? 0, 60, 0.3)).toBe(true);
  });

  it('tells of a provider that does not answer, and of mail that is refused for good', async () => {
    const forecast = await played({
      mail: [
        { provider: 'yahoo', recipients: 100, lane: 'critical', ...AT_ONCE },
        { provider: 'gmx', recipients: 100, ...AT_ONCE },
      ],
      faults: [
        { at: 'yahoo', what: 'unreachable', from: '00:00', for: '1d' },
        { at: 'gmx', what: 'rejects', share: 0.5, from: '00:00', for: '1d' },
      ],
    });
    const [yahoo, gmx] = forecast.groups;
    expect(yahoo).toMatchObject({ delivered: 0, expired: 100 });
    expect(forecast.waits.map(({ reason }) => reason).join('\n')).toContain('yahoo takes no mail: ');
    expect((gmx?.bounced ?? 0) + (gmx?.delivered ?? 0)).toBe(100);
    expect(isNear(gmx?.bounced ?? 0, 50, 0.4)).toBe(true);
  });

  it('warms a new source up by the steps of the plan', async () => {
    const forecast = await played({
      days: 2,
      mail: [{ provider: 'outlook', recipients: 300, until: '01:00' }],
      sources: [{ id: 'mail1', address: '192.0.2.10', age: 1 }],
    });
    expect(forecast.warmup.filter(({ day }) => day <= 2).map(({ budget }) => budget)).toEqual([100, 250]);
    expect(forecast.waits[0]?.reason).toContain('warm-up of mail1');
    // Times without mail take no room from those with it.
    const [outlook] = forecast.series.waiting;
    expect(Math.max(...(outlook?.counts ?? []))).toBe(forecast.groups[0]?.peak.waiting);
    expect(forecast.doneAtMs ?? 0).toBeGreaterThan(DAY);
  });

  it('shares mail and connections among nodes and relays', async () => {
    const forecast = await played({
      nodes: 2,
      mail: [
        { provider: 'google', recipients: 400, ...AT_ONCE },
        { provider: 'google', recipients: 100, lane: 'critical', ...AT_ONCE },
      ],
      routes: [{ priority: 'critical', route: 'smtp://relay1.example.net:587' }],
      route: 'smtp://192.0.2.7:25',
      limits: [
        {
          id: 'slow',
          relays: ['192.0.2.7:25'],
          limits: { connections: 2, messagesPerSecond: 1, transactionsInFlight: 1 },
        },
      ],
    });
    const places = new Map(forecast.connections.places.map(({ place, peak }) => [place, peak]));
    expect(places.get('192.0.2.7:25')).toBeLessThanOrEqual(4);
    expect(places.get('relay1.example.net:587')).toBeGreaterThan(0);
    const [bulk, critical] = forecast.groups;
    // Each node keeps the limit.
    expect(isNear(bulk?.delivery?.longestMs ?? 0, 200_000)).toBe(true);
    expect(critical?.delivery?.longestMs ?? 0).toBeLessThan(60_000);
  });

  it('says the same of a sample as of the whole', async () => {
    const plan = {
      mail: [
        { provider: 'google', recipients: 1500, until: '00:01' },
        { provider: 'yahoo', recipients: 750, lane: 'normal', until: '00:01' },
      ],
      limits: [{ id: 'google', limits: { messagesPerSecond: 8 } }],
      farEnds: [{ name: 'yahoo', roundTripMs: 80, answerMs: 800 }],
    };
    const [whole, sample] = [await played(plan), await played(plan, { most: 450 })];
    expect([whole.weight, sample.weight]).toEqual([1, 5]);
    whole.groups.forEach((group, i) => {
      const other = sample.groups[i];
      expect(other?.delivered).toBe(group.delivered);
      for (const of of ['halfMs', 'mostMs', 'longestMs'] as const)
        expect(
          Math.abs((other?.delivery?.[of] ?? 0) - (group.delivery?.[of] ?? 0)) <=
            Math.max(sample.exactToMs, 0.05 * (group.delivery?.[of] ?? 0)),
          `${group.provider} ${of}: ${other?.delivery?.[of]} and ${group.delivery?.[of]}`,
        ).toBe(true);
    });
    expect(sample.connections.peak).toBe(whole.connections.peak);
  });

  it('is the same again, and stops with what is known', async () => {
    const plan = { mail: [{ provider: 'other', recipients: 200, domains: 20, until: '01:00' }] };
    const [one, two] = [await played(plan), await played(plan)];
    expect({ ...one, tookMs: 0 }).toEqual({ ...two, tookMs: 0 });
    const stopping = new AbortController();
    const part = await played(plan, {
      signal: stopping.signal,
      progress: (done) => {
        if (done >= 100) stopping.abort();
      },
    });
    expect(part).toMatchObject({ interrupted: true, doneAtMs: null });
    expect(part.groups[0]?.delivered).toBeGreaterThanOrEqual(100);
    expect(part.groups[0]?.delivered).toBeLessThan(200);
    expect(forecastText(part, TERMINAL)).toContain('stopped at 00:');
  });
});

describe('a forecast', () => {
  let forecast: Awaited<ReturnType<typeof played>>;
  beforeAll(async () => {
    forecast = await played({
      mail: [{ provider: 'google', recipients: 400, sender: 'a.example', ...AT_ONCE }],
      limits: [{ id: 'google', limits: { messagesPerSecond: 1 } }],
      faults: [{ at: '*', what: 'defers', share: 0.1, for: '5m' }],
    });
  });

  it('fits a terminal of 80 columns', () => {
    const text = stripVTControlCharacters(forecastText(forecast, TERMINAL));
    expect(text).toContain('rate limit of google: 1/s');
    for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  it('is a page without scripts and without anything from elsewhere', () => {
    const page = forecastPage(forecast);
    expect(page).not.toMatch(/<script|https?:|\bsrc=|@import|url\(/);
    expect(page.match(/<svg [^>]*role="img" aria-label="[^"]+"/g)).toHaveLength(3);
    expect(page).toContain('rate limit of google: 1/s');
    expect(page).toContain('prefers-color-scheme: dark');
  });

  it('is JSON with times in ISO 8601', () => {
    expect(forecastJson(forecast)).toMatchObject({
      Recipients: 400,
      DoneAt: expect.stringMatching(/^2027-01-04T/),
      Mail: [{ Provider: 'google', Priority: 'bulk', Delivered: 400 }],
    });
  });
});
