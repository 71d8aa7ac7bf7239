/**
 * Several recipients in one transaction: which copies may travel together, and what the replies to
 * them say. Only copies of one large message that differ in nothing but the recipient, to one domain, never one that a
 * Bcc asked for: some servers write the envelope into the header. Pure.
 */
import { type ClaimedDelivery, SHARED_FROM_BYTES } from '../../../model/delivery.ts';
import type { TransactionResult } from '../../../smtp/client-types.ts';
import type { Reply } from '../../../smtp/reply.ts';
import type { Classifier } from '../outcome/classifier/classify.ts';

/** However many a site may be given. */
const MOST = 50;

/** Whether a copy may share its transaction with others of its message and domain. */
export function mayShare(delivery: ClaimedDelivery): boolean {
  return (
    delivery.size > SHARED_FROM_BYTES &&
    delivery.personal !== true &&
    delivery.kind !== 'BCC' &&
    delivery.sandbox === null &&
    delivery.nullSender !== true &&
    // What may be a second copy is told apart by itself.
    !delivery.mayBeDuplicate &&
    !delivery.needsSmtpUtf8 &&
    isAscii(delivery.address)
  );
}

/** The same for copies that may travel together. */
export function shareKey({ messageSeq, recipientDomain }: ClaimedDelivery): string {
  return `${messageSeq} ${recipientDomain}`;
}

/** Recipients in one transaction, at most. `learned`: the limit in force for the site. */
export function mostInOne(learned: number): number {
  return Math.max(1, Math.min(MOST, learned));
}

/**
 * Recipients that were refused for being too many, by code or in words, to a RCPT after one that was accepted. `limit`:
 * how many the server took before the first of them; null where nobody was one too many.
 */
export function oneTooMany(
  result: TransactionResult,
  classifier: Pick<Classifier, 'classify'>,
  mx: string,
): {
  limit: number | null;
  refused: ReadonlySet<number>;
} {
  const refused = new Set<number>();
  if (result.kind === 'not-sendable') return { limit: null, refused };
  let taken = 0;
  let limit: number | null = null;
  result.recipients.forEach((one, index) => {
    if (one?.stage === 'rcpt' && index > 0 && taken > 0 && isTooMany(one.reply)) {
      limit ??= taken;
      refused.add(index);
    } else if (one === null || one.stage !== 'rcpt' || one.accepted) taken += 1;
  });
  return { limit, refused };

  /** RFC 3463 x.5.3; RFC 5321 §4.5.3.1.10: 452, which older servers write 552 and others as they like. */
  function isTooMany({ code, enhanced, text }: Reply): boolean {
    if (enhanced !== null && /^[45]\.5\.3$/.test(enhanced)) return true;
    if (enhanced === null && code === 452) return true;
    const { category } = classifier.classify({ stage: 'rcpt', code, enhanced, text, mx, origin: 'remote' });
    return category === 'too_many_recipients';
  }
}

/** Whether an address can be said without SMTPUTF8. */
export function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 126) return false;
  return true;
}
