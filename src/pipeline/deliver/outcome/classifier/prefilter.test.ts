import { describe, expect, it } from 'vitest';
import { shippedRules } from './classify.ts';
import { contains, needleOf, prefilterOf } from './prefilter.ts';
import type { RuleData } from './rule-set.ts';

const TEXTS = [
  '',
  'a',
  'ab',
  'abc',
  '550 5.1.1 user unknown',
  '550 нет такого пользователя',
  '552 メールボックスが一杯です',
  `554 ${'x'.repeat(2000)} spam`,
];

describe('prefilter', () => {
  it('say the same as a search, for every literal of the shipped rules', () => {
    const literals = (shippedRules().rules as RuleData[]).flatMap((rule) => rule.lit);
    for (const text of [...TEXTS, ...literals.map((literal) => `550 ${literal}`)]) {
      const prefilter = prefilterOf(text);
      for (const literal of literals)
        if (contains(text, prefilter, needleOf(literal)) !== text.includes(literal))
          expect.fail(`${literal} in ${text}`);
    }
  });

  it('find a literal at the start, at the end and as the whole text', () => {
    for (const text of ['abc', 'abcd', 'xabc'])
      expect(contains(text, prefilterOf(text), needleOf('abc')), text).toBe(true);
    expect(contains('acb', prefilterOf('acb'), needleOf('abc'))).toBe(false);
  });

  it('search for literals that are too short to have a trace', () => {
    expect(contains('no mx', prefilterOf('no mx'), needleOf('mx'))).toBe(true);
    expect(contains('m x', prefilterOf('m x'), needleOf('mx'))).toBe(false);
  });
});
