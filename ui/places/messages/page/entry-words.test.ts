import { describe, expect, it } from 'vitest';
import { plannedWords } from './entry-words.ts';

describe('plannedWords', () => {
  it('does not say of a planned time that is past that it is still to come', () => {
    expect(plannedWords('deferred')).toEqual({ before: 'Next try', after: 'Next try was due' });
    expect(plannedWords('scheduled')).toEqual({ before: 'To be sent', after: 'Was to be sent' });
    expect(plannedWords('path_blocked')).toEqual({ before: 'Ends', after: 'Was to end' });
  });
});
