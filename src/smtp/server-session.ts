/**
 * The server's side of one SMTP connection (RFC 5321 and the extensions it offers), without a socket: bytes in,
 * replies out, questions to a handler. The same bytes give the same replies, however they are split into chunks.
 *
 *   greeting ─► command ⇄ auth            EHLO forgets the transaction, STARTTLS forgets everything
 *               command ─DATA─► data ─CRLF.CRLF─► command
 *               command ─STARTTLS─► handshake ─secured()─► command
 *               any ─QUIT, too many errors, silence, shutdown()─► closed
 *
 * While the handler works, nothing more is read, so that replies stay in order (RFC 2920). Memory: one command line,
 * one message within its limit, and what arrives in spite of `pause(true)`. Only CRLF ends a line, in commands and in
 * messages; invalid input is never repaired into a command. It is one piece because every step changes the state above;
 * server-input.ts holds what was not read yet.
 */
import { createAlarm } from '../lib/alarm.ts';
import type { Clock } from '../lib/clock.ts';
import { TLS_HANDSHAKE } from '../lib/server-tls.ts';
import { type AuthExchange, type AuthStep, beginAuth } from './server-auth.ts';
import {
  commandText,
  MAX_AUTH_BYTES,
  MAX_COMMAND_BYTES,
  parseCommand,
  parseMail,
  parseRcpt,
} from './server-commands.ts';
import { createDataReader, type DataFault, type DataReader } from './server-data.ts';
import { createServerInput } from './server-input.ts';
import { formatReply, REPLIES, reply, tooLarge } from './server-reply.ts';
import type {
  MailFrom,
  RcptTo,
  ServerConnection,
  ServerEnvelope,
  ServerHandler,
  ServerReply,
  ServerSessionOptions,
  SessionFacts,
  TlsFacts,
} from './server-types.ts';

export interface ServerSession {
  /** Greets the peer, or refuses it. */
  start(refusal?: ServerReply): void;
  /** The next octets; the session may read from the chunk until it calls `pause(false)`. */
  push(chunk: Uint8Array): void;
  /** The handshake that `startTls` requested is complete. */
  secured(tls: TlsFacts): void;
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
  facts(): SessionFacts;
}

type State = 'greeting' | 'command' | 'auth' | 'data' | 'handshake' | 'closed';

const CR = 13;
/** A longer unfinished line is refused. */
const MAX_ENDLESS_BYTES = 64 * 1024;
const MAX_HELD_REPLIES = 16 * 1024;
const DATA_FAULTS: Readonly<Record<Exclude<DataFault, 'long-line' | 'too-large'>, ServerReply>> = {
  'bare-line-end': REPLIES.bareInData,
  nul: REPLIES.nulInData,
  'no-room': REPLIES.noRoom,
};

