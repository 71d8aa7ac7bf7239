/**
 * Signs a message just before it travels: once per message and keys, whatever the number of recipients, because the
 * signed bytes are the same for all. Whose keys sign, and whether the domain may send, is asked for every recipient. A failure to sign holds the message; nothing is ever sent unsigned for that
 * reason. `unsigned` exists for one case only: a development sandbox, where mail of a domain that was never added is
 * captured and says so.
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
  /** The same for other bytes of the same message, made for one server; not kept. */
  signOnce(delivery: ClaimedDelivery, content: Uint8Array, bodyOffset: number): Promise<SigningResult>;
}

/** Recipients of one message are delivered close together; this many messages' signatures are kept for them. */
const KEPT = 256;
/** A signature says when it was made: an attempt after this time gets one of its own. */
const KEPT_MS = 3_600_000;
/** What is larger is hashed in turns with everything else: a millisecond here, and fifty copies of it may come at once. */
const LARGE_BYTES = 128 * 1024;

/** A message's signature, and what it was made of besides the message. */
interface Kept {
  signers: readonly DkimSigner[];
  /** Of the header: a message that is given another time gets another Date. */
  digest: string;
  result: Promise<SigningResult>;
  untilMs: number;
}

export function createSigning({ clock, signers }: { clock: Clock; signers: SignerSource }): Signing {
  const kept = new BoundedMap<number, Kept>(KEPT);
  const turn = createSharedTurns(clock);
  return {
    async sign(delivery, content) {
      // Asked at every attempt: keys change, and domains are removed or lose their verification.
      const answer = await signersOf(delivery);
      if (answer.kind !== 'signers') return answer;
      // Its bytes are its own, so is its signature.
      if (delivery.personal === true) return signNow(content, delivery.bodyOffset, answer.signers);
      const { messageSeq, bodyOffset } = delivery;
      const known = kept.get(messageSeq);
      const nowMs = clock.monotonicMs();
      const digest = hash('sha256', content.subarray(0, bodyOffset), 'base64');
      const isSame = known?.digest === digest && areSame(known.signers, answer.signers);
      if (known !== undefined && isSame && nowMs < known.untilMs) return known.result;
      const fresh: Kept = {
        ...{ signers: answer.signers, digest },
        result: signNow(content, bodyOffset, answer.signers),
        untilMs: nowMs + KEPT_MS,
      };
      kept.set(messageSeq, fresh);
      // A failure is looked at afresh next time.
      void fresh.result.then((result) => {
        if (result.kind === 'held' && kept.get(messageSeq) === fresh) kept.delete(messageSeq);
      });
      return fresh.result;
    },
    async signOnce(delivery, content, bodyOffset) {
      const answer = await signersOf(delivery);
      return answer.kind === 'signers' ? signNow(content, bodyOffset, answer.signers) : answer;
    },
  };

  async function signersOf({ senderDomain }: ClaimedDelivery): Promise<SignersAnswer> {
    try {
      return await signers.signersFor(senderDomain);
    } catch (cause) {
      return failed(cause);
    }
  }

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

/** A selector alone says too little: a domain that was removed and added again has other keys under the same ones. */
function areSame(some: readonly DkimSigner[], others: readonly DkimSigner[]): boolean {
  if (some === others) return true;
  return (
    some.length === others.length &&
    some.every((one, i) => {
      const other = others[i];
      if (other === undefined || one === other) return one === other;
      const { domain, selector, algorithm, privateKey } = other;
      if (one.domain !== domain || one.selector !== selector || one.algorithm !== algorithm) return false;
      return one.privateKey.equals(privateKey);
    })
  );
}
