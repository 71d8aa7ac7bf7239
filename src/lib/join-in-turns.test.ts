import { describe, expect, it } from 'vitest';
import { joinInTurns } from './join-in-turns.ts';

const MIB = 1024 * 1024;
const filled = (size: number) => Buffer.alloc(size, 'abcdefg');

describe('stretches', () => {
  it('become one array at once if they are small', () => {
    const joined = joinInTurns([Buffer.from('a'), Buffer.alloc(0), Buffer.from('bc')], () => undefined);
    expect(joined).toEqual(Buffer.from('abc'));
  });

  it('are not copied if there is one only', () => {
    const one = filled(2 * MIB);
    expect(joinInTurns([one], () => undefined)).toBe(one);
    expect(joinInTurns([], () => undefined)).toHaveLength(0);
  });

  it('let other work run between if they are large', async () => {
    const parts = [filled(10), filled(2 * MIB), filled(3 * MIB + 5)];
    let turns = 0;
    const joined = await joinInTurns(parts, async () => {
      turns += 1;
    });
    expect(Buffer.compare(joined, Buffer.concat(parts))).toBe(0);
    expect(joined.length).toBe(joined.buffer.byteLength);
    expect(turns).toBeGreaterThanOrEqual(5);
  });
});
