/**
 * The transactions of an open session: at most two at once, the second one's envelope sent behind the first one's final
 * dot.
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
import { afterInput } from '../lib/turns.ts';
import type { Channel, ChannelClose } from './client-channel.ts';
import { buildEnvelope } from './client-envelope.ts';
import { createFlight } from './client-flight.ts';
import type { TlsFacts } from './client-tls.ts';
import type {
  Session,
  SessionClose,
  SessionWatch,
  Target,
  Timeouts,
  Transaction,
  TransactionResult,
} from './client-types.ts';
import {
  type Awaiting,
  decideRest,
  doneResult,
  envelopeOf,
  lostResult,
  newWork,
  type Work,
} from './client-work.ts';
import type { ConversationLog } from './conversation.ts';
import { createDotStuffer } from './dot-stuffing.ts';
import type { Capabilities } from './ehlo.ts';
import type { Reply } from './reply.ts';

/**
 * A message up to this size is written at once with its final dot; a larger one in slices, each after the one before
 * was taken.
 */
const ONE_WRITE_BYTES = 128 * 1024;
const SLICE_BYTES = 64 * 1024;

const verdictOf = (reply: Reply) => Math.floor(reply.code / 100);

export interface SessionParts {
  channel: Channel;
  peer: Target;
  capabilities: Capabilities;
  tls: TlsFacts | null;
  inClear: string | null;
  conversation: ConversationLog;
  timeouts: Timeouts;
  roundTripMs: number;
}

