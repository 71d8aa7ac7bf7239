import { describe, expect, it } from 'vitest';
import { StoreRefused } from '../../shared/refusal.ts';
import { StoreUnavailable } from '../../store.ts';
import { createThread } from './thread.ts';

/** A thread that answers with what it got, and dies, fails or refuses when told. */
function threadOf(start: string, died?: (reason: string) => void) {
  const source = `
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', (word) => {
      if (word === 'close') return parentPort.close();
      if (word === 'die') process.exit(1);
      if (word === 'throw') throw new Error('broken inside');
      parentPort.postMessage(word + '!');
    });
    parentPort.postMessage(${start});`;
  return createThread<string, string>(
    'store-test',
    new URL(`data:text/javascript,${encodeURIComponent(source)}`),
    {},
    died,
  );
}

describe('a thread', () => {
  it('answers in order', async () => {
    const thread = threadOf("{ kind: 'ready' }");
    expect(await Promise.all([thread.ask('a'), thread.ask('b'), thread.ask('c')])).toEqual([
      'a!',
      'b!',
      'c!',
    ]);
    await thread.close('close');
  });

  it('answers in order also what cannot be posted', async () => {
    const thread = threadOf("{ kind: 'ready' }");
    const answered: string[] = [];
    const ask = (request: string, name: string) =>
      thread.ask(request).then(
        () => answered.push(name),
        () => answered.push(`not ${name}`),
      );
    await Promise.all([ask('a', 'a'), ask((() => {}) as never, 'b'), ask('c', 'c')]);
    expect(answered).toEqual(['a', 'not b', 'c']);
    await thread.close('close');
  });

  it.each(['die', 'throw'])(
    'rejects what it left unanswered when it ends (%s), and starts again',
    async (word) => {
      const thread = threadOf("{ kind: 'ready' }");
      const results = await Promise.allSettled([thread.ask('a'), thread.ask(word), thread.ask('b')]);
      expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'rejected']);
      await expect(thread.ask(word)).rejects.toThrow(StoreUnavailable);
      expect(await thread.ask('c')).toBe('c!');
      await thread.close('close');
    },
  );

  it('tells when it ends without having been asked to, and only then', async () => {
    const told: string[] = [];
    const note = (reason: string) => told.push(reason);
    const thread = threadOf("{ kind: 'ready' }", note);
    await expect(thread.ask('throw')).rejects.toThrow(StoreUnavailable);
    expect(told).toEqual(['broken inside']);
    expect(await thread.ask('a')).toBe('a!');
    await thread.close('close');
    const refused = threadOf("{ kind: 'refused', reason: 'corrupt', message: 'bad file' }", note);
    await expect(refused.start()).rejects.toThrow(StoreRefused);
    expect(told).toHaveLength(1);
  });

  it('says why it never started', async () => {
    const thread = threadOf("{ kind: 'refused', reason: 'corrupt', message: 'bad file' }");
    await expect(thread.start()).rejects.toThrow(StoreRefused);
    await expect(thread.ask('a')).rejects.toThrow('bad file');
    await thread.close('close');
  });

  it('answers nothing once closed, and closing one that never ran is fine', async () => {
    const thread = threadOf("{ kind: 'ready' }");
    await thread.close('close');
    await expect(thread.ask('a')).rejects.toThrow('closed');
  });
});
