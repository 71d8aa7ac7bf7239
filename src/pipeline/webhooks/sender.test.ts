import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { Webhook as Verifier } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { createLoggers } from '../../lib/log.ts';
import { createSystemRandom, type Random } from '../../lib/random.ts';
import { createSealer } from '../../lib/seal.ts';
import { createVirtualClock, type VirtualClock } from '../../lib/virtual-clock.ts';
import type { EventKind } from '../../model/event.ts';
import type { MessageId } from '../../model/message.ts';
import { type NodeLease, soleLease } from '../../model/node.ts';
import { NEVER_CALLED_AT, type Webhook } from '../../model/webhook.ts';
import { createAddressFilter } from '../../net/address-filter.ts';
import { FORBIDDEN } from '../../net/checked-url.ts';
import { createGuardedHttp, type GuardedHttp } from '../../net/guarded-http.ts';
import { event, message, recipient } from '../../store/conformance/fixtures.ts';
import { openTestStore } from '../../store/sqlite/test-support.ts';
import type { Store } from '../../store/store.ts';
import { createWebhookMetrics } from './metrics.ts';
import { createWebhookSender, type WebhookSender, type WebhookSenderOptions } from './sender.ts';
import { createWebhookService, type WebhookService } from './webhooks.ts';

const DOMAIN = 'example.com';
const HOUR = 3_600_000;

interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

let clock: VirtualClock;
let store: Store;
let http: GuardedHttp;
let server: Server;
let base: string;
let received: Received[];
let lines: string[];
let service: WebhookService;
let senders: WebhookSender[];
let registry: Registry;
/** What the receiver does with a call. */
let answer: (path: string, response: ServerResponse) => void;

const secure = createSystemRandom();
/** Jitter at its middle, so that waits are exactly the table's. */
const random: Random = { bytes: (count) => secure.bytes(count), float: () => 0.5 };
const sealer = createSealer([{ id: 'test', secret: secure.bytes(32) }]);

