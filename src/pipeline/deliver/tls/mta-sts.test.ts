/** MTA-STS policies over time: found, renewed, kept through outages, forgotten when they end. Over a real store. */
import type { ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../../../../test/fakes/fake-dns.ts';
import { createTestCa } from '../../../../test/fakes/test-certificates.ts';
import { createLoggers } from '../../../lib/log.ts';
import { createSystemRandom } from '../../../lib/random.ts';
import { createVirtualClock, type VirtualClock } from '../../../lib/virtual-clock.ts';
import { createAddressFilter } from '../../../net/address-filter.ts';
import { createGuardedHttp, type GuardedHttp } from '../../../net/guarded-http.ts';
import { type CachingResolver, createResolver } from '../../../net/resolver.ts';
import { openTestStore } from '../../../store/sqlite/test-support.ts';
import type { Store } from '../../../store/store.ts';
import type { StoredMtaSts } from '../../../store/topics/tls.ts';
import { createMtaSts, type MtaSts } from './mta-sts.ts';

const HOUR = 3_600_000;
const ca = createTestCa();
const { service: log } = createLoggers({
  destination: new Writable({ write: (_, __, done) => done() }),
  level: 'error',
  maskAddresses: false,
});
let clock: VirtualClock;
let store: Store;
let dns: FakeDns;
let resolver: CachingResolver;
let http: GuardedHttp;
let web: Server;
let answer: { status: number; headers: Record<string, string>; body: string };
let fetched: string[];
let failures: string[];
let sts: MtaSts;

const policy = (mode: string, seconds = 7 * 86_400) =>
  `version: STSv1\nmode: ${mode}\nmx: mx.example.net\nmax_age: ${seconds}\n`;
const serve = (body: string) => {
  answer = { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body };
};
const announce = (id: string | null) =>
  dns.set('_mta-sts.example.net', id === null ? undefined : { TXT: [`v=STSv1; id=${id}`], ttl: 60 });
/** Answers of DNS are kept for a minute at the least. */
const later = (ms: number) => clock.advance(Math.max(ms, 61_000));
const mode = async () => (await sts.policyOf('example.net', 'example.com'))?.mode ?? null;

function createSts(over: Store = store): MtaSts {
  return createMtaSts(
    { store: over, resolver, http, clock, log, failed: (result) => failures.push(result) },
    { port: (web.address() as AddressInfo).port },
  );
}

beforeEach(async () => {
  clock = createVirtualClock(Date.parse('2026-05-31T00:00:00Z'));
  store = await openTestStore(clock);
  dns = await createFakeDns({ 'mta-sts.example.net': { A: ['127.0.0.1'] } });
  resolver = createResolver({ clock, random: createSystemRandom(), servers: () => [dns.server] });
  const filter = createAddressFilter({ allowNetworks: ['127.0.0.0/8'] });
  if (filter.kind !== 'filter') throw new Error(filter.detail);
  http = createGuardedHttp({ clock, resolver, filter }, { ca: [ca.cert] });
  fetched = [];
  failures = [];
  web = createServer(ca.issue({ names: ['mta-sts.example.net'] }), (request, response) => {
    fetched.push(request.url ?? '');
    response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  serve(policy('enforce'));
  announce('1');
  sts = createSts();
  await sts.start();
});

afterEach(async () => {
  await sts.stop(0);
  http.close();
  resolver.close();
  web.closeAllConnections();
  await new Promise((resolve) => web.close(resolve));
  await dns.close();
  await store.close();
});

describe('a policy', () => {
  it('is fetched once for many who ask, at the well-known place', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => mode()));
    expect(new Set(all)).toEqual(new Set(['enforce']));
    await later(0);
    expect(await mode()).toBe('enforce');
    expect(fetched).toEqual(['/.well-known/mta-sts.txt']);
  });

  it('is found while more domains of a zone than are asked at once have hosts that do not answer', async () => {
    const flood = Array.from({ length: 200 }, (_, i) => `d${i}.flood.example`);
    web.setSecureContext(
      ca.issue({ names: ['mta-sts.example.net', ...flood.map((name) => `mta-sts.${name}`)] }),
    );
    for (const domain of flood) {
      dns.set(`_mta-sts.${domain}`, { TXT: ['v=STSv1; id=1'] });
      dns.set(`mta-sts.${domain}`, { A: ['127.0.0.1'] });
    }
    const held: ServerResponse[] = [];
    let open = 0;
    let most = 0;
    web.removeAllListeners('request').on('request', (request, response) => {
      held.push(response);
      open += 1;
      most = Math.max(most, open);
      response.on('close', () => {
        open -= 1;
      });
      if (request.headers.host?.startsWith('mta-sts.example.net')) wanted = response;
    });
    let wanted: ServerResponse | null = null;
    const own = mode();
    await expect.poll(() => wanted).not.toBeNull();
    const others = flood.map((domain) => sts.policyOf(domain, 'example.com'));
    // What has no place any more counts as not answered, at once.
    await expect
      .poll(() => [failures.length, open], { timeout: 50_000 })
      .toEqual([flood.length + 1 - 128, 128]);
    (wanted as ServerResponse | null)?.writeHead(200, answer.headers).end(answer.body);
    expect(await own).toBe('enforce');
    expect(new Set(failures)).toEqual(new Set(['sts-policy-fetch-error']));
    for (const response of held) response.destroy();
    expect(new Set(await Promise.all(others))).toEqual(new Set([null]));
    expect(most).toBeLessThanOrEqual(128);
  });

  it('gives way to a newer one, and to one that ends it', async () => {
    expect(await mode()).toBe('enforce');
    serve(policy('testing'));
    await later(0);
    expect(await mode()).toBe('enforce');
    announce('2');
    await later(0);
    expect(await mode()).toBe('testing');
    serve('version: STSv1\nmode: none\nmax_age: 86400\n');
    announce('3');
    await later(0);
    expect(await mode()).toBeNull();
  });

  it('holds while its record, its server or DNS are away, to its end and no longer', async () => {
    expect(await mode()).toBe('enforce');
    announce(null);
    answer = { status: 500, headers: {}, body: '' };
    await later(3 * 24 * HOUR);
    expect(await mode()).toBe('enforce');
    dns.fault('*', { kind: 'servfail' });
    await later(3 * 24 * HOUR);
    expect(await mode()).toBe('enforce');
    const again = createSts();
    expect((await again.policyOf('example.net', 'example.com'))?.mode).toBe('enforce');
    await later(24 * HOUR + 1);
    expect(await mode()).toBeNull();
    expect(await again.policyOf('example.net', 'example.com')).toBeNull();
  });

  it('holds where a newer one is announced and cannot be had', async () => {
    expect(await mode()).toBe('enforce');
    announce('2');
    serve('nonsense');
    await later(0);
    expect(await mode()).toBe('enforce');
    expect(failures).toEqual(['sts-policy-invalid']);
  });
});

