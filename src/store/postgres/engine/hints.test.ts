/** Hints over a real server, with time that is moved by hand: what is sent, what is heard, and what is kept when it is lost. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createVirtualClock, type VirtualClock } from '../../../lib/virtual-clock.ts';
import type { Hint } from '../../topics/hints.ts';
import type { SuppressionChange } from '../../topics/suppressions.ts';
import { proxyTo, type TestProxy } from '../test-proxy.ts';
import { describePostgres, type TestDatabase, testDatabase } from '../test-support.ts';
import { type Link, openLink } from './connections.ts';
import { createStatements } from './db.ts';
import { createHints, type Hints, hintOf } from './hints.ts';

const SEND_MS = 50;
const ECHO_MS = 4_000;
const DEAF_MS = 10_000;
const NOTHING = { queues: [], calls: false, settings: false, suppressions: false };
const EVERYTHING = { queues: 'all', calls: true, settings: true, suppressions: true };

describe('the hint of an operation', () => {
  it('says what it has changed, and nothing where it has changed nothing', () => {
    expect(hintOf('addHold', undefined)).toEqual({ settings: true });
    expect(hintOf('reclaim', 3)).toEqual({ queues: 'all' });
    expect(hintOf('settle', ['settled'])).toEqual({});
    for (const nothing of [0, false, null]) expect(hintOf('removeDomain', nothing)).toEqual({});
  });
});

describePostgres('hints', () => {
  let database: TestDatabase;
  let proxy: TestProxy;
  let listener: Link;
  let clock: VirtualClock;
  let hints: Hints;
  let sent: Record<string, unknown>[];
  let told: Hint[];
  let suppressed: SuppressionChange[];

  beforeAll(async () => {
    database = await testDatabase('hints');
    proxy = await proxyTo(database.url);
    listener = await openLink(database.url, createStatements(), 'hints');
    listener.onNotice((text) => {
      if (text.startsWith('{"from":"one"')) sent.push(JSON.parse(text));
    });
    await listener.exec('LISTEN postrider');
  });
  afterAll(async () => {
    await listener.end();
    await proxy.close();
    await database.close();
  });
  beforeEach(async () => {
    [sent, told, suppressed] = [[], [], []];
    clock = createVirtualClock();
    hints = createHints({
      open: () => openLink(proxy.url, createStatements(), 'hints'),
      clock,
      self: 'one',
      suppressed: (changes) => suppressed.push(...changes),
    });
    hints.onHint((hint) => told.push(hint));
    await expect.poll(() => hints.hears()).toBe(true);
    await expect
      .poll(() => [sent.length, told.splice(0).length])
      .toEqual([1, 1])
      .catch(() => undefined);
    sent = [];
  });
  afterEach(() => hints.close());

  const address = (i: number, letter = 'a'): SuppressionChange => ({
    ...{ senderDomain: 'example.com', key: `${letter.repeat(40)}${i}@example.net`, reason: 'Manual' },
  });
  const next = async () => {
    await expect.poll(() => sent.length).toBeGreaterThan(0);
    return sent.shift() ?? {};
  };
  const notify = (text: string) => database.link.db.get("SELECT pg_notify('postrider', $1)", text);
  const message = (more: object) =>
    notify(JSON.stringify({ from: 'other', queues: [], calls: false, settings: false, ...more }));

  it('send what is noted within a moment as one message, and nothing of it again', async () => {
    hints.note({ queues: [7, 8] });
    hints.note({ calls: true });
    hints.note({ settings: true, queues: [8] });
    hints.note({});
    await clock.advance(SEND_MS);
    expect(await next()).toEqual({ ...NOTHING, from: 'one', queues: [7, 8], calls: true, settings: true });
    await clock.advance(ECHO_MS);
    expect(await next()).toEqual({ ...NOTHING, from: 'one' });
    expect(told).toEqual([]);
  });

  it.each([
    ['500 queues one by one', 500, 1, 500],
    ['more as all', 501, 1, 'all'],
    ['fewer as all where their numbers are too long for a message', 500, 2 ** 52, 'all'],
  ])('name %s', async (_, count, first, queues) => {
    hints.note({ queues: Array.from({ length: count }, (__, i) => first + i) });
    await clock.advance(SEND_MS);
    const { queues: named } = await next();
    expect(Array.isArray(named) ? named.length : named).toBe(queues);
  });

  it('send long lists of suppressions in several messages, by their octets', async () => {
    const changes = Array.from({ length: 150 }, (_, i) => address(i, 'ü'));
    hints.note({ suppressed: changes });
    const heard: unknown[] = [];
    while (heard.length < changes.length) {
      await clock.advance(SEND_MS);
      heard.push(...((await next()).suppressed as unknown[]));
    }
    expect(heard).toEqual(changes);
  });

  it('say that there are more suppressions than they send', async () => {
    hints.note({ suppressed: Array.from({ length: 2_000 }, (_, i) => address(i)) });
    await clock.advance(SEND_MS);
    expect(await next()).toMatchObject({ suppressions: false });
    hints.note({ suppressed: Array.from({ length: 2_000 }, (_, i) => address(i)) });
    await clock.advance(SEND_MS);
    expect(await next()).toMatchObject({ suppressions: true });
    await message({ suppressions: true });
    await expect.poll(() => told).toEqual([{ ...NOTHING, suppressions: true }]);
  });

  it('send what is noted when they are closed', async () => {
    hints.note({ calls: true });
    await hints.close();
    expect(await next()).toMatchObject({ calls: true });
  });

  it('keep what was not sent because the connection was lost, and send it with the next message', async () => {
    proxy.loseNext('"calls":true', 'question');
    const cuts = proxy.cuts();
    hints.note({ queues: [7], calls: true, settings: true, suppressed: [address(1)] });
    await clock.advance(SEND_MS);
    await expect.poll(() => proxy.cuts()).toBe(cuts + 1);
    await clock.advance(ECHO_MS);
    expect(await next()).toEqual({
      ...EVERYTHING,
      from: 'one',
      suppressions: false,
      suppressed: [address(1)],
    });
  });

  it('count everything as changed after their connection was lost, however short that was', async () => {
    await database.link.exec(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE query LIKE '%pg_notify%' AND pid <> pg_backend_pid()",
    );
    await message({ settings: true, suppressed: [address(1)] });
    await clock.advance(ECHO_MS);
    await expect.poll(() => told).toEqual([EVERYTHING]);
    expect(hints.hears()).toBe(true);
  });

  it('find out that nothing comes back, and then count everything as changed', async () => {
    proxy.swallow();
    await clock.advance(DEAF_MS);
    expect(hints.hears()).toBe(false);
    proxy.resume();
    await expect
      .poll(async () => {
        await clock.advance(ECHO_MS);
        return told;
      })
      .toContainEqual(EVERYTHING);
  });

  it('take from others what has the form of a hint, and nothing else', async () => {
    for (const text of ['', 'x', '7', 'null', '{"from":7,"queues":"all"}', '{"from":"x","queues":"some"}'])
      await notify(text);
    await message({ queues: [1.5] });
    await message({ suppressed: 'all' });
    await message({});
    await message({ suppressed: [null, 7, { ...address(1), key: 7 }, address(2)] });
    await message({ queues: [3] });
    await expect.poll(() => told).toEqual([{ ...NOTHING, queues: [3] }]);
    expect(suppressed).toEqual([address(2)]);
  });
});
