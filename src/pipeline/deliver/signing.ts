/**
 * Signs a message just before it travels: once per message in memory, whatever the number of recipients, because the
 * signed bytes are the same for all. A failure to sign holds the message; nothing is ever sent unsigned for that
 * reason. `unsigned` exists for one case only: a development sandbox, where mail of a domain that was never added is
 * captured and says so.
 */
import type { Clock } from '../../lib/clock.ts';
import { type DkimSigner, signMessage } from '../../mail/dkim.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';

/** The keys that sign for a sender domain, or why there are none now. */
export type SignersAnswer =
  | { kind: 'signers'; signers: readonly DkimSigner[] }
  | { kind: 'unsigned'; reason: string }
  | { kind: 'held'; category: 'domain_not_verified' | 'signing_failed'; detail: string };

export interface SignerSource {
  signersFor(domain: string): Promise<SignersAnswer>;
}

export type SigningResult =
  | { kind: 'signed'; header: Uint8Array }
  | { kind: 'unsigned'; reason: string }
  | { kind: 'held'; category: 'domain_not_verified' | 'signing_failed'; detail: string };

export interface Signing {
  /** DKIM-Signature lines for a message whose composed bytes are `content`. Never rejects. */
  sign(delivery: ClaimedDelivery, content: Uint8Array): Promise<SigningResult>;
  /** The same for other bytes of the same message, made for one server; not kept. */
  signOnce(delivery: ClaimedDelivery, content: Uint8Array, bodyOffset: number): Promise<SigningResult>;
}

/** Recipients of one message are delivered close together; this many messages' signatures are kept for them. */
const KEPT = 256;

export function createSigning({ clock, signers }: { clock: Clock; signers: SignerSource }): Signing {
  const kept = new Map<number, Promise<SigningResult>>();
  return {
    sign(delivery, content) {
      // Its bytes are its own, so is its signature.
      if (delivery.personal === true) return signNow(delivery, content, delivery.bodyOffset);
      const known = kept.get(delivery.messageSeq);
      if (known !== undefined) return known;
      const result = signNow(delivery, content, delivery.bodyOffset);
      kept.set(delivery.messageSeq, result);
      if (kept.size > KEPT) {
        const oldest = kept.keys().next();
        if (!oldest.done) kept.delete(oldest.value);
      }
      // A failure is looked at afresh next time.
      void result.then((r) => {
        if (r.kind === 'held') kept.delete(delivery.messageSeq);
      });
      return result;
    },
    signOnce: signNow,
  };

  async function signNow(
    delivery: ClaimedDelivery,
    content: Uint8Array,
    bodyOffset: number,
  ): Promise<SigningResult> {
    try {
      const answer = await signers.signersFor(delivery.senderDomain);
      if (answer.kind !== 'signers') return answer;
      const header = await signMessage(content, bodyOffset, answer.signers, { nowMs: clock.now() });
      return { kind: 'signed', header };
    } catch (cause) {
      return {
        kind: 'held',
        category: 'signing_failed',
        detail: `signing failed: ${(cause as Error).message}`,
      };
    }
  }
}
