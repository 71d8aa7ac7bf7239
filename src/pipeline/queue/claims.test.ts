/** What is claimed from a real store, for which sites and when, with a clock that stands still until a test moves it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { silentLogger } from '../../lib/log.ts';
import { createSystemRandom } from '../../lib/random.ts';
import { createVirtualClock, type VirtualClock } from '../../lib/virtual-clock.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { Lane } from '../../model/message.ts';
import { soleLease } from '../../model/node.ts';
import { delivered, HOUR, message, recipient, T0 } from '../../store/conformance/fixtures.ts';
import { openTestStore } from '../../store/sqlite/test-support.ts';
import { type Store, StoreUnavailable } from '../../store/store.ts';
import { type Claims, createClaims } from './claims.ts';
import { createDueQueues } from './due-queues.ts';
import { createPromises, createReadyWindow, type ReadyWindow } from './ready-window.ts';
import { testItem } from './test-items.ts';

const SITE = 'example.net';

let store: Store;
let clock: VirtualClock;
let claims: Claims;
let window: ReadyWindow;
let taken: ClaimedDelivery[];
/** Sites that are closed, and sender domains whose mail is held. */
const closed = new Set<string>();
const held = new Set<string>();
let urgent: string[];
let expired: number[];
let allowance: number;
/** Claims that fail. */
let failures: number;
/** How often the site of a queue was asked for. */
let siteQuestions: number;
/** The queues of each look at those that others told of. */
let looks: (readonly number[])[];
/** The answers to claims and to looks wait for this. */
let storeAnswers: Promise<void>;

beforeEach(async () => {
  store = await openTestStore(systemClock);
  clock = createVirtualClock(T0);
  [taken, urgent, expired, allowance, failures] = [[], [], [], 64, 0];
  storeAnswers = Promise.resolve();
  siteQuestions = 0;
  looks = [];
  closed.clear();
  held.clear();
  const node = soleLease(await store.beginEpoch({ nodeId: 'test', now: T0 }));
  const limits = { maxRows: 100, maxBytes: 64 * 1024 * 1024, maxRowsPerSite: 64 };
  window = createReadyWindow(limits);
  claims = createClaims(
    {
      store: new Proxy(store, {
        get(target, name) {
          if (name === 'dueAmong')
            return async (params: Parameters<Store['dueAmong']>[0]) => {
              looks.push(params.queueIds);
              await storeAnswers;
              return store.dueAmong(params);
            };
          if (name !== 'claimDue') return Reflect.get(target, name);
          return async (params: Parameters<Store['claimDue']>[0]) => {
            if (failures > 0) {
              failures -= 1;
              throw new StoreUnavailable('full');
            }
            const rows = await store.claimDue(params);
            await storeAnswers;
            return rows;
          };
        },
      }),
      clock,
      random: createSystemRandom(),
      log: silentLogger,
      node,
      window,
      reserved: createPromises,
      due: createDueQueues(siteOf),
      suspectsClock: () => false,
      closed: (site) => site !== null && closed.has(site),
      keptBack: ({ senderDomain }) => held.has(senderDomain),
      allowance: () => allowance,
      urgent: (site) => urgent.push(site),
      add(deliveries) {
        taken.push(...deliveries);
        for (const delivery of deliveries)
          window.add(testItem(delivery, { site: delivery.recipientDomain, heldBytes: delivery.size }));
      },
      wake() {},
      expire(delivery) {
        expired.push(delivery.id);
        return delivered(delivery.id, delivery.epoch, { state: 'failed', category: 'expired' });
      },
      expireHeld() {},
      eventsStored() {},
    },
    { lookAheadMs: 10_000, checkMs: 5_000, maxRows: limits.maxRows },
  );
});

afterEach(async () => {
  await claims.stop();
  await store.close();
});

/** All domains below `relayed` have the relay as their site. */
function siteOf({ recipientDomain }: { recipientDomain: string }): string {
  siteQuestions += 1;
  return recipientDomain.endsWith('.relayed') ? 'relay' : recipientDomain;
}

/** Stores messages of one queued recipient each. */
async function queued(
  count: number,
  more: {
    from?: string;
    to?: string;
    lane?: Lane;
    dueAt?: number;
    expiresAt?: number;
    content?: Uint8Array;
  } = {},
): Promise<void> {
  const { from = 'example.com', to = SITE, lane = 'normal', dueAt = T0, expiresAt = T0 + HOUR } = more;
  const messages = Array.from({ length: count }, (_, n) =>
    message({
      ...{ domain: from, lane, expiresAt },
      ...(more.content === undefined ? {} : { content: more.content }),
      recipients: [recipient({ address: `r${n}@${to}`, domain: to, dueAt })],
    }),
  );
  await store.commitAccepted({ messages, epoch: 1, idempotency: null });
}

