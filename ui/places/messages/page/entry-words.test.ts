import { describe, expect, it } from 'vitest';
import type { TimelineEntry } from '../../../../src/client/api-types.ts';
import { entryTitle, plannedWords } from './entry-words.ts';

describe('entryTitle', () => {
  it('begins with a capital letter, with an attempt before it or none', () => {
    const entry = (Event: TimelineEntry['Event'], Attempt: number | null) =>
      ({ Event, Attempt, Route: 'mx', Bounce: null }) as TimelineEntry;
    expect(entryTitle(entry('deferred', 2))).toBe('Attempt 2: not delivered yet');
    expect(entryTitle(entry('deferred', null))).toBe('Not delivered yet');
    expect(entryTitle(entry('failed', 0))).toBe('Given up');
    expect(entryTitle(entry('delivered', null))).toBe('Delivered');
  });
});

describe('plannedWords', () => {
  it('does not say of a planned time that is past that it is still to come', () => {
    expect(plannedWords('deferred')).toEqual({ before: 'Next try', after: 'Next try was due' });
    expect(plannedWords('scheduled')).toEqual({ before: 'To be sent', after: 'Was to be sent' });
    expect(plannedWords('path_blocked')).toEqual({ before: 'Ends', after: 'Was to end' });
  });
});
