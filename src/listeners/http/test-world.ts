/**
 * A complete HTTP listener for tests, without a network: a SQLite store in its own folder, sender domains over a DNS
 * that the test fills, acceptance, webhooks over loopback. The queue is not started, so recipients wait in the store
 * until a test simulates delivery. Has tokens for `example.com`, for `other.example` and for all domains; `close()`
 * removes everything.
 */
import { Registry } from 'prom-client';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { NO_FAILPOINTS } from '../../lib/failpoints.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { createSystemRandom } from '../../lib/random.ts';
import { createSignal } from '../../lib/signal.ts';
import { createPersonalTokens } from '../../mail/personal-token.ts';
import { createReturnPathTokens } from '../../mail/verp.ts';
import type { DeliveryState } from '../../model/delivery.ts';
import type { EventKind } from '../../model/event.ts';
import { soleLease } from '../../model/node.ts';
import { SCOPES, type Scope } from '../../model/token.ts';
import { createAddressFilter } from '../../net/address-filter.ts';
import type { Resolver } from '../../net/dns-types.ts';
import { createGuardedHttp } from '../../net/guarded-http.ts';
import { createAcceptance } from '../../pipeline/accept/accept.ts';
import { createAcceptMetrics } from '../../pipeline/accept/accept-metrics.ts';
import type { MemoryWaits } from '../../pipeline/deliver/memory-waits.ts';
import type { PathSnapshot } from '../../pipeline/deliver/path/state.ts';
import { createPersonalTexts } from '../../pipeline/deliver/prepare/personal-texts.ts';
import type { RelayState } from '../../pipeline/deliver/routing/relay-health.ts';
import { createQueue } from '../../pipeline/queue/create-queue.ts';
import { QUEUE_DEFAULTS } from '../../pipeline/queue/queue.ts';
import { OPEN_GATE } from '../../pipeline/queue/test-items.ts';
import { createWebhookService } from '../../pipeline/webhooks/webhooks.ts';
import { createDomainService } from '../../policy/domains/domains.ts';
import { createHolds } from '../../policy/limits/holds.ts';
import { createOverrides } from '../../policy/limits/shaping/overrides.ts';
import { createShaping } from '../../policy/limits/shaping/shaping.ts';
import { createSandboxRules } from '../../policy/sandbox/sandbox-rules.ts';
import { openTestStore } from '../../store/sqlite/test-support.ts';
import type { Settlement } from '../../store/topics/queue.ts';
import type { HttpDeps, HttpOptions } from './deps.ts';
import { quietLog, type Reply, send, startListener, testSealer } from './test-support.ts';

/** A message that every rule accepts, from example.com to two recipients. */
export const MAIL = {
  From: { name: 'Ann', email: 'ann@example.com' },
  To: [{ name: 'Bob', email: 'bob@example.net' }],
  CC: [{ email: 'cleo@example.org' }],
  Subject: 'Your code',
  ContentType: 'HTML',
  HTMLContent: '<p>Code <b>482913</b> <a href="https://example.com/a?b=1&amp;c=2">go</a></p>',
  Tags: ['login'],
};

