import { describe, expect, it } from 'vitest';
import { createConnectionTotal } from './connection-total.ts';

type Total = ReturnType<typeof createConnectionTotal>;

/** A path that opens a connection as soon as it may. */
function asker(total: Total, isUrgent = false) {
  const one = { open: 0, wanted: 1, asked: 0, ask };
  function ask(): void {
    one.asked += 1;
    if (one.open >= one.wanted) return;
    if (total.isFull()) total.wait(isUrgent, ask);
    else {
      one.open += 1;
      total.opened();
    }
  }
  return one;
}

function full(most: number): Total {
  const total = createConnectionTotal(most);
  for (let n = 0; n < most; n++) total.opened();
  return total;
}

describe('all connections of the process', () => {
  it('are given to the paths that wait, in turns to those with critical mail and the others', () => {
    const total = full(2);
    const others = Array.from({ length: 3 }, () => asker(total));
    const urgent = Array.from({ length: 3 }, () => asker(total, true));
    for (const path of [...others, ...urgent]) path.ask();
    const order: string[] = [];
    for (let n = 0; n < 6; n++) {
      total.ended();
      const name = (list: typeof others, of: string) => list.map(({ open }, i) => (open > 0 ? of + i : ''));
      const now = [...name(urgent, 'u'), ...name(others, 'o')].filter((one) => one !== '');
      order.push(now.find((one) => !order.includes(one)) ?? 'none');
    }
    expect(order).toEqual(['u0', 'o0', 'u1', 'o1', 'u2', 'o2']);
  });

  it('are asked for once by a path whose mail became urgent', () => {
    const total = full(1);
    const woken: string[] = [];
    const wake = () => void woken.push('it');
    total.wait(false, wake);
    total.wait(true, wake);
    total.wait(false, wake);
    total.ended();
    expect(woken).toEqual(['it']);
  });

  it('go to the next path where one that waited needs none any more', () => {
    const total = full(1);
    const paths = Array.from({ length: 1000 }, () => asker(total));
    for (const path of paths) path.ask();
    for (const path of paths.slice(0, 999)) path.wanted = 0;
    total.ended();
    expect(paths.at(-1)?.open).toBe(1);
  });

  it('wake as many paths as there is room for, however many wait', () => {
    const total = full(10);
    const paths = Array.from({ length: 1000 }, () => asker(total, true));
    for (const path of paths) path.ask();
    total.ended();
    total.ended();
    expect(paths.filter(({ open }) => open === 1)).toHaveLength(2);
    expect(paths.reduce((sum, { asked }) => sum + asked, 0)).toBe(1002);
  });

  it('lose the one that has been idle longest for each path that waits', () => {
    const total = full(3);
    const left: string[] = [];
    const links = ['a', 'b', 'c'].map((name) => ({ name }));
    const [a, b] = links;
    if (a === undefined || b === undefined) throw new Error('none');
    for (const link of links) total.rests(link, () => left.push(link.name));
    expect(left).toEqual([]);
    total.restsNoMore(a);
    const path = asker(total);
    path.ask();
    path.ask();
    expect(left).toEqual(['b']);
    total.restsNoMore(b);
    total.ended();
    expect(path.open).toBe(1);
    // Idle again, and nobody waits: it stays.
    total.rests(a, () => left.push('a'));
    expect(left).toEqual(['b']);
    const [one, two, three] = [asker(total), asker(total), asker(total)];
    for (const more of [one, two, three]) more.ask();
    expect(left).toEqual(['b', 'c', 'a']);
  });

  it('close what becomes idle while a path waits', () => {
    const total = full(1);
    const left: string[] = [];
    const path = asker(total);
    path.ask();
    total.rests({}, () => left.push('it'));
    expect(left).toEqual(['it']);
  });
});
