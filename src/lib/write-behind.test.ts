import { describe, expect, it } from 'vitest';
import { createVirtualClock } from './virtual-clock.ts';
import { createWriteBehind } from './write-behind.ts';

function setup() {
  const clock = createVirtualClock();
  const written: string[][] = [];
  const failures: unknown[] = [];
  const state = { failing: false };
  const behind = createWriteBehind<string>(
    clock,
    async (values) => {
      if (state.failing) throw new Error('no');
      written.push([...values]);
    },
    (cause) => failures.push(cause),
  );
  return { clock, written, failures, state, behind };
}

describe('writing behind', () => {
  it('writes the last value of each key, those of one turn together', async () => {
    const { clock, written, behind } = setup();
    behind.put('a', 'a1');
    behind.put('b', 'b1');
    behind.put('a', 'a2');
    await clock.advance(0);
    expect(written).toEqual([['a2', 'b1']]);
  });

  it('tries again after a failure, with what came meanwhile, and tells of it once', async () => {
    const { clock, written, failures, state, behind } = setup();
    state.failing = true;
    behind.put('a', 'a1');
    behind.put('b', 'b1');
    await clock.advance(2_500);
    behind.put('a', 'a2');
    expect(failures).toHaveLength(1);
    state.failing = false;
    await clock.advance(1_000);
    expect(written).toEqual([['a2', 'b1']]);
    expect(clock.pendingTimers()).toBe(0);
  });

  it.each([0, 1, 2, 3, 4, 5, 6])(
    'misses nothing that comes %i microtasks after the last write',
    async (depth) => {
      const written: string[] = [];
      let end = () => {};
      const gate = new Promise<void>((resolve) => {
        end = resolve;
      });
      const behind = createWriteBehind<string>(
        createVirtualClock(),
        async (values) => {
          written.push(...values);
          await gate;
        },
        () => {},
      );
      behind.put('a', 'a1');
      await Promise.resolve();
      end();
      for (let n = 0; n < depth; n++) await Promise.resolve();
      behind.put('b', 'b1');
      await new Promise((resolve) => setImmediate(resolve));
      expect(written).toEqual(['a1', 'b1']);
    },
  );

  it('forgets what is dropped before it goes', async () => {
    const { clock, written, behind } = setup();
    behind.put('a', 'a1');
    behind.drop('a');
    await clock.advance(0);
    expect(written).toEqual([]);
  });

  it('writes what is left when it is flushed, once, and says whether that worked', async () => {
    const { clock, written, state, behind } = setup();
    behind.put('a', 'a1');
    expect(await behind.flush()).toBe(true);
    expect(written).toEqual([['a1']]);
    state.failing = true;
    behind.put('a', 'a2');
    expect(await behind.flush()).toBe(false);
    expect(clock.pendingTimers()).toBe(0);
    state.failing = false;
    expect(await behind.flush()).toBe(true);
    expect(written).toEqual([['a1'], ['a2']]);
  });
});
