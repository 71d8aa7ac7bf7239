import { describe, expect, it } from 'vitest';
import type { Domain } from '../../../src/client/api-types.ts';
import { changeOf, draftOf } from './settings-draft.ts';

const DOMAIN = {
  Subdomains: false,
  RequireTls: false,
  AtMostOnce: true,
  ListUnsubscribe: false,
  ReturnPathHost: '',
  TrackingHost: 'track.example.com',
  Tracking: { Opens: false, Clicks: true },
  Retention: { ContentDays: 0, EventDays: null },
  Quota: { PerMinute: null, PerHour: null, PerDay: 500 },
} as Domain;

describe('edited settings', () => {
  it('are no change as they were, or with blanks around them', () => {
    const draft = draftOf(DOMAIN);
    expect(changeOf(draft, DOMAIN)).toBeNull();
    const texts = { ...draft.texts, '/TrackingHost': ' track.example.com ' };
    expect(changeOf({ ...draft, texts }, DOMAIN)).toBeNull();
  });

  it('change what differs and nothing else', () => {
    const { flags, texts } = draftOf(DOMAIN);
    const draft = {
      flags: { ...flags, '/Subdomains': true, '/Tracking/Opens': true },
      texts: {
        ...texts,
        '/TrackingHost': '',
        '/Retention/ContentDays': '7',
        '/Quota/PerDay': '',
        '/Quota/PerHour': 'many',
      },
    };
    expect(changeOf(draft, DOMAIN)).toEqual({
      Subdomains: true,
      Tracking: { Opens: true },
      TrackingHost: '',
      Retention: { ContentDays: 7 },
      Quota: { PerDay: null, PerHour: 'many' },
    });
  });
});