/** A session over one connection. Nothing happens before `start()`. */
export function createServerSession(
  deps: { clock: Clock; connection: ServerConnection; handler: ServerHandler },
  options: ServerSessionOptions,
): ServerSession {
  const { clock, connection, handler } = deps;
  const { limits } = options;
  let state: State = 'greeting';
  let facts: SessionFacts = {
    helo: '',
    esmtp: false,
    tls: options.tls,
    authenticated: false,
  };
  let from: MailFrom | null = null;
  let recipients: RcptTo[] = [];
  let refusedRecipients = 0;
  let exchange: AuthExchange | null = null;
  let data: DataReader | null = null;
  /** The handler was asked and has not answered yet. */
  let waiting = false;
  let stopping = false;
  let ended = false;
  let errors = 0;
  let idleCommands = 0;
  let authFailures = 0;
  let out = '';
  /**
   * Replies to MAIL and RCPT wait for those to the commands that came with them (RFC 2920 §3.2): a write less for each,
   * which is most of what an envelope costs. Others do not wait, above all not the one that a message was taken.
   */
  let urgent = false;
  /** The last MAIL was refused. */
  let mailRefused = false;
  /** The command that the next reply answers, so that a refusal is reported with its sender. */
  let about: { command: 'AUTH' | 'MAIL' | 'RCPT' | 'DATA'; from: MailFrom | null } | null = null;

  const input = createServerInput(clock);
  let pumping = false;

  // One alarm for all deadlines: it rings too early where they were moved later, because most never pass.
  let deadlineMs = Number.POSITIVE_INFINITY;
  let loginDeadlineMs = Number.POSITIVE_INFINITY;
  let dataStartedMs = 0;
  const alarm = createAlarm(clock, onAlarm);

  return {
    start(refusal) {
      if (state !== 'greeting') return;
      if (refusal !== undefined) {
        finish(refusal);
        return;
      }
      if (options.auth?.required === true) loginDeadlineMs = clock.monotonicMs() + limits.loginMs;
      state = 'command';
      say(reply(220, '', `${options.hostname} ESMTP Postrider`));
      pump();
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
      else pump();
    },
    secured(tls) {
      if (state !== 'handshake') return;
      facts = { ...facts, helo: '', esmtp: false, authenticated: false, tls };
      forgetTransaction();
      state = 'command';
      waitForCommand();
      arm();
    },
    endOfInput() {
      ended = true;
      pump();
    },
    end() {
      close();
    },
    shutdown() {
      stopping = true;
      if (state === 'handshake') finish(null);
      else if (state === 'greeting' || ((state === 'command' || state === 'auth') && !waiting))
        finish(REPLIES.stopping);
    },
    isAnswering() {
      return waiting;
    },
    isBusy() {
      return state === 'data' || waiting;
    },
    facts() {
      return facts;
    },
  };

  // ── reading ─────────────────────────────────────────────────────────────────────────────────────────────

  function pump(): void {
    if (pumping) return;
    pumping = true;
    while (input.hasMore() && !waiting && state !== 'closed' && state !== 'handshake') {
      if (state === 'data') readData();
      else readLine();
    }
    pumping = false;
    const more = input.hasMore();
    if (!waiting || !more || urgent || out.length > MAX_HELD_REPLIES) flush();
    if (state === 'closed') return;
    if (ended && !waiting) {
      finish(null);
      return;
    }
    if (state !== 'handshake') waitForCommand();
    // While the handler works, `push` pauses; nothing more may come before it has answered.
    if (!waiting || !more) connection.pause(false);
    arm();
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
    else if (line !== null) say(takeLine(line, length));
  }

  /** `line` with its line end, cut if it is longer than allowed; `length` is its real length. */
  function takeLine(line: Uint8Array, length: number): ServerReply | null {
    const auth = state === 'auth';
    about = auth ? { command: 'AUTH', from: null } : null;
    const text = textOf(line, length);
    if (typeof text !== 'string') {
      exchange = null;
      if (auth) state = 'command';
      return text;
    }
    return auth ? continueAuth(text) : runCommand(text);
  }

  /** The line as text, or why it is refused. */
  function textOf(line: Uint8Array, length: number): string | ServerReply {
    if (length > MAX_AUTH_BYTES + 2) {
      return state === 'auth' ? REPLIES.authLineTooLong : REPLIES.lineTooLong;
    }
    if (line[line.length - 2] !== CR) return REPLIES.bareLineEnd;
    const text = commandText(line.subarray(0, line.length - 2));
    if (text === null) return REPLIES.notText;
    const long = length > MAX_COMMAND_BYTES && state !== 'auth' && !/^AUTH /i.test(text);
    return long ? REPLIES.lineTooLong : text;
  }

  function readData(): void {
    if (data === null) return;
    const isAtEnd = input.readData(data);
    // A peer that continues after this much does not intend to end.
    if (data.received() > 2 * limits.maxMessageBytes + MAX_ENDLESS_BYTES) {
      about = { command: 'DATA', from };
      say({ ...tooLarge(limits.maxMessageBytes), close: true });
    } else if (isAtEnd) say(takeMessage(data));
  }

  // ── commands ────────────────────────────────────────────────────────────────────────────────────────────

  function runCommand(text: string): ServerReply | null {
    const command = parseCommand(text);
    const { verb } = command;
    if (verb === 'AUTH' || verb === 'MAIL' || verb === 'RCPT' || verb === 'DATA')
      about = { command: verb, from };
    switch (command.verb) {
      case 'refused':
        if (command.reply === REPLIES.notSmtp) handler.onRefused?.('connection', command.reply, null);
        return command.reply;
      case 'EHLO':
      case 'HELO':
        forgetTransaction();
        facts = { ...facts, helo: command.name, esmtp: command.verb === 'EHLO' };
        return idle(command.verb === 'EHLO' ? capabilities() : reply(250, '', options.hostname));
      case 'STARTTLS':
        return startTls();
      case 'AUTH':
        return startAuth(command.mechanism, command.initial);
      case 'MAIL':
        return mail(command.argument);
      case 'RCPT':
        return rcpt(command.argument);
      case 'DATA':
        return startData();
      case 'RSET':
        forgetTransaction();
        return idle(REPLIES.reset);
      case 'NOOP':
        return idle(REPLIES.ok);
      case 'VRFY':
        return idle(REPLIES.cannotVerify);
      case 'HELP':
        return idle(help());
      case 'QUIT':
        return REPLIES.bye;
    }
  }

  function capabilities(): ServerReply {
    const lines = [
      options.hostname,
      'PIPELINING',
      `SIZE ${limits.maxMessageBytes}`,
      '8BITMIME',
      'SMTPUTF8',
      'ENHANCEDSTATUSCODES',
    ];
    if (options.dsn) lines.push('DSN');
    if (offersTls()) lines.push('STARTTLS');
    if (offersAuth()) lines.push('AUTH PLAIN LOGIN');
    lines.push('HELP');
    return reply(250, '', lines);
  }

  function help(): ServerReply {
    const offered = [...(offersTls() ? ['STARTTLS'] : []), ...(offersAuth() ? ['AUTH'] : [])];
    const verbs = ['EHLO', ...offered, 'MAIL', 'RCPT', 'DATA', 'RSET', 'NOOP', 'VRFY', 'HELP', 'QUIT'];
    return reply(214, '2.0.0', `${verbs.join(', ')} (RFC 5321)`);
  }

  function offersTls(): boolean {
    return options.startTls && facts.tls === null;
  }

  function offersAuth(): boolean {
    return options.auth !== null && (facts.tls !== null || options.auth.plainText);
  }

  function startTls(): ServerReply | null {
    if (!options.startTls) return REPLIES.noStartTls;
    if (facts.tls !== null) return REPLIES.tlsAlready;
    // RFC 3207 §4.2, against command injection: input from before the handshake never counts as protected.
    if (input.hasMore()) return REPLIES.injected;
    out += formatReply(REPLIES.startTls);
    flush();
    state = 'handshake';
    deadlineMs = clock.monotonicMs() + limits.lineMs;
    connection.startTls();
    return null;
  }

  function startAuth(mechanism: string, initial: string | null): ServerReply | null {
    const { auth } = options;
    if (auth === null) return REPLIES.notOffered;
    if (!facts.esmtp) return REPLIES.wrongOrder;
    if (facts.authenticated) return REPLIES.loginAlready;
    if (from !== null) return REPLIES.inTransaction;
    if (facts.tls === null && !auth.plainText) return REPLIES.tlsFirst;
    const begun = beginAuth(mechanism, initial);
    if (begun === null) return REPLIES.mechanism;
    exchange = begun.exchange;
    state = 'auth';
    return takeAuthStep(begun.first);
  }

  function continueAuth(response: string): ServerReply | null {
    return exchange === null ? null : takeAuthStep(exchange.next(response));
  }

  function takeAuthStep(step: AuthStep): ServerReply | null {
    if (step.kind === 'prompt') return reply(334, '', step.text);
    exchange = null;
    state = 'command';
    if (step.kind === 'refused') return step.reply;
    return ask(handler.onAuth(step.attempt, facts), (answer) => {
      const verdict = answer ?? REPLIES.loggedIn;
      if (verdict.code < 300) {
        facts = { ...facts, authenticated: true };
        loginDeadlineMs = Number.POSITIVE_INFINITY;
        return verdict;
      }
      authFailures += verdict.code >= 500 ? 1 : 0;
      return authFailures < limits.maxAuthFailures ? verdict : { ...verdict, close: true };
    });
  }

  function mail(argument: string): ServerReply | null {
    if (facts.helo === '') return REPLIES.wrongOrder;
    if (from !== null) return REPLIES.nestedMail;
    if (options.auth?.required === true && !facts.authenticated) {
      const needsTls = options.startTls && facts.tls === null && !options.auth.plainText;
      return needsTls ? REPLIES.tlsThenLogin : REPLIES.loginFirst;
    }
    const parsed = parseMail(argument, {
      maxMessageBytes: limits.maxMessageBytes,
      dsn: options.dsn,
      minLabels: options.minLabels,
    });
    if (!parsed.ok) return parsed.reply;
    about = { command: 'MAIL', from: parsed.value };
    return ask(handler.onMail(parsed.value, facts), (answer) => {
      const verdict = answer ?? REPLIES.sender;
      if (verdict.code < 300) from = parsed.value;
      return verdict;
    });
  }

  function rcpt(argument: string): ServerReply | null {
    if (from === null) return REPLIES.needMail;
    const parsed = parseRcpt(argument, {
      smtpUtf8: from.smtpUtf8,
      dsn: options.dsn,
      minLabels: options.minLabels,
    });
    if (!parsed.ok) {
      refusedRecipients += 1;
      return parsed.reply;
    }
    if (recipients.length >= limits.maxRecipients) return REPLIES.tooManyRecipients;
    return ask(handler.onRcpt(parsed.value, { from, recipients }, facts), (answer) => {
      const verdict = answer ?? REPLIES.recipient;
      if (verdict.code < 300) recipients.push(parsed.value);
      else refusedRecipients += 1;
      return verdict;
    });
  }

  function startData(): ServerReply | null {
    if (from === null) return REPLIES.needMail;
    if (recipients.length === 0) return refusedRecipients > 0 ? REPLIES.noRecipient : REPLIES.needRcpt;
    data = createDataReader(
      { maxBytes: limits.maxMessageBytes, maxLineBytes: limits.maxLineBytes },
      from.size ?? 0,
      options.memory?.(),
    );
    dataStartedMs = clock.monotonicMs();
    state = 'data';
    return REPLIES.data;
  }

  function takeMessage(read: DataReader): ServerReply | null {
    const envelope: ServerEnvelope | null = from === null ? null : { from, recipients };
    about = { command: 'DATA', from };
    state = 'command';
    data = null;
    forgetTransaction();
    idleCommands = 0;
    const fault = read.fault();
    if (fault === 'long-line')
      return reply(
        554,
        '5.6.0',
        `A line of the message is longer than ${limits.maxLineBytes} octets; break it, or encode the text as quoted-printable or base64`,
      );
    if (fault === 'too-large') return tooLarge(limits.maxMessageBytes);
    if (fault !== null) return DATA_FAULTS[fault];
    if (envelope === null) return null;
    const answered = handler.onMessage(envelope, { bytes: read.bytes(), eightBit: read.isEightBit() }, facts);
    answered.then(read.release, read.release);
    return ask(answered, (verdict) => {
      if (verdict.code < 300) errors = 0;
      return verdict;
    });
  }

  // ── answering ───────────────────────────────────────────────────────────────────────────────────────────

  /** Reads on only after the answer; until then the state stays as it was at the command. */
  function ask<Answer>(question: Promise<Answer>, then: (answer: Answer) => ServerReply): null {
    waiting = true;
    const resume = (act: () => ServerReply): void => {
      waiting = false;
      if (state === 'closed') return;
      say(act());
      pump();
    };
    question.then(
      (answer) => resume(() => then(answer)),
      (error: unknown) => {
        const answer = handler.onFailure(error) ?? REPLIES.failed;
        resume(() => answer);
      },
    );
    return null;
  }

  function idle(answer: ServerReply): ServerReply {
    idleCommands += 1;
    return idleCommands > limits.maxIdleCommands ? REPLIES.tooManyIdle : answer;
  }

  /** Sends a reply; null: it was sent already, or follows later. */
  function say(answer: ServerReply | null): void {
    if (answer === null || state === 'closed') return;
    urgent ||= about?.command !== 'MAIL' && about?.command !== 'RCPT';
    if (answer.code >= 500) errors += 1;
    if (answer.code >= 400 && about !== null && !followsRefusal(answer))
      handler.onRefused?.(about.command, answer, about.from);
    if (about?.command === 'MAIL') mailRefused = answer.code >= 400;
    if (answer.close === true) finish(answer);
    else if (errors > limits.maxErrors) {
      out += formatReply(answer);
      finish(REPLIES.tooManyErrors);
    } else {
      out += formatReply(answer);
      if (stopping && !waiting && state !== 'data') finish(REPLIES.stopping);
    }
  }

  /** The refusal before it says why: the client sent this command before it read that (RFC 2920), or did not heed it. */
  function followsRefusal(answer: ServerReply): boolean {
    return answer === REPLIES.noRecipient || (answer === REPLIES.needMail && mailRefused);
  }

  function flush(): void {
    if (out === '') return;
    const text = out;
    out = '';
    urgent = false;
    connection.write(text);
  }

  function finish(answer: ServerReply | null): void {
    if (state === 'closed') return;
    if (answer !== null) out += formatReply(answer);
    flush();
    close();
    connection.close();
  }

  function close(): void {
    state = 'closed';
    alarm.stop();
    input.clear();
    data?.release();
    data = null;
    out = '';
    forgetTransaction();
  }

  function forgetTransaction(): void {
    from = null;
    recipients = [];
    refusedRecipients = 0;
  }

  // ── waiting ─────────────────────────────────────────────────────────────────────────────────────────────

  function waitForCommand(): void {
    deadlineMs = clock.monotonicMs() + (state === 'data' ? limits.dataIdleMs : limits.commandMs);
  }

  function dueMs(): number {
    if (waiting) return Number.POSITIVE_INFINITY;
    if (state === 'handshake') return deadlineMs;
    if (state === 'data') {
      const seconds = (data?.received() ?? 0) / limits.minBytesPerSecond;
      return Math.min(deadlineMs, dataStartedMs + limits.dataGraceMs + seconds * 1000);
    }
    const line = (input.unfinishedSinceMs() ?? Number.POSITIVE_INFINITY) + limits.lineMs;
    return Math.min(deadlineMs, loginDeadlineMs, line);
  }

  function arm(): void {
    const due = dueMs();
    if (state !== 'closed' && due < Number.POSITIVE_INFINITY) alarm.after(due - clock.monotonicMs());
  }

  function onAlarm(): void {
    if (state === 'closed' || waiting) return;
    if (dueMs() <= clock.monotonicMs()) finish(state === 'handshake' ? null : REPLIES.timeout);
    else arm();
  }
}
