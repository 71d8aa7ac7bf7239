/**
 * One SMTP connection: commands out, replies in, one deadline. Given a connected socket (plain or TLS) and a clock,
 * reports each reply once and in order, and exactly one close with its reason, however the connection ends. The
 * deadline is one timer that is only moved if it must fire earlier, because a timer per command would cost more than
 * parsing its reply. Partial replies do not extend it, so a slow server gains nothing. A reminder before the deadline
 * uses the same timer.
 */
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { Clock, Timer } from '../lib/clock.ts';
import { readBeforeFailing } from '../lib/read-before-failing.ts';
import { afterInput } from '../lib/turns.ts';
import type { LostReason } from './client-types.ts';
import { createReplyReader, type Reply } from './reply.ts';

export interface ChannelClose {
  reason: LostReason;
  detail: string;
  reply: Reply | null;
}

interface ChannelListener {
  /** Takes one reply; returns true if the next one may follow at once. */
  onReply(reply: Reply): boolean;
  onClose(close: ChannelClose): void;
  /** The time of `remindWithin` has passed. */
  onReminder?(): void;
}

export interface Channel {
  /** Monotonic time of the latest input or output, in milliseconds. */
  nowMs(): number;
  /** Why the connection ended, or null while it is open. */
  closed(): ChannelClose | null;
  /** Octets received that no listener has taken yet. */
  buffered(): number;
  /** Octets written that the system has not taken yet, with those of an unfinished write. */
  unsent(): number;
  /** Replaces the listener and passes it buffered replies. null: replies are kept for the next listener. */
  listen(listener: ChannelListener | null): void;
  /** Sends command lines that passed the guard. */
  write(text: string): void;
  /**
   * Sends chunks and then text together; `onFlushed` is called when the system has taken all of it, and before a close, if
   * it may have.
   */
  writeParts(parts: readonly Uint8Array[], trailer: string, onFlushed: () => void): void;
  /** From now on `what` must happen within `limitMs`, otherwise the channel closes with `timeout`. */
  expectWithin(limitMs: number, what: string): void;
  /** Ends the deadline and the reminder. */
  expectNothing(): void;
  /** Calls the listener once after this time; a later call replaces an earlier one. */
  remindWithin(ms: number): void;
  close(reason: LostReason, detail: string, reply?: Reply | null): void;
  /** `to`: what the reply should answer. */
  closeUnexpected(reply: Reply, to: string): void;
  /** Hands the socket over (to a TLS handshake): removes all listeners of this channel and closes nothing. */
  detach(): Duplex;
}

const RESET_CODES = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED']);
const MAX_UNREAD_BYTES = 128 * 1024;

