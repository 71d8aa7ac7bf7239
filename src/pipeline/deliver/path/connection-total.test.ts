import { describe, expect, it } from 'vitest';
import type { Lane } from '../../../model/message.ts';
import { createConnectionTotal } from './connection-total.ts';

/** A path that opens one connection of a lane as soon as it may. */
function asker(total: ReturnType<typeof createConnectionTotal>, lane: Lane) {
  const one = { open: 0, wanted: 1, asked: 0, ask };
  function ask(): void {
    one.asked += 1;
    if (one.open >= one.wanted || !total.hasRoom(lane, ask)) return;
    one.open += 1;
    total.opened();
  }
  return one;
}

describe('all connections of the process', () => {
  it('are given to the paths that wait, the higher lanes first', () => {
    const total = createConnectionTotal(4);
    const first = asker(total, 'bulk');
    first.wanted = 3;
    for (let n = 0; n < 5; n++) first.ask();
    // A quarter is kept for the other lanes.
    expect(first.open).toBe(3);
    const [bulk, critical] = [asker(total, 'bulk'), asker(total, 'critical')];
    bulk.ask();
    critical.ask();
    expect([bulk.open, critical.open]).toEqual([0, 1]);
    const [later, next] = [asker(total, 'bulk'), asker(total, 'critical')];
    later.ask();
    next.ask();
    expect(next.open).toBe(0);
    total.ended();
    expect([bulk.open, later.open, next.open]).toEqual([0, 0, 1]);
    total.ended();
    total.ended();
    expect([bulk.open, later.open]).toEqual([1, 0]);
  });

  it('go to the next path where one that waited needs none any more', () => {
    const total = createConnectionTotal(1);
    total.opened();
    const paths = Array.from({ length: 1000 }, () => asker(total, 'critical'));
    for (const path of paths) path.ask();
    for (const path of paths.slice(0, 999)) path.wanted = 0;
    total.ended();
    expect(paths.at(-1)?.open).toBe(1);
  });

  it('wake as many paths as there is room for, however many wait', () => {
    const total = createConnectionTotal(10);
    for (let n = 0; n < 10; n++) total.opened();
    const paths = Array.from({ length: 1000 }, () => asker(total, 'critical'));
    for (const path of paths) path.ask();
    total.ended();
    total.ended();
    expect(paths.filter(({ open }) => open === 1)).toHaveLength(2);
    expect(paths.reduce((sum, { asked }) => sum + asked, 0)).toBe(1002);
  });

  it('lose the one that has been idle longest for each path that waits', () => {
    const total = createConnectionTotal(3);
    const left: string[] = [];
    const links = ['a', 'b', 'c'].map((name) => ({ name }));
    for (const link of links) {
      total.opened();
      total.rests(link, () => left.push(link.name));
    }
    const [a] = links;
    if (a === undefined) throw new Error('none');
    total.restsNoMore(a);
    const path = asker(total, 'critical');
    path.ask();
    path.ask();
    expect(left).toEqual(['b']);
    // Busy again, and idle when nobody waits: it stays.
    total.restsNoMore({});
    total.rests(a, () => left.push('a'));
    expect(left).toEqual(['b']);
    const [, b] = links;
    if (b === undefined) throw new Error('none');
    total.restsNoMore(b);
    total.ended();
    expect(path.open).toBe(1);
    const other = asker(total, 'critical');
    other.ask();
    expect(left).toEqual(['b', 'c']);
  });

  it('close one that becomes idle while a path waits', () => {
    const total = createConnectionTotal(1);
    const left: string[] = [];
    total.opened();
    const path = asker(total, 'normal');
    path.ask();
    total.rests({}, () => left.push('it'));
    expect(left).toEqual(['it']);
  });
});
