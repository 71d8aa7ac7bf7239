import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../lib/virtual-clock.ts';
import { createRecentReads } from './recent-reads.ts';

function world() {
  const clock = createVirtualClock();
  const rows = createRecentReads<string>(clock);
  let finds = 0;
  return {
    clock,
    rows,
    /** The row as the store has it after so many reads; a row that is kept does not count on. */
    read: (row: string | null = 'row') =>
      rows.read('key', async () => {
        finds += 1;
        return row === null ? null : `${row} ${finds}`;
      }),
  };
}

describe('rows that were read lately', () => {
  it('are kept for five seconds', async () => {
    const { clock, read } = world();
    expect(await read()).toBe('row 1');
    await clock.advance(4_999);
    expect(await read()).toBe('row 1');
    await clock.advance(1);
    expect(await read()).toBe('row 2');
  });

  it('are read again after a change in this process', async () => {
    const { rows, read } = world();
    await read();
    rows.forget();
    expect(await read()).toBe('row 2');
  });

  it('are not kept where a change came while they were read', async () => {
    const { rows, read } = world();
    const underWay = read();
    rows.forget();
    expect(await underWay).toBe('row 1');
    expect(await read()).toBe('row 2');
  });

  it('are kept by their keys, and a row that is missing is asked for each time', async () => {
    const { rows, read } = world();
    expect(await read(null)).toBeNull();
    expect(await read()).toBe('row 2');
    expect(await rows.read('another', async () => 'its own')).toBe('its own');
  });
});

it('asks a slow store once for all who ask meanwhile, and again for those who come after a change', async () => {
  const reads = createRecentReads<string>(createVirtualClock(0));
  const answers: ((value: string) => void)[] = [];
  const find = () => new Promise<string>((resolve) => answers.push(resolve));
  const first = [1, 2].map(() => reads.read('a', find));
  expect(answers).toHaveLength(1);
  reads.forget();
  const later = reads.read('a', find);
  expect(answers).toHaveLength(2);
  for (const [i, answer] of answers.entries()) answer(String(i));
  expect(await Promise.all([...first, later])).toEqual(['0', '0', '1']);
  expect(await reads.read('a', find)).toBe('1');
});
