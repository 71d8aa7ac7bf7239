/**
 * What a connection does is not charged to a message, and what a few recipients do is not charged to their site: one
 * far end, on a virtual clock, counted by what it took and when.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { type OneFarEnd, SECOND_MX, startOneFarEnd } from './one-far-end.ts';

const MINUTE = 60_000;
const running: OneFarEnd[] = [];

async function start(options: Parameters<typeof startOneFarEnd>[0] = {}): Promise<OneFarEnd> {
  const world = await startOneFarEnd(options);
  running.push(world);
  return world;
}

afterEach(async () => {
  for (const world of running.splice(0)) await world.stop();
});

const many = (count: number, name: string) => Array.from({ length: count }, (_, n) => `${name}${n}`);
const allTaken = (world: OneFarEnd, locals: readonly string[]) => () =>
  locals.every((local) => world.takenAt(local).length > 0 && world.row(local).attempts > 0);
const attemptsOf = (world: OneFarEnd, locals: readonly string[]) =>
  new Set(locals.map((local) => world.row(local).attempts));

describe('a far end that ends connections without a word', () => {
  it.each([
    ['after each message, near by', { messages: 1, latencyMs: 1 }],
    ['after each message, further away', { messages: 1, latencyMs: 30 }],
    ['after three', { messages: 3, latencyMs: 1 }],
  ])('%s, costs nobody an attempt, and is known after two of them', async (_, habits) => {
    const world = await start({ route: 'relay', habits });
    const first = many(60, 'good');
    await world.send(first);
    expect(await world.until(allTaken(world, first), MINUTE)).toBe(true);
    const overrides = world.engine.traffic.overrides.list();
    expect(overrides.map(({ param, value }) => [param, Number(value)])).toEqual([
      ['messagesPerConnection', habits.messages],
    ]);
    const before = world.connections();
    const then = many(30, 'later');
    await world.send(then);
    expect(await world.until(allTaken(world, then), MINUTE)).toBe(true);
    expect(attemptsOf(world, [...first, ...then])).toEqual(new Set([1]));
    for (const local of [...first, ...then]) expect(world.takenAt(local)).toHaveLength(1);
    // Nothing bounces any more: as many connections as that many messages need.
    expect(world.connections() - before).toBeLessThanOrEqual(30 / habits.messages + 5);
  });

  it.each([
    ['before any message', { endsAtOnce: true }],
    ['under each message', { losesAll: true }],
  ])('%s, is charged on a connection of their own, and asked again after a pause', async (_, habits) => {
    const world = await start({ habits });
    const good = many(8, 'good');
    await world.send(good);
    await world.clock.advance(20_000);
    // Five tell that it is the host; what waits behind them is not tried in vain.
    expect(good.filter((local) => world.row(local).attempts === 1)).toHaveLength(5);
    expect(good.filter((local) => world.row(local).attempts === 0)).toHaveLength(3);
    expect(world.connections()).toBe(5);
  });
});

describe('a far end that drops what follows a dot', () => {
  it('costs seconds once, and no attempt', async () => {
    const world = await start({ route: 'relay', habits: { dropsBehindDot: true } });
    const first = many(20, 'good');
    await world.send(first);
    expect(await world.until(allTaken(world, first), MINUTE)).toBe(true);
    const took = Math.max(...first.flatMap((local) => world.takenAt(local)));
    expect(took).toBeLessThan(20_000);
    const nowMs = world.clock.monotonicMs();
    const then = many(20, 'later');
    await world.send(then);
    expect(await world.until(allTaken(world, then), MINUTE)).toBe(true);
    expect(Math.max(...then.flatMap((local) => world.takenAt(local))) - nowMs).toBeLessThan(2_000);
    expect(attemptsOf(world, [...first, ...then])).toEqual(new Set([1]));
  });
});

describe('a message behind one that is not answered', () => {
  async function bound(more: Parameters<typeof startOneFarEnd>[0] = {}) {
    const world = await start({ limits: { connections: 2 }, ...more });
    await world.send(many(4, 'good'));
    await world.until(allTaken(world, many(4, 'good')), MINUTE);
    await world.send(['hang1', 'later1']);
    return world;
  }

  it('goes over another connection within seconds, once, uncharged', async () => {
    const world = await bound();
    expect(await world.until(allTaken(world, ['later1']), 6_000)).toBe(true);
    expect(world.takenAt('hang1')).toEqual([]);
    world.release();
    await world.clock.advance(MINUTE);
    for (const local of ['hang1', 'later1']) {
      expect(world.takenAt(local)).toHaveLength(1);
      expect(world.row(local)).toMatchObject({ state: 'delivered', attempts: 1 });
    }
    expect(world.empty).toEqual([]);
  });

  it('says so, and can be taken back until its turn comes', async () => {
    const world = await bound({ limits: { connections: 1 } });
    await world.clock.advance(600);
    const { id } = world.row('later1');
    expect(world.engine.deliver.waits.waitOf(id)?.reason).toContain('behind another message');
    expect(world.engine.queue.itemOf(id)?.underWay).toBeNull();
    expect(world.engine.deliver.waits.sendingOf(id)).toBeNull();
    expect(world.engine.deliver.waits.sendingOf(world.row('hang1').id)).toMatch(
      /^on its way to .* for 1 s: no reply to the whole message yet$/,
    );
    // Its connection is the only one: it waits for that, and says this too.
    await world.clock.advance(10_000);
    expect(world.engine.deliver.waits.waitOf(id)?.reason).toMatch(
      /(?:all|the open) connections .* (?:has|have) not answered for long/,
    );
    world.release();
    expect(await world.until(allTaken(world, ['later1']), 5_000)).toBe(true);
  });
});

describe('a message that is held while it stands behind another', () => {
  it('is not sent when its turn comes, and once when it is released', async () => {
    const world = await start({ limits: { connections: 1 } });
    await world.send(['good1']);
    await world.until(allTaken(world, ['good1']), MINUTE);
    await world.send(['hang1', 'later1']);
    await world.clock.advance(600);
    const held = world.engine.traffic.holds.add({
      ...{ senderDomain: 'sender.test', recipientDomain: null, site: null, lane: null },
      ...{ reason: 'a closer look', until: null, createdBy: 'operator' },
    });
    await world.clock.advance(100);
    const { id } = await held;
    world.release();
    await world.clock.advance(MINUTE);
    expect(world.takenAt('hang1')).toHaveLength(1);
    expect([world.takenAt('later1'), world.empty]).toEqual([[], []]);
    expect(world.row('later1')).toMatchObject({ state: 'queued', attempts: 0 });
    const released = world.engine.traffic.holds.release([id]);
    await world.clock.advance(100);
    await released;
    expect(await world.until(allTaken(world, ['later1']), MINUTE)).toBe(true);
    expect(world.takenAt('later1')).toHaveLength(1);
  });
});

describe('the warm-up of a new source', () => {
  it.each([
    ['what is too large for the server', { size: 300 }, 'bounced'],
    ['what a connection lost before the server had a say', { losesAll: true }, 'queued'],
  ])('does not count %s', async (_, habits, state) => {
    const world = await start({ habits, warmUp: true });
    await world.send(['good1']);
    expect(
      await world.until(() => world.row('good1').state === state && world.row('good1').attempts > 0, MINUTE),
    ).toBe(true);
    expect(world.engine.warmup.list()).toMatchObject([{ provider: 'provider', used: 0, deferredToday: 0 }]);
  });

  it('is what mail waits for, also when what was next has expired', async () => {
    const world = await start({ warmUp: true, limits: { messagesPerSecond: 0.5 } });
    await world.send(many(6, 'good'), 'bulk', 500, 5 * MINUTE);
    await world.send(many(8, 'later'), 'bulk');
    const waitsFor = () => world.engine.deliver.paths().map((path) => path.snapshot().waitsFor);
    await world.clock.advance(4 * MINUTE);
    let without = 0;
    for (let second = 0; second < 120; second++) {
      await world.clock.advance(1_000);
      if (waitsFor()[0] !== 'warm-up') without += 1;
    }
    // While the next are read.
    expect(without).toBeLessThanOrEqual(1);
  });

  it('counts what was taken', async () => {
    const world = await start({ warmUp: true });
    await world.send(['good1', 'good2']);
    expect(await world.until(allTaken(world, ['good1', 'good2']), MINUTE)).toBe(true);
    expect(world.engine.warmup.list()).toMatchObject([{ provider: 'provider', used: 2 }]);
  });
});

describe('a few recipients that a server cannot bear', () => {
  const BAD = ['busy', 'drop', 'tarpit', 'garbage', 'hang'];

  /** How long each of the good ones waited, in rounds of a hundred with the bad ones between them. */
  async function rounds(route: 'mx' | 'relay', bad: readonly string[]): Promise<number[]> {
    const limits = { connections: 20, messagesPerSecond: null, newConnectionsPerMinute: null };
    const world = await start({ route, limits, habits: { latencyMs: 50 } });
    const waited: number[] = [];
    for (let round = 0; round < 5; round++) {
      const good = many(100, `good${round}x`);
      const mixed = good.flatMap((local, n) =>
        n % 20 === 0 && bad.length > 0 ? [`${bad[n / 20]}${round}`, local] : [local],
      );
      const fromMs = world.clock.monotonicMs();
      await world.send(mixed);
      await world.until(() => good.every((local) => world.takenAt(local).length > 0), 2 * MINUTE);
      await world.clock.advance(100);
      waited.push(...good.map((local) => (world.takenAt(local)[0] ?? Number.POSITIVE_INFINITY) - fromMs));
      expect(attemptsOf(world, good)).toEqual(new Set([1]));
      await world.clock.advance(20_000);
    }
    return waited.sort((a, b) => a - b);
  }

  it.each(['relay', 'mx'] as const)(
    'stop nobody else’s mail by one %s, five rounds in a row',
    async (route) => {
      const usual = await rounds(route, []);
      const beside = await rounds(route, BAD);
      const p99 = (sorted: readonly number[]) => sorted[Math.floor(0.99 * sorted.length)] ?? 0;
      expect(p99(beside)).toBeLessThanOrEqual(2 * p99(usual));
    },
  );

  it('do not bring a server that answers nobody as many messages as it may have', async () => {
    const limits = { connections: 20, messagesPerSecond: null, newConnectionsPerMinute: null };
    const world = await start({ limits });
    await world.send(many(30, 'hang'));
    await world.clock.advance(5 * MINUTE);
    // The two that it begins with, and five further ones that found out.
    expect(world.connections()).toBeLessThanOrEqual(7);
  });

  it('are judged by host: what one host loses, the other takes', async () => {
    const world = await start({ habits: { losesAll: true }, second: {} });
    const good = many(30, 'good');
    await world.send(good);
    expect(await world.until(allTaken(world, good), 20 * MINUTE)).toBe(true);
    const charged = good.filter((local) => world.row(local).attempts > 1);
    expect(charged.length).toBeLessThanOrEqual(7);
    expect(world.connections(SECOND_MX)).toBeGreaterThan(0);
  });
});

