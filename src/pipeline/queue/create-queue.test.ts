/** The queue over the real SQLite store, with a clock that stands still until a test moves it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { createClockWatch } from '../../lib/clock-watch.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import { createSystemRandom } from '../../lib/random.ts';
import { createVirtualClock, type VirtualClock } from '../../lib/virtual-clock.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { Lane } from '../../model/message.ts';
import { message, messagesOf, recipient, T0 } from '../../store/conformance/fixtures.ts';
import { openTestStore } from '../../store/sqlite/test-support.ts';
import { type Store, StoreUnavailable } from '../../store/store.ts';
import type { Settlement } from '../../store/topics/queue.ts';
import { NO_FACTS } from '../deliver/outcome/outcome.ts';
import { createSettlementRules, type SettlementRules } from '../deliver/outcome/settlement.ts';
import { createQueue } from './create-queue.ts';
import type { KeptBack } from './gate.ts';
import { QUEUE_DEFAULTS, type Queue, type QueueOptions, type Reservation } from './queue.ts';
import type { ReadyItem } from './ready-item.ts';
import { createRetrySchedule, NO_TIME_LEFT } from './retry-schedule.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const IDLE = { wake() {}, demand: () => 0, throughput: () => 0 };
const quietLog: Logger = { debug() {}, info() {}, warn() {}, error() {} };

let store: Store;
let clock: VirtualClock;
let epoch: number;
/** Under what the queue started last claims. */
let node: { epoch: number; valid: boolean; trouble: null };
let rules: SettlementRules;
let queues: Queue[];
/** Recipient domain whose mail is kept back, or null. */
let heldDomain: string | null;
/** Sites that the gate keeps closed. */
const closed = new Map<string, KeptBack>();
/** Sites for which critical mail was announced while they were closed. */
const urgent: string[] = [];
/** What the queue sees in place of single operations. */
let faults: Partial<Store>;

beforeEach(async () => {
  // The store keeps real time: its thread answers when it answers.
  store = await openTestStore(systemClock);
  clock = createVirtualClock(T0);
  epoch = await store.beginEpoch({ nodeId: 'test', now: T0 });
  const retry = createRetrySchedule(createSystemRandom(), null);
  rules = createSettlementRules({ clock, random: createSystemRandom(), retry, relayed: false });
  queues = [];
  heldDomain = null;
  closed.clear();
  urgent.length = 0;
  faults = {};
});

afterEach(async () => {
  faults = {};
  for (const queue of queues) {
    let stopped = false;
    void queue.stop(100).then(() => {
      stopped = true;
    });
    await eventually(() => stopped, 10);
  }
  await store.close();
});

interface Started {
  queue: Queue;
  /** Sites the queue called, in order. */
  called: string[];
}

async function start(options: Partial<QueueOptions> = {}): Promise<Started> {
  const called: string[] = [];
  node = { epoch, valid: true, trouble: null };
  const seen = new Proxy(store, {
    get: (target, name) => Reflect.get(faults, name) ?? Reflect.get(target, name),
  });
  const limits = { ...QUEUE_DEFAULTS, ...options };
  const queue = createQueue(
    {
      store: seen,
      clock,
      random: createSystemRandom(),
      log: quietLog,
      node,
      siteOf: ({ recipientDomain }) => recipientDomain,
      expire: rules.expire,
      suppressed: (delivery, now) => rules.suppressed(delivery, now),
      gate: {
        site: (name) => closed.get(name) ?? null,
        mail: ({ recipientDomain }) =>
          recipientDomain === heldDomain ? { reason: 'held: wrong price', until: null } : null,
        urgent: (site) => void urgent.push(site),
      },
      eventsStored() {},
      suspectsClock: createClockWatch({ clock, log: quietLog }, null).isSuspect,
    },
    limits,
  );
  const demand = () => limits.maxRowsPerSite;
  queue.onWork({ ...IDLE, wake: (site) => called.push(site), demand });
  queues.push(queue);
  await queue.start();
  return { queue, called };
}