/** Starts reading from `socket`, which the channel owns from now on. */
export function createChannel(socket: Duplex, clock: Clock): Channel {
  const reader = createReplyReader();
  let listener: ChannelListener | null = null;
  let closed: ChannelClose | null = null;
  let nowMs = clock.monotonicMs();
  let deadlineMs = Number.POSITIVE_INFINITY;
  let awaited = '';
  let limitMs = 0;
  let reminderMs = Number.POSITIVE_INFINITY;
  let timer: Timer | null = null;
  let timerAtMs = Number.POSITIVE_INFINITY;
  let pumping = false;
  /** Of writes whose end was not reported. */
  const unflushed: (() => void)[] = [];
  /** So many of them were passed to the system, the oldest first. */
  let inHand = 0;

  function arm(): void {
    timerAtMs = Math.min(deadlineMs, reminderMs);
    if (timerAtMs === Number.POSITIVE_INFINITY || closed !== null) return;
    timer = clock.setTimer(timerAtMs - nowMs, () => {
      timer = null;
      timerAtMs = Number.POSITIVE_INFINITY;
      nowMs = clock.monotonicMs();
      if (closed !== null) return;
      if (nowMs >= deadlineMs - 1) {
        // After a pause of this process, the reply may have arrived and only wait to be read.
        afterInput(endIfLate);
        return;
      }
      if (nowMs >= reminderMs - 1) {
        reminderMs = Number.POSITIVE_INFINITY;
        listener?.onReminder?.();
      }
      if (timer === null) arm();
    });
  }

  function endIfLate(): void {
    if (closed !== null) return;
    if (clock.monotonicMs() >= deadlineMs - 1)
      close('timeout', `${awaited} took longer than ${limitMs / 1000} s`);
    else if (timer === null) arm();
  }

  function armBefore(atMs: number): void {
    if (atMs >= timerAtMs || closed !== null) return;
    timer?.cancel();
    arm();
  }

  function close(reason: LostReason, detail: string, reply: Reply | null = null): void {
    if (closed !== null) return;
    for (const flushed of unflushed.slice(0, mayBeTaken(reason))) flushed();
    closed = { reason, detail, reply };
    timer?.cancel();
    timer = null;
    socket.destroy();
    listener?.onClose(closed);
  }

  /** How many of the writes whose end was not reported the system may have taken, so that the server may have them. */
  function mayBeTaken(reason: LostReason): number {
    // It is reported a turn later.
    if (reason !== 'reset' && socket.writableLength === 0) return unflushed.length;
    // TLS reports it some turns of the event loop later.
    return socket instanceof TLSSocket && reason !== 'timeout' ? inHand : 0;
  }

  function pump(): void {
    if (pumping) return;
    pumping = true;
    while (closed === null && listener !== null) {
      const item = reader.next();
      if (item === null) break;
      if (item.kind === 'malformed') close('protocol', item.detail);
      else {
        const goesOn = listener.onReply(item.reply);
        // The end of this reply was not found, so nothing after it can be read.
        if (item.cut === true) close('protocol', 'endless reply');
        if (!goesOn) break;
      }
    }
    pumping = false;
  }

  const onData = (chunk: Buffer) => {
    if (closed !== null) return;
    nowMs = clock.monotonicMs();
    reader.push(chunk);
    if (reader.buffered() > MAX_UNREAD_BYTES + chunk.length) close('protocol', 'more replies than commands');
    else pump();
  };
  const onEnd = () => close('closed', 'the server closed the connection');
  const onError = (error: NodeJS.ErrnoException) => {
    const code = error.code ?? error.message;
    close('reset', RESET_CODES.has(code) ? 'the connection was reset' : `the connection broke: ${code}`);
  };
  const atOnce = readBeforeFailing(socket, () => {
    inHand = unflushed.length;
  });
  socket.on('data', onData);
  socket.on('end', onEnd);
  socket.on('error', onError);
  socket.on('close', onEnd);
  if (socket.destroyed) close('reset', 'the connection was reset');

  return {
    nowMs: () => nowMs,
    closed: () => closed,
    buffered: () => reader.buffered(),
    unsent: () => socket.writableLength,
    listen(next) {
      listener = next;
      if (closed !== null) next?.onClose(closed);
      else if (reader.buffered() > 0) pump();
    },
    write(text) {
      if (closed !== null) return;
      nowMs = clock.monotonicMs();
      socket.write(text, 'utf8');
    },
    writeParts(parts, trailer, onFlushed) {
      if (closed !== null) return;
      nowMs = clock.monotonicMs();
      unflushed.push(onFlushed);
      const flushed = (error?: Error | null) => {
        if (closed !== null || (error !== undefined && error !== null)) return;
        unflushed.shift();
        inHand -= 1;
        onFlushed();
      };
      socket.cork();
      for (const part of parts) if (part.length > 0) socket.write(part);
      socket.write(trailer, 'utf8', flushed);
      socket.uncork();
    },
    expectWithin(withinMs, what) {
      awaited = what;
      limitMs = withinMs;
      deadlineMs = nowMs + limitMs;
      armBefore(deadlineMs);
    },
    expectNothing() {
      deadlineMs = Number.POSITIVE_INFINITY;
      reminderMs = Number.POSITIVE_INFINITY;
    },
    remindWithin(ms) {
      reminderMs = nowMs + ms;
      armBefore(reminderMs);
    },
    close,
    closeUnexpected: (reply, to) => close('protocol', `unexpected reply ${reply.code} to ${to}`, reply),
    detach() {
      socket.off('data', onData);
      socket.off('end', onEnd);
      socket.off('error', onError);
      socket.off('close', onEnd);
      atOnce();
      socket.pause();
      timer?.cancel();
      timer = null;
      listener = null;
      closed = { reason: 'local', detail: 'handed over', reply: null };
      return socket;
    },
  };
}