beforeEach(async () => {
  // Real time, because the published verifier compares with it.
  clock = createVirtualClock(Date.now());
  // The store's own timers only group commits, so they go by real time.
  store = await openTestStore(systemClock, { patienceMs: 20 });
  received = [];
  lines = [];
  senders = [];
  registry = new Registry();
  answer = (_path, response) => response.end('ok');
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const path = request.url ?? '';
      received.push({ path, headers: request.headers, body: Buffer.concat(chunks).toString() });
      answer(path, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const filter = createAddressFilter({ allowNetworks: ['127.0.0.0/8'] });
  if (filter.kind === 'invalid') throw new Error(filter.detail);
  const none = async () => ({ kind: 'no-data' as const, ttlSeconds: 1, secure: false });
  http = createGuardedHttp({ clock, resolver: { of: () => ({ a: none, aaaa: none }) }, filter });
  service = createWebhookService({ store, http, clock, random, sealer });
});

afterEach(async () => {
  server.closeAllConnections();
  for (const sender of senders) await stop(sender);
  http.close();
  await new Promise((resolve) => server.close(resolve));
  await store.close();
});

/** Stops while virtual time goes on. */
async function stop(sender: WebhookSender): Promise<void> {
  let isStopped = false;
  const stopping = sender.stop(20_000).then(() => {
    isStopped = true;
  });
  while (!isStopped) await clock.advance(500);
  await stopping;
}

async function startSender(
  options: WebhookSenderOptions = {},
  leaseFor: (epoch: number) => NodeLease = soleLease,
): Promise<WebhookSender> {
  const node = leaseFor(await beginEpoch());
  const log = createLoggers({
    destination: { write: (line) => void lines.push(line) },
    level: 'debug',
    maskAddresses: false,
  });
  registry = new Registry();
  const metrics = createWebhookMetrics(registry);
  const sender = createWebhookSender(
    { store, http, clock, random, sealer, node, log, metrics },
    { pollMs: 10 * 60_000, ...options },
  );
  senders.push(sender);
  await sender.start();
  return sender;
}

/** What earlier ones had claimed waits again. */
async function beginEpoch(): Promise<number> {
  const epoch = await store.beginEpoch({ nodeId: 'node-1', now: clock.now() });
  await store.reclaim({ now: clock.now(), limit: 1_000 });
  return epoch;
}

async function hook(
  event = 'delivery',
  path = '/hook',
  domain = DOMAIN,
): Promise<{ id: number; secret: string }> {
  return service.create({ domain, events: [event], url: `${base}${path}`, description: '' });
}

async function emit(count = 1, kind: EventKind = 'delivered', domain = DOMAIN): Promise<void> {
  const events = Array.from({ length: count }, () => ({
    id: uuidv7(clock, random),
    kind,
    at: clock.now(),
    detail: null,
    domain,
    deliveryId: null,
  }));
  await store.appendEvents({ events });
}

/** Waits for what other threads and sockets have still to do. */
function until(check: () => unknown): Promise<unknown> {
  return vi.waitFor(async () => expect(await check()).toBeTruthy(), { interval: 3, timeout: 8_000 });
}

async function row(id: number): Promise<Webhook> {
  const found = (await store.listWebhooks({ limit: 100 })).find((webhook) => webhook.id === id);
  if (found === undefined) throw new Error(`no webhook ${id}`);
  return found;
}

async function calls(id: number) {
  return store.listCalls({ webhookId: id, limit: 1_000 });
}

/** Tries recorded for a webhook so far. */
async function tries(id: number): Promise<number> {
  return (await calls(id)).reduce((sum, call) => sum + call.tries, 0);
}

/** Goes to the next due time and waits until that try is recorded; how long the wait was. */
async function nextTry(sender: WebhookSender, id: number): Promise<number> {
  const before = await tries(id);
  const dueAt = await store.nextCallDueAt();
  if (dueAt === null) throw new Error('nothing is due');
  const waitMs = Math.max(0, dueAt - clock.now());
  await clock.advance(waitMs);
  sender.wake();
  await until(async () => (await tries(id)) > before);
  return waitMs;
}

describe('a webhook call', () => {
  it('arrives signed, is recorded as a success and says so in the log', async () => {
    const { id, secret } = await hook();
    await emit();
    await startSender();
    await until(async () => (await tries(id)) === 1);
    const [call] = received;
    expect(call?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'postrider-webhooks/1',
    });
    const body = new Verifier(secret).verify(call?.body ?? '', call?.headers as Record<string, string>);
    expect(body).toMatchObject({ type: 'email.delivered', data: { WebhookID: id, Domain: DOMAIN } });
    expect((await calls(id))[0]).toMatchObject({ state: 'succeeded', tries: 1, responseCode: 200 });
    expect(await row(id)).toMatchObject({
      lastResponseCode: 200,
      lastResponseBody: 'ok',
      lastResponseAt: clock.now(),
      lastResponseTry: 1,
      failingSince: null,
    });
    const line = lines.map((text) => JSON.parse(text)).find((entry) => entry.msg === 'called');
    expect(line).toMatchObject({ stream: 'mail', webhookId: id, try: 1, code: 200, state: 'succeeded' });
    expect(await registry.metrics()).toContain('postrider_webhook_tries_total{result="success"} 1');
  });

  it('names one recipient of a real message and never its BCC', async () => {
    const { id } = await hook('accept');
    const now = clock.now();
    await store.commitAccepted({
      epoch: 0,
      idempotency: null,
      messages: [
        message({
          id: uuidv7(clock, random) as MessageId,
          domain: DOMAIN,
          lists: {
            from: { name: '', address: `a@${DOMAIN}` },
            to: [{ name: '', address: 'b@example.net' }],
            cc: [],
            bcc: [{ name: '', address: 'hidden@example.org' }],
            replyTo: [],
          },
          tags: ['x'],
          metadata: { k: 'v' },
          createdAt: now,
          expiresAt: now + HOUR,
          recipients: [
            recipient({
              address: 'b@example.net',
              dueAt: now,
              events: [event('accepted', now, { id: uuidv7(clock, random) })],
            }),
          ],
        }),
      ],
    });
    await startSender();
    await until(async () => (await tries(id)) === 1);
    expect(received[0]?.body).toContain('"To":"b@example.net"');
    expect(received[0]?.body).not.toContain('hidden@');
    expect(lines.filter((line) => line.includes('"stream":"service"')).join('')).not.toContain('@');
  });

  it('is tried again after a failure with the same id and a fresh time, until it succeeds', async () => {
    const { id } = await hook();
    await emit();
    answer = (_path, response) => response.writeHead(500).end('no');
    const sender = await startSender();
    await until(async () => (await tries(id)) === 1);
    expect(await row(id)).toMatchObject({ lastResponseCode: 500, lastResponseBody: 'no', failedTries: 1 });
    expect(await nextTry(sender, id)).toBe(5_000);
    answer = (_path, response) => response.end('fine');
    expect(await nextTry(sender, id)).toBe(300_000);
    expect((await calls(id))[0]).toMatchObject({ state: 'succeeded', tries: 3 });
    expect(await row(id)).toMatchObject({ lastResponseCode: 200, lastResponseTry: 3, failingSince: null });
    expect(new Set(received.map((call) => call.headers['webhook-id'])).size).toBe(1);
    expect(new Set(received.map((call) => call.headers['webhook-timestamp'])).size).toBe(3);
  });

  it('makes ten tries at the times of the table and then has failed', async () => {
    const { id } = await hook();
    await emit();
    answer = (_path, response) => response.writeHead(500).end();
    const sender = await startSender();
    await until(async () => (await tries(id)) === 1);
    const waits = [];
    for (let i = 0; i < 9; i++) waits.push(await nextTry(sender, id));
    expect(waits.map((ms) => Math.round(ms / 1000))).toEqual([
      5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
    ]);
    expect((await calls(id))[0]).toMatchObject({ state: 'failed', tries: 10 });
    expect(await store.nextCallDueAt()).toBeNull();
    expect(received).toHaveLength(10);
  });

  it('ends after the waits that the operator lists', async () => {
    const { id } = await hook();
    await emit();
    answer = (_path, response) => response.writeHead(500).end();
    const sender = await startSender({ retryDelaysMs: [1_000] });
    await until(async () => (await tries(id)) === 1);
    expect(await nextTry(sender, id)).toBe(1_000);
    expect((await calls(id))[0]).toMatchObject({ state: 'failed', tries: 2 });
  });

  it('records no answer as code 0 and an empty body, with the reason beside it', async () => {
    const { id } = await hook();
    expect(await row(id)).toMatchObject({
      lastResponseCode: 0,
      lastResponseBody: '',
      lastResponseAt: null,
      lastResponseTry: 0,
    });
    expect(NEVER_CALLED_AT).toBe('1899-11-30T00:00:00.000Z');
    await emit();
    answer = (_path, response) => response.socket?.destroy();
    await startSender();
    await until(async () => (await tries(id)) === 1);
    const after = await row(id);
    expect(after).toMatchObject({
      lastResponseCode: 0,
      lastResponseBody: '',
      lastResponseAt: null,
      lastResponseTry: 1,
    });
    expect(after.lastError).not.toBe('');
    expect(after.updatedAt).toBe(after.createdAt);
  });

  it('gives up waiting for an answer after 15 s', async () => {
    const { id } = await hook();
    await emit();
    answer = () => {};
    await startSender();
    await until(() => received.length === 1);
    await clock.advance(15_000);
    await until(async () => (await tries(id)) === 1);
    expect(await row(id)).toMatchObject({ lastResponseCode: 0, failedTries: 1 });
  });

  it('waits as long as the receiver asks, and takes a redirect as a failure without following it', async () => {
    const { id } = await hook();
    await emit();
    answer = (_path, response) => response.writeHead(503, { 'retry-after': '120' }).end();
    const sender = await startSender();
    await until(async () => (await tries(id)) === 1);
    answer = (_path, response) => response.writeHead(302, { location: `${base}/elsewhere` }).end();
    expect(await nextTry(sender, id)).toBe(120_000);
    expect(await row(id)).toMatchObject({ lastResponseCode: 302, failedTries: 2 });
    expect(received.map((call) => call.path)).toEqual(['/hook', '/hook']);
  });

  it('keeps 1024 bytes of an answer without end', async () => {
    const { id } = await hook();
    await emit();
    answer = (_path, response) => {
      response.writeHead(200);
      const pour = () => {
        while (!response.destroyed && response.write('ä\0'.repeat(20_000)));
        if (!response.destroyed) response.once('drain', pour);
      };
      response.on('error', () => {});
      pour();
    };
    await startSender();
    await until(async () => (await tries(id)) === 1);
    const { lastResponseBody, lastResponseCode } = await row(id);
    expect(lastResponseCode).toBe(200);
    expect(lastResponseBody.startsWith('ä\uFFFDä')).toBe(true);
    expect(lastResponseBody).toHaveLength(682);
    expect(lastResponseBody).not.toContain('\0');
  });
});