export interface CallOptions {
  token?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

export type World = Awaited<ReturnType<typeof openWorld>>;

/** Opens a world. `parts` replace what the listener is given; TXT records are read from `txt`. */
export async function openWorld(
  given: {
    clock?: Clock;
    parts?: Partial<HttpDeps>;
    options?: Partial<HttpOptions>;
    webhooks?: { maxPerDomain?: number };
  } = {},
) {
  const clock = given.clock ?? systemClock;
  const random = createSystemRandom();
  const store = await openTestStore(clock);
  const epoch = await store.beginEpoch({ nodeId: 'test', now: clock.now() });
  const txt = new Map<string, readonly string[]>();
  const resolver = resolverOver(txt);
  const domains = createDomainService(
    { store, resolver, sealer: testSealer, clock, random },
    { anyDomain: false, selectorPrefix: 's', bounceDomain: 'bounce.example.org', dkim: true },
  );
  for (const name of ['example.com', 'other.example']) await domains.add({ name, operatorVerified: true });
  const filter = createAddressFilter({ allowNetworks: ['127.0.0.0/8'] });
  if (filter.kind === 'invalid') throw new Error(filter.detail);
  const http = createGuardedHttp({ clock, resolver: { of: () => resolver }, filter });
  const webhooks = createWebhookService(
    { store, http, clock, random, sealer: testSealer },
    given.webhooks ?? {},
  );
  const stored = createSignal();
  const woken = { queue: 0, events: 0 };
  const queue = createQueue(
    {
      store,
      clock,
      random,
      log: quietLog,
      node: soleLease(epoch),
      siteOf: ({ recipientDomain }) => recipientDomain,
      expire: () => {
        throw new Error('nothing expires here');
      },
      suppressed: () => null,
      gate: OPEN_GATE,
      eventsStored() {},
    },
    QUEUE_DEFAULTS,
  );
  const acceptance = createAcceptance(
    {
      store,
      senders: domains,
      keepsContent: () => true,
      queue,
      clock,
      random,
      node: soleLease(epoch),
      log: quietLog,
      metrics: createAcceptMetrics(new Registry()),
      failpoints: NO_FAILPOINTS,
      eventsStored() {},
      refusing: () => null,
      publicUrl: () => 'https://links.example.org',
    },
    {
      maxMessageBytes: 26_214_400,
      simulatorDomain: 'simulator.test',
      maxAgeMs: null,
      idempotencyWindowMs: 86_400_000,
    },
  );
  const overrides = createOverrides({ store, clock, random, log: quietLog });
  const holds = createHolds({ store, clock, random });
  const shaping = createShaping(overrides, { maxConnections: null, sourceIds: new Set() });
  const paths: PathSnapshot[] = [];
  const relays: RelayState[] = [];
  const inMemory: { -readonly [name in keyof MemoryWaits]: MemoryWaits[name] } = {
    waitOf: () => null,
    sendingOf: () => null,
    queues: () => [],
  };
  const at = await startListener(
    {
      store,
      domains,
      doctor: {
        instance: async () => [],
        sendingAddresses: async () => ['192.0.2.1'],
        lastInstance: async () => null,
      },
      problems: async () => [],
      webhooks,
      acceptance,
      clock,
      random,
      queue: {
        wake() {
          woken.queue += 1;
        },
        changing: queue.changing,
      },
      leadsOut: () => true,
      sandboxRules: createSandboxRules({ store, clock, random }),
      eventsStored() {
        woken.events += 1;
      },
      onStored: stored.subscribe,
      traffic: {
        overrides,
        holds,
        heldBy: holds.heldBy,
        pausedBy: () => null,
        blockedFor: () => null,
        tryNow: {
          paths: async () => 0,
          putOffByRelays: async () => 0,
          relay: () => false,
          mailTo: async () => 0,
        },
        pathOf: ({ recipientDomain }) =>
          paths.find(({ domains }) => domains.includes(recipientDomain))?.key ?? null,
        routeOf: () => 'route mx',
        sitesOf: async ({ recipientDomain }) => [recipientDomain],
        paths: () =>
          paths.map((shown) => ({
            ...shown,
            blocked: shown.breaker.kind === 'open',
            elsewhere: shown.waitsFor === 'lease',
            snapshot: () => shown,
          })),
        waits: {
          waitOf: (id) => inMemory.waitOf(id),
          sendingOf: (id) => inMemory.sendingOf(id),
          queues: (isWanted) => inMemory.queues(isWanted),
        },
        relays: () => relays,
        limitsFor: shaping.limitsFor,
        isProvider: (name) => shaping.isProvider(name),
        providerOf: async (domain) => ({ provider: shaping.groupingOf(domain, []).provider }),
      },
      personalTexts: createPersonalTexts(
        createPersonalTokens([{ id: 0, secret: new Uint8Array(32) }]),
        createReturnPathTokens([{ id: 0, secret: new Uint8Array(32) }]),
      ),
      config: () => ({ Mode: 'serve', Version: '0.0.0', Items: [] }),
      warmup: { list: () => [] },
      node: soleLease(epoch),
      nodes: () => 1,
      ...given.parts,
    },
    given.options,
    clock,
  );
  const all = SCOPES.filter((scope) => scope !== 'admin');
  /** Longer than any test advances its clock. */
  const token = (names: readonly string[], scopes: readonly Scope[]) =>
    at.token({ domains: names, scopes, expiresInSeconds: names.includes('*') ? null : 365 * 86_400 });
  const tokens = {
    own: await token(['example.com'], all),
    other: await token(['other.example'], all),
    admin: await token(['*'], SCOPES),
    narrow: await token(['example.com'], ['smtp:write']),
  };

  function call(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
    const headers = { authorization: `Bearer ${options.token ?? tokens.own}`, ...options.headers };
    const url = `${at.url}/api/v1${path}`;
    return options.body === undefined
      ? send(url, method, { headers })
      : send(url, method, { headers, body: JSON.stringify(options.body) });
  }

  /** Accepts a message; its id. */
  async function sendMail(mail: object = MAIL, token = tokens.own): Promise<string> {
    const reply = await call('POST', '/email', { body: mail, token });
    const id = reply.json().MessageID;
    if (typeof id !== 'string') throw new Error(`not accepted: ${reply.text}`);
    return id;
  }

  /** Leases everything that is due, as delivery would; the ids by address. */
  async function claimAll(): Promise<Map<string, number>> {
    const now = clock.now();
    const claimed = new Map<string, number>();
    for (const { queueId } of await store.dueQueues({ dueBefore: now, limit: 1000 })) {
      const rows = await store.claimDue({
        eventId: uuidv7(clock, random),
        queueId,
        epoch,
        now,
        limit: 1000,
        maxBytes: 1e9,
      });
      for (const row of rows) claimed.set(row.address, row.id);
    }
    return claimed;
  }

  /** Records the outcome of one leased recipient, with an event of that kind. */
  async function settle(
    deliveryId: number,
    state: DeliveryState,
    kind: EventKind,
    more: Partial<Settlement> = {},
  ): Promise<void> {
    const now = clock.now();
    const event = { id: uuidv7(clock, random), kind, at: now, detail: null };
    const settlement = { deliveryId, epoch, state, countAttempt: true, events: [event], ...more };
    await store.settle({ now, settlements: [settlement] });
    stored.notify();
  }

  /** Plays the sandbox for everything that is due: each recipient is captured into the inbox. */
  async function captureAll(inbox = 'example.com'): Promise<void> {
    for (const id of (await claimAll()).values()) {
      const capture = {
        id: uuidv7(clock, random),
        at: clock.now(),
        envelopeFrom: 'b@bounce.example.org',
        inbox,
        prefix: new TextEncoder().encode('X-Trace: one\r\n'),
      };
      await settle(id, 'delivered', 'delivered', { route: 'sandbox', capture });
    }
  }

  return {
    at,
    store,
    epoch,
    clock,
    random,
    domains,
    acceptance,
    txt,
    tokens,
    woken,
    overrides,
    shaping,
    /** Filled by a test: what delivery would show. */
    paths,
    relays,
    inMemory,
    holds,
    /** Reports to the listener that something was stored directly. */
    notify: stored.notify,
    call,
    sendMail,
    claimAll,
    captureAll,
    settle,
    async close() {
      await at.close();
      http.close();
      await store.close();
    },
  };
}

/** Codes of a refusal, in order. */
export function codesOf(reply: Reply): number[] {
  return (reply.json().Errors as { Code: number }[]).map((error) => error.Code);
}

/** Only TXT records exist, those of the map; every other name does not. */
function resolverOver(txt: ReadonlyMap<string, readonly string[]>): Resolver {
  const noName = async () => ({ kind: 'no-name', ttlSeconds: 60, secure: false }) as const;
  return {
    mx: noName,
    a: noName,
    aaaa: noName,
    cname: noName,
    ptr: noName,
    txt: async (name) => {
      const records = txt.get(name);
      return records === undefined ? noName() : { kind: 'found', records, ttlSeconds: 60, secure: false };
    },
  };
}
