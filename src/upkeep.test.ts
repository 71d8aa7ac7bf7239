import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from './lib/clock.ts';
import { createSystemRandom } from './lib/random.ts';
import { createSealer } from './lib/seal.ts';
import type { DnsAnswer, Resolver } from './net/dns-types.ts';
import { createDomainService, type DomainService } from './policy/domains/domains.ts';
import { createRetention } from './policy/retention/retention.ts';
import { commitOne } from './store/conformance/fixtures.ts';
import { createManualClock, openTestStore } from './store/sqlite/test-support.ts';
import type { Store } from './store/store.ts';
import { createUpkeep } from './upkeep.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const silent = () => {};
const told: object[] = [];
const log = { info: (fields: object) => told.push(fields), warn: silent, error: silent, debug: silent };

let clock: ReturnType<typeof createManualClock>;
let store: Store;
let domains: DomainService;
let txt: Map<string, string>;
let asked: string[];
let upkeep: ReturnType<typeof createUpkeep> | null;
let onRoundEnd: () => void;

beforeEach(async () => {
  clock = createManualClock();
  store = await openTestStore(clock);
  txt = new Map();
  asked = [];
  const noName = async () => ({ kind: 'no-name', ttlSeconds: 60, secure: false }) as const;
  const resolver: Resolver = {
    mx: noName,
    a: noName,
    aaaa: noName,
    cname: noName,
    ptr: noName,
    txt: async (name): Promise<DnsAnswer<string>> => {
      asked.push(name);
      const record = txt.get(name);
      return record === undefined
        ? noName()
        : { kind: 'found', records: [record], ttlSeconds: 60, secure: false };
    },
  };
  const sealer = createSealer([{ id: 'test', secret: new Uint8Array(32).fill(7) }]);
  domains = createDomainService(
    { store, resolver, sealer, clock, random: createSystemRandom() },
    { anyDomain: false, selectorPrefix: 'pr', bounceDomain: 'bounce.example.org', dkim: true },
  );
  upkeep = null;
  onRoundEnd = silent;
});
afterEach(async () => {
  await upkeep?.stop(0);
  await store.close();
});

/** Resolves when the round over the domains has ended: then it sets its timer. */
function roundEnd(): Promise<void> {
  return new Promise((resolve) => {
    onRoundEnd = resolve;
  });
}

async function startUpkeep(checkDomains = true): Promise<void> {
  const watched: Clock = {
    ...clock,
    setTimer(delayMs, fire) {
      const timer = clock.setTimer(delayMs, fire);
      if (delayMs === MINUTE) onRoundEnd();
      return timer;
    },
  };
  const round = roundEnd();
  const retention = createRetention(
    { store, clock: { ...systemClock, now: clock.now } },
    {
      contentMs: DAY,
      eventsMs: 60 * DAY,
      callsMs: DAY,
      capturesMs: DAY,
      optOutMs: 730 * DAY,
      contentBytes: null,
    },
  );
  upkeep = createUpkeep(
    {
      store,
      domains,
      retention,
      clock: watched,
      log,
      removeOldCopies: async () => {},
      suspectsClock: () => false,
    },
    { idempotencyWindowMs: DAY, checkDomains },
  );
  await upkeep.start();
  await round;
}

/** Moves the clock to the next round and waits for its end. */
async function pass(ms: number): Promise<void> {
  const round = roundEnd();
  clock.advance(ms);
  await round;
}

/** Round after round, a minute each, until `found`. */
async function passUntil(found: () => Promise<boolean>, rounds: number): Promise<void> {
  for (let i = 0; i < rounds && !(await found()); i++) await pass(MINUTE);
  expect(await found()).toBe(true);
}

const status = async (name = 'example.com') => (await store.getDomain({ name }))?.status;
async function publish(name = 'example.com'): Promise<void> {
  const domain = await store.getDomain({ name });
  if (domain === null) throw new Error('no such domain');
  for (const { Purpose, Host, Value } of domains.records(domain))
    if (Purpose === 'Ownership' || Purpose === 'DKIM') txt.set(Host, Value);
}

it('adds up events as they come, for statistics', async () => {
  await startUpkeep();
  const counted = async () => {
    const question = {
      kinds: ['accepted'] as const,
      from: 0,
      to: 2 * clock.now(),
      intervalMs: DAY,
      groupBy: null,
    };
    const limits = { maxUnsummed: 0, maxCounts: 9, maxGroups: 9, maxCountedGroups: 9 };
    const answer = await store.stats({ ...question, ...limits, includeSandbox: false });
    return answer.kind === 'counted' && answer.groups[0]?.counts.reduce((sum, { n }) => sum + n, 0);
  };
  for (const n of [1, 2]) {
    await commitOne(store);
    expect(await counted()).toBe(false);
    await passUntil(async () => (await counted()) === n, 3);
  }
});

it('tells each minute how many events are counted, and how long it will take', async () => {
  for (let n = 0; n < 4; n++) await commitOne(store);
  const { sumEvents } = store;
  store.sumEvents = ({ upTo }) => sumEvents({ upTo, limit: 1 });
  told.length = 0;
  await startUpkeep();
  await passUntil(async () => (await store.countSummed()).summed === 4, 30);
  // It rests for as long as three times a step, and finds nothing more.
  for (let n = 0; n < 4; n++) await pass(MINUTE);
  expect(told[0]).toEqual({ counted: expect.any(Number), of: 4, minutesLeft: expect.any(Number) });
});

describe('upkeep of sender domains', () => {
  it('verifies a new domain soon after its records appear, sees it fail, and sees it recover', async () => {
    await domains.add({ name: 'example.com', operatorVerified: false });
    await startUpkeep();
    await passUntil(async () => asked.length > 0, 2);
    expect(await status()).toBe('Pending');
    await publish();
    await passUntil(async () => (await status()) === 'Verified', 3);
    txt.clear();
    await pass(DAY);
    await passUntil(async () => (await status()) === 'Failing', 3);
    const { events } = await store.findEvents({ look: 1000, limit: 9, newestFirst: false });
    expect(events.map((event) => event.kind)).toEqual(['domain.verified', 'domain.failing']);
    await publish();
    await passUntil(async () => (await status()) === 'Verified', 17);
  });

  it('asks about nothing that the operator vouches for, and nothing at all in development', async () => {
    await domains.add({ name: 'example.com', operatorVerified: true });
    await startUpkeep();
    await pass(2 * DAY);
    await upkeep?.stop(0);
    await domains.add({ name: 'example.net', operatorVerified: false });
    await startUpkeep(false);
    await pass(2 * DAY);
    expect(asked).toEqual([]);
  });

  it.each([
    ['pr', {}],
    ['stage-', { selectorPrefix: 'stage-' }],
    ['2026', { selectorPrefix: '2026' }],
  ])('makes a new standby key a week after a rotation, under a new selector: %s', async (prefix, chosen) => {
    await domains.add({ name: 'example.com', operatorVerified: true, ...chosen });
    await publish();
    await domains.rotateKey('example.com');
    const roles = async () =>
      (await store.getDomain({ name: 'example.com' }))?.keys.map((key) => `${key.selector} ${key.role}`);
    expect(await roles()).toEqual([`${prefix}1 retired`, `${prefix}2 active`]);
    await startUpkeep();
    await pass(7 * DAY - MINUTE);
    expect(await roles()).toEqual([`${prefix}1 retired`, `${prefix}2 active`]);
    await pass(MINUTE);
    expect(await roles()).toEqual([`${prefix}2 active`, `${prefix}3 standby`]);
  });
});
