import { describe, expect, it } from 'vitest';
import { createAddressConnections, MOST_AT_ADDRESS } from './address-connections.ts';

const ADDRESS = '192.0.2.1';

describe('the connections of a source to an address', () => {
  it('are shared by its paths, apart from other sources and addresses', () => {
    const all = createAddressConnections();
    const [one, other] = [all.of('a', () => 2), all.of('a', () => 2)];
    const taken = Array.from({ length: MOST_AT_ADDRESS }, (_, n) => (n % 2 ? one : other).take(ADDRESS));
    expect(taken).not.toContain(null);
    expect(one.isFull(ADDRESS)).toBe(true);
    expect(other.take(ADDRESS)).toBeNull();
    expect(other.isFull('192.0.2.2')).toBe(false);
    expect(all.of('b', () => 2).isFull(ADDRESS)).toBe(false);
    taken[0]?.ended();
    expect(other.take(ADDRESS)).not.toBeNull();
  });

  it('begin anew once all have ended', () => {
    const path = createAddressConnections().of('a', () => 2);
    for (const taken of Array.from({ length: MOST_AT_ADDRESS }, () => path.take(ADDRESS))) taken?.ended();
    expect(path.isFull(ADDRESS)).toBe(false);
    expect(Array.from({ length: MOST_AT_ADDRESS + 1 }, () => path.take(ADDRESS)).indexOf(null)).toBe(
      MOST_AT_ADDRESS,
    );
  });

  it('may be more where a site itself may have more, which small sites beside it may not use', () => {
    const all = createAddressConnections();
    const large = all.of('a', () => MOST_AT_ADDRESS + 2);
    const small = all.of('a', () => 2);
    const taken = Array.from({ length: MOST_AT_ADDRESS + 1 }, () => large.take(ADDRESS));
    expect(small.isFull(ADDRESS)).toBe(true);
    expect(large.isFull(ADDRESS)).toBe(false);
    taken.push(large.take(ADDRESS));
    expect(large.isFull(ADDRESS)).toBe(true);
    const woken: string[] = [];
    small.wait(ADDRESS, false, () => woken.push('small'));
    large.wait(ADDRESS, false, () => woken.push('large'));
    taken.pop()?.ended();
    expect(woken).toEqual(['large']);
    for (const one of taken.splice(0, 2)) one?.ended();
    expect(woken).toEqual(['large', 'small']);
  });

  it('that are idle are closed for a path that waits', () => {
    const path = createAddressConnections().of('a', () => 2);
    const left: string[] = [];
    const [taken] = Array.from({ length: MOST_AT_ADDRESS }, () => path.take(ADDRESS));
    taken?.rests({}, () => left.push('idle'));
    expect(left).toEqual([]);
    path.wait(ADDRESS, false, () => undefined);
    expect(left).toEqual(['idle']);
  });
});
