import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { collectStretches, joinInTurns } from './join-in-turns.ts';

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

  it('keep their order when they are collected, whatever their lengths', () => {
    const parts = Array.from({ length: 3_000 }, (_, n) => Buffer.alloc((n * 37) % 700, String(n)));
    const stretches = collectStretches();
    for (const part of parts) stretches.add(part);
    expect(Buffer.concat(stretches.parts())).toEqual(Buffer.concat(parts));
  });

  it('are few where a peer sends octet by octet', () => {
    const stretches = collectStretches();
    for (let n = 0; n < 100_000; n++) stretches.add(Buffer.of(n));
    const parts = stretches.parts();
    expect(parts.length).toBeLessThan(20);
    expect(parts.reduce((sum, { buffer }) => sum + buffer.byteLength, 0)).toBeLessThan(200_000);
    stretches.clear();
    expect(stretches.parts()).toHaveLength(0);
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

  it('are not kept in memory once their array was given away', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
    const kept = new WeakRef((await joinInTurns([filled(2 * MIB), filled(2 * MIB)], turn)).buffer);
    for (let n = 0; n < 20 && kept.deref() !== undefined; n += 1) {
      await turn();
      collect();
    }
    expect(kept.deref()).toBeUndefined();
  });
});
