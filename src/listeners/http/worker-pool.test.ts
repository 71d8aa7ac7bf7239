/** The worker pool, with scripted threads: fair turns between tenants, deadlines, and what is lost if a thread dies. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Timer } from '../../lib/clock.ts';
import { createManualClock } from '../../store/sqlite/test-support.ts';
import { createWorkerPool, type WorkerPool } from './worker-pool.ts';

/** Answers with the subject it is given; `hang` never ends, `die` ends the thread, `ask` asks and never ends when answered. */
const obedient = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ job }) => {
      if (job === undefined) for (;;);
      const { subject } = job.texts;
      if (subject === 'hang') for (;;);
      if (subject === 'ask') return parentPort.postMessage({ asks: {} });
      if (subject === 'die') throw new Error('boom');
      parentPort.postMessage({ ok: true, result: { ok: true, names: [subject] } });
    });
    parentPort.postMessage({ ready: true });`)}`,
);
const pools: WorkerPool[] = [];
afterEach(() => Promise.all(pools.splice(0).map((pool) => pool.close())));

function open(options: { maxWorkers?: number; maxQueue?: number } = {}) {
  const clock = createManualClock();
  const timers = new Set<Timer>();
  const setTimer: typeof clock.setTimer = (delayMs, fire) => {
    const timer = clock.setTimer(delayMs, fire);
    const counted: Timer = {
      cancel() {
        timers.delete(counted);
        timer.cancel();
      },
    };
    timers.add(counted);
    return counted;
  };
  /** So many jobs hang, each in a thread that has started. */
  const begun = (jobs: number) => vi.waitUntil(() => timers.size === jobs, 20_000);
  const pool = createWorkerPool(
    { clock: { setTimer } },
    { maxWorkers: 1, maxQueue: 16, deadlineMs: 10_000, entry: obedient, ...options },
  );
  pools.push(pool);
  const run = (tenant: string, subject: string) =>
    pool.run([tenant], 'names', { texts: { subject, html: null, text: null } });
  return { clock, pool, run, begun };
}
const codeOf = (error: unknown) => (error as { problems?: { name: string }[] }).problems?.[0]?.name;

describe('the worker pool', () => {
  it('lets nobody keep the others from their work, and serves them in turn', async () => {
    const { run, clock, begun } = open();
    const done: string[] = [];
    const note = (tenant: string, subject: string) =>
      run(tenant, subject).then(
        () => done.push(subject),
        (error: unknown) => done.push(`${subject} ${codeOf(error)}`),
      );
    const hanging = note('a', 'hang');
    const second = note('a', 'a2');
    await Promise.all([note('b', 'b1'), note('b', 'b2'), note('b', 'b3'), note('c', 'c1')]);
    // The one thread of the first tenant is held by its own job; the other thread serves the others in turn.
    expect(done).toEqual(['b1', 'b2', 'c1', 'b3']);
    await begun(1);
    clock.advance(10_000);
    await Promise.all([hanging, second]);
    expect(done.slice(4)).toEqual(['hang request-too-complex', 'a2']);
  });

  it('counts all lines of tokens for one domain together', async () => {
    const { pool, run, clock, begun } = open({ maxWorkers: 2 });
    const texts = { subject: 'hang', html: null, text: null };
    const hanging = [1, 2, 3].map((line) =>
      pool.run([`line ${line}`, 'domain a'], 'names', { texts }).catch(codeOf),
    );
    expect(await run('b', 'b1')).toEqual({ ok: true, names: ['b1'] });
    await begun(2);
    clock.advance(10_000);
    await Promise.all(hanging.slice(0, 2));
    await begun(1);
    clock.advance(10_000);
    expect(await Promise.all(hanging)).toEqual(Array(3).fill('request-too-complex'));
  });

  it('ends what passes its deadline with its thread, and goes on with another one', async () => {
    const { run, clock, begun } = open({ maxWorkers: 2 });
    const hanging = [run('a', 'hang'), run('a', 'hang')].map((job) => job.catch(codeOf));
    expect(await run('b', 'b1')).toEqual({ ok: true, names: ['b1'] });
    await begun(2);
    clock.advance(9_999);
    expect(await run('b', 'b2')).toMatchObject({ names: ['b2'] });
    clock.advance(1);
    expect(await Promise.all(hanging)).toEqual(['request-too-complex', 'request-too-complex']);
    expect(await Promise.all([run('a', 'a3'), run('a', 'a4'), run('c', 'c1')])).toHaveLength(3);
  });

  it('gives a job that asks for something its whole time after the answer, and no more', async () => {
    const { pool, clock } = open();
    const answer = Promise.withResolvers<null>();
    const asked = Promise.withResolvers<void>();
    const personal = () => {
      asked.resolve();
      return answer.promise;
    };
    const job = pool.run(['a'], 'names', { texts: { subject: 'ask', html: null, text: null } }, { personal });
    const ended = job.catch(codeOf);
    await asked.promise;
    clock.advance(60_000);
    answer.resolve(null);
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(9_999);
    expect(await Promise.race([ended, Promise.resolve('runs')])).toBe('runs');
    clock.advance(1);
    expect(await ended).toBe('request-too-complex');
  });

  it('keeps a bounded queue, of which one tenant has a part, and refuses the rest with 503', async () => {
    const { run, clock, begun } = open({ maxQueue: 4 });
    const jobs = [1, 2, 3, 4, 5].map((n) => run('a', n === 1 ? 'hang' : `a${n}`).catch(codeOf));
    expect(await jobs[4]).toBe('unavailable');
    expect(await run('b', 'b1')).toMatchObject({ names: ['b1'] });
    await begun(1);
    clock.advance(10_000);
    expect(await Promise.all(jobs)).toMatchObject([
      'request-too-complex',
      { names: ['a2'] },
      { names: ['a3'] },
      { names: ['a4'] },
      'unavailable',
    ]);
  });

  it('loses only the job of a thread that dies', async () => {
    const { run } = open();
    const dying = run('a', 'die').catch(codeOf);
    expect(await run('b', 'b1')).toMatchObject({ names: ['b1'] });
    expect(await dying).toBe('internal');
    expect(await run('a', 'a2')).toMatchObject({ names: ['a2'] });
  });

  it('does not count the start of its thread', async () => {
    const { run, clock } = open();
    const job = run('a', 'a1');
    clock.advance(60_000);
    expect(await job).toMatchObject({ names: ['a1'] });
  });

  it('ends a job at a deadline of its own', async () => {
    const { pool, clock, begun } = open();
    const texts = { subject: 'hang', html: null, text: null };
    const job = pool.run(['a'], 'names', { texts }, { deadlineMs: 2_000 }).catch(codeOf);
    await begun(1);
    clock.advance(2_000);
    expect(await job).toBe('request-too-complex');
  });

  it('takes nothing after its end, and ends what runs', async () => {
    const { run, pool } = open();
    const jobs = [run('a', 'hang').catch(codeOf), run('a', 'a2').catch(codeOf)];
    await pool.close();
    expect(await Promise.all(jobs)).toEqual(['unavailable', 'unavailable']);
    await expect(run('a', 'a3')).rejects.toMatchObject({ status: 503 });
  });
});
