/**
 * The replies of SMTP submission to one connection: who may log in, from which domains mail is accepted, and the result
 * for a message. A positive reply to a message is given only after acceptance has committed it, and contains its
 * MessageID. Nothing is relayed without a login.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { AppError, isErrorName } from '../../lib/errors.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { joinInTurns } from '../../lib/join-in-turns.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import { createTurns } from '../../lib/turns.ts';
import type { MessageId } from '../../model/message.ts';
import type { Caller } from '../../model/submission.ts';
import type { SenderDomains } from '../../pipeline/accept/accept.ts';
import type { RawAcceptance } from '../../pipeline/accept/acceptance.ts';
import { senderRefusal } from '../../pipeline/accept/sender-refusal.ts';
import type { Access } from '../../policy/access/access.ts';
import type { Refusals } from '../../policy/access/refusals.ts';
import { requireScope, sharersOf } from '../../policy/access/rights.ts';
import type { SendRate } from '../../policy/limits/send-rate.ts';
import { lastReply, reply } from '../../smtp/server-reply.ts';
import type {
  AuthAttempt,
  ReceivedMessage,
  ServerEnvelope,
  ServerHandler,
  ServerReply,
  SessionFacts,
} from '../../smtp/server-types.ts';
import { type RawResult, readRawMessage } from './raw-message.ts';
import { replyForThrown, smtpReply } from './smtp-errors.ts';

/** SMTP credentials with their own passwords, in addition to API tokens. */
export interface Credentials {
  /** The caller of a name and password, null if they do not match. Throws AppError `rate-limited`. */
  verify(username: string, password: string, ip: string): Promise<Caller | null>;
  /** The current state of the same caller; null if the credential has ended. */
  renew(username: string, caller: Caller): Promise<Caller | null>;
}

export interface HandlerDeps {
  access: Pick<Access, 'authenticate' | 'renew'>;
  credentials: Credentials | null;
  acceptance: RawAcceptance & { refusing(): string | null };
  senders: SenderDomains;
  clock: Clock;
  random: Random;
  /** Sends per second of each login, shared with the API. */
  sendRate: SendRate;
  /** Gets every refused command. */
  refusals: Pick<Refusals, 'record'>;
  /** The service log. */
  log: Logger;
}

/** The logged-in caller, and how to check again. */
interface Login {
  caller: Caller;
  renew(): Promise<Caller | null>;
}

export interface HandlerOptions {
  hostname: string;
  ip: string;
  /** The caller without a login, or with an unknown one; null = none. */
  anybody: Caller | null;
  /** The minimum of labels of a domain. */
  minLabels: number;
}

/** Octets of a message that are hashed before other work gets a turn. */
const HASHED_AT_ONCE = 4 * 1024 * 1024;
/** Name of the operation for idempotency keys, beside those of the API. */
const OPERATION = 'SMTP submission';
/** A JWT: three parts of base64url. Our passwords never contain two dots. */
const LOOKS_LIKE_TOKEN = /^[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}$/;
/** The form of generated user names. */
const OWN_USERNAME = /^\s*smtp-[0-9a-f]{12}\s*$/i;
const WRONG: ServerReply = {
  ...reply(535, '5.7.8', 'Username or password is wrong'),
  name: 'token-invalid',
};
/** The connection is closed, because a login cannot be repeated in a session (RFC 4954 §4). */
const ENDED = lastReply(421, '4.7.0', 'This login has ended: connect and log in again');

