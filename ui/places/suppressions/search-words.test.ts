import { describe, expect, it } from 'vitest';
import { readSearch } from './search-words.ts';

const NOW = Date.parse('2026-11-22T12:00:00Z');
const read = (text: string) => readSearch(text, NOW);

describe('what is typed to search suppressions', () => {
  it.each([
    ['ada@example.net', { Email: 'ada@example.net' }],
    ['Example.net', { RecipientDomain: 'Example.net' }],
    ['@example.net', { RecipientDomain: 'example.net' }],
    ['reason:softbounces domain:example.com', { Reason: 'SoftBounces', Domain: 'example.com' }],
    ['since:2h', { Since: '2026-11-22T10:00:00.000Z' }],
    ['', {}],
  ])('%j', (text, filters) => {
    expect(read(text)).toEqual({ filters, problem: null });
  });

  it.each(['reason:tired', 'since:soon', 'domain:', 'ada'])('%j is said not to be understood', (text) => {
    expect(read(text).problem).not.toBeNull();
    expect(read(text).filters).toEqual({});
  });
});
