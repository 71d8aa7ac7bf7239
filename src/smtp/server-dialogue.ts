/**
 * What a client is answered: line by line, and message by message (RFC 5321 and the extensions that are offered).
 *
 *   command ⇄ auth            EHLO forgets the transaction, STARTTLS forgets everything
 *   command ─DATA─► data ─CRLF.CRLF─► command
 *
 * Keeps what the client has said of itself, its authentication and its transaction. The next line comes after the answer to the
 * last one. Invalid input is never repaired into a command.
 */
import type { Clock } from '../lib/clock.ts';
import { createServerAuth } from './server-auth.ts';
import { type Command, lineText, parseCommand, parseMail } from './server-commands.ts';
import type { ServerInput } from './server-input.ts';
import { REPLIES, reply } from './server-reply.ts';
import { createServerTransaction } from './server-transaction.ts';
import type {
  AnsweredCommand,
  ServerAnswer,
  ServerHandler,
  ServerReply,
  ServerSessionOptions,
  SessionFacts,
} from './server-types.ts';

interface ServerDialogue {
  /** A line with its end, cut if it is longer than allowed; `length`: its real length. `REPLIES.startTls`: the handshake may begin. */
  takeLine(line: Uint8Array, length: number): ServerAnswer;
  /** A message is arriving, so that lines are no commands. */
  isInData(): boolean;
  /** It is known whom a message is for that has not come, or is arriving as fast as it must. */
  getsOn(): boolean;
  readData(input: ServerInput): ServerAnswer;
  /** What the last answer belongs to, so that a refusal is reported with its sender; null: to nothing that is reported. */
  answered(): AnsweredCommand | null;
  secured(): void;
  /** The connection is gone. */
  end(): void;
  facts(): SessionFacts;
  /** When the message must have arrived, or somebody have logged in (monotonic). */
  dueMs(): number;
}

export function createServerDialogue(
  deps: { clock: Clock; handler: ServerHandler },
  options: ServerSessionOptions,
): ServerDialogue {
  const { limits, dsn, minLabels } = options;
  const auth = createServerAuth(deps, options);
  const transaction = createServerTransaction(deps, options);
  let helo = '';
  let esmtp = false;
  let { secured } = options;
  let answered: AnsweredCommand | null = null;
  let idleCommands = 0;

  return {
    takeLine(line, length) {
      const isLogin = auth.isOpen();
      const text = lineText(line, length, isLogin);
      answered = isLogin ? { command: 'AUTH', from: null } : null;
      if (isLogin) return auth.continue(text, facts());
      return typeof text === 'string' ? run(parseCommand(text)) : text;
    },
    isInData: transaction.isInData,
    getsOn: transaction.getsOn,
    readData(input) {
      const answer = transaction.readData(input, facts());
      if (answer !== null) idleCommands = 0;
      return answer;
    },
    answered: () => answered,
    secured() {
      secured = true;
      helo = '';
      esmtp = false;
      auth.forget();
      transaction.forget();
    },
    end: transaction.forget,
    facts,
    dueMs: () => Math.min(transaction.dueMs(), auth.dueMs()),
  };

  function facts(): SessionFacts {
    return { helo, esmtp, secured, authenticated: auth.isAuthenticated() };
  }

  function run(command: Command): ServerAnswer {
    const { verb } = command;
    if (verb === 'AUTH' || verb === 'MAIL' || verb === 'RCPT' || verb === 'DATA')
      answered = { command: verb, from: transaction.from() };
    switch (verb) {
      case 'refused':
        if (command.reply === REPLIES.notSmtp) answered = { command: 'connection', from: null };
        return command.reply;
      case 'EHLO':
      case 'HELO':
        transaction.forget();
        helo = command.name;
        esmtp = verb === 'EHLO';
        return idle(esmtp ? capabilities(options, facts()) : reply(250, '', options.hostname));
      case 'STARTTLS':
        if (!options.startTls) return REPLIES.noStartTls;
        return secured ? REPLIES.tlsAlready : REPLIES.startTls;
      case 'AUTH':
        return auth.begin(command.mechanism, command.initial, facts(), transaction.from() !== null);
      case 'MAIL':
        return mail(command.argument);
      case 'RCPT':
        return transaction.rcpt(command.argument, facts());
      case 'DATA':
        return transaction.data();
      case 'RSET':
        transaction.forget();
        return idle(REPLIES.reset);
      case 'NOOP':
        return idle(REPLIES.ok);
      case 'VRFY':
        return idle(REPLIES.cannotVerify);
      case 'HELP':
        return idle(help(options, facts()));
      case 'QUIT':
        return REPLIES.bye;
    }
  }

  function mail(argument: string): ServerAnswer {
    if (helo === '') return REPLIES.wrongOrder;
    if (transaction.from() !== null) return REPLIES.nestedMail;
    if (auth.isMissing()) {
      const needsTls = offersTls(options, facts()) && !offersAuth(options, facts());
      return needsTls ? REPLIES.tlsThenLogin : REPLIES.loginFirst;
    }
    const { maxMessageBytes } = limits;
    const parsed = parseMail(argument, { maxMessageBytes, dsn, minLabels });
    if (!parsed.ok) return parsed.reply;
    answered = { command: 'MAIL', from: parsed.value };
    return transaction.mail(parsed.value, facts());
  }

  function idle(answer: ServerReply): ServerReply {
    idleCommands += 1;
    return idleCommands > limits.maxIdleCommands ? REPLIES.tooManyIdle : answer;
  }
}

function capabilities(options: ServerSessionOptions, facts: SessionFacts): ServerReply {
  return reply(250, '', [
    ...[options.hostname, 'PIPELINING', `SIZE ${options.limits.maxMessageBytes}`],
    ...['8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES'],
    ...(options.dsn ? ['DSN'] : []),
    ...(offersTls(options, facts) ? ['STARTTLS'] : []),
    ...(offersAuth(options, facts) ? ['AUTH PLAIN LOGIN'] : []),
    'HELP',
  ]);
}

function help(options: ServerSessionOptions, facts: SessionFacts): ServerReply {
  const offered = [
    ...(offersTls(options, facts) ? ['STARTTLS'] : []),
    ...(offersAuth(options, facts) ? ['AUTH'] : []),
  ];
  const verbs = ['EHLO', ...offered, 'MAIL', 'RCPT', 'DATA', 'RSET', 'NOOP', 'VRFY', 'HELP', 'QUIT'];
  return reply(214, '2.0.0', `${verbs.join(', ')} (RFC 5321)`);
}

function offersTls(options: ServerSessionOptions, facts: SessionFacts): boolean {
  return options.startTls && !facts.secured;
}

function offersAuth({ auth }: ServerSessionOptions, facts: SessionFacts): boolean {
  return auth !== null && (facts.secured || auth.plainText);
}