/** Answers for one connection. */
export function createSubmissionHandler(deps: HandlerDeps, options: HandlerOptions): ServerHandler {
  const { access, credentials, acceptance, senders, sendRate, refusals, clock, random, log } = deps;
  const { ip, anybody } = options;
  let caller: Caller | null = anybody;
  /** Checks again whether the login is still valid: a session may outlive it by hours. */
  let renewed: () => Promise<Caller | null> = async () => anybody;
  /** Of the message that is being processed. */
  let fromDomain: string | null = null;

  return {
    owner: () => (caller === null ? null : sharersOf(caller)),

    async onAuth(attempt) {
      try {
        const found = await (anybody === null ? logIn(attempt) : logInAnyhow(attempt, anybody));
        if (found === null) return WRONG;
        caller = found.caller;
        renewed = found.renew;
        return null;
      } catch (error) {
        return refusedLogin(error);
      }
    },

    async onMail(from) {
      if (caller === null) return reply(530, '5.7.0', 'Authentication required');
      caller = await renewed();
      if (caller === null) return ENDED;
      const why = acceptance.refusing();
      if (why !== null) return reply(451, '4.3.2', `Nothing is taken now: ${why}`);
      const refused = from.address === null ? null : await refusedSender(caller, from.address.domain);
      if (refused !== null) return refused;
      const tooFast = sendRate.take(caller)?.refused ?? null;
      return tooFast === null ? null : smtpReply(tooFast);
    },

    onRcpt: async (to) => (to.address === null ? reply(550, '5.1.3', 'The recipient needs a domain') : null),

    async onMessage(envelope, message, facts) {
      if (caller === null) return reply(530, '5.7.0', 'Authentication required');
      // A message may take a while to arrive.
      caller = await renewed();
      return caller === null ? ENDED : submit(caller, envelope, message, facts);
    },

    onRefused(command, answer, from) {
      const domain = fromDomain ?? from?.address?.domain ?? null;
      fromDomain = null;
      const name = answer.name !== undefined && isErrorName(answer.name) ? answer.name : null;
      const texts = typeof answer.text === 'string' ? [answer.text] : answer.text;
      const message = `${answer.enhanced} ${texts.join('; ')}`.trim();
      refusals.record({
        caller,
        via: 'SMTP',
        action: command,
        status: answer.code,
        name,
        message,
        domain,
        ip,
      });
    },

    onFailure(error) {
      const known = replyForThrown(error);
      if (known === null) log.error({ ip, err: error }, 'an SMTP submission failed');
      return known;
    },
  };

  async function refusedSender(from: Caller, domain: string): Promise<ServerReply | null> {
    const sender = await senders.senderFor(from, domain);
    return sender.kind === 'domain' ? null : smtpReply(senderRefusal(sender, from, domain));
  }

  async function logIn({ username, password }: AuthAttempt): Promise<Login | null> {
    if (LOOKS_LIKE_TOKEN.test(password)) {
      const found = await access.authenticate(`Bearer ${password}`, ip);
      requireScope(found, 'email:send');
      return { caller: found, renew: () => access.renew(found) };
    }
    const found = (await credentials?.verify(username, password, ip)) ?? null;
    if (credentials === null || found === null) return null;
    return { caller: found, renew: () => credentials.renew(username, found) };
  }

  /** As itself if the login is one of ours, otherwise as the default caller: clients send whatever is configured. */
  async function logInAnyhow(attempt: AuthAttempt, as: Caller): Promise<Login> {
    // Hashing a password that cannot be ours, and counting it as a guess, would be useless.
    const mayBeOurs = LOOKS_LIKE_TOKEN.test(attempt.password) || OWN_USERNAME.test(attempt.username);
    const found = mayBeOurs
      ? await logIn(attempt).catch((error: unknown) => {
          if (error instanceof AppError) return null;
          throw error;
        })
      : null;
    return found ?? { caller: as, renew: async () => as };
  }

  function refusedLogin(error: unknown): ServerReply {
    if (!(error instanceof AppError)) throw error;
    const [{ name }] = error.problems;
    if (name !== 'rate-limited') return smtpReply(error);
    const wait = error.retryAfterSeconds;
    const until = wait === undefined ? '' : `; try again in ${wait} seconds`;
    return lastReply(421, '4.7.0', `Too many failed logins from this address${until}`);
  }

  async function submit(
    from: Caller,
    envelope: ServerEnvelope,
    message: ReceivedMessage,
    session: SessionFacts,
  ): Promise<ServerReply> {
    const messageId = uuidv7(clock, random) as MessageId;
    const nowMs = clock.now();
    const raw = readRawMessage({
      envelope,
      message,
      facts: session,
      ip,
      hostname: options.hostname,
      minLabels: options.minLabels,
      messageId,
      nowMs,
      notices: from.notices !== false,
    });
    if (raw.kind === 'refused') return raw.reply;
    fromDomain = raw.submission.fromDomain;
    const { parts, ...facts } = raw.composed;
    const composed = { ...facts, bytes: await joinInTurns(parts, createTurns(clock)) };
    const result = await acceptance.acceptRaw({
      caller: from,
      submission: raw.submission,
      prepared: { messageId, dateMs: nowMs, composed },
      idempotency: await idempotencyOf(raw, envelope, message),
    });
    fromDomain = null;
    const queued = result.kind === 'accepted' ? result.messageId : storedId(result.body);
    return reply(250, '2.6.0', `Queued as ${queued}`);
  }

  async function idempotencyOf(raw: RawResult, envelope: ServerEnvelope, { bytes }: ReceivedMessage) {
    if (raw.idempotencyKey === null) return null;
    const turn = createTurns(clock);
    const hash = createHash('sha256');
    for (const address of [envelope.from.address, ...envelope.recipients.map((each) => each.address)]) {
      hash.update(`${address?.text ?? ''}\n`);
    }
    for (let from = 0; from < bytes.length; from += HASHED_AT_ONCE) {
      hash.update(bytes.subarray(from, from + HASHED_AT_ONCE));
      await turn();
    }
    return { operation: OPERATION, key: raw.idempotencyKey, fingerprint: hash.digest() };
  }
}

/** The MessageID of an earlier answer to the same key. */
function storedId(body: string): string {
  const { MessageID } = JSON.parse(body) as { MessageID: string };
  return MessageID;
}
