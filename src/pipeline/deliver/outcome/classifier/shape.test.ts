/** Replies that differ only in recipient, address or time have the same shape, so they count as one cause. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../../../../../test/fakes/thread-cpu.ts';
import { replyShape } from './shape.ts';

describe('the shape of a reply', () => {
  it.each([
    [
      '550 5.7.1 [192.0.2.7] blocked, see https://lists.example/?ip=192.0.2.7 for help',
      '550 5.7.1 [198.51.100.99] blocked, see https://lists.example/?ip=198.51.100.99 for help',
      '550 5.7.1 <ip> blocked, see <link> for help',
    ],
    [
      '550 5.1.1 <ada@example.net>: Recipient rejected (queue id 4Zq9Xk)',
      '550 5.1.1 <GRACE@example.net>: Recipient rejected (queue id 7Ab1Yy3)',
      '550 5.1.1 <address>: recipient rejected queue id <id>',
    ],
    [
      '421 mx1.example.net Too many connections from 2001:db8::1, 12 of 10',
      '421 mx2.example.net Too many connections from 2001:db8::2, 99 of 10',
      '421 <host> too many connections from <ip>, # of #',
    ],
    [
      'connect to mx1.example.net: timed out',
      'connect to mx9.example.net: timed out',
      'connect to <host>: timed out',
    ],
  ])('is the same for %j and %j', (one, other, shape) => {
    expect(replyShape(one)).toBe(shape);
    expect(replyShape(other)).toBe(shape);
  });

  it('keeps apart what is said differently', () => {
    expect(replyShape('550 5.7.1 not authenticated')).not.toBe(replyShape('550 5.7.26 not authenticated'));
    expect(replyShape('550 blocked by list')).not.toBe(replyShape('550 blocked by rule'));
  });

  it('takes any text, is bounded and does not change when shaped again in length', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), (text) => {
        expect(replyShape(text).length).toBeLessThanOrEqual(200);
      }),
    );
    const ms = cpuMsOf(() => {
      for (const text of ['('.repeat(100_000), `${'a.'.repeat(50_000)}`, '<"['.repeat(40_000)])
        replyShape(text);
    });
    expect(ms).toBeLessThan(1_000);
  });
});
