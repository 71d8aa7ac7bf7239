/** What is typed into the search box becomes the filters of the API, or a sentence about what is wrong. */
import { describe, expect, it } from 'vitest';
import { readSearch } from './search-words.ts';

const NOW = Date.parse('2026-11-22T12:00:00Z');
const filtersOf = (text: string) => readSearch(text, NOW).filters;

describe('the words of a search', () => {
  it.each([
    ['', {}],
    ['invoice', { Text: 'invoice' }],
    ['your  invoice ', { Text: 'your invoice' }],
    ['from:ada@example.com To:you@example.net', { From: 'ada@example.com', To: 'you@example.net' }],
    ['subject:"sign in" code', { Subject: 'sign in', Text: 'code' }],
    ['text:one two', { Text: 'one two' }],
    ['has:attachment is:unread', { HasAttachment: true, Seen: false }],
    ['is:read tag:welcome', { Seen: true, Tag: 'welcome' }],
    ['https://example.com/', { Text: 'https://example.com/' }],
    [':colon', { Text: ':colon' }],
  ])('%s', (text, filters) => {
    expect(readSearch(text, NOW)).toEqual({ filters, problem: null });
  });

  it('take an age or a date', () => {
    expect(filtersOf('since:2h')).toEqual({ Since: '2026-11-22T10:00:00.000Z' });
    expect(filtersOf('since:1w until:2026-11-20')).toEqual({
      Since: '2026-11-15T12:00:00.000Z',
      Until: '2026-11-20T00:00:00.000Z',
    });
  });

  it('say what is wrong, and look for the rest', () => {
    expect(readSearch('since:yesterday tag:a', NOW)).toEqual({
      filters: { Tag: 'a' },
      problem: 'since:yesterday is neither an age such as 2h nor a date such as 2026-12-24',
    });
    expect(readSearch('from:', NOW).problem).toBe('from: needs a value behind it');
  });
});
