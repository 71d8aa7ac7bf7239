/**
 * An open session: takes transactions, and sends each in the way that its caller chose: with DATA, at most two at once
 * (client-pair.ts), or whole, with several unanswered (client-flight.ts), never both at the same time. Tells the callers
 * their results, also when the connection ends: decided recipients keep their reply, the others are lost.
 */
import type { Channel, ChannelClose } from './client-channel.ts';
import { buildEnvelope } from './client-envelope.ts';
import { createFlight } from './client-flight.ts';
import { createPair } from './client-pair.ts';
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
import { doneResult, lostResult, newWork, stageOf, type Work } from './client-work.ts';
import type { ConversationLog } from './conversation.ts';
import type { Capabilities } from './ehlo.ts';
import type { Reply } from './reply.ts';

interface SessionParts {
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
  const { pipelining } = capabilities;
  let delivered = 0;
  let transactions = 0;
  let watch: SessionWatch | null = null;
  let quitting = false;
  let quitSent = false;
  /** The last message was sent whole: what comes with nothing awaited belongs to it. */
  let wasWhole = false;
  const closeListeners: ((close: SessionClose) => void)[] = [];
  const pair = createPair({
    ...{ channel, timeouts, pipelining, lost: lose, waits: startPatience, answered },
    isEnding: () => quitting,
    finished: done,
  });
  const flight = createFlight({
    ...{ channel, timeouts, lost: lose, waits: startPatience },
    outOfStep: (why) => watch?.outOfStep?.(why),
    isProven: () => watch?.discardsRefused?.() ?? true,
    proven: () => watch?.showedDiscard?.(),
    finished(work, accepted) {
      answered(accepted);
      pair.mustReset(!accepted);
      done(work);
    },
  });

  function answered(accepted: boolean): void {
    transactions += 1;
    if (accepted) delivered += 1;
  }

  function done(work: Work): void {
    if (quitting && isIdle()) sendQuit();
    const recipients = work.results.filter((result) => result !== null);
    work.resolve(doneResult(work, recipients, channel.nowMs(), tls));
  }

  function lose(work: Work, close: SessionClose, behind: boolean): void {
    work.resolve(lostResult(work, close, { nowMs: channel.nowMs(), tls, used: transactions > 0, behind }));
  }

  function isIdle(): boolean {
    return pair.isIdle() && flight.size() === 0;
  }

  /** From now on a reply should take no longer than usual for this server. */
  function startPatience(): void {
    if (watch !== null) channel.remindWithin(watch.patienceMs());
  }

  function onReminder(): void {
    if (isIdle()) return;
    pair.giveBackNext();
    watch?.slow();
  }

  function onReply(reply: Reply): boolean {
    if (quitSent) channel.close('local', 'quit');
    else if (flight.size() > 0) flight.onReply(reply);
    else if (!pair.isIdle()) pair.onReply(reply);
    else if (reply.code === 421) channel.close('421', 'the server ended the session', reply);
    else {
      if (wasWhole) watch?.outOfStep?.(`a reply more than commands: ${reply.code}`);
      channel.closeUnexpected(reply, 'nothing');
    }
    return true;
  }

  function sendQuit(): void {
    quitSent = true;
    channel.write('QUIT\r\n');
    channel.expectWithin(timeouts.quitMs, 'the reply to QUIT');
  }

  function onClose(raw: ChannelClose): void {
    const close: SessionClose = quitSent ? { reason: 'local', detail: 'quit', reply: null } : raw;
    flight.onClose(close);
    pair.onClose(close);
    for (const tell of closeListeners.splice(0)) tell(close);
  }

  const isOpen = () => channel.closed() === null && !quitting;
  const hasRoom = () => isOpen() && pair.hasRoom() && flight.size() === 0;
  const maySendWhole = (most: number) =>
    isOpen() && pair.isIdle() && capabilities.chunking && pipelining && flight.mayTake(most);

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
      return isIdle() ? 'idle' : 'busy';
    },
    delivered: () => delivered,
    transactions: () => transactions,
    unsent: channel.unsent,
    hasRoom: () => hasRoom(),
    roundTripMs: parts.roundTripMs,
    progress() {
      // Of several that were sent whole, each is somewhere else.
      const work = flight.size() > 1 ? null : (flight.head() ?? pair.head());
      if (work === null) return null;
      return { stage: stageOf(work, work.flushed), sinceMs: work.startedMs };
    },
    inFlight: () => flight.size(),
    maySendWhole,
    sendWhole: (tx) =>
      take(tx, (work) => {
        if (!maySendWhole(Number.POSITIVE_INFINITY)) throw new Error('nothing may be sent whole now');
        if (tx.begins?.() === false) {
          lose(work, { reason: 'local', detail: 'it is not to go any more', reply: null }, true);
          return;
        }
        wasWhole = true;
        flight.send(work);
      }),
    transact: (tx) =>
      take(tx, (work) => {
        if (!pair.hasRoom() || flight.size() > 0)
          throw new Error('a session takes two transactions at once, not three');
        wasWhole = false;
        pair.send(work);
      }),
    watch(watcher) {
      watch = watcher;
    },
    quit() {
      if (quitting || channel.closed() !== null) return;
      quitting = true;
      if (isIdle()) sendQuit();
    },
    destroy() {
      channel.close('local', 'this server ended the connection');
    },
    onClosed(fn) {
      const close = channel.closed();
      if (close === null) closeListeners.push(fn);
      else fn(quitSent ? { reason: 'local', detail: 'quit', reply: null } : close);
    },
  };
}
