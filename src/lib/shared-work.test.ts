/** Work runs once for all who ask meanwhile, or once more after the run under way; what was forgotten is not kept. */
import { expect, it } from 'vitest';
import { createReruns, createSharedWork } from './shared-work.ts';

it('runs once per key for all who ask meanwhile, and anew for who asks afterwards', async () => {
  const work = createSharedWork<number>();
  let runs = 0;
  const run = async () => ++runs;
  expect(await Promise.all([work.of('a', run), work.of('a', run), work.of('b', run)])).toEqual([1, 1, 2]);
  expect(await work.of('a', run)).toBe(3);
});

it('fails for all who asked, and keeps nothing then', async () => {
  const work = createSharedWork<number>();
  const kept: number[] = [];
  const fail = () => Promise.reject(new Error('away'));
  const asked = [work.of('a', fail, (n) => kept.push(n)), work.of('a', fail, (n) => kept.push(n))];
  expect((await Promise.allSettled(asked)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(
    await work.of(
      'a',
      async () => 7,
      (n) => kept.push(n),
    ),
  ).toBe(7);
  expect(kept).toEqual([7]);
});

it.each([['its key'], ['all']])(
  'neither keeps nor passes on what was under way when %s was forgotten',
  async (what) => {
    const work = createSharedWork<string>();
    const kept: string[] = [];
    const keep = (text: string) => kept.push(text);
    const before = Promise.withResolvers<string>();
    const old = work.of('a', () => before.promise, keep);
    work.forget(what === 'all' ? undefined : 'a');
    const after = Promise.withResolvers<string>();
    const fresh = work.of('a', () => after.promise, keep);
    before.resolve('old');
    expect(await old).toBe('old');
    // The end of the old work does not end what followed it.
    expect(work.of('a', async () => 'a third', keep)).toBe(fresh);
    after.resolve('new');
    expect(await fresh).toBe('new');
    expect(kept).toEqual(['new']);
  },
);

it('forgets only the key that was named', async () => {
  const work = createSharedWork<string>();
  const first = work.of('a', async () => 'kept');
  work.forget('b');
  expect(work.of('a', async () => 'another')).toBe(first);
});

it('runs once more for all who ask during a run, and anew for who asks afterwards', async () => {
  const begun: PromiseWithResolvers<void>[] = [];
  const work = createReruns(() => {
    const run = Promise.withResolvers<void>();
    begun.push(run);
    return run.promise;
  });
  await work.ended();
  work.ask();
  work.ask();
  work.ask();
  expect(begun).toHaveLength(1);
  const ended = work.ended();
  begun[0]?.resolve();
  await expect.poll(() => begun.length).toBe(2);
  begun[1]?.resolve();
  await ended;
  expect(begun).toHaveLength(2);
  work.ask();
  expect(begun).toHaveLength(3);
});