describe('renewing', () => {
  /** The hourly rounds of so many hours, each to its end. */
  async function rounds(hours: number): Promise<void> {
    const due = () => store.staleMtaSts({ now: clock.now(), limit: 1000 });
    for (let hour = 0; hour < hours; hour += 1) {
      await clock.advance(HOUR);
      await expect.poll(due, { interval: 2 }).toEqual([]);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  const remember = (domain: string, over: Partial<StoredMtaSts> = {}) => {
    const now = clock.now();
    const times = { fetchedAt: now, expiresAt: now + 7 * 24 * HOUR, renewAt: now + 1, renewFailures: 0 };
    const body = { policyId: '1', mode: 'enforce', mx: ['mx.example.net'], maxAgeSeconds: 604_800 } as const;
    return store.putMtaSts({ domain, ...body, ...times, ...over });
  };

  it('comes every day unasked, so that a policy does not end while it is still announced', async () => {
    expect(await mode()).toBe('enforce');
    await rounds(23);
    expect(fetched).toHaveLength(1);
    await rounds(2);
    expect(fetched).toHaveLength(2);
  });

  it('reaches a living policy past any number of dead ones, which are asked ever more rarely', async () => {
    for (let n = 0; n < 60; n++) await remember(`dead${n}.example`);
    await remember('example.net', { renewAt: clock.now() + 2 });
    await rounds(26);
    const stored = await store.getMtaSts({ domain: 'example.net' });
    expect(stored?.fetchedAt).toBeGreaterThan(clock.now() - 24 * HOUR - 1);
    expect(fetched.length).toBe(2);
    // After one, two, four, eight hours, and so on.
    expect(dns.count('_mta-sts.dead7.example')).toBeGreaterThanOrEqual(4);
    expect(dns.count('_mta-sts.dead7.example')).toBeLessThanOrEqual(6);
    expect((await store.getMtaSts({ domain: 'dead7.example' }))?.expiresAt).toBe(
      Date.parse('2026-06-07T00:00:00Z'),
    );
  });

  it('comes in time for a policy that holds for an hour or two only', async () => {
    serve(policy('enforce', 3 * 3600));
    expect(await mode()).toBe('enforce');
    await rounds(8);
    expect(await store.getMtaSts({ domain: 'example.net' })).toMatchObject({ mode: 'enforce' });
    dns.fault('*', { kind: 'servfail' });
    expect(await mode()).toBe('enforce');
  });

  it('reaches one that another process found after this one had found none', async () => {
    announce(null);
    expect(await mode()).toBeNull();
    await remember('example.net');
    await rounds(1);
    const stored = await store.getMtaSts({ domain: 'example.net' });
    expect(stored?.renewFailures).toBe(1);
  });

  it('asks once a round where nothing can be written down', async () => {
    let looks = 0;
    const full: typeof store = {
      ...store,
      putMtaSts: () => Promise.reject(new Error('the disk is full')),
      staleMtaSts(params) {
        looks += 1;
        return store.staleMtaSts(params);
      },
    };
    await remember('example.net');
    await sts.stop(0);
    sts = createSts(full);
    await sts.start();
    await clock.advance(HOUR);
    await expect.poll(() => [looks, fetched.length], { interval: 2 }).toEqual([2, 1]);
    await sts.stop(0);
    expect([looks, fetched.length]).toEqual([2, 1]);
  });

  it('takes a policy that was fetched while the clock was ahead for one of now', async () => {
    const ahead = clock.now() + 365 * 24 * HOUR;
    const end = ahead + 7 * 24 * HOUR;
    await remember('example.net', { fetchedAt: ahead, expiresAt: end, renewAt: ahead });
    expect(await mode()).toBe('enforce');
    expect((await store.getMtaSts({ domain: 'example.net' }))?.expiresAt).toBe(clock.now() + 7 * 24 * HOUR);
  });
});

it('a policy of mode "none" is fetched once in its time, like any other', async () => {
  serve(policy('none', 86_400));
  for (let n = 0; n < 20; n++) {
    expect(await mode()).toBeNull();
    await later(0);
  }
  expect(fetched).toHaveLength(1);
  // Also by a process that finds it in the store.
  expect(await createSts().policyOf('example.net', 'example.com')).toBeNull();
  expect(fetched).toHaveLength(1);
  serve(policy('enforce'));
  await later(24 * HOUR);
  expect(await mode()).toBe('enforce');
});

describe('a policy that cannot be had', () => {
  it.each([
    [
      'the server answers 404',
      { status: 404, headers: { 'content-type': 'text/plain' }, body: policy('enforce') },
      'sts-policy-fetch-error',
    ],
    [
      'it redirects',
      {
        status: 301,
        headers: { location: 'https://elsewhere.example/', 'content-type': 'text/plain' },
        body: '',
      },
      'sts-policy-fetch-error',
    ],
    [
      'it is HTML',
      { status: 200, headers: { 'content-type': 'text/html' }, body: policy('enforce') },
      'sts-policy-invalid',
    ],
    ['it has no type', { status: 200, headers: {}, body: policy('enforce') }, 'sts-policy-invalid'],
    [
      'it is longer than 64 KiB',
      {
        status: 200,
        headers: { 'content-type': 'text/plain' },
        body: policy('enforce') + 'x: y\n'.repeat(20_000),
      },
      'sts-policy-invalid',
    ],
  ])('is none: %s', async (_, served, result) => {
    answer = served as typeof answer;
    expect(await mode()).toBeNull();
    expect(failures).toEqual([result]);
    // Not asked for again at once, but some minutes later.
    await later(0);
    expect(await mode()).toBeNull();
    expect(fetched).toHaveLength(1);
    serve(policy('enforce'));
    await later(5 * 60_000);
    expect(await mode()).toBe('enforce');
  });

  it('is none where the certificate is not the policy host’s', async () => {
    web.setSecureContext(ca.issue({ names: ['www.example.net'] }));
    expect(await mode()).toBeNull();
    expect(failures).toEqual(['sts-webpki-invalid']);
  });

  it('is none where its address may not be connected to', async () => {
    dns.set('mta-sts.example.net', { A: ['10.0.0.1'] });
    expect(await mode()).toBeNull();
    expect(failures).toEqual(['sts-policy-fetch-error']);
  });
});

it('a domain without a record costs one question', async () => {
  announce(null);
  expect(await mode()).toBeNull();
  expect(fetched).toEqual([]);
  expect(failures).toEqual([]);
});

it('asks for each sender who waits, and fetches the policy once', async () => {
  announce('one');
  serve(policy('enforce'));
  const askers: string[] = [];
  const { of } = resolver;
  resolver.of = (asker) => {
    askers.push(asker);
    return of(asker);
  };
  const senders = ['a.example', 'b.example', 'a.example'];
  const found = await Promise.all(senders.map((sender) => sts.policyOf('example.net', sender)));
  expect(found.map((one) => one?.mode)).toEqual(['enforce', 'enforce', 'enforce']);
  expect(askers.slice(0, 2)).toEqual(['a.example', 'b.example']);
  expect(fetched).toHaveLength(1);
});