describe('a webhook is switched off', () => {
  it('by 410, once, with an event for the domain’s other webhooks, and its calls wait', async () => {
    const gone = await hook('delivery', '/gone');
    const watcher = await hook('system', '/watch');
    await emit(6);
    answer = (path, response) => response.writeHead(path === '/gone' ? 410 : 200).end();
    const sender = await startSender();
    await until(async () => (await row(gone.id)).status === 'Disabled');
    expect(await row(gone.id)).toMatchObject({ disabledReason: 'Gone' });
    sender.wake();
    await until(async () => (await tries(watcher.id)) === 1);
    await until(async () => (await calls(gone.id)).every((call) => call.state !== 'sending'));
    const toWatcher = received.filter((call) => call.path === '/watch');
    expect(toWatcher).toHaveLength(1);
    expect(JSON.parse(toWatcher[0]?.body ?? '')).toMatchObject({
      type: 'webhook.disabled',
      data: { WebhookID: watcher.id, DisabledWebhookID: gone.id },
    });
    expect(received.filter((call) => call.path === '/gone').length).toBeLessThanOrEqual(4);
    expect((await calls(gone.id)).filter((call) => call.state === 'pending').length).toBeGreaterThanOrEqual(
      2,
    );
    const { events } = await store.findEvents({
      kinds: ['webhook.disabled'],
      look: 1000,
      limit: 10,
      newestFirst: true,
    });
    expect(events).toHaveLength(1);
  });

  it('after five days and ten tries of nothing but failure, and not before', async () => {
    const { id } = await hook();
    await emit();
    answer = (_path, response) => response.writeHead(500).end();
    const sender = await startSender();
    await until(async () => (await tries(id)) === 1);
    const since = (await row(id)).failingSince ?? 0;
    for (let i = 0; i < 9; i++) await nextTry(sender, id);
    expect((await row(id)).status).toBe('Enabled');
    await clock.advance(since + 5 * 24 * HOUR - clock.now() - 1_000);
    await emit();
    await nextTry(sender, id);
    expect(await row(id)).toMatchObject({ status: 'Enabled', failedTries: 11 });
    await nextTry(sender, id);
    await until(async () => (await row(id)).status === 'Disabled');
    expect((await row(id)).disabledReason).toBe('Failures');
  });

  it('when its address was blocked ten times, without a connection', async () => {
    const { id } = await hook();
    await emit();
    const filter = createAddressFilter({ allowNetworks: [] });
    if (filter.kind === 'invalid') throw new Error(filter.detail);
    const none = async () => ({ kind: 'no-data' as const, ttlSeconds: 1, secure: false });
    http.close();
    http = createGuardedHttp({ clock, resolver: { of: () => ({ a: none, aaaa: none }) }, filter });
    const sender = await startSender({ retryDelaysMs: Array(20).fill(300_000) });
    await until(async () => (await tries(id)) === 1);
    // Ten tries within an hour may be a moment's trouble with the name.
    for (let i = 0; i < 11; i++) await nextTry(sender, id);
    expect((await row(id)).status).toBe('Enabled');
    await nextTry(sender, id);
    await until(async () => (await row(id)).status === 'Disabled');
    expect((await row(id)).disabledReason).toBe('Blocked');
    expect(received).toHaveLength(0);
  });

  it('in the same way where the name has no address and where it leads into a private network', async () => {
    const filter = createAddressFilter({ allowNetworks: [] });
    if (filter.kind === 'invalid') throw new Error(filter.detail);
    const addressOf = new Map<string, string>();
    const found = (address: string) =>
      ({ kind: 'found', records: [address], ttlSeconds: 1, secure: false }) as const;
    const none = { kind: 'no-data', ttlSeconds: 1, secure: false } as const;
    const a = async (name: string) => {
      const address = addressOf.get(name);
      return address === undefined ? none : found(address);
    };
    http.close();
    const askers: string[] = [];
    const of = (asker: string) => {
      askers.push(asker);
      return { a, aaaa: async () => none };
    };
    http = createGuardedHttp({ clock, filter, resolver: { of } });
    service = createWebhookService({ store, http, clock, random, sealer });
    const seen = [];
    for (const name of ['there', 'nowhere']) {
      const url = `https://${name}.test/`;
      const wanted = { domain: `${name}.example`, events: ['delivery'], url, description: '' };
      addressOf.set(`${name}.test`, '93.184.216.34');
      const { id } = await service.create(wanted);
      if (name === 'there') addressOf.set('there.test', '10.1.2.3');
      else addressOf.clear();
      const refused = await service.create(wanted).catch((error: unknown) => error);
      await emit(1, 'delivered', `${name}.example`);
      seen.push({ id, told: [refused instanceof AppError && refused.message, await service.test(id)] });
      addressOf.set('there.test', '10.1.2.3');
    }
    await startSender({ retryDelaysMs: Array(20).fill(300_000) });
    const states = [];
    for (const { id, told } of seen) {
      await until(async () => (await tries(id)) === 1);
      const { lastError, lastLatencyMs, blockedTries } = await row(id);
      states.push({ told, lastError, lastLatencyMs, blockedTries });
    }
    expect(states[0]).toEqual(states[1]);
    expect(states[0]?.lastError).toBe(FORBIDDEN);
    expect(lines.join('')).toContain('there.test leads to 10.1.2.3');
    expect(lines.join('')).toContain('nowhere.test has no address');
    expect(new Set(askers)).toEqual(new Set(['there.example', 'nowhere.example']));
  });
});

