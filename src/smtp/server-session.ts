/**
 * The server's side of one SMTP connection (RFC 5321), without a socket: bytes in, replies out, questions to a handler. The same
 * bytes give the same replies, however they are split into chunks.
 *
 *   greeting ─start()─► open ─any time: QUIT, too many errors, silence, shutdown()─► closed
 *                       open ─STARTTLS─► handshake ─secured()─► open
 *
 * While the handler works, nothing more is read, so that replies stay in order (RFC 2920). Memory: one command line,
 * one message within its limit, and what arrives in spite of `pause(true)`. Only CRLF ends a line, in commands and in
 * messages. What is answered is decided in server-dialogue.ts; server-input.ts holds what was not read yet, and
 * server-output.ts what was not written.
 */
import { createAlarm } from '../lib/alarm.ts';
import type { Clock } from '../lib/clock.ts';
import { TLS_HANDSHAKE } from '../lib/server-tls.ts';
import { MAX_ENDLESS_BYTES } from './server-commands.ts';
import { createServerDialogue } from './server-dialogue.ts';
import { createServerInput } from './server-input.ts';
import { createServerOutput } from './server-output.ts';
import { REPLIES, reply } from './server-reply.ts';
import type {
  ServerAnswer,
  ServerConnection,
  ServerHandler,
  ServerReply,
  ServerSessionOptions,
  SessionFacts,
} from './server-types.ts';

export interface ServerSession {
  /** Greets the peer, or refuses it. */
  start(refusal?: ServerReply): void;
  /** The next octets; the session may read from the chunk until it calls `pause(false)`. */
  push(chunk: Uint8Array): void;
  /** The handshake that `startTls` requested is complete. */
  secured(): void;
  /** The peer has ended its input; what it sent is still answered, then the connection is closed. */
  endOfInput(): void;
  /** The connection is gone: nothing more is written. */
  end(): void;
  /** Sends 421 and closes: at once, or after the message that is arriving or being processed. */
  shutdown(): void;
  /** A message is arriving, or the answer to a command or message is being made. */
  isBusy(): boolean;
  /** The handler is being asked. */
  isAnswering(): boolean;
  /** It is known whom a message is for that has not come, or is arriving as fast as it must. */
  getsOn(): boolean;
  facts(): SessionFacts;
}

