import { describe, expect, it } from 'vitest';
import { createSuppressionFilter } from './suppression-filter.ts';

/** A source whose answers come when the test says so. */
function source() {
  const asked: { answer(names: string[]): void; fail(error: Error): void }[] = [];
  const load = () =>
    new Promise<readonly string[]>((resolve, reject) => asked.push({ answer: resolve, fail: reject }));
  return { asked, filter: createSuppressionFilter(load) };
}

describe('the domains with suppressions', () => {
  it('are loaded once, for all who ask', async () => {
    const { asked, filter } = source();
    expect(filter.known('a.example')).toBeNull();
    const both = Promise.all([filter.mayHave('a.example'), filter.mayHave('b.example')]);
    asked[0]?.answer(['a.example']);
    expect(await both).toEqual([true, false]);
    expect([filter.known('a.example'), filter.known('b.example')]).toEqual([true, false]);
    expect(asked).toHaveLength(1);
  });

  it('are not remembered from before a write that went by meanwhile', async () => {
    const { asked, filter } = source();
    const early = filter.mayHave('a.example');
    filter.changed();
    asked[0]?.answer([]);
    expect(await early).toBe(false);
    expect(filter.known('a.example')).toBeNull();
    const late = filter.mayHave('a.example');
    asked[1]?.answer(['a.example']);
    expect(await late).toBe(true);
    expect(filter.known('a.example')).toBe(true);
  });

  it('are asked for again after a failure', async () => {
    const { asked, filter } = source();
    const failed = filter.mayHave('a.example');
    asked[0]?.fail(new Error('no disk'));
    await expect(failed).rejects.toThrow('no disk');
    const next = filter.mayHave('a.example');
    asked[1]?.answer(['a.example']);
    expect(await next).toBe(true);
  });
});
