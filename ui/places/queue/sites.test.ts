/** Queues of several senders and priorities become one row a site. */
import { describe, expect, it } from 'vitest';
import type { Queue } from '../../../src/client/api-types.ts';
import { reasonText } from './reason-words.ts';
import { fits, sitesOf } from './sites.ts';

const queue = (more: Partial<Queue>): Queue => ({
  Site: 'example.net',
  SenderDomain: 'example.com',
  Priority: 'normal',
  Tags: [],
  Route: 'route mx',
  Waiting: 2,
  Complete: true,
  Due: 0,
  OldestAt: '2026-11-22T10:00:00.000Z',
  NextDueAt: '2026-11-22T12:00:00.000Z',
  Ages: { Under1m: 0, Under10m: 1, Under1h: 1, Under1d: 0, Older: 0 },
  Reasons: [{ Reason: 'deferred', Count: 2, Reply: '451 Greylisted' }],
  ...more,
});

describe('the sites of a queue', () => {
  it('sum up what waits, with the earliest of the times', () => {
    const rows = sitesOf([
      queue({}),
      queue({ Site: 'example.org', Waiting: 9, NextDueAt: null }),
      queue({ Priority: 'bulk', NextDueAt: null, Complete: false, OldestAt: '2026-11-21T10:00:00.000Z' }),
    ]);
    expect(rows.map(({ site }) => site)).toEqual(['example.org', 'example.net']);
    expect(rows[0]?.nextAt).toBeNull();
    expect(rows[1]).toMatchObject({
      ...{ waiting: 4, isAll: false, ages: [0, 2, 2, 0, 0], oldestAt: '2026-11-21T10:00:00.000Z' },
      ...{ nextAt: '2026-11-22T12:00:00.000Z', senders: ['example.com'] },
      reasons: [{ text: 'Deferred', count: 4, reply: '451 Greylisted' }],
    });
  });

  it('are found by their name, sender or reason', () => {
    const [row] = sitesOf([queue({})]);
    if (row === undefined) throw new Error('no row');
    expect(['', 'example.net', 'COM greylist', 'gone', 'net gone'].map((text) => fits(row, text))).toEqual([
      ...[true, true, true, false, false],
    ]);
  });
});

describe('a reason', () => {
  it.each([
    ['', 'Its turn'],
    ['deferred', 'Deferred'],
    ['path: all connections are busy', 'All connections are busy'],
    ['held: wrong price', 'Held: wrong price'],
    ['held by domain: a.example is away', 'Held: a.example is away'],
    [
      'held by domain: a.example is away; to bring it back, run: postrider domain add a.example',
      'Held: a.example is away',
    ],
    ['path: 421 go away; postrider is busy', '421 go away; postrider is busy'],
  ])('%s', (reason, text) => {
    expect(reasonText(reason)).toBe(text);
  });

  it('names times as the reader does', () => {
    const text = reasonText('path: example.net takes no mail until 2026-11-22T12:00:00.000Z: 421 busy');
    expect(text).toMatch(/^example\.net takes no mail until [^T]+: 421 busy$/);
  });
});