/** Takes over a channel on which EHLO (and TLS, AUTH) is complete and no reply is pending. */
export function createSession(parts: SessionParts): Session {
  const { channel, capabilities, timeouts, tls } = parts;
  const pipelining = capabilities.pipelining;
  let head: Work | null = null;
  let next: Work | null = null;
  let delivered = 0;
  let transactions = 0;
  /** Only of transactions with nothing ahead of them. */
  let slowestMailMs = 0;
  let watch: SessionWatch | null = null;
  /** The server still has the state of a failed transaction. */
  let needsReset = false;
  /** When the last transaction ended, on the time line of the replies: its caller may not have run since. */
  let finishedAtMs = -1;
  let quitting = false;
  let quitSent = false;
  const closeListeners: ((close: SessionClose) => void)[] = [];
  /** Never beside `head` and `next`. */
  const flight = createFlight({
    ...{ channel, timeouts, lost: lose, waits: startPatience },
    outOfStep: (why) => watch?.outOfStep?.(why),
    isProven: () => watch?.discardsRefused?.() ?? true,
    proven: () => watch?.showedDiscard?.(),
    finished(work, accepted) {
      transactions += 1;
      if (accepted) delivered += 1;
      needsReset = !accepted;
      if (flight.size() === 0 && quitting) sendQuit();
      done(work);
    },
  });
  /** The last message was sent whole: what comes with nothing awaited belongs to it. */
  let wasWhole = false;

  function say(work: Work, text: string): void {
    channel.write(text);
    work.log.add(channel.nowMs(), text);
  }

  /** A server that drops input after the final dot never answers it; one that answers needs about as long as before. */
  function pipelinedMailMs(): number {
    return Math.min(timeouts.mailMs, Math.max(timeouts.pipelinedMailMs, 4 * slowestMailMs));
  }

  /** Sets what the head waits for, and starts its time limit. */
  function waitFor(work: Work, what: Awaiting): void {
    work.awaiting = what;
    switch (what) {
      case 'rset':
        channel.expectWithin(timeouts.rsetMs, 'the reply to RSET');
        return;
      case 'mail':
        channel.expectWithin(work.pipelined ? pipelinedMailMs() : timeouts.mailMs, 'the reply to MAIL');
        return;
      case 'rcpt':
        channel.expectWithin(timeouts.rcptMs, 'the reply to RCPT');
        return;
      case 'data':
        channel.expectWithin(timeouts.dataMs, 'the reply to DATA');
        return;
      case 'lone-dot':
        channel.expectWithin(timeouts.dataMs, 'the reply to an empty message');
        return;
      case 'body':
        channel.expectWithin(timeouts.bodyMs, 'the message body');
        return;
      case 'dot':
        channel.expectWithin(timeouts.dotMs, 'the reply to the final dot');
        return;
      case 'waiting':
    }
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
    startPatience();
  }

  /** The next envelope as text to write after the head's final dot, or '' if there is none to send. */
  function takeNextEnvelope(): string {
    if (!pipelining || next === null || next.sent || quitSent) return '';
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
    startPatience();
  }

  /** Writes the end of the data, the final dot and what may follow it. */
  function writeEnd(work: Work, chunks: readonly Uint8Array[], terminator: string): void {
    const envelope = takeNextEnvelope();
    work.dotHanded = true;
    work.dotHasCompany = envelope !== '';
    work.log.add(channel.nowMs(), work.tx.size);
    channel.writeParts(chunks, terminator + envelope, () => onFlushed(work));
  }

  function sendSmall(work: Work): void {
    const stuffer = createDotStuffer();
    const chunks = work.tx.data.map((chunk) => stuffer.feed(chunk));
    writeEnd(work, chunks, stuffer.terminator());
  }

  function sendLarge(work: Work): void {
    const stuffer = createDotStuffer();
    const { data } = work.tx;
    let chunkNo = 0;
    let offset = 0;
    const step = () => {
      if (head !== work || channel.closed() !== null) return;
      while (chunkNo < data.length && offset >= (data[chunkNo]?.length ?? 0)) {
        chunkNo += 1;
        offset = 0;
      }
      const slice = data[chunkNo]?.subarray(offset, offset + SLICE_BYTES);
      if (slice === undefined) {
        writeEnd(work, [], stuffer.terminator());
        return;
      }
      offset += slice.length;
      waitFor(work, 'body');
      startPatience();
      // The reply of a server that refuses is read before the next slice is sent.
      channel.writeParts([stuffer.feed(slice)], '', () => afterInput(step));
    };
    step();
  }

  function sendBody(work: Work): void {
    if (head !== work || channel.closed() !== null) return;
    if (work.tx.size <= ONE_WRITE_BYTES) sendSmall(work);
    else sendLarge(work);
  }

  /**
   * After 354: sends the body. If a caller was just told of an earlier result, it first gets its turn to queue another
   * transaction.
   */
  function startBody(work: Work): void {
    waitFor(work, 'body');
    if (finishedAtMs === channel.nowMs() && next === null && !quitting) {
      // A tick queued by a microtask runs after all microtasks, so after every `await` on the earlier result.
      queueMicrotask(() => process.nextTick(sendBody, work));
    } else sendBody(work);
  }

  function lose(work: Work, close: SessionClose, behind: boolean): void {
    work.resolve(lostResult(work, close, { nowMs: channel.nowMs(), tls, used: transactions > 0, behind }));
  }

  /** The caller gets it back and may send it elsewhere; what the server has of it is undone when its replies come. */
  function takeBack(work: Work, detail: string): void {
    if (work === next && !work.sent) next = null;
    work.takenBack = true;
    lose(work, { reason: 'local', detail, reply: null }, true);
  }

  function mayBegin({ tx }: Work): boolean {
    return tx.begins?.() ?? true;
  }

  /** From now on the head should take no longer than usual for this server. */
  function startPatience(): void {
    if (watch !== null) channel.remindWithin(watch.patienceMs());
  }

  function onReminder(): void {
    if (head === null && flight.size() === 0) return;
    if (next !== null && !next.takenBack) takeBack(next, 'the message ahead of it is not answered');
    watch?.slow();
  }

  /** The head has ended: the next one takes its place before its caller is told. */
  function finish(work: Work): void {
    finishedAtMs = channel.nowMs();
    transactions += 1;
    head = next;
    next = null;
    if (head !== null && !head.takenBack && !mayBegin(head)) takeBack(head, 'it is not to go any more');
    if (head?.takenBack === true && !head.sent) head = null;
    if (head === null) {
      channel.expectNothing();
      if (quitting) sendQuit();
    } else if (head.sent) {
      waitFor(head, 'mail');
      startPatience();
    } else begin(head);
    done(work);
  }

  function done(work: Work): void {
    const recipients = work.results.filter((result) => result !== null);
    work.resolve(doneResult(work, recipients, channel.nowMs(), tls));
  }

  function fail(work: Work): void {
    needsReset = true;
    finish(work);
  }

  function nonsense(reply: Reply, to: string): void {
    channel.close('protocol', `unexpected reply ${reply.code} to ${to}`, reply);
  }

  function onMailReply(work: Work, reply: Reply): void {
    const verdict = verdictOf(reply);
    if (!work.pipelined) slowestMailMs = Math.max(slowestMailMs, channel.nowMs() - work.startedMs);
    if (verdict === 3) {
      nonsense(reply, 'MAIL');
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
        nonsense(reply, 'RCPT');
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
      nonsense(reply, 'DATA');
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
      nonsense(reply, 'the final dot');
      return;
    }
    work.dot = reply;
    decideRest(work, reply, 'dot', verdict === 2);
    if (verdict === 2) delivered += 1;
    // A dot ends the server's transaction in any case; the reset is for servers that do not comply.
    else needsReset = next === null || !next.sent;
    finish(work);
  }

  /** The server replied in the middle of the body: a refusal counts, but the connection cannot be used any more. */
  function onEarlyReply(work: Work, reply: Reply): void {
    if (verdictOf(reply) < 4) {
      nonsense(reply, 'an unfinished message');
      return;
    }
    decideRest(work, reply, 'data', false);
    channel.close('protocol', 'the server answered before the end of the message', reply);
  }

  function onReply(reply: Reply): boolean {
    const work = head;
    if (quitSent) channel.close('local', 'quit');
    else if (flight.size() > 0) flight.onReply(reply);
    else if (work === null) {
      if (reply.code === 421) channel.close('421', 'the server ended the session', reply);
      else {
        if (wasWhole) watch?.outOfStep?.(`a reply more than commands: ${reply.code}`);
        nonsense(reply, 'nothing');
      }
    } else {
      work.log.add(channel.nowMs(), reply);
      if (reply.code === 421) channel.close('421', 'the server ended the session', reply);
      else dispatch(work, reply);
    }
    return true;
  }

  function dispatch(work: Work, reply: Reply): void {
    switch (work.awaiting) {
      case 'rset':
        if (verdictOf(reply) !== 2) {
          nonsense(reply, 'RSET');
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
        finish(work);
        return;
      case 'waiting':
        nonsense(reply, 'nothing');
        return;
    }
  }

  function sendQuit(): void {
    quitSent = true;
    channel.write('QUIT\r\n');
    channel.expectWithin(timeouts.quitMs, 'the reply to QUIT');
  }

  function onClose(raw: ChannelClose): void {
    const close: SessionClose = quitSent ? { reason: 'local', detail: 'quit', reply: null } : raw;
    const [first, second] = [head, next];
    head = null;
    next = null;
    flight.onClose(close);
    if (first !== null) lose(first, close, false);
    if (second !== null) lose(second, close, true);
    for (const tell of closeListeners.splice(0)) tell(close);
  }

  const isOpen = () => channel.closed() === null && !quitting;
  const hasRoom = () => isOpen() && next === null && head?.takenBack !== true && flight.size() === 0;
  const maySendWhole = (most: number) =>
    isOpen() && head === null && capabilities.chunking && pipelining && flight.mayTake(most);

  /** Passes on a transaction that may be sent, or returns it. */
  function take(tx: Transaction, go: (work: Work) => void): Promise<TransactionResult> {
    const envelope = buildEnvelope(tx, capabilities);
    if (envelope.kind === 'not-sendable') return Promise.resolve(envelope);
    return new Promise((resolve) => {
      const work = newWork(tx, envelope, channel.nowMs(), resolve);
      const gone = channel.closed() ?? (quitting ? { reason: 'local', detail: 'quit', reply: null } : null);
      if (gone === null) go(work);
      else lose(work, gone, false);
    });
  }

  channel.listen({ onReply, onClose, onReminder });
  return {
    peer: parts.peer,
    capabilities,
    tls,
    inClear: parts.inClear,
    conversation: parts.conversation,
    state() {
      if (channel.closed() !== null || quitSent) return 'closed';
      return head === null && flight.size() === 0 ? 'idle' : 'busy';
    },
    delivered() {
      return delivered;
    },
    transactions() {
      return transactions;
    },
    hasRoom() {
      return hasRoom();
    },
    roundTripMs: parts.roundTripMs,
    inFlight() {
      return flight.size();
    },
    maySendWhole,
    sendWhole(tx) {
      return take(tx, (work) => {
        if (!maySendWhole(Number.POSITIVE_INFINITY)) throw new Error('nothing may be sent whole now');
        if (!mayBegin(work)) {
          takeBack(work, 'it is not to go any more');
          return;
        }
        wasWhole = true;
        flight.send(work);
      });
    },
    transact(tx) {
      return take(tx, (work) => {
        if (next !== null || flight.size() > 0)
          throw new Error('a session takes two transactions at once, not three');
        wasWhole = false;
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
      });
    },
    watch(watcher) {
      watch = watcher;
    },
    quit() {
      if (quitting || channel.closed() !== null) return;
      quitting = true;
      if (head === null && flight.size() === 0) sendQuit();
    },
    destroy() {
      channel.close('local', 'destroyed');
    },
    onClosed(fn) {
      const close = channel.closed();
      if (close === null) closeListeners.push(fn);
      else fn(quitSent ? { reason: 'local', detail: 'quit', reply: null } : close);
    },
  };
}
