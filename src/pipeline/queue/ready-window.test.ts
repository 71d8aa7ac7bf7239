/** Order and bounds of the window, by example and against a plain model. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Lane } from '../../model/message.ts';
import type { ReadyItem } from './ready-item.ts';
import { createPromises, createReadyWindow, type Promised } from './ready-window.ts';
import { testItem } from './test-items.ts';

const LIMITS = { maxRows: 1000, maxBytes: 10_000, maxRowsPerSite: 500 };

const NONE: Promised[] = [];
const place = (site: string) => ({ site, lane: 'critical' as Lane, senderDomain: 'example.com' });

function item(
  id: number,
  lane: Lane = 'normal',
  site = 'a',
  heldBytes = 10,
  senderDomain = 'example.com',
): ReadyItem {
  return testItem({ id, lane, senderDomain, size: heldBytes }, { site, heldBytes });
}

describe('the window', () => {
  it('lets critical mail go first, and shares 8:2 between normal and bulk', () => {
    const window = createReadyWindow(LIMITS);
    for (let id = 0; id < 40; id++) window.add(item(id, id % 2 === 0 ? 'normal' : 'bulk'));
    window.add(item(100, 'critical'));
    const lanes = Array.from({ length: 21 }, () => window.take('a')?.delivery.lane);
    expect(lanes[0]).toBe('critical');
    expect(lanes.slice(1, 11).filter((lane) => lane === 'normal')).toHaveLength(8);
    expect(lanes.slice(11, 21).filter((lane) => lane === 'bulk')).toHaveLength(2);
  });

  it('counts what was taken until it is done, and forgets empty sites', () => {
    const window = createReadyWindow({ maxRows: 3, maxBytes: 100, maxRowsPerSite: 2 });
    const [first, second] = [item(1, 'critical'), item(2, 'critical')];
    window.add(first);
    window.add(second);
    expect(window.take('a')).toBe(first);
    expect([window.rowsOf('a'), window.itemOf(1)?.delivery.id, window.itemOf(3)]).toEqual([2, 1, null]);
    // A site's share is for what waits; the whole window counts what was taken too.
    expect(window.room(place('a'), NONE)).toEqual({
      rows: 1,
      bytes: 75,
      takesLarge: true,
      crowdedOut: null,
    });
    window.add(item(3, 'critical', 'b'));
    expect(window.hasRoom(place('a'), NONE, 1)).toBe(false);
    for (const left of window.drain('b')) window.done(left);
    window.done(first);
    expect(window.hasRoom(place('a'), NONE, 1)).toBe(true);
    for (const left of window.drain('a')) window.done(left);
    expect(window.sites()).toEqual([]);
    expect([window.rows(), window.bytes()]).toEqual([0, 0]);
  });

  it('takes one item larger than all its room where it is empty', () => {
    const window = createReadyWindow({ maxRows: 3, maxBytes: 100, maxRowsPerSite: 2 });
    expect(window.hasRoom(place('a'), NONE, 1_000)).toBe(true);
    // One after the other, while the first is still being stored, they are not the only one.
    const oneOnItsWay = createPromises();
    oneOnItsWay.add(place('a'), 1, 80, false);
    expect(window.hasRoom(place('a'), [oneOnItsWay], 80)).toBe(false);
    window.add(item(1, 'normal', 'a', 1_000));
    expect(window.hasRoom(place('b'), NONE, 1)).toBe(false);
    expect(window.room(place('b'), NONE)).toEqual({
      rows: 2,
      bytes: 0,
      takesLarge: false,
      crowdedOut: 'by all',
    });
  });

  it('keeps room for the lanes above, and for other senders beside one that fills a lane', () => {
    const window = createReadyWindow({ ...LIMITS, maxRowsPerSite: 64 });
    const rows = (lane: Lane, senderDomain: string) =>
      window.room({ ...place('a'), lane, senderDomain }, NONE).rows;
    let id = 0;
    while (rows('bulk', 'big.example') > 0) window.add(item(id++, 'bulk', 'a', 10, 'big.example'));
    expect(id).toBe(24);
    expect(rows('bulk', 'small.example')).toBe(8);
    while (rows('normal', 'big.example') > 0) window.add(item(id++, 'normal', 'a', 10, 'big.example'));
    expect(window.rowsOf('a')).toBeLessThan(64);
    expect(rows('normal', 'small.example')).toBeGreaterThan(0);
    expect(rows('critical', 'small.example')).toBeGreaterThan(0);
  });

  it('takes what belongs to another site there, and wakes nobody else', () => {
    const window = createReadyWindow(LIMITS);
    for (const [id, lane] of [
      [1, 'normal'],
      [2, 'bulk'],
      [3, 'normal'],
    ] as const)
      window.add(item(id, lane));
    const taken = window.take('a');
    expect(taken?.delivery.id).toBe(1);
    const reached = window.regroup('a', ({ delivery }) => (delivery.id === 2 ? 'a' : 'b'));
    expect([...reached]).toEqual(['b']);
    expect([window.rowsOf('a'), window.rowsOf('b')]).toEqual([2, 1]);
    expect(window.take('b')?.site).toBe('b');
  });

  it('counts the content that several share once, until the last of them is done', () => {
    const window = createReadyWindow(LIMITS);
    const content = { bytes: new Uint8Array(1_000), size: 1_000, mayFree: false, sharers: 0 };
    const items = [1, 2, 3].map((id) => ({ ...item(id), content }));
    for (const each of items) window.add(each);
    expect(window.bytes()).toBe(1_030);
    const last = items.pop();
    for (const each of items) window.done(each);
    expect(window.bytes()).toBe(1_010);
    if (last !== undefined) window.done(last);
    expect(window.bytes()).toBe(0);
  });

  it('holds no content for an item that only waits for its outcome to be stored', () => {
    const window = createReadyWindow(LIMITS);
    const content = { bytes: new Uint8Array(1_000), size: 1_000, mayFree: false, sharers: 0 };
    const [sent, waiting] = [1, 2].map((id) => ({ ...item(id), content }));
    if (sent === undefined || waiting === undefined) throw new Error('two items were made');
    for (const each of [sent, waiting]) window.add(each);
    window.dropContent(sent);
    expect([sent.content, window.rows(), window.bytes()]).toEqual([null, 2, 1_020]);
    window.dropContent(waiting);
    expect(window.bytes()).toBe(20);
    for (const each of [sent, waiting]) window.done(each);
    expect([window.rows(), window.bytes()]).toEqual([0, 0]);
  });

  it('keeps order within a lane, and its counts, whatever is done to it', () => {
    const lane = fc.constantFrom<Lane>('critical', 'normal', 'bulk');
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant('add' as const), lane }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('take', 'putBack', 'done') }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('drain' as const) }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const window = createReadyWindow(LIMITS);
        const waiting: Record<Lane, number[]> = { critical: [], normal: [], bulk: [] };
        const taken: ReadyItem[] = [];
        let next = 0;
        for (const one of steps) {
          if (one.do === 'add' && 'lane' in one) {
            waiting[one.lane].push(next);
            window.add(item(next++, one.lane));
          } else if (one.do === 'take') {
            const got = window.take('a');
            const left = waiting.critical.length + waiting.normal.length + waiting.bulk.length;
            expect(got === null).toBe(left === 0);
            if (got === null) continue;
            if (waiting.critical.length > 0) expect(got.delivery.lane).toBe('critical');
            expect(waiting[got.delivery.lane].shift()).toBe(got.delivery.id);
            taken.push(got);
          } else if (one.do === 'putBack') {
            const back = taken.pop();
            if (back === undefined) continue;
            waiting[back.delivery.lane].unshift(back.delivery.id);
            window.putBack(back);
          } else if (one.do === 'done') {
            const over = taken.pop();
            if (over !== undefined) window.done(over);
          } else {
            const drained = window.drain('a');
            const ids = drained.map((left) => left.delivery.id);
            expect(ids).toEqual([...waiting.critical, ...waiting.normal, ...waiting.bulk]);
            for (const left of drained) window.done(left);
            waiting.critical = [];
            waiting.normal = [];
            waiting.bulk = [];
          }
          const held = waiting.critical.length + waiting.normal.length + waiting.bulk.length;
          expect(window.waiting('a')).toEqual({
            critical: waiting.critical.length,
            normal: waiting.normal.length,
            bulk: waiting.bulk.length,
          });
          expect(window.rows()).toBe(held + taken.length);
          expect(window.bytes()).toBe(10 * (held + taken.length));
        }
      }),
    );
  });
});
