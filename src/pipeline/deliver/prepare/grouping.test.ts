/** Who may share a transaction, and which replies say that somebody was one too many. */

import { describe, expect, it } from 'vitest';
import type { ClaimedDelivery } from '../../../model/delivery.ts';
import { SHARED_FROM_BYTES } from '../../../model/delivery.ts';
import type { RecipientResult, TransactionResult } from '../../../smtp/client-types.ts';
import { testItem } from '../../queue/test-items.ts';
import { createClassifier } from '../outcome/classifier/classify.ts';
import { mayShare, mostInOne, oneTooMany, shareKey } from './grouping.ts';

const copy = (more: Partial<ClaimedDelivery> = {}) =>
  testItem({ size: SHARED_FROM_BYTES + 1, ...more }).delivery;

describe('a copy shares its transaction', () => {
  it('only where nothing but the recipient differs', () => {
    expect(mayShare(copy())).toBe(true);
    const alone: Partial<ClaimedDelivery>[] = [
      { size: SHARED_FROM_BYTES },
      { personal: true },
      { kind: 'BCC' },
      { sandbox: 'deliver' },
      { nullSender: true },
      { mayBeDuplicate: true },
      { needsSmtpUtf8: true },
      { address: 'büro@example.net' },
    ];
    expect(alone.map((more) => mayShare(copy(more)))).toEqual(alone.map(() => false));
  });

  it('with copies of the same message to the same domain', () => {
    const key = shareKey(copy());
    expect(shareKey(copy({ id: 2, messageSeq: 1, address: 'b@example.net' }))).toBe(key);
    expect(shareKey(copy({ messageSeq: 2 }))).not.toBe(key);
    expect(shareKey(copy({ recipientDomain: 'example.org' }))).not.toBe(key);
    expect([mostInOne(500), mostInOne(20), mostInOne(0)]).toEqual([50, 20, 1]);
  });
});

describe('a recipient is one too many', () => {
  const classifier = createClassifier();
  const said = (
    code: number,
    enhanced: string | null = null,
    stage: RecipientResult['stage'] = 'rcpt',
    text = '',
  ) => ({ stage, accepted: code < 300, reply: { code, enhanced, text, lines: [text] } });
  const done = (recipients: RecipientResult[]): TransactionResult => ({
    kind: 'done',
    recipients,
    dot: null,
    latencyMs: 1,
    tls: null,
    conversation: { text: () => '' },
  });
  const ok = said(250, null, 'dot');
  const limitOf = (recipients: RecipientResult[]) => {
    const { limit, refused } = oneTooMany(done(recipients), classifier, 'mx.test');
    return { limit, refused: [...refused] };
  };

  it('where 452 or x.5.3 follows one that was taken', () => {
    expect(limitOf([ok, ok, said(452), said(452)])).toEqual({ limit: 2, refused: [2, 3] });
    expect(limitOf([ok, said(452, '4.5.3')])).toEqual({ limit: 1, refused: [1] });
    expect(limitOf([ok, said(550, '5.5.3')])).toEqual({ limit: 1, refused: [1] });
  });

  it('where the words say so, whatever the code', () => {
    for (const refused of [
      said(552, null, 'rcpt', 'too many recipients'),
      said(552, '5.2.2', 'rcpt', '5.2.2 Too many recipients in this message'),
      said(550, null, 'rcpt', 'recipients per message limit exceeded'),
    ])
      expect(limitOf([ok, ok, refused])).toEqual({ limit: 2, refused: [2] });
  });

  it('not where it is the first, has no room in its mailbox, or the message itself is refused', () => {
    const none = { limit: null, refused: [] };
    expect(limitOf([said(452, '4.5.3'), said(452, '4.5.3')])).toEqual(none);
    expect(limitOf([said(550), said(452)])).toEqual(none);
    expect(limitOf([ok, said(452, '4.2.2')])).toEqual(none);
    expect(limitOf([ok, said(552, null, 'rcpt', 'mailbox full, quota exceeded')])).toEqual(none);
    expect(limitOf([ok, said(552, '5.2.2', 'rcpt', '5.2.2 over quota')])).toEqual(none);
    expect(limitOf([said(452, null, 'dot'), said(452, null, 'dot')])).toEqual(none);
    expect(limitOf([said(452, null, 'mail'), said(452, null, 'mail')])).toEqual(none);
  });
});
