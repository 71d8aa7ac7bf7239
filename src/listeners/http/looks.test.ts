import { describe, expect, it } from 'vitest';
import { gather, looksOf } from './looks.ts';

/** A search over the numbers below `size`, from the largest; each look passes 10 of them and finds those that `fit`. */
function searchOver(size: number, fit: (n: number) => boolean) {
  const asked: number[] = [];
  return {
    asked,
    look: async (from: number | undefined) => {
      const before = from ?? size;
      asked.push(before);
      const seen = Array.from({ length: Math.min(10, before) }, (_, i) => before - 1 - i);
      const next = before - seen.length;
      return { rows: seen.filter(fit), next: next === 0 ? null : next };
    },
  };
}
const itself = (n: number) => n;

describe('a search made of looks', () => {
  it('gathers a page and says whether there is more', async () => {
    const { look } = searchOver(100, (n) => n % 30 === 0);
    const looks = () => looksOf({ ended: () => new AbortController().signal });
    const first = await gather(looks(), 3, undefined, look, itself);
    expect(first).toEqual({ rows: [90, 60, 30], next: 30 });
    expect(await gather(looks(), 3, 30, look, itself)).toEqual({ rows: [0], next: null });
    expect(await gather(looks(), 4, undefined, look, itself)).toEqual({ rows: [90, 60, 30, 0], next: null });
  });

  it('ends with its looks and names where to go on, also of an empty page', async () => {
    const { look, asked } = searchOver(10_000, (n) => n === 0);
    const rows: number[] = [];
    let pages = 0;
    for (let from: number | null = 10_000; from !== null; pages += 1) {
      const looks = looksOf({ ended: () => new AbortController().signal });
      const page: { rows: number[]; next: number | null } = await gather(looks, 5, from, look, itself);
      rows.push(...page.rows);
      from = page.next;
    }
    expect([rows, pages]).toEqual([[0], 20]);
    expect(new Set(asked).size).toBe(asked.length);
  });

  it('ends when its client goes', async () => {
    const gone = new AbortController();
    const { look, asked } = searchOver(10_000, () => false);
    const looks = looksOf({ ended: () => gone.signal });
    const watched = async (from: number | undefined) => {
      if (asked.length === 3) gone.abort('gone');
      return look(from);
    };
    await gather(looks, 5, undefined, watched, itself);
    expect(asked).toHaveLength(4);
  });
});
