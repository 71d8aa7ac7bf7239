import { describe, expect, it } from 'vitest';
import { createBodyBudget } from './body-budget.ts';

describe('the budget of bodies', () => {
  it('refuses what does not fit beside the others, until one has ended', () => {
    const budget = createBodyBudget(100);
    const [first, second] = [budget.open(), budget.open()];
    expect(first.take(60)).toBe(true);
    expect(second.take(60)).toBe(false);
    expect(second.take(40)).toBe(true);
    expect(second.take(1)).toBe(false);
    first.end();
    first.end();
    expect(second.take(60)).toBe(true);
    expect(first.take(1)).toBe(false);
  });

  it('lets a lone body grow beyond it', () => {
    const budget = createBodyBudget(100);
    const lone = budget.open();
    expect(lone.take(90) && lone.take(90)).toBe(true);
    expect(budget.open().take(1)).toBe(false);
  });
});
