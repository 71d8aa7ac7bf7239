/**
 * Every reader of text from outside, before texts that trouble parsers: twice the text may take about twice the time.
 * reader-list.test.ts holds the table against the source.
 */
import { describe, expect, it } from 'vitest';
import { growthOf, MOST_GROWTH, PIECES, run } from './growth.ts';
import { READERS } from './reader-table.ts';

describe('the readers of text from outside', () => {
  it.each(Object.entries(READERS))('take time in proportion: %s', async (_, read) => {
    const bad: string[] = [];
    for (const piece of PIECES) {
      const growth = await growthOf((size) => read(run(piece, size)), 2_000);
      if (growth !== null && growth > MOST_GROWTH) bad.push(`${JSON.stringify(piece)}: ${growth.toFixed(1)}`);
    }
    expect(bad).toEqual([]);
  });
});
