/**
 * What acceptance takes and answers, for the listeners that call it: messages with fields, messages as bytes, batches,
 * notices to senders, and released captures. `accept.ts` does the work.
 */
import type { MessageId } from '../../model/message.ts';
import type { PersonalOptions } from '../../model/personal.ts';
import type { Caller, RawSubmission, Submission } from '../../model/submission.ts';
import type { ToldNotice } from '../../store/topics/acceptance.ts';
import type { Composed } from '../compose/compose.ts';
import type { BatchItem, ItemOutcome } from './batch.ts';
import type { PersonalFacts } from './personal-rules.ts';
import type { ReleaseRequest } from './release.ts';

export interface AcceptRequest {
  caller: Caller;
  submission: Submission;
  /** Set if the listener has already composed the message (large bodies, in a worker). */
  prepared?: { messageId: MessageId; dateMs: number; composed: Composed };
  /** `fingerprint`: SHA-256 of the raw body. */
  idempotency: { operation: string; key: string; fingerprint: Uint8Array } | null;
}

/** A message that was submitted as bytes. */
export interface RawRequest {
  caller: Caller;
  submission: RawSubmission;
  /** As it will be sent, unsigned, including its trace header. */
  prepared: {
    messageId: MessageId;
    dateMs: number;
    composed: Composed & { eightBit: boolean; dateOffset: number | null };
  };
  /** `fingerprint`: SHA-256 of envelope and message. */
  idempotency: AcceptRequest['idempotency'];
}

/** Messages accepted together: each has its own result; all accepted ones are one commit. */
export interface BatchRequest {
  caller: Caller;
  items: readonly BatchItem[];
  idempotency: AcceptRequest['idempotency'];
  /** The answer for the results in the order of the items; stored with the key. */
  answer(outcomes: readonly ItemOutcome[]): string;
}

/** The result of checking a message without accepting it. */
export interface Checked {
  /** The verified sender domain. */
  domain: string;
  size: number;
  /** Addresses on the suppression list, with the reason. */
  suppressed: readonly { address: string; reason: string }[];
  /** Recipients whose result the sandbox would simulate. */
  simulated: number;
  /** It would have an unsubscribe header of ours. */
  unsubscribe: boolean;
}

export type AcceptResult =
  | { kind: 'accepted'; messageId: MessageId }
  | { kind: 'replay'; status: number; body: string };

export interface Acceptance {
  accept(request: AcceptRequest): Promise<AcceptResult>;
  acceptBatch(request: BatchRequest): Promise<{ kind: 'answered' | 'replay'; status: number; body: string }>;
  /** Everything that `accept` does before it stores, with the same refusals; stores and counts nothing. */
  check(request: Omit<AcceptRequest, 'idempotency'>): Promise<Checked>;
  /** The personal links that `compose` must add to a message composed elsewhere; null = none, or it will be refused. */
  personalOptions(caller: Caller, facts: PersonalFacts): Promise<PersonalOptions | null>;
  /** Sends captured mail to one recipient, as a new message of the caller; refusals as for `accept`. */
  release(request: ReleaseRequest): Promise<AcceptResult>;
  /** From now on everything is refused with 503 (shutdown). */
  close(): void;
  /** Why nothing is accepted now, or null. */
  refusing(): string | null;
}

/** Acceptance of messages that were composed elsewhere (SMTP submission). */
export interface RawAcceptance {
  /** As `accept`; the envelope sender must belong to the caller, as must the one in the header. */
  acceptRaw(request: RawRequest): Promise<AcceptResult>;
}

/** A notice to a sender: our own message with the null sender. */
export interface NoticeRequest {
  submission: RawSubmission;
  prepared: RawRequest['prepared'];
  /** The facts it reports. They are removed by its commit; it is not stored if they are already gone. */
  tells: ToldNotice;
}

/**
 * Acceptance of notices, which count towards no quota, have no tracked links, and whose content is deleted when they
 * are delivered.
 */
export interface NoticeAcceptance {
  /** false: its facts were already reported, and nothing is stored. Throws AppErrors as `accept` does. */
  acceptNotice(request: NoticeRequest): Promise<boolean>;
}
