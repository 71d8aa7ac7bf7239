import { describe, expect, it } from 'vitest';
import { createByteBudget } from './byte-budget.ts';

const MB = 1024 * 1024;

describe('a budget of octets', () => {
  it('refuses what does not fit beside the others, until one has ended', () => {
    const budget = createByteBudget(100);
    const [first, second] = [budget.open(['a']), budget.open(['b'])];
    expect(first.take(60)).toBe(true);
    expect(second.take(60)).toBe(false);
    expect(second.take(40)).toBe(true);
    expect(second.take(1)).toBe(false);
    first.end();
    first.end();
    expect(second.take(60)).toBe(true);
    expect(first.take(1)).toBe(false);
  });

  it('is a sixteenth of the memory of the process where that is less', () => {
    const budget = createByteBudget(100, 16 * 40);
    expect(budget.open(['a']).take(20)).toBe(true);
    expect(budget.open(['b']).take(21)).toBe(false);
    expect(budget.open(['b']).take(20)).toBe(true);
  });

  it('lets a lone body grow beyond it', () => {
    const budget = createByteBudget(100);
    const lone = budget.open(['a']);
    expect(lone.take(90) && lone.take(90)).toBe(true);
    expect(budget.open(['b']).take(1)).toBe(false);
  });

  it('leaves half of itself to others, whatever an owner asks for', () => {
    const budget = createByteBudget(100);
    const shares = [1, 2, 3].map(() => budget.open(['a']));
    expect(shares.map((share) => share.take(30))).toEqual([true, false, false]);
    expect(shares[1]?.take(20)).toBe(true);
    expect(budget.open(['b']).take(50)).toBe(true);
    for (const share of shares) share.end();
    expect(budget.open(['a']).take(50)).toBe(true);
  });

  it('keeps room for small ones, and for those who are known, whatever strangers do', () => {
    const budget = createByteBudget(32 * MB);
    for (let n = 0; n < 40; n++) budget.open([`address ${n}`], true).take(MB);
    // One address has a thirty-second part, all together a quarter.
    expect(budget.open(['address 0'], true).take(1)).toBe(false);
    expect(budget.open(['address 99'], true).take(1)).toBe(false);
    expect(budget.open(['a']).take(16 * MB)).toBe(true);
    expect(budget.open(['b']).take(MB)).toBe(false);
    expect(budget.open(['b']).take(64 * 1024)).toBe(true);
  });

  it('gives an owner half under each of its names, however many others share one of them', () => {
    const budget = createByteBudget(16 * MB);
    expect(budget.open(['line 1', 'domain a']).take(8 * MB)).toBe(true);
    expect(budget.open(['line 2', 'domain a']).take(MB)).toBe(false);
    expect(budget.open(['line 3', 'domain b']).take(MB)).toBe(true);
  });
});
