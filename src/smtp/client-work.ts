/**
 * One transaction within a session: its state while it runs, and its result. The session decides the order
 * (client-transactions.ts).
 */
import type { TlsFacts } from './client-tls.ts';
import type {
  RecipientResult,
  SessionClose,
  Transaction,
  TransactionResult,
  TransactionStage,
} from './client-types.ts';
import { Conversation } from './conversation.ts';
import type { Reply } from './reply.ts';

/** The reply that it waits for. */
export type Awaiting = 'waiting' | 'rset' | 'mail' | 'rcpt' | 'data' | 'body' | 'dot' | 'lone-dot';

export interface Work {
  readonly tx: Transaction;
  readonly mail: string;
  readonly rcpts: readonly string[];
  awaiting: Awaiting;
  /** The envelope was written to the socket. */
  sent: boolean;
  /** It was written while another message was ahead. */
  pipelined: boolean;
  /** DATA was written with the envelope. */
  dataSent: boolean;
  /** It was returned to its caller: the server's replies are still awaited, and nothing of it is delivered. */
  takenBack: boolean;
  rcptNo: number;
  accepted: number;
  readonly results: (RecipientResult | null)[];
  dot: Reply | null;
  /** The write that ends with the dot, or the whole message after BDAT, was given to the socket. */
  dotHanded: boolean;
  /** The system has taken all of that write. */
  flushed: boolean;
  /** The dot, or the message after BDAT, may be followed by more in the same write, so an unfinished one may contain it. */
  dotHasCompany: boolean;
  startedMs: number;
  readonly log: Conversation;
  readonly resolve: (result: TransactionResult) => void;
}

/** The first digit of a reply (RFC 5321 §4.2.1). */
export function verdictOf(reply: Reply): number {
  return Math.floor(reply.code / 100);
}

/** A transaction that has not begun. */
export function newWork(
  tx: Transaction,
  envelope: { mail: string; rcpts: readonly string[] },
  nowMs: number,
  resolve: Work['resolve'],
): Work {
  const { mail, rcpts } = envelope;
  return {
    tx,
    mail,
    rcpts,
    awaiting: 'waiting',
    sent: false,
    pipelined: false,
    dataSent: false,
    takenBack: false,
    rcptNo: 0,
    accepted: 0,
    results: new Array<RecipientResult | null>(rcpts.length).fill(null),
    dot: null,
    dotHanded: false,
    flushed: false,
    dotHasCompany: false,
    startedMs: nowMs,
    log: new Conversation(nowMs),
    resolve,
  };
}

/** Its commands up to the first that needs a reply: including DATA for a single recipient. */
export function envelopeOf({ mail, rcpts }: Work): string {
  return rcpts.length === 1 ? `${mail}${rcpts[0]}DATA\r\n` : mail + rcpts.join('');
}

/** Records this reply for every recipient without one. */
export function decideRest(
  { results }: Work,
  reply: Reply,
  stage: RecipientResult['stage'],
  accepted: boolean,
): void {
  for (let i = 0; i < results.length; i += 1) results[i] ??= { reply, stage, accepted };
}

/** The result when every recipient has its reply. */
export function doneResult(
  work: Work,
  recipients: readonly RecipientResult[],
  nowMs: number,
  tls: TlsFacts | null,
): TransactionResult {
  const latencyMs = nowMs - work.startedMs;
  return { kind: 'done', recipients, dot: work.dot, latencyMs, tls, conversation: work.log };
}

/**
 * The result when it ended before that. `used`: the connection had carried a transaction before; `behind`: another one
 * was still ahead.
 */
export function lostResult(
  work: Work,
  close: SessionClose,
  { nowMs, tls, used, behind }: { nowMs: number; tls: TlsFacts | null; used: boolean; behind: boolean },
): TransactionResult {
  const decided = work.results.filter((result) => result !== null);
  if (decided.length === work.results.length) return doneResult(work, decided, nowMs, tls);
  const afterDot = work.dotHanded && close.reason !== '421' && (work.flushed || work.dotHasCompany);
  return {
    kind: 'lost',
    stage: stageOf(work, afterDot || close.reason === '421'),
    afterDot,
    reused: used,
    // RSET is waited for alone, except where the whole message is behind it.
    untried: behind || !work.sent || (work.awaiting === 'rset' && !work.dotHanded),
    pipelined: work.pipelined,
    reason: close.reason,
    detail: close.detail,
    reply: close.reply,
    recipients: work.results,
    latencyMs: work.sent ? nowMs - work.startedMs : 0,
    tls,
    conversation: work.log,
  };
}

/** `dotCounts`: the server may have the whole content. */
export function stageOf(work: Work, dotCounts: boolean): TransactionStage {
  switch (work.awaiting) {
    case 'rcpt':
    case 'data':
    case 'dot':
      return work.awaiting;
    case 'body':
      return work.dotHanded && dotCounts ? 'dot' : 'body';
    case 'lone-dot':
      return 'data';
    default:
      return 'mail';
  }
}
