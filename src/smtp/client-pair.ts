/**
 * Transactions with DATA on one connection: at most two, the second one's envelope sent behind the first one's final dot.
 *
 * The first (`head`) goes through these states; replies come in the order of the commands, so each reply belongs to it:
 *   waiting → rset? → mail → rcpt (one per recipient) → data → body → dot → finished
 *                                                        └─ 354 although nobody was accepted → lone-dot → finished
 * With PIPELINING and one recipient, MAIL, RCPT and DATA are sent in one write; with several recipients DATA waits for
 * the RCPT replies; without PIPELINING every command waits. The second (`next`) sends its envelope as soon as the
 * head's last octet was written, in the same write if it is known by then (RFC 2920 §3.1): one round trip per message.
 * A 421, a timeout, an invalid reply or the end of the connection finishes both: decided recipients keep their reply,
 * the others are lost, with `afterDot` if the server may have the message.
 *
 * If the head takes longer than usual for the server, the second is withdrawn, and its caller may send it elsewhere at
 * once. Its envelope at the server is undone when its replies come: by RSET if DATA was not sent or was refused, by a
 * lone dot if nobody was accepted, and by ending the connection if the server asks for the message, because a lone dot
 * would deliver an empty one (RFC 2920 §3.1). It is one piece because both transactions share the stream: each step of
 * one decides what may be written for the other.
 */
import type { Channel, ChannelClose } from './client-channel.ts';
import { sendContent } from './client-content.ts';
import type { SessionClose, Timeouts } from './client-types.ts';
import { type Awaiting, decideRest, envelopeOf, verdictOf, type Work } from './client-work.ts';
import type { Reply } from './reply.ts';

export interface Pair {
  /** Nothing is being sent, and no reply is awaited. */
  isIdle(): boolean;
  /** The one that runs. */
  head(): Work | null;
  /** Whether one more transaction may be given to it. */
  hasRoom(): boolean;
  /** Begins it, or lets it follow the one that runs. */
  send(work: Work): void;
  onReply(reply: Reply): void;
  onClose(close: ChannelClose): void;
  /** The one that runs takes longer than usual: what waits behind it is given back. */
  giveBackNext(): void;
  /** The server still has the state of a failed transaction. */
  mustReset(must: boolean): void;
}

interface Parts {
  channel: Channel;
  timeouts: Timeouts;
  pipelining: boolean;
  /** Another message is waited for from now on. */
  waits(): void;
  /** A transaction has its replies. */
  answered(accepted: boolean): void;
  /** It has given its place to the next one, if there is one. */
  finished(work: Work): void;
  /** `behind`: the reply to another message was awaited. */
  lost(work: Work, close: SessionClose, behind: boolean): void;
  /** No further transaction will come. */
  isEnding(): boolean;
}

/** How long the head waits for each, and its name. */
const AWAITED = {
  rset: ['rsetMs', 'the reply to RSET'],
  mail: ['mailMs', 'the reply to MAIL'],
  rcpt: ['rcptMs', 'the reply to RCPT'],
  data: ['dataMs', 'the reply to DATA'],
  'lone-dot': ['dataMs', 'the reply to an empty message'],
  body: ['bodyMs', 'sending the next part of the message'],
  dot: ['dotMs', 'the reply to the final dot'],
} as const satisfies Partial<Record<Awaiting, readonly [keyof Timeouts, string]>>;