/** A session over one connection. Nothing happens before `start()`. */
export function createServerSession(
  deps: { clock: Clock; connection: ServerConnection; handler: ServerHandler },
  options: ServerSessionOptions,
): ServerSession {
  const { clock, connection, handler } = deps;
  const { limits } = options;
  const input = createServerInput(clock);
  const dialogue = createServerDialogue(deps, options);
  const output = createServerOutput(connection, handler, limits.maxErrors);
  let state: 'greeting' | 'open' | 'handshake' | 'closed' = 'greeting';
  let isReading = false;
  /** The handler was asked and has not answered yet. */
  let waiting = false;
  let stopping = false;
  let ended = false;
  // One alarm for all deadlines: it rings too early where they were moved later, because most never pass.
  const alarm = createAlarm(clock, onAlarm);
  /** Of the next input, or of the handshake. */
  let deadlineMs = Number.POSITIVE_INFINITY;

  return {
    start(refusal) {
      if (state !== 'greeting') return;
      if (refusal !== undefined) {
        finish(refusal);
        return;
      }
      state = 'open';
      say(reply(220, '', `${options.hostname} ESMTP Postrider`));
      goOn();
    },
    push(chunk) {
      if (state === 'closed' || chunk.length === 0) return;
      // Octets between STARTTLS and the handshake were not meant for TLS.
      if (state === 'handshake') {
        finish(null);
        return;
      }
      input.push(chunk);
      if (waiting || state === 'greeting') connection.pause(true);
      else goOn();
    },
    secured() {
      if (state !== 'handshake') return;
      dialogue.secured();
      state = 'open';
      waitForInput();
    },
    endOfInput() {
      ended = true;
      goOn();
    },
    end: close,
    shutdown() {
      stopping = true;
      if (!isBusy()) finish(state === 'handshake' ? null : REPLIES.stopping);
    },
    isAnswering: () => waiting,
    isBusy,
    getsOn: dialogue.getsOn,
    facts: dialogue.facts,
  };

  function isBusy(): boolean {
    return waiting || dialogue.isInData();
  }

  // ── reading and answering ───────────────────────────────────────────────────────────────────────────────

  function goOn(): void {
    if (isReading) return;
    isReading = true;
    while (input.hasMore() && !waiting && state === 'open') {
      if (dialogue.isInData()) answer(dialogue.readData(input));
      else readLine();
    }
    isReading = false;
    const more = input.hasMore();
    output.flush(waiting && more);
    if (state === 'closed') return;
    if (ended && !waiting) {
      finish(null);
      return;
    }
    // While the handler works, `push` pauses; nothing more may come before it has answered.
    if (!waiting || !more) connection.pause(false);
    if (state === 'open') waitForInput();
  }

  function readLine(): void {
    if (input.lineStart() === TLS_HANDSHAKE) {
      handler.onRefused?.('connection', REPLIES.notPlain, null);
      finish(REPLIES.notPlain);
      return;
    }
    const line = input.readLine();
    const length = input.lineBytes();
    if (length > MAX_ENDLESS_BYTES) finish(REPLIES.endlessLine);
    else if (line !== null) answer(dialogue.takeLine(line, length));
  }

  function answer(what: ServerAnswer): void {
    if (what instanceof Promise) waitFor(what);
    else if (what === REPLIES.startTls) beginTls(what);
    else if (what !== null) say(what);
  }

  /** Reads on only after the answer. */
  function waitFor(promised: Promise<ServerReply>): void {
    waiting = true;
    const resume = (given: ServerReply): void => {
      waiting = false;
      say(given);
      goOn();
    };
    promised.then(resume, (error: unknown) => resume(handler.onFailure(error) ?? REPLIES.failed));
  }

  function beginTls(ready: ServerReply): void {
    // RFC 3207 §4.2, against command injection: input from before the handshake never counts as protected.
    if (input.hasMore()) {
      say(REPLIES.injected);
      return;
    }
    say(ready);
    output.flush(false);
    state = 'handshake';
    deadlineMs = clock.monotonicMs() + limits.lineMs;
    arm();
    connection.startTls();
  }

  function say(what: ServerReply): void {
    if (state === 'closed') return;
    if (!output.add(what, dialogue.answered())) finish(null);
    else if (stopping && !isBusy()) finish(REPLIES.stopping);
  }

  function finish(last: ServerReply | null): void {
    if (state === 'closed') return;
    if (last !== null) output.add(last, null);
    output.flush(false);
    close();
    connection.close();
  }

  function close(): void {
    state = 'closed';
    alarm.stop();
    input.clear();
    output.clear();
    dialogue.end();
  }

  // ── waiting ─────────────────────────────────────────────────────────────────────────────────────────────

  function waitForInput(): void {
    deadlineMs = clock.monotonicMs() + (dialogue.isInData() ? limits.dataIdleMs : limits.commandMs);
    arm();
  }

  function dueMs(): number {
    if (waiting) return Number.POSITIVE_INFINITY;
    if (state === 'handshake') return deadlineMs;
    const line = (input.unfinishedSinceMs() ?? Number.POSITIVE_INFINITY) + limits.lineMs;
    return Math.min(deadlineMs, dialogue.dueMs(), line);
  }

  function arm(): void {
    const due = dueMs();
    if (due < Number.POSITIVE_INFINITY) alarm.after(due - clock.monotonicMs());
  }

  function onAlarm(): void {
    if (waiting) return;
    if (dueMs() <= clock.monotonicMs()) finish(state === 'handshake' ? null : REPLIES.timeout);
    else arm();
  }
}