describe('many webhooks', () => {
  it('are not held up by a dead one, which gets 4 calls at once and after five failures 1', async () => {
    const dead = await hook('delivery', '/dead');
    const good = await hook('delivery', '/good');
    await emit(40);
    answer = (path, response) => {
      if (path === '/good') response.end();
    };
    const sender = await startSender();
    await until(
      async () => (await calls(good.id)).filter((call) => call.state === 'succeeded').length === 40,
    );
    const deadCalls = () => received.filter((call) => call.path === '/dead').length;
    expect(deadCalls()).toBe(4);
    await clock.advance(15_000);
    await until(() => deadCalls() === 8);
    await clock.advance(15_000);
    await until(async () => (await tries(dead.id)) === 8);
    sender.wake();
    await until(() => deadCalls() === 9);
    await emit(1);
    sender.wake();
    await until(
      async () => (await calls(good.id)).filter((call) => call.state === 'succeeded').length === 41,
    );
    expect(deadCalls()).toBe(9);
  });

  it.each([
    ['is switched off', { status: 'Disabled' as const }, 4, 0],
    ['gets another URL', { path: '/other' }, 4, 4],
  ])(
    'call as is set by then what waited for a place while the webhook %s',
    async (_, change, before, after) => {
      const { id } = await hook('delivery', '/first');
      const open: ServerResponse[] = [];
      answer = (_path, response) => void open.push(response);
      await emit(8);
      await startSender();
      await until(() => open.length === 4);
      const { path, ...rest } = { path: '/first', ...change };
      await service.update(id, { url: `${base}${path}`, ...rest });
      answer = (_path, response) => response.end();
      for (const response of open.splice(0)) response.end();
      const ended = before + after;
      await until(
        async () => (await calls(id)).filter(({ state }) => state === 'succeeded').length === ended,
      );
      await until(async () => (await calls(id)).every(({ state }) => state !== 'sending'));
      expect(received.map((call) => call.path)).toEqual([
        ...Array(before).fill('/first'),
        ...Array(after).fill('/other'),
      ]);
    },
  );

  it('of one domain leave as many of the 32 places free as they hold', async () => {
    for (let i = 0; i < 12; i++) await hook('delivery', `/${i}`);
    for (const domain of ['b.example', 'c.example']) await hook('delivery', `/${domain}`, domain);
    await emit(6);
    const open: ServerResponse[] = [];
    answer = (_path, response) => void open.push(response);
    const sender = await startSender();
    await until(() => open.length === 16);
    for (const domain of ['b.example', 'c.example']) {
      await emit(1, 'delivered', domain);
      sender.wake();
      await until(() => received.some(({ path }) => path === `/${domain}`));
    }
    expect(open).toHaveLength(18);
    const done = () => received.length === 74;
    while (!done()) {
      for (const response of open.splice(0)) response.end();
      await until(() => open.length > 0 || done());
      expect(open.length).toBeLessThanOrEqual(32);
    }
    for (const response of open.splice(0)) response.end();
  });

  it('that are slow share half of the places, and quick ones of any domain never wait for them', async () => {
    const slow = Array.from({ length: 8 }, (_, i) => `slow${i}.example`);
    const open: ServerResponse[] = [];
    answer = (path, response) => {
      if (path.startsWith('/slow')) open.push(response);
      else response.end();
    };
    const sender = await startSender();
    for (const domain of slow) {
      const { id } = await hook('delivery', `/${domain}`, domain);
      await emit(1, 'delivered', domain);
      sender.wake();
      await until(() => open.length === 1);
      await clock.advance(3_000);
      open.pop()?.end();
      await until(async () => (await row(id)).lastLatencyMs === 3_000);
    }
    received = [];
    for (const domain of slow) await emit(20, 'delivered', domain);
    sender.wake();
    await until(() => open.length > 10);
    await hook('delivery', '/quick', 'quick.example');
    for (let i = 0; i < 5; i += 1) {
      await emit(4, 'delivered', 'quick.example');
      sender.wake();
      await until(() => received.filter(({ path }) => path === '/quick').length === 4 * (i + 1));
    }
    expect(open.length).toBeLessThanOrEqual(16);
    answer = (_path, response) => response.end();
    for (const response of open.splice(0)) response.end();
  });

  it('are prepared in portions, after which the store is left to others for four times as long', async () => {
    let claims = 0;
    const portions: number[] = [];
    const { claimCalls } = store;
    store = {
      ...store,
      nextCallDueAt: async () => 0,
      async claimCalls(params) {
        const claimed = await claimCalls(params);
        claims += 1;
        return claimed;
      },
      async prepareCalls({ limit }) {
        portions.push(limit);
        await clock.advance(20);
        return portions.length < 3;
      },
    };
    const sender = await startSender();
    const look = async () => {
      const before = claims;
      sender.wake();
      await until(() => claims > before);
    };
    await until(() => claims > 0);
    await clock.advance(79);
    await look();
    expect(portions).toEqual([100]);
    await clock.advance(1);
    await look();
    expect(portions).toEqual([100, 100]);
  });

  it('are claimed together with those whose places become free within four times as long as a claim took', async () => {
    let claims = 0;
    const { claimCalls } = store;
    store = {
      ...store,
      async claimCalls(params) {
        claims += 1;
        const claimed = await claimCalls(params);
        if (claims === 1) await clock.advance(10);
        return claimed;
      },
    };
    await hook();
    await emit(6);
    const open: ServerResponse[] = [];
    answer = (_path, response) => void open.push(response);
    const sender = await startSender();
    await until(() => open.length === 4);
    await emit(2, 'delivered');
    answer = (_path, response) => response.end();
    for (const response of open.splice(0)) response.end();
    await until(() => received.length === 6);
    sender.wake();
    await clock.advance(39);
    expect(claims).toBe(1);
    await clock.advance(1);
    await until(() => received.length === 8);
    expect(claims).toBe(2);
  });
});