const count = (from: string) => taken.filter(({ senderDomain }) => senderDomain === from).length;

describe('claims', () => {
  it('looks at one time at the queues that others told of, however often they tell', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    storeAnswers = promise;
    claims.start();
    for (const id of [1, 2, 3, 2]) claims.hinted([id]);
    resolve();
    await expect.poll(() => looks).toEqual([[1], [2, 3]]);
  });

  it('take what is due at the start, and the rest when its time has come', async () => {
    await queued(2);
    await queued(1, { dueAt: T0 + 7_000 });
    claims.start();
    await expect.poll(() => taken.length).toBe(2);
    await clock.advance(6_999);
    expect(taken).toHaveLength(2);
    await clock.advance(1);
    await expect.poll(() => taken.length).toBe(3);
  });

  it('find what nobody announced with the next sweep', async () => {
    claims.start();
    await clock.advance(1);
    await queued(1);
    await clock.advance(4_000);
    expect(taken).toEqual([]);
    await clock.advance(1_000);
    await expect.poll(() => taken.length).toBe(1);
  });

  it('leave the mail of a closed site, tell its path of critical mail, and take it when the site opens', async () => {
    closed.add(SITE);
    await queued(1, { lane: 'critical' });
    await queued(1, { to: 'other.example', lane: 'critical' });
    claims.start();
    await expect.poll(() => taken.map(({ recipientDomain }) => recipientDomain)).toEqual(['other.example']);
    expect(new Set(urgent)).toEqual(new Set([SITE]));
    closed.clear();
    claims.refill(SITE);
    await expect.poll(() => taken.length).toBe(2);
  });

  it('leave mail that is held, and take other mail of its site', async () => {
    held.add('held.example');
    await queued(2, { from: 'held.example' });
    await queued(2, { from: 'free.example' });
    claims.start();
    await expect.poll(() => count('free.example')).toBe(2);
    expect(count('held.example')).toBe(0);
  });

  it('share the places of a site between its queues', async () => {
    allowance = 8;
    await queued(20, { from: 'large.example' });
    await queued(20, { from: 'small.example' });
    claims.start();
    await expect.poll(() => taken.length).toBeGreaterThan(0);
    await claims.underWay();
    expect(count('large.example')).toBe(count('small.example'));
  });

  it('go on with the other queues of a site where the first has none left', async () => {
    allowance = 1;
    closed.add(SITE);
    await queued(1, { from: 'first.example', lane: 'critical' });
    await queued(1, { from: 'second.example', lane: 'critical' });
    claims.start();
    await clock.advance(10);
    await expect.poll(() => urgent).toContain(SITE);
    const [first] = await store.dueQueues({ dueBefore: T0, limit: 1 });
    const gone = {
      now: T0 + 10,
      limit: 1,
      maxBytes: 1_000_000,
      eventId: uuidv7(clock, createSystemRandom()),
    };
    await store.claimDue({ ...gone, queueId: first?.queueId ?? 0, epoch: 1 });
    closed.clear();
    claims.refill(SITE);
    await expect.poll(() => count('second.example')).toBe(1);
  });

  it('look only at those queues of a site that they claim from', async () => {
    for (let n = 0; n < 200; n++) await queued(1, { to: `d${n}.relayed` });
    claims.start();
    await expect.poll(() => taken.length).toBeGreaterThan(40);
    await claims.underWay();
    // Each once to find its site, and those that were claimed once more.
    expect(siteQuestions).toBeLessThanOrEqual(200 + taken.length + 8);
  });

  it('leave places for other sender domains beside one whose mail waits for many sites', async () => {
    for (let n = 0; n < 150; n++) await queued(1, { from: 'big.example', to: `site-${n}.example` });
    await queued(1, { from: 'small.example' });
    claims.start();
    await expect.poll(() => count('small.example')).toBe(1);
    expect(count('big.example')).toBeLessThanOrEqual(85);
  });

  it('find what lies behind more queues than one sweep looks at with the next one', async () => {
    held.add('big.example');
    const messages = Array.from({ length: 20_000 }, (_, n) =>
      message({ domain: 'big.example', recipients: [recipient({ domain: `site-${n}.example`, dueAt: T0 })] }),
    );
    await store.commitAccepted({ messages, epoch: 1, idempotency: null });
    await queued(1, { from: 'small.example', dueAt: T0 + 1 });
    claims.start();
    await expect.poll(() => siteQuestions).toBeGreaterThanOrEqual(20_000);
    expect(count('small.example')).toBe(0);
    const found = async () => {
      await clock.advance(1_000);
      return count('small.example');
    };
    await expect.poll(found).toBe(1);
  }, 30_000);

  it('take nothing for a site that holds half of what it may', async () => {
    allowance = 4;
    await queued(10);
    claims.start();
    // The fourth place is kept for critical mail.
    await expect.poll(() => taken.length).toBe(3);
    await claims.underWay();
    allowance = 6;
    claims.refill(SITE);
    expect([claims.isLow(SITE), claims.underWay()]).toEqual([false, null]);
    allowance = 8;
    claims.refill(SITE);
    await expect.poll(() => taken.length).toBe(6);
  });

  it('leave places for critical mail where other mail has crowded them out', async () => {
    const [large, full] = [93, 100];
    for (let n = 0; n < 40; n++)
      for (const to of ['slow1.example', 'slow2.example', 'slow3.example'])
        await queued(1, { to, from: `sender${n}.example` });
    claims.start();
    await expect.poll(() => taken.length).toBe(large);
    await queued(1);
    // Also for a sender domain that is among those that fill the others.
    for (const from of ['sender0.example', 'code2.example', 'code3.example'])
      await queued(3, { lane: 'critical', from });
    const urgent = () => taken.filter(({ lane }) => lane === 'critical').length;
    await clock.advance(5_000);
    await expect.poll(urgent).toBe(full - large);
    const [first] = taken;
    const item = window.itemOf(first?.id ?? 0);
    if (item === null) throw new Error('it is in memory');
    window.pull(item);
    window.done(item);
    claims.refill('slow1.example');
    await expect.poll(urgent).toBe(full - large + 1);
    expect(count('example.com')).toBe(0);
  });

  it('take small mail of others beside large mail that fills its places, and large mail of its sender later', async () => {
    const content = new Uint8Array(19_000_000);
    for (const to of ['silent1.example', 'silent2.example', 'silent3.example', 'silent4.example'])
      await queued(2, { from: 'large.example', to, content });
    claims.start();
    await expect.poll(() => count('large.example')).toBe(2);
    await clock.advance(5_000);
    await queued(5, { from: 'large.example' });
    await queued(5);
    await queued(1, { from: 'other.example', to: 'silent5.example', content });
    await clock.advance(5_000);
    await expect.poll(() => count('example.com')).toBe(5);
    await expect.poll(() => count('other.example')).toBe(1);
    await expect.poll(() => count('large.example')).toBe(7);
    for (const { id } of taken) {
      const item = window.itemOf(id);
      if (item === null) throw new Error('it is in memory');
      window.pull(item);
      window.done(item);
    }
    await clock.advance(5_000);
    await expect.poll(() => count('large.example')).toBeGreaterThan(7);
  });

  it('take large mail to many sites as soon as the claims beside them have ended', async () => {
    const sites = Array.from({ length: 8 }, (_, n) => `site${n}.example`);
    allowance = 4;
    for (const to of sites) await queued(2, { from: 'large.example', to, content: new Uint8Array(300_000) });
    const answer = Promise.withResolvers<void>();
    storeAnswers = answer.promise;
    claims.start();
    await expect.poll(() => claims.promised.rows).toBeGreaterThan(0);
    answer.resolve();
    await expect.poll(() => count('large.example')).toBe(16);
  });

  it('count the places that they may fill until the store has answered', async () => {
    await queued(3);
    const answer = Promise.withResolvers<void>();
    storeAnswers = answer.promise;
    claims.start();
    await expect.poll(() => claims.promised.at.of(SITE)).toBeGreaterThan(0);
    // The answer is there; from now on nothing but promises.
    await clock.advance(1);
    answer.resolve();
    for (let n = 0; n < 1_000 && taken.length === 0; n++) {
      expect(claims.promised.at.of(SITE)).toBeGreaterThan(0);
      await null;
    }
    expect(taken).toHaveLength(3);
    expect(claims.promised).toMatchObject({ rows: 0, bytes: 0 });
    expect(claims.promised.at.of(SITE)).toBe(0);
  });

  it('that fail are tried again after a second', async () => {
    failures = 1;
    await queued(1);
    claims.start();
    await expect.poll(() => failures).toBe(0);
    await claims.underWay();
    expect(taken).toEqual([]);
    await clock.advance(1_000);
    await expect.poll(() => taken.length).toBe(1);
  });

  it('settle what has expired, also where its site is closed', async () => {
    closed.add(SITE);
    await queued(2, { expiresAt: T0 + 1_000 });
    claims.start();
    await clock.advance(20_000);
    await expect.poll(() => expired.length).toBe(2);
    expect(taken).toEqual([]);
  });
});
