/**
 * One transaction inside a session: what is known of it while it runs, and the result made of that when it ends. The
 * order of things is the session's (client-transactions.ts).
 */
import type { TlsFacts } from './client-tls.ts';
import type { RecipientResult, SessionClose, Transaction, TransactionResult } from './client-types.ts';
import { Conversation } from './conversation.ts';
import type { Reply } from './reply.ts';

/** What it waits for. */
export type Awaiting = 'waiting' | 'rset' | 'mail' | 'rcpt' | 'data' | 'body' | 'dot' | 'lone-dot';

export interface Work {
  readonly tx: Transaction;
  readonly mail: string;
  readonly rcpts: readonly string[];
  awaiting: Awaiting;
  /** The envelope is with the socket. */
  sent: boolean;
  /** It went while another message was ahead. */
  pipelined: boolean;
  /** DATA went with the envelope. */
  dataSent: boolean;
  /** Its caller has it back: the server's replies are waited for, and nothing of it is delivered. */
  takenBack: boolean;
  rcptNo: number;
  accepted: number;
  readonly results: (RecipientResult | null)[];
  dot: Reply | null;
  /** The write that ends in the dot is with the socket. */
  dotHanded: boolean;
  /** The system took all of that write. */
  flushed: boolean;
  /** Another envelope left in the same write as the dot, so an unfinished write may still hold the dot. */
  dotHasCompany: boolean;
  startedMs: number;
  readonly log: Conversation;
  readonly resolve: (result: TransactionResult) => void;
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
    ...{ tx, mail, rcpts },
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

/** Its commands up to where a reply has to be waited for: DATA too where there is one recipient. */
export function envelopeOf({ mail, rcpts }: Work): string {
  return rcpts.length === 1 ? `${mail}${rcpts[0]}DATA\r\n` : mail + rcpts.join('');
}

/** Gives this reply to every recipient that has none yet. */
export function decideRest(
  { results }: Work,
  reply: Reply,
  stage: RecipientResult['stage'],
  accepted: boolean,
): void {
  for (let i = 0; i < results.length; i += 1) results[i] ??= { reply, stage, accepted };
}

/** Every recipient has its reply. */
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
 * It ended before every recipient had its reply. `used`: the server had been through a transaction before; `behind`:
 * another one was still ahead.
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
    untried: behind || !work.sent || work.awaiting === 'rset',
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

function stageOf(work: Work, dotCounts: boolean): 'mail' | 'rcpt' | 'data' | 'body' | 'dot' {
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