describe('stopping and starting', () => {
  it('gives back what it could not finish, without counting a try', async () => {
    const { id } = await hook();
    await emit(9);
    answer = () => {};
    const sender = await startSender();
    await until(() => received.length === 4);
    const stopping = sender.stop(2_000);
    await clock.advance(1_000);
    await stopping;
    senders = [];
    expect((await calls(id)).map((call) => [call.state, call.tries])).toEqual(
      Array.from({ length: 9 }, () => ['pending', 0]),
    );
  });

  it('finishes what is answered in time', async () => {
    const { id } = await hook();
    await emit();
    const open: ServerResponse[] = [];
    answer = (_path, response) => void open.push(response);
    const sender = await startSender();
    await until(() => open.length === 1);
    const stopping = sender.stop(10_000);
    open[0]?.end();
    await stopping;
    senders = [];
    expect((await calls(id))[0]).toMatchObject({ state: 'succeeded', tries: 1 });
  });

  it('begins nothing while others may have taken over its calls, and does not make them twice', async () => {
    await hook();
    const open: ServerResponse[] = [];
    answer = (_path, response) => void open.push(response);
    await emit(8);
    const lease = { epoch: 0, valid: true, trouble: null };
    const sender = await startSender({}, (epoch) => Object.assign(lease, { epoch }));
    await until(() => open.length === 4);
    lease.valid = false;
    for (const response of open.splice(0)) response.end();
    await until(async () => sender.holding().ids.length === 4);
    sender.wake();
    await clock.advance(1_000);
    expect(received).toHaveLength(4);
    Object.assign(lease, { epoch: await beginEpoch(), valid: true });
    answer = (_path, response) => response.end();
    sender.wake();
    await until(async () => sender.holding().ids.length === 0 && received.length >= 8);
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(8);
    expect(received).toHaveLength(8);
  });

  it('begins nothing where others may have taken it over while its webhook was read', async () => {
    await hook();
    const open: ServerResponse[] = [];
    answer = (_path, response) => void open.push(response);
    await emit(8);
    const { getWebhook } = store;
    const asked: (() => void)[] = [];
    store = {
      ...store,
      async getWebhook(params) {
        await new Promise<void>((resolve) => asked.push(resolve));
        return getWebhook(params);
      },
    };
    const lease = { epoch: 0, valid: true, trouble: null };
    const sender = await startSender({}, (epoch) => Object.assign(lease, { epoch }));
    await until(() => open.length === 4);
    for (const response of open.splice(0)) response.end();
    await until(() => asked.length === 4);
    lease.valid = false;
    for (const goOn of asked) goOn();
    await until(() => sender.holding().ids.length === 0 || received.length > 4);
    expect(received).toHaveLength(4);
  });

  it('makes calls again that a dead process held, and its late answers change nothing', async () => {
    const { id } = await hook();
    await emit(2);
    const open: ServerResponse[] = [];
    answer = (_path, response) => void open.push(response);
    await startSender();
    await until(() => open.length === 2);
    answer = (_path, response) => response.end('second');
    await startSender();
    await until(async () => (await calls(id)).every((call) => call.state === 'succeeded'));
    for (const response of open) response.writeHead(500).end('late');
    await stop(senders[0] as WebhookSender);
    expect(received).toHaveLength(4);
    expect(new Set(received.map((call) => call.headers['webhook-id'])).size).toBe(2);
    expect((await calls(id)).map((call) => call.tries)).toEqual([1, 1]);
    expect(await row(id)).toMatchObject({ lastResponseCode: 200, lastResponseBody: 'second' });
  });
});

