/**
 * Several recipients in one transaction: which copies may be sent together, and what the replies to them mean. Only
 * copies of one large message that differ in nothing but the recipient, to one domain, and never a Bcc recipient,
 * because some servers write the envelope into the header.
 */
import { isAscii } from '../../../mail/address-text.ts';
import { type ClaimedDelivery, SHARED_FROM_BYTES } from '../../../model/delivery.ts';
import type { TransactionResult } from '../../../smtp/client-types.ts';
import type { Reply } from '../../../smtp/reply.ts';
import type { Classifier } from '../outcome/classifier/classify.ts';

/** The maximum, whatever limit is set for a site. */
const MOST = 50;

const NONE_REFUSED: { limit: null; refused: ReadonlySet<number> } = { limit: null, refused: new Set() };

/** Whether a copy may share its transaction with others of its message and domain. */
export function mayShare(delivery: ClaimedDelivery): boolean {
  return (
    delivery.size > SHARED_FROM_BYTES &&
    delivery.personal !== true &&
    delivery.kind !== 'BCC' &&
    delivery.sandbox === null &&
    delivery.nullSender !== true &&
    // A possible duplicate is identified separately.
    !delivery.mayBeDuplicate &&
    !delivery.needsSmtpUtf8 &&
    isAscii(delivery.address)
  );
}

/** The same text for copies that may be sent together. */
export function shareKey({ messageSeq, recipientDomain }: ClaimedDelivery): string {
  return `${messageSeq} ${recipientDomain}`;
}

/** The most recipients in one transaction. `learned`: the limit in force for the site. */
export function mostInOne(learned: number): number {
  return Math.max(1, Math.min(MOST, learned));
}

/**
 * Recipients refused for being too many, by code or in words, to a RCPT after one that was accepted. `limit`: how many
 * the server accepted before the first of them; null if none was refused.
 */
export function oneTooMany(
  result: TransactionResult,
  classifier: Pick<Classifier, 'classify'>,
  mx: string,
): {
  limit: number | null;
  refused: ReadonlySet<number>;
} {
  if (result.kind === 'not-sendable' || result.recipients.length === 1) return NONE_REFUSED;
  const refused = new Set<number>();
  let taken = 0;
  let limit: number | null = null;
  result.recipients.forEach((one, index) => {
    if (one?.stage === 'rcpt' && index > 0 && taken > 0 && isTooMany(one.reply)) {
      limit ??= taken;
      refused.add(index);
    } else if (one === null || one.stage !== 'rcpt' || one.accepted) taken += 1;
  });
  return { limit, refused };

  /** RFC 3463 x.5.3; RFC 5321 §4.5.3.1.10: 452, older servers 552, and others any code. */
  function isTooMany({ code, enhanced, text }: Reply): boolean {
    if (enhanced !== null && /^[45]\.5\.3$/.test(enhanced)) return true;
    if (enhanced === null && code === 452) return true;
    const { category } = classifier.classify({ stage: 'rcpt', code, enhanced, text, mx, origin: 'remote' });
    return category === 'too_many_recipients';
  }
}