/** Waits in real time for the store to answer; the queue's own clock stands still, or moves by `stepMs`. */
async function eventually(holds: () => boolean | Promise<boolean>, stepMs = 0): Promise<void> {
  const end = performance.now() + 15_000;
  for (;;) {
    await clock.advance(stepMs);
    if (await holds()) return;
    if (performance.now() > end) throw new Error(`never: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Stores `count` messages of one queued recipient each. */
async function queued(
  count: number,
  domain = 'example.net',
  { expiresAt, from }: { expiresAt?: number; from?: string } = {},
): Promise<void> {
  const messages = Array.from({ length: count }, (_, n) =>
    message({
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(from === undefined ? {} : { domain: from }),
      recipients: [recipient({ address: `r${n}@${domain}`, domain })],
    }),
  );
  await store.commitAccepted({ messages, epoch, idempotency: null });
}

function deliveredOf(delivery: ClaimedDelivery): Settlement {
  return rules.settle(delivery, { kind: 'delivered', route: 'relay', reply: null, facts: NO_FACTS });
}

async function eventKinds(): Promise<string[]> {
  const { events } = await store.findEvents({ look: 1000, limit: 1000, newestFirst: false });
  return events.map((event) => event.kind).filter((kind) => kind !== 'accepted');
}

async function states(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const row of await messagesOf(store, { limit: 1000 })) {
    for (const { state } of row.recipients) counts[state] = (counts[state] ?? 0) + 1;
  }
  return counts;
}

function inMemory(queue: Queue, site: string): number {
  const { critical, normal, bulk } = queue.waiting(site);
  return critical + normal + bulk;
}

function close(queue: Queue, site: string): void {
  closed.set(site, { reason: 'path: refused', until: null });
  queue.gateChanged(site);
}

function open(queue: Queue, site: string): void {
  closed.delete(site);
  queue.gateChanged(site);
}

function takeAll(queue: Queue, site = 'example.net'): ReadyItem[] {
  const items: ReadyItem[] = [];
  for (let item = queue.take(site); item !== null; item = queue.take(site)) items.push(item);
  return items;
}

function reserve(queue: Queue, lane: Lane, recipientDomain = 'example.net'): Reservation {
  return queue.reserve([{ ...asked, recipientDomain, lane }], 10);
}

const asked = { recipientDomain: 'example.net', senderDomain: 'example.com', sandbox: null } as const;

describe('the window over the store', () => {
  it('ends in time what waits in memory for a site that takes nothing', async () => {
    await queued(3, 'example.net', { expiresAt: T0 + MINUTE });
    const { queue } = await start();
    await eventually(() => inMemory(queue, 'example.net') === 3);
    await clock.advance(MINUTE);
    await eventually(async () => (await states()).failed === 3, 1_000);
    expect(clock.now()).toBeLessThanOrEqual(T0 + MINUTE + 10_000);
    expect(await eventKinds()).toEqual(['failed', 'failed', 'failed']);
    expect(queue.inMemory().rows).toBe(0);
  });

  it('claims more for a site whose rows were all taken, before any of them has ended', async () => {
    await queued(40);
    const { queue } = await start({ maxRowsPerSite: 8 });
    await eventually(() => inMemory(queue, 'example.net') > 0);
    const held = takeAll(queue);
    await eventually(() => inMemory(queue, 'example.net') > 0);
    expect(held.length + inMemory(queue, 'example.net')).toBeLessThan(40);
  });

  it.each(['memory', 'the store'])(
    'gives up nothing in %s where the clock is wrong for minutes',
    async (where) => {
      await queued(3, 'example.net', { expiresAt: T0 + HOUR });
      if (where === 'the store') heldDomain = 'example.net';
      const { queue } = await start();
      if (where === 'memory') await eventually(() => inMemory(queue, 'example.net') === 3);
      clock.jumpWallTo(T0 + 7 * DAY);
      expect(queue.take('example.net')).toBeNull();
      await clock.advance(10 * MINUTE);
      expect(await states()).toMatchObject({ queued: 3 });
      clock.jumpWallTo(T0 + 10 * MINUTE);
      heldDomain = null;
      queue.gateChanged();
      await eventually(() => queue.take('example.net') !== null, 1_000);
      expect(await eventKinds()).toEqual([]);
    },
  );

  it('gives up what is too old a quarter of an hour after the clock went forward', async () => {
    await queued(3, 'example.net', { expiresAt: T0 + HOUR });
    await start();
    clock.jumpWallTo(T0 + 7 * DAY);
    await clock.advance(15 * MINUTE);
    await eventually(async () => (await states()).failed === 3, 1_000);
  });

  it('says of what was never tried why its site was closed', async () => {
    await queued(1, 'example.net', { expiresAt: T0 + MINUTE });
    closed.set('example.net', { reason: 'path: refused', until: null });
    await start();
    await clock.advance(MINUTE);
    await eventually(async () => (await eventKinds()).length === 1, 1_000);
    const { events } = await store.findEvents({ look: 10, limit: 10, newestFirst: true });
    expect(events[0]?.kind).toBe('failed');
    expect(events[0]?.detail?.reason).toMatch(/without an attempt.*Last answer: path: refused/);
  });

  it('never holds more than its limits, and refills until everything is done', async () => {
    await queued(30);
    const { queue, called } = await start({ maxRows: 5, maxRowsPerSite: 5 });
    let done = 0;
    let most = 0;
    await eventually(async () => {
      most = Math.max(most, queue.inMemory().rows);
      for (const item of takeAll(queue)) {
        done += 1;
        void queue.settle(item, deliveredOf(item.delivery));
      }
      return done === 30 && queue.inMemory().rows === 0;
    }, 50);
    // One sender domain leaves a quarter of the places to others.
    expect(most).toBe(4);
    expect(queue.inMemory()).toEqual({ rows: 0, bytes: 0 });
    expect(await states()).toEqual({ delivered: 30 });
    expect(new Set(called)).toEqual(new Set(['example.net']));
  });

  it('refills without a sweep for a sender domain whose mail waits for more sites than there are places', async () => {
    const sites = Array.from({ length: 60 }, (_, n) => `site-${n}.example`);
    for (const site of sites) await queued(1, site);
    const { queue } = await start({ maxRows: 8 });
    let done = 0;
    await eventually(async () => {
      expect(queue.inMemory().rows).toBeLessThanOrEqual(6);
      for (const item of sites.flatMap((site) => takeAll(queue, site))) {
        done += 1;
        void queue.settle(item, deliveredOf(item.delivery));
      }
      return done === 60;
    });
  });

  it('asks a store that cannot be written once in a while, also for sites of one sender domain in turns', async () => {
    for (const site of ['one.example', 'two.example']) await queued(30, site);
    let asked = 0;
    faults.claimDue = async () => {
      asked += 1;
      // Without end, nothing else would run any more.
      if (asked > 1_000) return [];
      throw new StoreUnavailable('full');
    };
    await start({ maxRows: 22, maxRowsPerSite: 22 });
    await eventually(() => asked > 0);
    for (let n = 0; n < 100; n++) await clock.advance(10);
    expect(asked).toBeLessThan(10);
  });

  it('claims on while the store is busy with long searches', async () => {
    faults.queueCounts = () => new Promise(() => {});
    await queued(2);
    const { queue } = await start();
    await eventually(() => queue.inMemory().rows === 2, 50);
  });

  it('sends a single message that is larger than the whole window', async () => {
    await queued(2);
    const { queue } = await start({ maxBytes: 10 });
    let done = 0;
    await eventually(async () => {
      expect(queue.inMemory().rows).toBeLessThanOrEqual(1);
      for (const item of takeAll(queue)) {
        done += 1;
        void queue.settle(item, deliveredOf(item.delivery));
      }
      return done === 2;
    }, 50);
  });

  it('lets a site that is quick hold about what it sends in a second, and no more', async () => {
    const { queue } = await start({ maxRowsPerSite: 8 });
    let throughput = 0;
    queue.onWork({ wake() {}, demand: () => 5_000, throughput: () => throughput });
    const reservable = () => {
      const rooms: Reservation[] = [];
      for (let room = reserve(queue, 'normal'); room.rows > 0; room = reserve(queue, 'normal'))
        rooms.push(room);
      rooms.forEach(queue.unreserve);
      return rooms.length;
    };
    // One sender leaves a quarter of what the lane may have to others.
    expect(reservable()).toBe(6);
    throughput = 100;
    expect(reservable()).toBe(66);
    throughput = 50_000;
    expect(reservable()).toBe(672);
    throughput = 1;
    expect(reservable()).toBe(6);
  });

  it('takes critical mail for a site that holds more than it can use, since it became slow', async () => {
    const { queue } = await start({ maxRowsPerSite: 8 });
    let demand = 8;
    queue.onWork({ ...IDLE, demand: () => demand });
    while (reserve(queue, 'normal').rows > 0);
    demand = 1;
    expect(reserve(queue, 'normal').rows).toBe(0);
    expect(reserve(queue, 'critical').rows).toBe(1);
  });

  it('holds little for sites that send slowly where half of its places are in use', async () => {
    const { queue } = await start({ maxRows: 40, maxRowsPerSite: 8 });
    const throughput = (site: string) => (site === 'quick.example' ? 100 : 0);
    queue.onWork({ wake() {}, demand: () => 8, throughput });
    const at = (...sites: string[]) =>
      sites.map((site) => [...queue.items()].filter((item) => item.site === site).length);
    const first = ['a.example', 'b.example', 'c.example', 'd.example'];
    for (const site of first) await queued(8, site);
    queue.wake();
    // One sender domain leaves a quarter of the places of a site to others.
    await eventually(() => at(...first).every((rows) => rows === 6));
    await queued(8, 'slow.example', { from: 'second.example' });
    await queued(8, 'quick.example', { from: 'third.example' });
    queue.wake();
    await eventually(() => at('quick.example')[0] === 6);
    await eventually(() => at('slow.example')[0] === 3);
  });

  it('lets one sender domain fill three quarters of its places at most, at however many sites', async () => {
    const { queue } = await start({ maxRows: 64, maxRowsPerSite: 8 });
    const sites = Array.from({ length: 40 }, (_, n) => `site-${n}.example`);
    for (const site of sites) await queued(4, site);
    queue.wake();
    await eventually(() => queue.inMemory().rows >= 40);
    await clock.advance(10_000);
    // Claims that run at the same time may take some more.
    expect(queue.inMemory().rows).toBeLessThan(54);
    const other = {
      ...asked,
      recipientDomain: 'other.test',
      senderDomain: 'other.example',
      lane: 'normal',
    } as const;
    expect(queue.reserve([other], 10).rows).toBe(1);
    // What it sends makes room for the rest, long before the next sweep.
    const began = clock.now();
    let done = 0;
    await eventually(() => {
      for (const item of sites.flatMap((site) => takeAll(queue, site))) {
        done += 1;
        void queue.settle(item, deliveredOf(item.delivery));
      }
      return done === 160;
    }, 1);
    expect(clock.now() - began).toBeLessThan(5_000);
  });

  it('has room for many sites at once: what one has been promised is not taken from the others', async () => {
    const { queue } = await start();
    const rooms = Array.from({ length: 400 }, (_, n) => reserve(queue, 'critical', `site-${n}.example`));
    expect(rooms.filter(({ rows }) => rows === 0)).toEqual([]);
    // One sender domain leaves a quarter of the whole window to others.
    const more = Array.from({ length: 4_000 }, (_, n) => reserve(queue, 'critical', `other-${n}.example`));
    expect(more.filter(({ rows }) => rows === 1).length).toBe((QUEUE_DEFAULTS.maxRows * 3) / 4 - 400);
    const other = { ...asked, senderDomain: 'other.example', lane: 'normal' } as const;
    const beside = queue.reserve([other], 10);
    expect(beside.rows).toBe(1);
    queue.unreserve(beside);
    for (const room of [...rooms, ...more]) queue.unreserve(room);
    expect(reserve(queue, 'critical').rows).toBe(1);
  });

  it('keeps fresh mail behind what spilled, and lets it in from memory again afterwards', async () => {
    const { queue } = await start({ maxRows: 4, maxRowsPerSite: 4 });
    await queued(6);
    queue.wake();
    await eventually(() => queue.inMemory().rows === 3);
    await eventually(() => reserve(queue, 'normal').rows === 0);
    // A one-time code does not wait behind it where there is room.
    const first = queue.take('example.net');
    if (first === null) throw new Error('there is work');
    await queue.settle(first, deliveredOf(first.delivery));
    let done = 1;
    await eventually(() => {
      for (const item of takeAll(queue)) {
        done += 1;
        void queue.settle(item, deliveredOf(item.delivery));
      }
      return done === 6 && queue.inMemory().rows === 0;
    }, 50);
    await eventually(() => reserve(queue, 'normal').rows === 1, 250);
  });

  it('lets fresh mail in from memory although a retry has just been claimed', async () => {
    const { queue } = await start();
    await queued(1);
    queue.wake();
    await eventually(() => queue.inMemory().rows === 1);
    // The sweep that claimed it has to end.
    await eventually(() => reserve(queue, 'normal').rows === 1);
  });

  it('hands nothing out after its time, however long it waited in memory', async () => {
    await queued(2, 'example.net', { expiresAt: T0 + MINUTE });
    const { queue } = await start({ lookAheadMs: HOUR });
    await eventually(() => queue.inMemory().rows === 2);
    expect(queue.take('example.net')).not.toBeNull();
    clock.jumpWallTo(T0 + 2 * MINUTE);
    expect(queue.take('example.net')).toBeNull();
    await eventually(async () => (await eventKinds()).length === 1);
    expect(await eventKinds()).toEqual(['failed']);
  });
});

describe('many due rows that cannot go', () => {
  /** Counts what the queue asks of the store. */
  function counted(): { claims: () => number; sweeps: () => number } {
    let claims = 0;
    let sweeps = 0;
    faults.claimDue = (params) => {
      claims += 1;
      return store.claimDue(params);
    };
    faults.dueQueues = (params) => {
      sweeps += 1;
      return store.dueQueues(params);
    };
    return { claims: () => claims, sweeps: () => sweeps };
  }

  it('cost nothing but a sweep now and then while their site is blocked', async () => {
    await queued(300, 'shut.example', { expiresAt: T0 + DAY });
    const asked = counted();
    const { queue } = await start();
    close(queue, 'shut.example');
    await eventually(() => queue.inMemory().rows === 0);
    const before = { claims: asked.claims(), sweeps: asked.sweeps() };
    await eventually(() => asked.sweeps() - before.sweeps >= 5, 1_000);
    expect(clock.now() - T0).toBeGreaterThan(15_000);
    expect(asked.claims()).toBe(before.claims);
    open(queue, 'shut.example');
    await eventually(() => inMemory(queue, 'shut.example') > 0);
  });

  it('are claimed only as far as their path can use them soon', async () => {
    await queued(300, 'slow.example', { expiresAt: T0 + DAY });
    const asked = counted();
    const { queue } = await start();
    queue.onWork({ ...IDLE, demand: () => 1 });
    await eventually(() => queue.inMemory().rows > 0);
    const held = queue.inMemory().rows;
    const claims = asked.claims();
    // One a minute.
    for (let n = 0; n < 5; n++) {
      const [item] = takeAll(queue, 'slow.example').slice(0, 1);
      if (item !== undefined) await queue.settle(item, deliveredOf(item.delivery));
      await clock.advance(MINUTE);
    }
    await eventually(() => inMemory(queue, 'slow.example') > 0);
    expect(queue.inMemory().rows).toBeLessThanOrEqual(held);
    expect(asked.claims() - claims).toBeLessThanOrEqual(12);
  });
});

describe('blocked sites', () => {
  it('get nothing until they open, give back what waited with its reason, and go on', async () => {
    await queued(3);
    await queued(1, 'other.example');
    const { queue } = await start();
    await eventually(() => queue.inMemory().rows === 4);
    close(queue, 'example.net');
    expect(queue.take('example.net')).toBeNull();
    expect(queue.take('other.example')).not.toBeNull();
    expect(reserve(queue, 'critical').rows).toBe(0);
    await eventually(() => queue.inMemory().rows === 1);
    const rows = (await messagesOf(store, { limit: 10, to: 'r0@example.net' }))[0]?.recipients;
    expect(rows).toMatchObject([
      // Due as before: it goes on with its site, whether that opens sooner or later.
      { state: 'queued', waitReason: 'path: refused', dueAt: T0, attempts: 0 },
    ]);
    open(queue, 'example.net');
    await eventually(() => inMemory(queue, 'example.net') === 3, 100);
  });

  it('get back at once what was claimed while they closed', async () => {
    const { queue } = await start();
    let claimed = () => {};
    let goOn = () => {};
    const held = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const under = new Promise<void>((resolve) => {
      claimed = resolve;
    });
    faults.claimDue = async (params) => {
      const rows = await store.claimDue(params);
      claimed();
      await held;
      return rows;
    };
    await queued(3, 'example.net', { expiresAt: T0 + DAY });
    queue.wake();
    await under;
    close(queue, 'example.net');
    goOn();
    await eventually(async () => (await states()).queued === 3);
    expect(queue.inMemory().rows).toBe(0);
    const [row] = (await messagesOf(store, { limit: 1 }))[0]?.recipients ?? [];
    expect(row).toMatchObject({ waitReason: 'path: refused', attempts: 0 });
  });

  it('hear of critical mail that waits for them, whenever it came', async () => {
    await queued(1);
    const { queue } = await start();
    await eventually(() => queue.inMemory().rows === 1);
    close(queue, 'example.net');
    await eventually(() => queue.inMemory().rows === 0, 100);
    await eventually(() => true, 6_000);
    expect(urgent).toEqual([]);
    const critical = message({ lane: 'critical', recipients: [recipient({ address: 'r9@example.net' })] });
    await store.commitAccepted({ messages: [critical], epoch, idempotency: null });
    await eventually(() => urgent.includes('example.net'), 1_000);
  });

  it('can be opened early, and their rows then wait for nothing but their due time', async () => {
    await queued(1, 'example.net', { expiresAt: T0 + DAY });
    const { queue, called } = await start();
    await eventually(() => queue.inMemory().rows === 1);
    close(queue, 'example.net');
    await eventually(() => queue.inMemory().rows === 0);
    called.length = 0;
    open(queue, 'example.net');
    expect(called).toEqual(['example.net']);
    await eventually(() => inMemory(queue, 'example.net') === 1, MINUTE);
  });

  it('let their mail expire on time, with the last answer', async () => {
    await queued(2, 'example.net', { expiresAt: T0 + 10 * MINUTE });
    const { queue } = await start();
    await eventually(() => queue.inMemory().rows === 2);
    close(queue, 'example.net');
    await eventually(() => queue.inMemory().rows === 0);
    await clock.advance(10 * MINUTE - 1);
    expect(await eventKinds()).toEqual([]);
    await eventually(async () => (await states()).failed === 2, 1_000);
    // Within a sweep and a check of the time it was due.
    expect(clock.now() - T0).toBeLessThan(10 * MINUTE + 30_000);
    expect(await eventKinds()).toEqual(['failed', 'failed']);
  });
});

describe('mail in memory that waits', () => {
  const canceling = (seq: number) => (ids: readonly number[], leases: ReadonlyMap<number, number>) =>
    store.cancelQueued({
      messageSeq: seq,
      now: clock.now(),
      recipients: ids.map((deliveryId) => {
        const canceled = {
          id: uuidv7(clock, createSystemRandom()),
          kind: 'canceled',
          at: T0,
          detail: null,
        } as const;
        const epochOf = leases.get(deliveryId);
        return { deliveryId, event: canceled, ...(epochOf === undefined ? {} : { epoch: epochOf }) };
      }),
    });

  async function threeHeld(): Promise<{ queue: Queue; items: ReadyItem[] }> {
    await queued(3);
    const { queue } = await start();
    await eventually(() => inMemory(queue, 'example.net') === 3);
    return { queue, items: [...queue.items()] };
  }

  it('give a message that comes back from a connection to the store where the site has closed meanwhile', async () => {
    await queued(1);
    const { queue } = await start();
    await eventually(() => inMemory(queue, 'example.net') === 1);
    const [item] = takeAll(queue);
    if (item === undefined) throw new Error('nothing was taken');
    close(queue, 'example.net');
    queue.putBack(item);
    await eventually(() => queue.inMemory().rows === 0);
    const [row] = (await messagesOf(store, { limit: 1 }))[0]?.recipients ?? [];
    expect(row).toMatchObject({ state: 'queued', waitReason: 'path: refused' });
  });

  it('can be changed in the store: nobody sends it meanwhile, and what was changed leaves memory', async () => {
    const { queue } = await threeHeld();
    const taken = queue.take('example.net');
    const going = queue.take('example.net');
    const [waiting] = [...queue.items()].filter((item) => item !== taken && item !== going);
    if (taken === null || going === null || waiting === undefined) throw new Error('three were there');
    going.underWay = { progress: () => '' };
    for (const item of [taken, waiting]) {
      const { id, messageSeq } = item.delivery;
      const changing = queue.changing([id], canceling(messageSeq));
      // From this moment on, not from when the store has answered.
      expect([queue.mayGoOn(item), queue.itemOf(id)?.withdrawn]).toEqual([false, true]);
      expect(await changing).toMatchObject([{ changed: [id], tooLate: 0 }]);
      expect(queue.itemOf(id)).toBeNull();
    }
    expect(queue.take('example.net')).toBeNull();
    // Whoever had taken one lets go of it in vain.
    queue.giveBack(taken, T0, null);
    queue.putBack(taken);
    const { id, messageSeq } = going.delivery;
    expect(await queue.changing([id], canceling(messageSeq))).toMatchObject([{ changed: [], tooLate: 1 }]);
    await queue.settle(going, deliveredOf(going.delivery));
    expect(await states()).toEqual({ canceled: 2, delivered: 1 });
    expect(queue.inMemory()).toEqual({ rows: 0, bytes: 0 });
  });

  it('goes on waiting where the store did not change it', async () => {
    const { queue, items } = await threeHeld();
    const taken = queue.take('example.net');
    if (taken === null) throw new Error('there is work');
    const ids = items.map(({ delivery }) => delivery.id);
    const changing = queue.changing(ids, async () => ({ changed: [] }));
    expect(queue.take('example.net')).toBeNull();
    await changing;
    expect(queue.inMemory().rows).toBe(3);
    const again = takeAll(queue);
    expect(again.map(({ delivery }) => delivery.id).sort()).toEqual([...ids].sort());
    expect(again).not.toContain(taken);
    await Promise.all(again.map((item) => queue.settle(item, deliveredOf(item.delivery))));
    expect(await states()).toEqual({ delivered: 3 });
  });

  it('goes back to the store where that does not say what it changed, and is sent only if it still waits', async () => {
    const { queue, items } = await threeHeld();
    const taken = queue.take('example.net');
    if (taken === null) throw new Error('there is work');
    const ids = items.map(({ delivery }) => delivery.id);
    const failing = queue.changing(ids, async (some, leases) => {
      await canceling(taken.delivery.messageSeq)(some, leases);
      throw new StoreUnavailable('the answer was lost');
    });
    await expect(failing).rejects.toThrow('the answer was lost');
    expect(takeAll(queue)).toEqual([]);
    await eventually(() => queue.inMemory().rows === 2);
    const again = takeAll(queue);
    expect(again.map(({ delivery }) => delivery.id)).not.toContain(taken.delivery.id);
    await Promise.all(again.map((item) => queue.settle(item, deliveredOf(item.delivery))));
    expect(await states()).toEqual({ canceled: 1, delivered: 2 });
    expect(queue.inMemory()).toEqual({ rows: 0, bytes: 0 });
  });

  it('keeps the content of what goes on: whoever had taken it may still read it', async () => {
    const { queue, items } = await threeHeld();
    const [known] = items;
    if (known === undefined) throw new Error('three were there');
    const id = known.delivery.id + 1_000;
    queue.admit([{ ...known.delivery, id }], new Uint8Array(9_000), reserve(queue, 'normal'));
    expect(queue.itemOf(id)?.content?.mayFree).toBe(true);
    await queue.changing([id], async () => ({ changed: [] }));
    expect(queue.itemOf(id)?.content).toMatchObject({ size: 9_000, mayFree: false });
  });

  it('can be changed whole while some of it is on its way into memory, or out of it', async () => {
    const domains = ['example.net', 'other.example'];
    const recipients = domains.map((domain) => recipient({ address: `r@${domain}`, domain }));
    await store.commitAccepted({
      messages: [message({ sendAt: T0, recipients })],
      epoch,
      idempotency: null,
    });
    const [stored] = await messagesOf(store, { limit: 1 });
    if (stored === undefined) throw new Error('it was accepted');
    const ids = stored.recipients.map(({ deliveryId }) => deliveryId);
    /** All of it or nothing. */
    const moving = (_: readonly number[], leases: ReadonlyMap<number, number>) =>
      store
        .reschedule({
          ...{ messageSeq: stored.seq, now: clock.now(), sendAt: T0 + HOUR, expiresAt: T0 + DAY },
          date: 'Sun, 22 Nov 2026 01:02:03 +0000',
          recipients: ids.map((deliveryId) => {
            const id = uuidv7(clock, createSystemRandom());
            const moved = { id, kind: 'scheduled', at: clock.now(), detail: null } as const;
            const epochOf = leases.get(deliveryId);
            return { deliveryId, event: moved, ...(epochOf === undefined ? {} : { epoch: epochOf }) };
          }),
        })
        .then((result) => ({ changed: result.kind === 'rescheduled' ? result.changed : [] }));
    const claimed = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    let claims = 0;
    faults.claimDue = async (params) => {
      const rows = await store.claimDue(params);
      claims += 1;
      if (claims === domains.length) claimed.resolve();
      await (rows[0]?.recipientDomain === 'other.example' ? goOn.promise : undefined);
      return rows;
    };
    const { queue } = await start();
    await claimed.promise;
    await eventually(() => queue.inMemory().rows === 1);
    const arriving = queue.changing(ids, moving);
    goOn.resolve();
    expect((await arriving).at(-1)?.changed).toEqual(ids);
    expect(queue.inMemory().rows).toBe(0);

    await clock.advance(HOUR);
    delete faults.claimDue;
    queue.wake();
    await eventually(() => queue.inMemory().rows === 2);
    const taken = queue.take('example.net');
    if (taken === null) throw new Error('there is work');
    const released = Promise.withResolvers<void>();
    faults.release = async (params) => {
      await released.promise;
      await store.release(params);
    };
    queue.giveBack(taken, clock.now(), null);
    const leaving = queue.changing(ids, moving);
    released.resolve();
    expect((await leaving).at(-1)?.changed).toEqual(ids);
    expect((await states()).queued).toBe(2);
  });

  it('is not sent to whom its sender suppresses while it waits, whatever suppresses it', async () => {
    const { queue } = await threeHeld();
    const taken = queue.take('example.net');
    if (taken === null) throw new Error('there is work');
    const entry = (address: string) =>
      ({ address, reason: 'Bounce', note: '', expiresAt: null, source: null }) as const;
    await store.addSuppressions({
      domain: 'example.com',
      now: clock.now(),
      entries: [entry(taken.delivery.address), entry('r9@example.net')],
    });
    expect(queue.mayGoOn(taken)).toBe(false);
    const others = takeAll(queue);
    expect(others).toHaveLength(2);
    expect(others.every((item) => queue.mayGoOn(item))).toBe(true);
    await eventually(async () => (await states()).suppressed === 1);
  });
});

describe('held mail', () => {
  it('stays in the store unclaimed, lets other mail go, and goes when it is released', async () => {
    heldDomain = 'example.net';
    await queued(3);
    await queued(1, 'other.example');
    const { queue } = await start();
    await eventually(() => inMemory(queue, 'other.example') === 1, 100);
    let looks = 0;
    faults.dueQueues = (params) => {
      looks += 1;
      return store.dueQueues(params);
    };
    await clock.advance(MINUTE);
    await eventually(() => looks > 2, 1_000);
    const [from, before] = [clock.now(), looks];
    for (let i = 0; i < 60; i++) await eventually(() => true, 1_000);
    // What is due and held does not bring the next sweep about: two looks every ten seconds.
    expect((looks - before) / ((clock.now() - from) / 10_000)).toBeLessThan(4);
    expect(queue.inMemory().rows).toBe(1);
    expect(reserve(queue, 'critical').rows).toBe(0);
    heldDomain = null;
    closed.clear();
    urgent.length = 0;
    queue.gateChanged();
    await eventually(() => inMemory(queue, 'example.net') === 3, 100);
    expect(takeAll(queue)[0]?.delivery.attempts).toBe(0);
  });

  it('that is in memory already goes back with the reason, and is not lost', async () => {
    await queued(2);
    const { queue, called } = await start();
    await eventually(() => queue.inMemory().rows === 2);
    heldDomain = 'example.net';
    called.length = 0;
    queue.gateChanged();
    expect(called).toEqual(['example.net']);
    expect(queue.take('example.net')).toBeNull();
    await eventually(() => queue.inMemory().rows === 0, 100);
    const rows = (await messagesOf(store, { limit: 10 })).flatMap(({ recipients }) => recipients);
    expect(rows.map(({ state, waitReason }) => [state, waitReason])).toEqual([
      ['queued', 'held: wrong price'],
      ['queued', 'held: wrong price'],
    ]);
    heldDomain = null;
    closed.clear();
    urgent.length = 0;
    queue.gateChanged();
    await eventually(() => inMemory(queue, 'example.net') === 2, 100);
  });

  it('is not tried in its last seconds, and ends when they are over', async () => {
    await queued(1, 'example.net', { expiresAt: T0 + 4_000 });
    const { queue } = await start();
    await eventually(async () => {
      const taken = queue.take('example.net');
      expect(taken).toBeNull();
      const [row] = (await messagesOf(store, { limit: 1 }))[0]?.recipients ?? [];
      return row?.waitReason === NO_TIME_LEFT && row.dueAt === T0 + 4_000;
    });
    await clock.advance(3_900);
    expect(await eventKinds()).toEqual([]);
    await eventually(async () => (await states()).failed === 1, 1_000);
  });

  it('expires in its time', async () => {
    heldDomain = 'example.net';
    await queued(2, 'example.net', { expiresAt: T0 + 10 * MINUTE });
    await start();
    await clock.advance(10 * MINUTE - 1);
    expect(await eventKinds()).toEqual([]);
    await eventually(async () => (await states()).failed === 2, 1_000);
  });
});

describe('a store that fails under the queue', () => {
  it('does not take back what it claimed again after the answer to giving it back was lost', async () => {
    const { queue, lost } = await losing('release');
    close(queue, 'example.net');
    await lost;
    open(queue, 'example.net');
    await claimedOnce(queue);
  });

  it('does not settle again what it claimed again after the answer to its outcome was lost', async () => {
    const goOn = Promise.withResolvers<void>();
    const { queue, lost } = await losing('settle', goOn.promise);
    await putOff(queue);
    await eventually(() => inMemory(queue, 'example.net') === 1);
    goOn.resolve();
    await lost;
    await claimedOnce(queue);
  });

  it.each(['release', 'settle'] as const)(
    'does not repeat a lost %s of what it is claiming again',
    async (name) => {
      const goOn = Promise.withResolvers<void>();
      const { queue, lost } = await losing(name, goOn.promise);
      const claim = holdClaim();
      if (name === 'settle') await putOff(queue);
      else await giveBack(queue);
      await claim.made;
      goOn.resolve();
      await lost;
      await clock.advance(1_000);
      claim.answer();
      await claimedOnce(queue);
    },
  );

  /** The one row is given back, as its site closes; then it opens. The queue looks for what is due. */
  async function giveBack(queue: Queue): Promise<void> {
    close(queue, 'example.net');
    await eventually(async () => (await states()).queued === 1);
    open(queue, 'example.net');
    queue.wake();
  }

  /** The one row waits again, due at once; the queue looks for what is due. */
  async function putOff(queue: Queue): Promise<void> {
    const [item] = takeAll(queue);
    if (item === undefined) throw new Error('nothing was taken');
    const { deliveryId, epoch } = deliveredOf(item.delivery);
    const again = { deliveryId, epoch, state: 'queued', dueAt: T0, countAttempt: true, events: [] } as const;
    void queue.settle(item, again);
    await eventually(async () => (await states()).queued === 1);
    queue.wake();
  }

  /** The next claim is made, and its answer waits. */
  function holdClaim(): { made: Promise<void>; answer(): void } {
    const made = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    faults.claimDue = async (params) => {
      delete faults.claimDue;
      const rows = await store.claimDue(params);
      made.resolve();
      await answered.promise;
      return rows;
    };
    return { made: made.promise, answer: answered.resolve };
  }

  /** A queue with one row in memory. What `name` does is done, and after `until` its first answer is lost. */
  async function losing(name: 'release' | 'settle', until?: Promise<void>) {
    await queued(1);
    const { queue } = await start();
    await eventually(() => inMemory(queue, 'example.net') === 1);
    const lost = new Promise<void>((resolve) => {
      faults[name] = async (params: never) => {
        delete faults[name];
        await store[name](params);
        await until;
        resolve();
        throw new StoreUnavailable('the answer was lost');
      };
    });
    return { queue, lost };
  }

  async function claimedOnce(queue: Queue): Promise<void> {
    queue.wake();
    await eventually(() => inMemory(queue, 'example.net') === 1, 100);
    await clock.advance(1_000);
    await eventually(() => queue.inMemory().rows === 1);
    const [item] = takeAll(queue);
    if (item === undefined) throw new Error('nothing was taken');
    expect(queue.holding().ids).toEqual([item.delivery.id]);
    await queue.settle(item, deliveredOf(item.delivery));
    expect(await eventKinds()).toEqual(['delivered']);
    expect(queue.inMemory()).toMatchObject({ rows: 0, bytes: 0 });
  }

  it('holds outcomes and hands out nothing until they are stored', async () => {
    await queued(3);
    const { queue, called } = await start();
    await eventually(() => queue.inMemory().rows === 3);
    const first = queue.take('example.net');
    if (first === null) throw new Error('there is work');
    let refused = 0;
    faults.settle = () => {
      refused += 1;
      return Promise.reject(new StoreUnavailable('disk full'));
    };
    const stored = queue.settle(first, deliveredOf(first.delivery));
    await eventually(() => refused === 1);
    expect(queue.take('example.net')).toBeNull();
    expect(queue.recordable()).toBe(false);
    expect(queue.backlogged()).toBe('outcomes cannot be stored');
    expect(reserve(queue, 'normal').rows).toBe(0);
    await clock.advance(10_000);
    expect(refused).toBeGreaterThan(5);
    expect(refused).toBeLessThan(100);

    called.length = 0;
    delete faults.settle;
    await eventually(() => queue.recordable(), 250);
    await stored;
    expect(called).toContain('example.net');
    expect(queue.backlogged()).toBeNull();
    expect(takeAll(queue)).toHaveLength(2);
    expect(await eventKinds()).toEqual(['delivered']);
  });

  it('wakes the sites that were refused work, though no outcome waited', async () => {
    await queued(1);
    const { queue, called } = await start();
    await eventually(() => queue.inMemory().rows === 1);
    faults.writable = () => ({ ok: false, reason: 'the disk is full' });
    expect(queue.take('example.net')).toBeNull();
    called.length = 0;
    await clock.advance(1_000);
    expect(called).toEqual([]);
    delete faults.writable;
    await clock.advance(250);
    expect(called).toEqual(['example.net']);
    expect(queue.take('example.net')).not.toBeNull();
  });

  it('settles what it had leased as expired once it can', async () => {
    await queued(2, 'example.net', { expiresAt: T0 + MINUTE });
    clock.jumpWallTo(T0 + 2 * MINUTE);
    let refused = 0;
    faults.settle = () => {
      refused += 1;
      return Promise.reject(new StoreUnavailable('disk full'));
    };
    await start();
    await eventually(() => refused > 0, 10);
    delete faults.settle;
    await eventually(async () => (await states()).failed === 2, 1_000);
  });

  it('puts aside one outcome that cannot be stored for what it is, and stores the others', async () => {
    await queued(3);
    const { queue } = await start();
    await eventually(() => queue.inMemory().rows === 3);
    const items = takeAll(queue);
    const bad = items[1]?.delivery.id;
    faults.settle = (params) =>
      params.settlements.some((one) => one.deliveryId === bad)
        ? Promise.reject(new TypeError('not storable'))
        : store.settle(params);
    await Promise.all(items.map((item) => queue.settle(item, deliveredOf(item.delivery))));
    expect(queue.inMemory().rows).toBe(0);
    expect(queue.recordable()).toBe(true);
    expect(await states()).toEqual({ delivered: 2, sending: 1 });
    // Its lease is not taken back, as it would be sent again.
    expect(queue.holding().ids).toEqual([bad]);
  });

  it('leaves memory also where its lease cannot be given back for what it is', async () => {
    await queued(2);
    const { queue } = await start();
    await eventually(() => queue.inMemory().rows === 2);
    faults.release = () => Promise.reject(new TypeError('not storable'));
    close(queue, 'example.net');
    await eventually(() => queue.inMemory().rows === 0);
  });
});

describe('mail that is to be tried now', () => {
  it('also has a time at once where its failure is only being stored', async () => {
    await queued(1);
    const { queue } = await start();
    await eventually(() => queue.inMemory().rows === 1);
    const [item] = takeAll(queue);
    if (item === undefined) throw new Error('no item');
    const storing = Promise.withResolvers<void>();
    faults.settle = (params) => storing.promise.then(() => store.settle(params));
    const { delivery } = item;
    const waits = { waitReason: 'path: refused', dueAt: T0 + HOUR, state: 'queued' } as const;
    void queue.settle(item, { ...deliveredOf(delivery), ...waits, countAttempt: false, events: [] });
    const hurried = queue.hurry({ recipientDomain: 'example.net' });
    await clock.advance(100);
    storing.resolve();
    let found: number | null = null;
    void hurried.then((count) => {
      found = count;
    });
    await eventually(() => found !== null);
    expect(found).toBe(1);
    await eventually(() => queue.inMemory().rows === 1);
  });
});

describe('starting and stopping', () => {
  it('takes back what an earlier run held, marked as a possible duplicate', async () => {
    await queued(2);
    const { queue } = await start();
    await eventually(() => queue.inMemory().rows === 2);
    // The node dies; its successor has a later epoch.
    epoch = await store.beginEpoch({ nodeId: 'test', now: T0 });
    const next = await start();
    await eventually(() => next.queue.inMemory().rows === 2);
    const items = takeAll(next.queue);
    expect(items.map((item) => item.delivery.mayBeDuplicate)).toEqual([true, true]);
    // The late one has lost its lease: its outcome changes nothing.
    const late = queue.take('example.net');
    if (late === null) throw new Error('there is work');
    await queue.settle(late, deliveredOf(late.delivery));
    expect((await states()).delivered).toBeUndefined();
    expect(await eventKinds()).toEqual(['late_outcome']);
  });

  it('hands nothing out and claims nothing while others may hold the node for dead', async () => {
    await queued(2);
    const { queue } = await start();
    await eventually(() => queue.inMemory().rows === 2);
    node.valid = false;
    expect(queue.take('example.net')).toBeNull();
    expect(queue.recordable()).toBe(false);
    expect(reserve(queue, 'normal', 'a.net').rows).toBe(0);
    node.valid = true;
    expect(takeAll(queue)).toHaveLength(2);
  });

  it('gives back what waits under an epoch that ended, sends none of it, and claims under the new one', async () => {
    await queued(3);
    const { queue } = await start();
    await eventually(() => queue.inMemory().rows === 3);
    const taken = queue.take('example.net');
    if (taken === null) throw new Error('there is work');
    node.epoch = await store.beginEpoch({ nodeId: 'test', now: T0 });
    // Another node has taken back one of them before this one noticed.
    expect(await store.reclaim({ now: T0, limit: 1 })).toBe(1);
    queue.epochChanged();
    expect(queue.mayGoOn(taken)).toBe(false);
    await eventually(() => queue.inMemory().rows === 3 && queue.waiting('example.net').normal === 3);
    const items = takeAll(queue);
    expect(items.every((item) => item.delivery.epoch === node.epoch)).toBe(true);
    expect(items.filter((item) => item.delivery.mayBeDuplicate)).toHaveLength(1);
    await Promise.all(items.map((item) => queue.settle(item, deliveredOf(item.delivery))));
    expect(await states()).toEqual({ delivered: 3 });
    expect(await eventKinds()).toEqual(['delivered', 'delivered', 'delivered']);
  });

  it('gives every lease back, unmarked, when it stops', async () => {
    await queued(5);
    const { queue } = await start();
    await eventually(() => queue.inMemory().rows === 5);
    const stopping = queue.stop(1_000);
    await eventually(() => queue.inMemory().rows === 0, 10);
    await stopping;
    expect(await store.queueCounts({ now: T0 })).toMatchObject({ queued: 5, sending: 0 });
    const next = await start();
    await eventually(() => next.queue.inMemory().rows === 5);
    expect(takeAll(next.queue).some((item) => item.delivery.mayBeDuplicate)).toBe(false);
  });

  it('does not spin on a store that is closed', async () => {
    await queued(1);
    const { queue } = await start();
    await eventually(() => queue.inMemory().rows === 1);
    const item = queue.take('example.net');
    if (item === null) throw new Error('there is work');
    let refused = 0;
    faults.settle = () => {
      refused += 1;
      return Promise.reject(new StoreUnavailable('The store is closed'));
    };
    void queue.settle(item, deliveredOf(item.delivery));
    await clock.advance(0);
    await clock.advance(0);
    expect(refused).toBe(1);
  });

  it('waits for outcomes under way when it stops', async () => {
    await queued(1);
    const { queue } = await start();
    await eventually(() => queue.inMemory().rows === 1);
    const item = queue.take('example.net');
    if (item === null) throw new Error('there is work');
    void queue.settle(item, deliveredOf(item.delivery));
    let stopped = false;
    void queue.stop(5_000).then(() => {
      stopped = true;
    });
    await eventually(() => stopped, 10);
    expect(await states()).toEqual({ delivered: 1 });
  });
});

describe('a wall clock that jumps', () => {
  it.each([-10 * MINUTE, -HOUR, HOUR, -DAY, DAY])('by %i ms makes no hot loop', async (jump) => {
    await queued(1, 'example.net', { expiresAt: T0 + 3 * DAY });
    let looks = 0;
    faults.dueQueues = (params) => {
      looks += 1;
      return store.dueQueues(params);
    };
    const { queue } = await start();
    await eventually(() => queue.inMemory().rows === 1);
    await clock.advance(5_000);
    looks = 0;
    clock.jumpWallTo(clock.now() + jump);
    for (let second = 0; second < 60; second++) {
      await clock.advance(1_000);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    // One sweep in ten seconds, and the second look of each.
    expect(looks).toBeLessThanOrEqual(20);
    expect(await eventKinds()).toEqual([]);
  });

  it('back does not put off the expiry of what is due then', async () => {
    await queued(1, 'example.net', { expiresAt: T0 + MINUTE });
    const { queue } = await start();
    await eventually(() => queue.inMemory().rows === 1);
    close(queue, 'example.net');
    await eventually(() => queue.inMemory().rows === 0);
    await clock.advance(20_000);
    clock.jumpWallTo(clock.now() - 10 * MINUTE);
    await clock.advance(10 * MINUTE);
    expect(await eventKinds()).toEqual([]);
    await clock.advance(40_000);
    await eventually(async () => (await states()).failed === 1, 1_000);
    expect(clock.now() - T0).toBeLessThan(MINUTE + 30_000);
  });
});

describe('recipients who were suppressed after acceptance', () => {
  const suppress = (address: string, reason: 'Bounce' | 'Unsubscribe') =>
    store.addSuppressions({
      domain: 'example.com',
      entries: [{ address, reason, note: '', expiresAt: null, source: null }],
      now: clock.now(),
    });

  it('are settled without an attempt when their turn comes; the others go', async () => {
    await queued(3);
    await suppress('R1@example.net', 'Bounce');
    await suppress('r2@example.net', 'Unsubscribe');
    const { queue } = await start();
    await eventually(() => inMemory(queue, 'example.net') === 3);
    const taken = [queue.take('example.net'), queue.take('example.net')].map(
      (item) => item?.delivery.address,
    );
    expect(taken).toEqual(['r0@example.net', 'r2@example.net']);
    await eventually(async () => (await states()).suppressed === 1);
    expect(await eventKinds()).toEqual(['suppressed']);
    expect(queue.inMemory().rows).toBe(2);
  });

  it('go after all where the entry is lifted before their turn, also while they are on their way into memory', async () => {
    await queued(2);
    await suppress('r0@example.net', 'Bounce');
    await suppress('r1@example.net', 'Bounce');
    const lift = (address: string) =>
      store.removeSuppressions({ domain: 'example.com', address, now: clock.now() });
    faults.claimDue = async (params) => {
      const rows = await store.claimDue(params);
      await lift('r1@example.net');
      return rows;
    };
    const { queue } = await start();
    await eventually(() => inMemory(queue, 'example.net') === 2);
    await lift('r0@example.net');
    expect(takeAll(queue)).toHaveLength(2);
    expect(await eventKinds()).toEqual([]);
  });

  it.each(['is said so', 'hears nothing'])(
    'are not sent to where another node suppresses them and this one %s',
    async (how) => {
      faults.onSuppressed = () => () => {};
      await queued(3);
      await suppress('r2@example.net', 'Bounce');
      const { queue } = await start(how === 'hears nothing' ? { lookAheadWithoutHintsMs: 1_000 } : {});
      await eventually(() => inMemory(queue, 'example.net') === 3);
      await suppress('R1@example.net', 'Bounce');
      await store.removeSuppressions({ domain: 'example.com', address: 'r2@example.net', now: clock.now() });
      let failures = 0;
      faults.suppressedAmong = () => {
        failures += 1;
        delete faults.suppressedAmong;
        return Promise.reject(new StoreUnavailable('away'));
      };
      if (how === 'is said so') queue.suppressionsChanged();
      await clock.advance(10_000);
      await eventually(() => failures === 1);
      await eventually(() => {
        const reasons = [...queue.items()].map(({ delivery }) => delivery.suppressedFor ?? []);
        return JSON.stringify(reasons) === '[[],["Bounce"],[]]';
      }, 500);
      expect(takeAll(queue).map(({ delivery }) => delivery.address)).toEqual([
        'r0@example.net',
        'r2@example.net',
      ]);
      await eventually(async () => (await states()).suppressed === 1);
    },
  );

  it('wait with all others while the store cannot record it', async () => {
    await queued(1);
    await suppress('r0@example.net', 'Bounce');
    faults.settle = () => Promise.reject(new StoreUnavailable('full'));
    const { queue } = await start();
    await eventually(() => inMemory(queue, 'example.net') === 1);
    expect(queue.take('example.net')).toBeNull();
    await eventually(() => !queue.recordable());
    expect((await states()).sending).toBe(1);
    delete faults.settle;
    await eventually(async () => (await states()).suppressed === 1, 300);
  });
});
