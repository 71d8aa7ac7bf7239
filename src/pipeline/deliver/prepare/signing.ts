/**
 * Signs a message just before it is sent: once per message and keys for all its recipients, because the signed bytes
 * are the same for all. For every recipient it is checked whose keys sign and whether the domain may send. If signing
 * fails, the message is held; it is never sent unsigned for that reason. `unsigned` exists for one case only: in a
 * development sandbox, mail of a domain that was never added is captured and marked as unsigned.
 */

import { hash } from 'node:crypto';
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock } from '../../../lib/clock.ts';
import { createSharedTurns } from '../../../lib/turns.ts';
import { type DkimSigner, signMessage } from '../../../mail/dkim.ts';
import { bodyHashInTurns } from '../../../mail/dkim-canonical.ts';
import type { ClaimedDelivery } from '../../../model/delivery.ts';

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
  /** The same for other bytes of the same message, made for one server; not cached. */
  signOnce(delivery: ClaimedDelivery, content: Uint8Array, bodyOffset: number): Promise<SigningResult>;
}

/** Recipients of one message are delivered close together; signatures of this many messages are cached. */
const KEPT = 256;
/** A signature contains its time: an attempt after this gets a new one. */
const KEPT_MS = 3_600_000;
/**
 * Larger messages are hashed in portions between other work: this size takes a millisecond, and there may be fifty
 * copies at once.
 */
const LARGE_BYTES = 128 * 1024;

/** A message's signature, and what it was made from besides the message. */
interface Kept {
  signers: readonly DkimSigner[];
  /** Of the header: a message that is rescheduled gets another Date. */
  digest: string;
  result: Promise<SigningResult>;
  untilMs: number;
}

export function createSigning({ clock, signers }: { clock: Clock; signers: SignerSource }): Signing {
  const kept = new BoundedMap<number, Kept>(KEPT);
  const turn = createSharedTurns(clock);
  return {
    async sign(delivery, content) {
      // Asked at every attempt, because keys change and domains are removed or lose their verification.
      const answer = await signers.signersFor(delivery.senderDomain).catch(failed);
      if (answer.kind !== 'signers') return answer;
      // Its bytes are different from others', and so is its signature.
      if (delivery.personal === true) return signNow(content, delivery.bodyOffset, answer.signers);
      const { messageSeq, bodyOffset } = delivery;
      const known = kept.get(messageSeq);
      const nowMs = clock.monotonicMs();
      const digest = hash('sha256', content.subarray(0, bodyOffset), 'base64');
      const isSame = known?.digest === digest && areSame(known.signers, answer.signers);
      if (known !== undefined && isSame && nowMs < known.untilMs) return known.result;
      const fresh: Kept = {
        signers: answer.signers,
        digest,
        result: signNow(content, bodyOffset, answer.signers),
        untilMs: nowMs + KEPT_MS,
      };
      kept.set(messageSeq, fresh);
      // A failure is not cached.
      void fresh.result.then((result) => {
        if (result.kind === 'held' && kept.get(messageSeq) === fresh) kept.delete(messageSeq);
      });
      return fresh.result;
    },
    async signOnce(delivery, content, bodyOffset) {
      const answer = await signers.signersFor(delivery.senderDomain).catch(failed);
      return answer.kind === 'signers' ? signNow(content, bodyOffset, answer.signers) : answer;
    },
  };

  async function signNow(
    content: Uint8Array,
    bodyOffset: number,
    by: readonly DkimSigner[],
  ): Promise<SigningResult> {
    try {
      const ofLarge =
        content.length > LARGE_BYTES ? { bodyHash: await bodyHashInTurns(content, bodyOffset, turn) } : {};
      const options = { nowMs: clock.now(), ...ofLarge };
      return { kind: 'signed', header: await signMessage(content, bodyOffset, by, options) };
    } catch (cause) {
      return failed(cause);
    }
  }
}

function failed(cause: unknown): Extract<SignersAnswer, { kind: 'held' }> {
  return { kind: 'held', category: 'signing_failed', detail: `signing failed: ${(cause as Error).message}` };
}

/**
 * The selector alone is not enough: a domain that was removed and added again has other keys under the same selectors.
 */
function areSame(some: readonly DkimSigner[], others: readonly DkimSigner[]): boolean {
  if (some === others) return true;
  return (
    some.length === others.length &&
    some.every((one, i) => {
      const other = others[i];
      if (other === undefined || one === other) return one === other;
      const { domain, selector, privateKey } = other;
      return one.domain === domain && one.selector === selector && one.privateKey.equals(privateKey);
    })
  );
}
