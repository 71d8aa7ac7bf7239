/** Overrides, the memory of paths and holds over the real store. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Logger } from '../../../lib/log.ts';
import { createSystemRandom } from '../../../lib/random.ts';
import { createVirtualClock, type VirtualClock } from '../../../lib/virtual-clock.ts';
import { soleLease } from '../../../model/node.ts';
import { openTestStore } from '../../../store/sqlite/test-support.ts';
import type { Store } from '../../../store/store.ts';
import { createHolds, type HoldMatch, type Holds, holdReason, siteNames } from '../holds.ts';
import { createOverrides, type OverrideBook } from './overrides.ts';
import { createPathMemory } from './path-memory.ts';
import { createShaping } from './shaping.ts';
import { type OverrideNote, pathKey } from './types.ts';

const T0 = 1_800_000_000_000;
const HOUR = 3_600_000;
const log: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const random = createSystemRandom();

let store: Store;
let clock: VirtualClock;

beforeEach(async () => {
  clock = createVirtualClock(T0);
  store = await openTestStore(clock);
});

afterEach(async () => {
  await store.close();
});

const google = pathKey('', 'google');

function note(more: Partial<OverrideNote> = {}): OverrideNote {
  return {
    scope: 'path',
    key: google,
    param: 'connections',
    value: 3,
    until: T0 + HOUR,
    rule: 'G01',
    why: '421 4.7.28 too much mail',
    ...more,
  };
}

async function openBook(): Promise<OverrideBook> {
  const book = createOverrides({ store, clock, random, log });
  await book.load();
  return book;
}

describe('overrides', () => {
  it('count at once, and after a restart until they end', async () => {
    const book = await openBook();
    book.note(note());
    const shaping = createShaping(book, { maxConnections: null, sourceIds: new Set() });
    const connections = (of: typeof shaping) =>
      of.limitsFor({ source: '', site: 'google', provider: 'google', route: 'mx' }).limits.connections;
    expect(connections(shaping)).toBe(3);
    expect(await book.flush()).toBe(true);
    const later = createShaping(await openBook(), { maxConnections: null, sourceIds: new Set() });
    expect(connections(later)).toBe(3);
    await clock.advance(HOUR);
    expect([shaping, later].map(connections)).toEqual([5, 5]);
  });

  it('replace the older one of their rule and stand beside those of others, newest first', async () => {
    const book = await openBook();
    book.note(note());
    book.note(note({ rule: 'G02', value: 1 }));
    await clock.advance(1);
    book.note(note({ value: 4, until: T0 + 2 * HOUR }));
    expect(book.of('path', google).map(({ rule, value }) => [rule, value])).toEqual([
      ['G01', 4],
      ['G02', 1],
    ]);
    await book.flush();
    expect((await openBook()).of('path', google)).toEqual(book.of('path', google));
  });

  it('of what is over already are not taken', async () => {
    const book = await openBook();
    book.note(note({ until: T0 }));
    expect(book.list()).toEqual([]);
  });

  it('mask addresses of the reply that caused them', async () => {
    const book = await openBook();
    book.note(note({ why: '451 too many for anna.secret@example.net' }));
    expect(book.list()[0]?.why).toMatch(/^451 too many for (?!anna.secret)/);
  });

  it('say until when a path is suspended', async () => {
    const book = await openBook();
    expect(book.suspended('path', google)).toBeNull();
    book.note(note({ param: 'suspended', value: 'yes', until: T0 + 2 * HOUR, rule: 'Y02' }));
    book.note(note({ param: 'suspended', value: 'yes', until: T0 + HOUR, rule: 'Y01' }));
    expect(book.suspended('path', google)?.rule).toBe('Y02');
    await clock.advance(2 * HOUR);
    expect(book.suspended('path', google)).toBeNull();
  });

  it('that were noted while the clock was ahead last as long as they were meant to', async () => {
    const book = await openBook();
    clock.jumpWallTo(T0 + 24 * HOUR);
    book.note(note({ until: T0 + 25 * HOUR }));
    await book.flush();
    clock.jumpWallTo(T0);
    for (const one of [book, await openBook()])
      expect(one.of('path', google)).toMatchObject([{ until: T0 + HOUR, createdAt: T0 }]);
  });

  it('are removed by hand for good, whether or not they were stored yet', async () => {
    const book = await openBook();
    const told: boolean[] = [];
    book.onChange((_, removed) => void told.push(removed));
    book.note(note());
    const [first] = book.list();
    expect(await book.remove(first?.id ?? '')).toEqual(first);
    await book.flush();
    expect((await openBook()).list()).toEqual([]);

    const second = await openBook();
    second.note(note());
    await clock.advance(0);
    const id = second.list()[0]?.id ?? '';
    expect(await second.remove(id)).not.toBeNull();
    expect(await second.remove(id)).toBeNull();
    expect([book.list(), (await openBook()).list()]).toEqual([[], []]);
    expect(told).toEqual([false, true]);
  });

  it('stay within bounds: those that end first are left out of memory', async () => {
    const book = await openBook();
    for (let i = 0; i <= 20_000; i++) book.note(note({ key: `>site-${i}`, until: T0 + HOUR + i }));
    expect(book.list().length).toBe(18_001);
    expect(book.of('path', '>site-0')).toEqual([]);
    expect(book.of('path', '>site-20000')).toHaveLength(1);
  });
});

describe('the memory of paths', () => {
  const open = async () => {
    const memory = createPathMemory({ store, node: soleLease(1), clock, log });
    await memory.load();
    return memory;
  };
  const state = {
    source: '',
    site: 'google',
    blockedUntil: T0 + HOUR,
    reason: '421',
    asked: true,
    fingerprint: 'f',
    failures: 2,
    concurrency: 4,
    day: 20_000,
    sent: 7,
    sentBefore: 9,
  };

  it('keeps a pause of our own making no longer than the process: it is met again with one message', async () => {
    const before = await open();
    before.remember({ ...state, asked: false });
    expect(before.blocked()).toHaveLength(1);
    await before.flush();
    const after = await open();
    expect(after.blocked()).toEqual([]);
    expect(after.recall('', 'google')).toMatchObject({ blockedUntil: null, failures: 2 });
  });

  it('takes a pause that was written while the clock was ahead for as long as it was meant to be', async () => {
    const before = await open();
    clock.jumpWallTo(T0 + 24 * HOUR);
    before.remember({ ...state, blockedUntil: T0 + 25 * HOUR });
    await before.flush();
    clock.jumpWallTo(T0);
    expect((await open()).recall('', 'google')).toMatchObject({ blockedUntil: T0 + HOUR, updatedAt: T0 });
  });

  it('knows after a restart what is blocked, until that is over', async () => {
    const before = await open();
    before.remember(state);
    before.remember({ ...state, site: 'yahoo', blockedUntil: null, reason: '', failures: 0 });
    expect(await before.flush()).toBe(true);
    const after = await open();
    expect(after.blocked()).toMatchObject([state]);
    expect(after.recall('', 'google')).toMatchObject(state);
    expect(after.recall('other', 'google')).toBeNull();
    await clock.advance(HOUR);
    expect(after.blocked()).toEqual([]);
    expect(after.recall('', 'google')).toMatchObject({ ...state, blockedUntil: null, reason: '' });
  });

  it('tells once that a path closed and once that it opened, however often it was asked', async () => {
    const memory = await open();
    const closedAt = clock.now();
    for (const failures of [1, 2, 3])
      memory.remember({ ...state, failures, blockedUntil: T0 + failures * HOUR });
    await clock.advance(5);
    for (const sent of [1, 2]) memory.remember({ ...state, blockedUntil: null, failures: 0, sent });
    expect(await memory.flush()).toBe(true);
    const changes = await store.listPathChanges({ sites: ['google'], since: 0, until: T0 * 2, limit: 9 });
    expect(changes).toEqual([
      { source: '', site: 'google', at: closedAt + 5, until: null, reason: null },
      { source: '', site: 'google', at: closedAt, until: T0 + HOUR, reason: '421' },
    ]);
  });
});

describe('holds', () => {
  const open = async (): Promise<Holds> => {
    const holds = createHolds({ store, clock, random });
    await holds.load();
    return holds;
  };
  const mail = { senderDomain: 'shop.example', recipientDomain: 'gmail.com', lane: 'bulk' } as const;
  const hold = (match: Partial<HoldMatch>, until: number | null = null) => ({
    senderDomain: null,
    recipientDomain: null,
    site: null,
    lane: null,
    ...match,
    reason: 'a wrong price',
    until,
    createdBy: 'token',
  });

  it('keep back what fits all they name, and nothing else', async () => {
    const cases: readonly (readonly [Partial<HoldMatch>, boolean])[] = [
      [{ senderDomain: 'shop.example' }, true],
      [{ senderDomain: 'other.example' }, false],
      [{ recipientDomain: 'gmail.com' }, true],
      [{ recipientDomain: 'mail.gmail.com' }, false],
      [{ lane: 'bulk' }, true],
      [{ lane: 'critical' }, false],
      [{ site: 'google' }, true],
      [{ site: 'yahoo' }, false],
      [{ senderDomain: 'shop.example', lane: 'normal' }, false],
      [{ senderDomain: 'shop.example', site: 'google', lane: 'bulk' }, true],
    ];
    const holds = await open();
    for (const [match, held] of cases) {
      const { id } = await holds.add(hold(match));
      const found = holds.heldBy({ ...mail, sites: ['google', 'gmail.com'] });
      expect(found === null ? null : holdReason(found), JSON.stringify(match)).toBe(
        held ? 'held: a wrong price' : null,
      );
      await holds.release([id]);
    }
  });

  it('know a site by each of its names', () => {
    expect(siteNames('a>google')).toEqual(['a>google', 'google']);
    expect(siteNames('mx:example.net')).toEqual(['mx:example.net', 'example.net']);
    expect(siteNames('relay:a.example:25|b.example:587')).toEqual([
      'relay:a.example:25|b.example:587',
      'relay:a.example:25',
      'b.example:587',
      'a.example:25',
    ]);
    expect(siteNames('relay:a.example:25mx:example.net')).toContain('example.net');
  });

  it('outlive a restart, end by release, and tell of both', async () => {
    const holds = await open();
    let told = 0;
    holds.onChange(() => {
      told += 1;
    });
    const { id } = await holds.add(hold({ lane: 'bulk' }));
    expect((await open()).heldBy(mail)?.id).toBe(id);
    expect(await holds.release([id, 'nothing'])).toBe(1);
    expect(await holds.release([id])).toBe(0);
    expect([holds.heldBy(mail), (await open()).heldBy(mail)]).toEqual([null, null]);
    expect(told).toBe(2);
  });

  it('end by themselves at their time, and wake what waited', async () => {
    await (await open()).add(hold({ lane: 'bulk' }, T0 + 40 * 24 * HOUR));
    const holds = await open();
    let told = 0;
    holds.onChange(() => {
      told += 1;
    });
    await clock.advance(40 * 24 * HOUR - 1);
    expect([holds.list().length, told]).toEqual([1, 0]);
    await clock.advance(1);
    expect([holds.heldBy(mail), holds.list(), told]).toEqual([null, [], 1]);
  });
});

describe('what several processes on one store change', () => {
  it('reaches the others when they read again: overrides that came, were replaced, were removed', async () => {
    const [mine, other] = [await openBook(), await openBook()];
    other.note(note());
    await other.flush();
    await mine.load();
    expect(mine.of('path', google)).toMatchObject([{ value: 3 }]);
    await clock.advance(1_000);
    // Learned here and not stored yet: newer than what is read.
    mine.note(note({ value: 2 }));
    await mine.load();
    expect(mine.of('path', google)).toMatchObject([{ value: 2 }]);
    await mine.flush();
    await other.load();
    const [learned] = other.list();
    expect(learned).toMatchObject({ value: 2 });
    let told = 0;
    mine.onChange((_, removed) => {
      if (removed) told += 1;
    });
    await other.remove(learned?.id ?? '');
    await mine.load();
    expect([mine.list(), told]).toEqual([[], 1]);
  });

  it('does not take the place of what this process knows better of a path', async () => {
    const [mine, other] = [
      createPathMemory({ store, node: soleLease(1), clock, log }),
      createPathMemory({ store, node: soleLease(1), clock, log }),
    ];
    const state = {
      ...{ source: 'nat', site: 'a', blockedUntil: null, reason: '', failures: 0, concurrency: 2 },
      ...{ day: 0, sent: 0, sentBefore: 0, asked: false, fingerprint: '' },
    };
    other.remember({ ...state, concurrency: 7 });
    await other.flush();
    await mine.load();
    expect(mine.recall('nat', 'a')).toMatchObject({ concurrency: 7 });
    await clock.advance(1_000);
    mine.remember({ ...state, concurrency: 9 });
    await mine.load();
    expect(mine.recall('nat', 'a')).toMatchObject({ concurrency: 9 });
  });

  it('reaches the others when they read again: holds that came and were released', async () => {
    const [mine, other] = [createHolds({ store, clock, random }), createHolds({ store, clock, random })];
    let told = 0;
    mine.onChange(() => {
      told += 1;
    });
    const hold = await other.add({
      ...{ senderDomain: 'example.com', recipientDomain: null, site: null, lane: null },
      ...{ reason: 'asked', until: null, createdBy: 't' },
    });
    await mine.load();
    await mine.load();
    expect([mine.list().length, told]).toEqual([1, 1]);
    await other.release([hold.id]);
    await mine.load();
    expect([mine.list().length, told]).toEqual([0, 2]);
  });
});
