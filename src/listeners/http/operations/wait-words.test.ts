/** When waiting mail is tried next, as it is shown. */
import { describe, expect, it } from 'vitest';
import { nextTryAt } from './wait-words.ts';

const MAIL = {
  senderDomain: 'a.example',
  recipientDomain: 'b.example',
  lane: 'normal',
  routeKey: '',
} as const;
const closedUntil = (until: number | null) => ({
  closedFor: () => ({ path: '>b.example', reason: 'path: x', until }),
});

describe('the next try', () => {
  it('is not before the path opens, and never before its own time', () => {
    expect(nextTryAt(1_000, MAIL, closedUntil(5_000))).toBe(5_000);
    expect(nextTryAt(9_000, MAIL, closedUntil(5_000))).toBe(9_000);
  });

  it('is its own time where the path is open, or nobody knows when it opens', () => {
    expect(nextTryAt(1_000, MAIL, { closedFor: () => null })).toBe(1_000);
    expect(nextTryAt(1_000, MAIL, closedUntil(null))).toBe(1_000);
  });
});
