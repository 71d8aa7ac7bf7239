import { describe, expect, it } from 'vitest';
import type { TimelineEntry } from '../../../../src/client/api-types.ts';
import { entryTitle, isPlanOpen, plannedWords, reportText } from './entry-words.ts';

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

describe('isPlanOpen', () => {
  it('leaves out the next try of an attempt that another one followed', () => {
    const attempts = [null, 1, 2, null].map((Attempt) => ({ Attempt }) as TimelineEntry);
    const open = attempts.map((entry, place) => isPlanOpen(entry, attempts.slice(place + 1)));
    expect(open).toEqual([false, false, true, true]);
  });
});

describe('reportText', () => {
  it('says when, where and what was said, each thing once, and no verdict of this server as the words of another', () => {
    const entry = (given: Partial<TimelineEntry>) =>
      ({
        ...{
          Attempt: null,
          Route: 'mx',
          Bounce: null,
          RemoteMta: '',
          SourceAddress: '',
          Tls: '',
          DurationMs: null,
          IPAddress: '',
        },
        ...{ Reply: '', Explanation: '', Reason: '', ...given },
      }) as TimelineEntry;
    const message = { MessageID: 'an-id', Subject: 'Your order', From: { Name: 'Shop', Email: 'a@b.test' } };
    const text = reportText(message, { address: 'ada@far.test', status: 'Bounced' }, [
      entry({ Event: 'accepted', At: '2026-11-29T15:58:27.000Z' }),
      entry({
        ...{
          Event: 'bounced',
          At: '2026-11-29T15:58:28.000Z',
          Attempt: 1,
          RemoteMta: 'mx.far.test [192.0.2.1]',
        },
        ...{ DurationMs: 12, Reply: '550 5.1.1 No such user', Reason: '550 5.1.1 No such user' },
      }),
      entry({
        Event: 'failed',
        At: '2026-11-29T15:58:29.000Z',
        Reply: '0 Too old',
        Explanation: 'It is too old.',
      }),
    ]);
    expect(text.split('\n')).toEqual([
      'Bounced: ada@far.test',
      'From: a@b.test',
      'Subject: Your order',
      'Message id: an-id',
      '',
      '2026-11-29T15:58:27.000Z Accepted',
      '2026-11-29T15:58:28.000Z Attempt 1: refused for good · mx.far.test [192.0.2.1] · 12 ms',
      '  550 5.1.1 No such user',
      '2026-11-29T15:58:29.000Z Given up',
      '  It is too old.',
    ]);
  });
});