describe('the connections to a relay', () => {
  /** Without asking the store, which takes long for thousands. */
  const taken = (world: OneFarEnd, locals: readonly string[]) => () =>
    locals.every((local) => world.takenAt(local).length > 0);

  it('double with each opening, up to all of them where it is far away', async () => {
    const world = await start({ route: 'relay', habits: { latencyMs: 100 } });
    const good = many(2_000, 'good');
    await world.send(good);
    // 1, 2, 4, 8 and 16 are opened one after the other, in three round trips each.
    await world.clock.advance(5 * 400);
    expect(world.mostOpen()).toBeGreaterThanOrEqual(20);
    expect(await world.until(taken(world, good), MINUTE)).toBe(true);
    expect(world.mostOpen()).toBeGreaterThan(40);
    expect(world.mostOpen()).toBeLessThanOrEqual(80);
    for (const local of good) expect(world.takenAt(local)).toHaveLength(1);
  });

  it.each([
    ['is near', { habits: { latencyMs: 1 } }],
    ['takes several messages in flight', { habits: { latencyMs: 60, chunking: 'works' } }],
    [
      'is far away and takes several in flight, at a rate that needs no more',
      { habits: { latencyMs: 200, chunking: 'works' }, limits: { messagesPerSecond: 100 } },
    ],
  ] as const)('are a quarter of these where it %s', async (_, more) => {
    const world = await start({ route: 'relay', ...more });
    const good = many(300, 'good');
    await world.send(good);
    expect(await world.until(taken(world, good), MINUTE)).toBe(true);
    expect(world.mostOpen()).toBeLessThanOrEqual(20);
  });

  it('are more where it takes several messages in flight and is so far away that these are not enough', async () => {
    const world = await start({ route: 'relay', habits: { latencyMs: 200, chunking: 'works' } });
    const good = many(4_000, 'good');
    await world.send(good);
    expect(await world.until(taken(world, good), MINUTE)).toBe(true);
    expect(world.mostOpen()).toBeGreaterThan(25);
    // 4,000 messages a second, 16 of them in flight on a connection, 200 ms each.
    expect(world.mostOpen()).toBeLessThanOrEqual(50);
    for (const local of good) expect(world.takenAt(local)).toHaveLength(1);
  });

  it('are as many as the operator says, however far away it is', async () => {
    const world = await start({ route: 'relay', habits: { latencyMs: 100 }, limits: { connections: 25 } });
    const good = many(500, 'good');
    await world.send(good);
    expect(await world.until(taken(world, good), MINUTE)).toBe(true);
    expect(world.mostOpen()).toBe(25);
  });

  it('are no more than it takes, and nobody is charged for asking', async () => {
    const world = await start({ route: 'relay', habits: { latencyMs: 100, connections: 30 } });
    const good = many(1_000, 'good');
    await world.send(good);
    expect(await world.until(taken(world, good), MINUTE)).toBe(true);
    await world.clock.advance(1_000);
    expect(attemptsOf(world, good)).toEqual(new Set([1]));
    const learned = world.engine.traffic.overrides.list().filter(({ param }) => param === 'connections');
    expect(learned).toHaveLength(1);
    expect(Number(learned[0]?.value)).toBeLessThanOrEqual(30);
    expect(Number(learned[0]?.value)).toBeGreaterThanOrEqual(20);
    // Those that were under way together with the first that was refused, and few more.
    expect(world.connections()).toBeLessThanOrEqual(70);
  });
});

describe('sites with host names of their own for one address', () => {
  const shops = Array.from({ length: 30 }, (_, n) => `good${n}@shop${n}.test`);
  const allHave = (world: OneFarEnd) => () => shops.every((_, n) => world.takenAt(`good${n}`).length === 2);

  it('get their mail by ten connections', async () => {
    const world = await start({ shops: shops.length, habits: { latencyMs: 50 } });
    await world.send([...shops, ...shops]);
    expect(await world.until(allHave(world), MINUTE)).toBe(true);
    expect(world.mostOpen()).toBe(10);
  });

  it('get it also where the first connections are refused', async () => {
    const world = await start({ shops: shops.length, habits: { latencyMs: 50, refusesFirst: 25 } });
    await world.send([...shops, ...shops]);
    expect(await world.until(allHave(world), 60 * MINUTE)).toBe(true);
  });
});
