/** What is typed into the search box of the messages becomes the filters of the API, or a sentence about what is wrong. */
import { describe, expect, it } from 'vitest';
import { STATUS_WORDS } from '../../../src/model/status.ts';
import { readSearch, STATUSES, withoutWord, withWord } from './search-words.ts';

const NOW = Date.parse('2026-11-22T12:00:00Z');
const ID = '019ab0c1-7d3e-7000-8000-000000000001';

describe('the words of a search', () => {
  it.each([
    ['', {}],
    ['ada@example.net', { To: 'ada@example.net' }],
    ['@example.net status:queued', { RecipientDomain: 'example.net', Status: 'Queued' }],
    ['recipientdomain:example.net', { RecipientDomain: 'example.net' }],
    ['Ada Byron <ada@example.net>', { To: 'ada@example.net' }],
    ['mailto:ada@example.net tag:a', { To: 'ada@example.net', Tag: 'a' }],
    ['mailto:ada@example.net?subject=Help', { To: 'ada@example.net' }],
    ['"Byron, Ada" <ada@example.net>, status:held', { To: 'ada@example.net', Status: 'Held' }],
    ['from:<shop@example.com>', { From: 'shop@example.com' }],
    ['your invoice', { Subject: 'your invoice' }],
    ['subject:"sign in" code', { Subject: 'sign in code' }],
    [
      'status:bounced Tag:welcome domain:example.com',
      { Status: 'Bounced', Tag: 'welcome', Domain: 'example.com' },
    ],
    ['from:shop@example.com to:ada@example.net', { From: 'shop@example.com', To: 'ada@example.net' }],
    ['metadata.Order:4711 metadata.kind:a:b', { 'Metadata.Order': '4711', 'Metadata.kind': 'a:b' }],
    ['since:2h', { Since: '2026-11-22T10:00:00.000Z' }],
    ['cause:12', { Cause: '12' }],
    ['https://example.com/', { Subject: 'https://example.com/' }],
  ])('%s', (text, filters) => {
    const read = readSearch(text, NOW);
    expect([read.filters, read.problem, read.messageId]).toEqual([filters, null, null]);
  });

  it('know a message by its id, also as its header has it', () => {
    for (const text of [ID, ID.toUpperCase(), `<${ID}@mail.example.com>`])
      expect(readSearch(text, NOW).messageId).toBe(ID);
  });

  it('say what is wrong, and look for the rest', () => {
    const search = readSearch('status:lost tag:a', NOW);
    expect(search.filters).toEqual({ Tag: 'a' });
    expect(search.problem).toMatch(/^status:lost is not known; there are Scheduled, /);
    expect(readSearch('metadata.order:', NOW).problem).toBe('metadata: needs a value behind it');
    expect(readSearch('cause:x', NOW).problem).toBe('cause:x is not a number');
  });

  it('know every status that the API knows', () => {
    expect([...STATUSES].sort()).toEqual([...STATUS_WORDS].sort());
  });

  it('are changed one by one', () => {
    expect(withWord('a@example.net status:held "two words"', 'status', 'bounced')).toBe(
      'a@example.net "two words" status:bounced',
    );
    expect(withWord('status:held x', 'status', null)).toBe('x');
    expect(withoutWord('tag:"two words" x', 'tag:"two words"')).toBe('x');
  });
});