describe('a store that cannot write', () => {
  it('is waited for, and the call that was made meanwhile is recorded, not repeated', async () => {
    await store.close();
    // Writes so far: the webhook, the event, the epoch, the reclaim and the claim; the record of the try fails.
    store = await openTestStore(systemClock, { failStoreWrites: { from: 6, count: 2 } });
    service = createWebhookService({ store, http, clock, random, sealer });
    const { id } = await hook();
    await emit();
    const sender = await startSender();
    await until(() => lines.some((line) => line.includes('cannot record webhook calls')));
    expect(await tries(id)).toBe(0);
    sender.wake();
    await until(async () => {
      await clock.advance(1_000);
      return (await tries(id)) === 1;
    });
    expect((await calls(id))[0]).toMatchObject({ state: 'succeeded', tries: 1 });
    expect(received).toHaveLength(1);
  });
});

describe('creating and testing a webhook', () => {
  it('refuses an address that cannot or must not be called, with a sentence', async () => {
    const urls = [
      'example.com/hook',
      'ftp://example.com/',
      'https://user:pw@example.com/',
      'https://10.0.0.1/',
      'http://[::1]/',
      'http://192.0.2.1/',
      'https://169.254.169.254/latest',
      `https://example.com/${'a'.repeat(2_048)}`,
      '',
    ];
    for (const url of urls) {
      const creating = service.create({ domain: DOMAIN, events: ['bounce'], url, description: '' });
      const error = await creating.catch((cause: unknown) => cause);
      if (!(error instanceof AppError)) throw new Error(`${url} was taken`);
      expect(error.problems[0]).toMatchObject({ name: 'webhook-url-invalid', field: '/WebhookURL' });
      expect(error.message).toMatch(/^The .+\.$/);
    }
  });

  it('refuses one more than a domain may have', async () => {
    const small = createWebhookService({ store, http, clock, random, sealer }, { maxPerDomain: 1 });
    const params = { domain: DOMAIN, events: ['bounce'], url: `${base}/`, description: '' };
    await small.create(params);
    await expect(small.create(params)).rejects.toMatchObject({ problems: [{ name: 'webhook-limit' }] });
    await small.create({ ...params, domain: 'example.org' });
  });

  it('refuses one whose domain is removed while its host is looked up', async () => {
    await store.addDomain({
      ...{
        name: DOMAIN,
        status: 'Verified',
        verifiedBy: 'operator',
        verifyToken: 'v',
        settings: {},
        keys: [],
      },
      now: clock.now(),
    });
    const checkTarget: GuardedHttp['checkTarget'] = async (...target) => {
      await store.removeDomain({ name: DOMAIN });
      return http.checkTarget(...target);
    };
    const slow = createWebhookService({ store, http: { ...http, checkTarget }, clock, random, sealer });
    const params = { domain: DOMAIN, events: ['bounce'], url: `${base}/`, description: '' };
    await expect(slow.create(params)).rejects.toMatchObject({
      problems: [{ name: 'not-found', field: '/Domain' }],
    });
    expect(await store.listWebhooks({ limit: 9 })).toEqual([]);
  });

  it('keeps the secret sealed', async () => {
    const { id, secret } = await hook();
    const bytes = Buffer.from(secret.slice('whsec_'.length), 'base64');
    expect(Buffer.from((await row(id)).secretSealed).includes(bytes)).toBe(false);
  });

  it('sends a signed sample that leaves LastResponse alone, to its own domain’s tokens only', async () => {
    const { id, secret } = await hook('bounce');
    answer = (_path, response) => response.writeHead(418).end('short and stout');
    expect(await service.test(id, ['example.org'])).toBeNull();
    expect(received).toHaveLength(0);
    expect(await service.test(id, [DOMAIN])).toEqual({
      StatusCode: 418,
      LatencyMs: expect.any(Number),
      Body: 'short and stout',
      Error: '',
    });
    const [call] = received;
    expect(
      new Verifier(secret).verify(call?.body ?? '', call?.headers as Record<string, string>),
    ).toMatchObject({
      type: 'email.bounced',
      data: { Sandbox: true, Bounce: { Type: 'Permanent' } },
    });
    expect(await row(id)).toMatchObject({ lastResponseCode: 0, lastResponseTry: 0 });
  });
});
