import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LANES } from '../../model/message.ts';
import { SUPPRESSION_REASONS, type Suppression, suppressionKey } from '../../model/suppression.ts';
import {
  blockingReason,
  blocks,
  expiryOf,
  type FinalOutcome,
  signalOf,
  suppressedRecipients,
  suppressionText,
} from './suppressions.ts';

const DAY = 86_400_000;
const T0 = 1_800_000_000_000;

const outcome: fc.Arbitrary<FinalOutcome> = fc.record({
  suppress: fc.constantFrom('no' as const, 'hard' as const, 'inactive' as const, 'soft' as const),
  probablyInvalid: fc.boolean(),
  enhanced: fc.oneof(
    fc.constant(null),
    fc.tuple(fc.constantFrom(4, 5), fc.nat(7), fc.nat(40)).map((parts) => parts.join('.')),
  ),
  relayed: fc.boolean(),
  sandbox: fc.boolean(),
  reply: fc.string({ maxLength: 2000 }),
  rule: fc.constant('X03'),
});

function final(more: Partial<FinalOutcome>): FinalOutcome {
  return {
    suppress: 'no',
    probablyInvalid: false,
    enhanced: '5.1.1',
    relayed: false,
    sandbox: false,
    reply: '550 5.1.1 No such user',
    rule: 'X03',
    ...more,
  };
}

function entry(more: Partial<Suppression>): Suppression {
  return {
    id: 1,
    domain: 'example.com',
    address: 'reader@example.net',
    reason: 'Manual',
    note: '',
    createdAt: T0,
    expiresAt: null,
    source: null,
    ...more,
  };
}

describe('which reason stops which mail', () => {
  it('is as the table says', () => {
    const table = SUPPRESSION_REASONS.map((reason) => [
      reason,
      LANES.map((lane) => blocks(reason, { lane, listUnsubscribe: false })),
      LANES.map((lane) => blocks(reason, { lane, listUnsubscribe: true })),
    ]);
    const all = [true, true, true];
    expect(table).toEqual([
      ['Bounce', all, all],
      ['Inactive', all, all],
      ['SoftBounces', all, all],
      ['Complaint', [false, true, true], [false, true, true]],
      ['Unsubscribe', [false, false, true], all],
      ['Manual', all, all],
    ]);
  });

  it('names the first that does', () => {
    const receipt = { lane: 'normal', listUnsubscribe: false } as const;
    expect(blockingReason(['Unsubscribe', 'Inactive', 'Bounce'], receipt)).toBe('Inactive');
    expect(blockingReason(['Unsubscribe'], receipt)).toBeNull();
    expect(blockingReason([], receipt)).toBeNull();
  });
});

describe('what an outcome says about its recipient', () => {
  it('never comes from the sandbox, and by a relay only from a code about the address', () => {
    fc.assert(
      fc.property(outcome, (given) => {
        const signal = signalOf(given, T0);
        if (signal === null) return;
        expect(given.sandbox).toBe(false);
        expect(given.suppress !== 'no' || given.probablyInvalid).toBe(true);
        if (given.relayed) expect(given.enhanced).toMatch(/^[45]\.1\./);
        expect(signal.reply.length).toBeLessThanOrEqual(512);
        // At once only where the classifier was sure.
        if (signal.needs === null) expect(['hard', 'inactive']).toContain(given.suppress);
      }),
    );
  });

  it('is an entry at once, a count, or nothing', () => {
    const of = (more: Partial<FinalOutcome>) => {
      const signal = signalOf(final(more), T0);
      return signal === null ? null : [signal.reason, signal.expiresAt, signal.needs?.days ?? 0];
    };
    expect(of({ suppress: 'hard' })).toEqual(['Bounce', null, 0]);
    expect(of({ suppress: 'inactive' })).toEqual(['Inactive', T0 + 90 * DAY, 0]);
    expect(of({ suppress: 'soft' })).toEqual(['SoftBounces', T0 + 30 * DAY, 3]);
    expect(of({ probablyInvalid: true })).toEqual(['Bounce', null, 2]);
    expect(of({})).toBeNull();
    expect(of({ suppress: 'hard', relayed: true })).toEqual(['Bounce', null, 0]);
    expect(of({ suppress: 'hard', relayed: true, enhanced: '5.7.1' })).toBeNull();
    expect(of({ suppress: 'hard', relayed: true, enhanced: null })).toBeNull();
  });
});

describe('the list', () => {
  it('gives each recipient the entry that stops this mail, and leaves out the others', async () => {
    const found = [
      { address: 'a@example.net', suppression: entry({ reason: 'Unsubscribe' }) },
      { address: 'a@example.net', suppression: entry({ reason: 'Complaint' }) },
      { address: 'b@example.net', suppression: entry({ reason: 'Unsubscribe' }) },
    ];
    const store = { suppressedAmong: async () => found };
    const asked = { domain: 'example.com', addresses: ['a@example.net'], listUnsubscribe: false, now: T0 };
    const stopped = await suppressedRecipients(store, { ...asked, lane: 'normal' });
    expect([...stopped].map(([address, { reason }]) => `${address} ${reason}`)).toEqual([
      'a@example.net Complaint',
    ]);
    expect((await suppressedRecipients(store, { ...asked, lane: 'bulk' })).size).toBe(2);
    expect((await suppressedRecipients(store, { ...asked, lane: 'bulk', addresses: [] })).size).toBe(0);
  });

  it('says in words why, since when and from what', () => {
    const source = { messageId: '', reply: '550 5.1.1 No such user', rule: 'X03' };
    expect(suppressionText(entry({ reason: 'Bounce', source }))).toBe(
      'Bounce since 2027-01-15: 550 5.1.1 No such user',
    );
    expect(suppressionText(entry({}))).toBe('Manual since 2027-01-15');
    expect(suppressionText(entry({ note: 'x'.repeat(1000) }))).toHaveLength(512);
  });

  it('knows when an entry ends by itself', () => {
    expect(SUPPRESSION_REASONS.map((reason) => expiryOf(reason, T0))).toEqual([
      null,
      T0 + 90 * DAY,
      T0 + 30 * DAY,
      null,
      null,
      null,
    ]);
  });

  it('matches an address whatever its case, and its spelling in Unicode', () => {
    expect(suppressionKey('Ann.Lee+X@example.net')).toBe('ann.lee+x@example.net');
    expect(suppressionKey('re\u0301ne\u0301@example.net')).toBe(suppressionKey('R\u00c9N\u00c9@example.net'));
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(suppressionKey(suppressionKey(text))).toBe(suppressionKey(text));
      }),
    );
  });
});