export function createPair(parts: Parts): Pair {
  const { channel, timeouts, pipelining } = parts;
  let head: Work | null = null;
  let next: Work | null = null;
  /** Only of transactions with nothing ahead of them; null = MAIL was not answered so far. */
  let slowestMailMs: number | null = null;
  let needsReset = false;
  /** When the last transaction ended, on the time line of the replies: its caller may not have run since. */
  let finishedAtMs = -1;

  return {
    isIdle: () => head === null,
    head: () => head,
    hasRoom: () => next === null && head?.takenBack !== true,
    send(work) {
      if (head === null) {
        if (!mayBegin(work)) {
          takeBack(work, 'it is not to go any more');
          return;
        }
        head = work;
        begin(work);
        return;
      }
      next = work;
      if (head.dotHanded) {
        const text = takeNextEnvelope();
        if (text !== '') channel.write(text);
      }
    },
    onReply(reply) {
      if (head === null) return;
      head.log.add(channel.nowMs(), reply);
      if (reply.code === 421) channel.close('421', 'the server ended the session', reply);
      else dispatch(head, reply);
    },
    onClose(close) {
      const [first, second] = [head, next];
      head = null;
      next = null;
      if (first !== null) parts.lost(first, close, false);
      if (second !== null) parts.lost(second, close, true);
    },
    giveBackNext() {
      if (next !== null && !next.takenBack) takeBack(next, 'the message ahead of it is not answered');
    },
    mustReset(must) {
      needsReset = must;
    },
  };

  function say(work: Work, text: string): void {
    channel.write(text);
    work.log.add(channel.nowMs(), text);
  }

  /**
   * A server that answered MAIL needs about as long again. One that does not answer drops input after the final dot, or the
   * connection was lost without a sign; the message can then go over another one.
   */
  function mailMs(): number {
    if (slowestMailMs === null) return timeouts.mailMs;
    return Math.min(timeouts.mailMs, Math.max(timeouts.laterMailMs, 4 * slowestMailMs));
  }

  /** Sets what the head waits for, and starts its time limit. */
  function waitFor(work: Work, what: keyof typeof AWAITED): void {
    work.awaiting = what;
    const [limit, name] = AWAITED[what];
    channel.expectWithin(what === 'mail' ? mailMs() : timeouts[limit], name);
  }

  /** Sends the envelope of a transaction that has become the head, or its first command. */
  function begin(work: Work): void {
    work.sent = true;
    const reset = needsReset ? 'RSET\r\n' : '';
    needsReset = false;
    if (pipelining) {
      work.dataSent = work.rcpts.length === 1;
      say(work, reset + envelopeOf(work));
    } else say(work, reset === '' ? work.mail : reset);
    work.startedMs = channel.nowMs();
    waitFor(work, reset === '' ? 'mail' : 'rset');
    parts.waits();
  }

  /** The next envelope as text to write after the head's final dot, or '' if there is none to send. */
  function takeNextEnvelope(): string {
    if (!pipelining || next === null || next.sent) return '';
    if (next.tx.mayGo?.() === false) {
      takeBack(next, 'it is not to go any more');
      return '';
    }
    next.sent = true;
    next.pipelined = true;
    next.dataSent = next.rcpts.length === 1;
    next.startedMs = channel.nowMs();
    const text = envelopeOf(next);
    next.log.add(channel.nowMs(), text);
    return text;
  }

  function onFlushed(work: Work): void {
    work.flushed = true;
    work.tx.onDataSent?.();
    if (head !== work || work.awaiting !== 'body') return;
    waitFor(work, 'dot');
    parts.waits();
  }

  /** Writes the end of the data, the final dot and what may follow it. */
  function writeEnd(work: Work, chunks: readonly Uint8Array[], terminator: string): void {
    const envelope = takeNextEnvelope();
    work.dotHanded = true;
    work.dotHasCompany = envelope !== '';
    work.log.add(channel.nowMs(), work.tx.size);
    channel.writeParts(chunks, terminator + envelope, () => onFlushed(work));
  }

  function sendBody(work: Work): void {
    const goesOn = (): boolean => head === work && channel.closed() === null;
    if (!goesOn()) return;
    sendContent(work.tx, channel, {
      goesOn,
      slice() {
        waitFor(work, 'body');
        parts.waits();
      },
      end: (chunks, terminator) => writeEnd(work, chunks, terminator),
    });
  }

  /**
   * After 354: sends the body. If a caller was just told of an earlier result, it first gets its turn to queue another
   * transaction.
   */
  function startBody(work: Work): void {
    waitFor(work, 'body');
    if (finishedAtMs === channel.nowMs() && next === null && !parts.isEnding()) {
      // A tick queued by a microtask runs after all microtasks, so after every `await` on the earlier result.
      queueMicrotask(() => process.nextTick(sendBody, work));
    } else sendBody(work);
  }

  /** The caller gets it back and may send it elsewhere; what the server has of it is undone when its replies come. */
  function takeBack(work: Work, detail: string): void {
    if (work === next && !work.sent) next = null;
    work.takenBack = true;
    parts.lost(work, { reason: 'local', detail, reply: null }, true);
  }

  function mayBegin({ tx }: Work): boolean {
    return tx.begins?.() ?? true;
  }

  /** The head has ended: the next one takes its place before its caller is told. */
  function finish(work: Work, accepted: boolean): void {
    finishedAtMs = channel.nowMs();
    parts.answered(accepted);
    head = next;
    next = null;
    if (head !== null && !head.takenBack && !mayBegin(head)) takeBack(head, 'it is not to go any more');
    if (head?.takenBack === true && !head.sent) head = null;
    if (head === null) {
      channel.expectNothing();
    } else if (head.sent) {
      waitFor(head, 'mail');
      parts.waits();
    } else begin(head);
    parts.finished(work);
  }

  function fail(work: Work): void {
    needsReset = true;
    finish(work, false);
  }

  function onMailReply(work: Work, reply: Reply): void {
    const verdict = verdictOf(reply);
    if (!work.pipelined) slowestMailMs = Math.max(slowestMailMs ?? 0, channel.nowMs() - work.startedMs);
    if (verdict === 3) {
      channel.closeUnexpected(reply, 'MAIL');
      return;
    }
    if (verdict !== 2) {
      decideRest(work, reply, 'mail', false);
      if (!pipelining) {
        fail(work);
        return;
      }
    }
    if (!pipelining) say(work, work.rcpts[0] ?? '');
    waitFor(work, 'rcpt');
  }

  function onRcptReply(work: Work, reply: Reply): void {
    const verdict = verdictOf(reply);
    // Already decided: MAIL was refused, and this reply follows from it.
    if (work.results[work.rcptNo] === null) {
      if (verdict === 3) {
        channel.closeUnexpected(reply, 'RCPT');
        return;
      }
      if (verdict === 2) work.accepted += 1;
      else work.results[work.rcptNo] = { reply, stage: 'rcpt', accepted: false };
    }
    work.rcptNo += 1;
    if (work.rcptNo < work.rcpts.length) {
      if (!pipelining) say(work, work.rcpts[work.rcptNo] ?? '');
      waitFor(work, 'rcpt');
      return;
    }
    if (!work.dataSent) {
      if (work.accepted === 0 || work.takenBack) {
        fail(work);
        return;
      }
      say(work, 'DATA\r\n');
    }
    waitFor(work, 'data');
  }

  function onDataReply(work: Work, reply: Reply): void {
    const verdict = verdictOf(reply);
    if (verdict === 2) {
      channel.closeUnexpected(reply, 'DATA');
      return;
    }
    if (verdict === 3) {
      if (work.accepted > 0) {
        if (work.takenBack) channel.close('local', 'the message was taken back');
        else startBody(work);
        return;
      }
      say(work, '.\r\n');
      waitFor(work, 'lone-dot');
      return;
    }
    decideRest(work, reply, 'data', false);
    fail(work);
  }

  function onDotReply(work: Work, reply: Reply): void {
    const verdict = verdictOf(reply);
    if (verdict === 3) {
      channel.closeUnexpected(reply, 'the final dot');
      return;
    }
    work.dot = reply;
    decideRest(work, reply, 'dot', verdict === 2);
    // A dot ends the server's transaction in any case; the reset is for servers that do not comply.
    if (verdict !== 2) needsReset = next === null || !next.sent;
    finish(work, verdict === 2);
  }

  /** The server replied in the middle of the body: a refusal counts, but the connection cannot be used any more. */
  function onEarlyReply(work: Work, reply: Reply): void {
    if (verdictOf(reply) < 4) {
      channel.closeUnexpected(reply, 'an unfinished message');
      return;
    }
    decideRest(work, reply, 'data', false);
    channel.close('protocol', 'the server answered before the end of the message', reply);
  }

  function dispatch(work: Work, reply: Reply): void {
    switch (work.awaiting) {
      case 'rset':
        if (verdictOf(reply) !== 2) {
          channel.closeUnexpected(reply, 'RSET');
          return;
        }
        if (!pipelining) say(work, work.mail);
        waitFor(work, 'mail');
        return;
      case 'mail':
        onMailReply(work, reply);
        return;
      case 'rcpt':
        onRcptReply(work, reply);
        return;
      case 'data':
        onDataReply(work, reply);
        return;
      case 'body':
        // Once the dot was written, this is its reply, even if the system has not confirmed the write yet.
        if (work.dotHanded) onDotReply(work, reply);
        else onEarlyReply(work, reply);
        return;
      case 'dot':
        onDotReply(work, reply);
        return;
      case 'lone-dot':
        finish(work, false);
        return;
      case 'waiting':
        channel.closeUnexpected(reply, 'nothing');
        return;
    }
  }
}
