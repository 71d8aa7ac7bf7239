/**
 * Messages in flight to a far end that is far away, through the whole engine on a virtual clock: how long they take, which
 * go alone, and what becomes of them when it does not do what it offers.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { type OneFarEnd, startOneFarEnd } from './one-far-end.ts';

const MINUTE = 60_000;
const running: OneFarEnd[] = [];

async function start(options: Parameters<typeof startOneFarEnd>[0] = {}): Promise<OneFarEnd> {
  const world = await startOneFarEnd({ route: 'relay', ...options });
  running.push(world);
  return world;
}

afterEach(async () => {
  for (const world of running.splice(0)) await world.stop();
});

const many = (count: number, name: string) => Array.from({ length: count }, (_, n) => `${name}${n}`);
const allTaken = (world: OneFarEnd, locals: readonly string[]) => () =>
  locals.every((local) => world.takenAt(local).length > 0 && world.row(local).attempts > 0);

/** Until they are all delivered, in milliseconds. */
async function time(world: OneFarEnd, locals: readonly string[], mostMs = MINUTE): Promise<number> {
  const fromMs = world.clock.monotonicMs();
  await world.send(locals);
  expect(await world.until(allTaken(world, locals), mostMs)).toBe(true);
  return Math.max(...locals.flatMap((local) => world.takenAt(local))) - fromMs;
}

const FAR = { latencyMs: 100, chunking: 'works' } as const;

describe('a far end 100 ms away', () => {
  it('gets several messages a round trip where it offers CHUNKING', async () => {
    const limits = { connections: 20 };
    const plain = await start({ habits: { latencyMs: 100 }, limits });
    const far = await start({ habits: FAR, limits });
    for (const world of [plain, far]) await time(world, many(150, 'first'));
    const [alone, together] = [await time(plain, many(200, 'good')), await time(far, many(200, 'good'))];
    expect(together).toBeLessThan(alone / 4);
    for (const local of many(200, 'good')) expect(far.takenAt(local)).toHaveLength(1);
  });

  it('gets one at a time where the operator wants that', async () => {
    const world = await start({ habits: FAR, limits: { transactionsInFlight: 1 } });
    await time(world, many(100, 'good'));
    expect(world.whole).toEqual([]);
  });

  it('gets critical mail and large messages by DATA', async () => {
    const world = await start({ habits: FAR });
    await time(world, many(60, 'good'));
    expect(world.whole.length).toBeGreaterThan(20);
    const before = world.whole.length;
    await world.send(many(5, 'code'), 'critical');
    await world.send(many(5, 'large'), 'normal', 100_000);
    const all = [...many(5, 'code'), ...many(5, 'large')];
    expect(await world.until(allTaken(world, all), MINUTE)).toBe(true);
    expect(world.whole).toHaveLength(before);
  });

  it('loses the messages of one connection where it resets it, each marked, and no other waits', async () => {
    const world = await start({ habits: FAR });
    await time(world, many(200, 'first'));
    const good = many(60, 'good');
    await world.send([...good.slice(0, 30), 'drop', ...good.slice(30)]);
    const taken = () => good.filter((local) => world.takenAt(local).length > 0);
    await world.until(() => taken().length === good.length, 5_000);
    const late = good.filter((local) => !taken().includes(local));
    expect(late.length).toBeLessThanOrEqual(16);
    // What may have arrived is tried again after the wait of an unknown outcome.
    for (let n = 0; n < 20; n++) await world.clock.advance(MINUTE);
    expect(allTaken(world, good)()).toBe(true);
    expect(late.length).toBeGreaterThan(0);
    for (const local of good) {
      const copies = world.takenAt(local).length;
      expect(world.isMarked(local)).toBe(late.includes(local) || copies > 1);
    }
  });

  it('that hangs on one message gets no more on that connection, and the others go elsewhere', async () => {
    const world = await start({ habits: FAR });
    await time(world, many(200, 'first'));
    const good = many(100, 'good');
    await world.send(['hang', ...good]);
    await world.until(() => false, 5_000);
    const waiting = good.filter((local) => world.takenAt(local).length === 0);
    expect(waiting.length).toBeLessThan(16);
    world.release();
    expect(await world.until(allTaken(world, ['hang', ...good]), MINUTE)).toBe(true);
    for (const local of good) expect(world.takenAt(local)).toHaveLength(1);
  });
});

describe('a far end that offers CHUNKING and gets it wrong', () => {
  it('refuses BDAT: every message goes by DATA at once, and none is charged', async () => {
    const world = await start({ habits: { latencyMs: 100, chunking: 'refused' } });
    const good = many(60, 'good');
    expect(await time(world, good)).toBeLessThan(10_000);
    expect(new Set(good.map((local) => world.row(local).attempts))).toEqual(new Set([1]));
    for (const local of good) {
      expect(world.takenAt(local)).toHaveLength(1);
      expect(world.isMarked(local)).toBe(false);
    }
  });

  it('answers twice: it gets DATA from the first fault on', async () => {
    const world = await start({ habits: { latencyMs: 100, chunking: 'twice' } });
    const good = many(60, 'good');
    await world.send(good);
    for (let n = 0; n < 20; n++) await world.clock.advance(MINUTE);
    expect(allTaken(world, good)()).toBe(true);
    const before = world.whole.length;
    expect(before).toBeLessThanOrEqual(20);
    await time(world, many(60, 'later'));
    expect(world.whole).toHaveLength(before);
  });
});

it('a far end that is near gets every message by DATA', async () => {
  const world = await start({ habits: { latencyMs: 1, chunking: 'works' } });
  await time(world, many(200, 'good'));
  expect(world.whole).toEqual([]);
});
