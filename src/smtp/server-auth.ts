/**
 * The authentication of one session (RFC 4954), and the exchanges of AUTH PLAIN (RFC 4616) and AUTH LOGIN, without checking the
 * credentials. An exchange takes the initial response or null, then line after line; it returns prompts and finally the
 * credentials, or the reply that ends it. Base64 is read strictly, so that each password has one encoding.
 */
import type { Clock } from '../lib/clock.ts';
import { REPLIES, reply } from './server-reply.ts';
import type {
  AuthAttempt,
  ServerAnswer,
  ServerHandler,
  ServerReply,
  ServerSessionOptions,
  SessionFacts,
} from './server-types.ts';

type AuthStep =
  /** `text`: what follows `334 `, base64 or empty. */
  | { kind: 'prompt'; text: string }
  | { kind: 'attempt'; attempt: AuthAttempt }
  | { kind: 'refused'; reply: ServerReply };

interface AuthExchange {
  /** The next response of the peer, still in base64. */
  next(response: string): AuthStep;
}

const USERNAME_PROMPT = 'VXNlcm5hbWU6';
const PASSWORD_PROMPT = 'UGFzc3dvcmQ6';
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

interface ServerAuth {
  /** MAIL needs a login, and there was none. */
  isMissing(): boolean;
  isAuthenticated(): boolean;
  /** The next line belongs to an exchange. */
  isOpen(): boolean;
  begin(mechanism: string, initial: string | null, facts: SessionFacts, inTransaction: boolean): ServerAnswer;
  /** The next line of the exchange, or why it is none, which ends the exchange. */
  continue(line: string | ServerReply, facts: SessionFacts): ServerAnswer;
  /** The login no longer counts. */
  forget(): void;
  /** When somebody must have logged in (monotonic); infinite: never, or somebody has. */
  dueMs(): number;
}

export function createServerAuth(
  { clock, handler }: { clock: Clock; handler: ServerHandler },
  { auth, limits }: ServerSessionOptions,
): ServerAuth {
  let exchange: AuthExchange | null = null;
  let isAuthenticated = false;
  let failures = 0;
  let dueMs = auth?.required === true ? clock.monotonicMs() + limits.loginMs : Number.POSITIVE_INFINITY;

  return {
    isMissing: () => auth?.required === true && !isAuthenticated,
    isAuthenticated: () => isAuthenticated,
    isOpen: () => exchange !== null,
    begin(mechanism, initial, facts, inTransaction) {
      if (auth === null) return REPLIES.notOffered;
      if (!facts.esmtp) return REPLIES.wrongOrder;
      if (isAuthenticated) return REPLIES.loginAlready;
      if (inTransaction) return REPLIES.inTransaction;
      if (!facts.secured && !auth.plainText) return REPLIES.tlsFirst;
      const begun = beginAuth(mechanism, initial);
      if (begun === null) return REPLIES.mechanism;
      exchange = begun.exchange;
      return take(begun.first, facts);
    },
    continue(line, facts) {
      if (exchange === null) return null;
      return take(typeof line === 'string' ? exchange.next(line) : refused(line), facts);
    },
    forget() {
      isAuthenticated = false;
    },
    dueMs: () => dueMs,
  };

  function take(step: AuthStep, facts: SessionFacts): ServerAnswer {
    if (step.kind === 'prompt') return reply(334, '', step.text);
    exchange = null;
    return step.kind === 'refused' ? step.reply : check(step.attempt, facts);
  }

  async function check(attempt: AuthAttempt, facts: SessionFacts): Promise<ServerReply> {
    const verdict = (await handler.onAuth(attempt, facts)) ?? REPLIES.loggedIn;
    if (verdict.code < 300) {
      isAuthenticated = true;
      dueMs = Number.POSITIVE_INFINITY;
      return verdict;
    }
    failures += verdict.code >= 500 ? 1 : 0;
    return failures < limits.maxAuthFailures ? verdict : { ...verdict, close: true };
  }
}

/** Begins an exchange; null for an unknown mechanism. */
export function beginAuth(
  mechanism: string,
  initial: string | null,
): { exchange: AuthExchange; first: AuthStep } | null {
  const exchange = mechanism === 'PLAIN' ? plainExchange() : mechanism === 'LOGIN' ? loginExchange() : null;
  if (exchange === null) return null;
  if (initial === null) {
    return { exchange, first: { kind: 'prompt', text: mechanism === 'LOGIN' ? USERNAME_PROMPT : '' } };
  }
  // RFC 4954 §4: a single `=` is an empty initial response.
  return { exchange, first: exchange.next(initial === '=' ? '' : initial) };
}

function plainExchange(): AuthExchange {
  return exchangeOf((text) => {
    const parts = text.split('\0');
    const [authorize, username, password] = parts;
    if (parts.length !== 3 || authorize === undefined || username === undefined || password === undefined) {
      return refused(REPLIES.authMalformed);
    }
    // Acting for another user is not supported.
    if (username === '' || (authorize !== '' && authorize !== username))
      return refused(REPLIES.authMalformed);
    return { kind: 'attempt', attempt: { username, password } };
  });
}

function loginExchange(): AuthExchange {
  let username: string | null = null;
  return exchangeOf((text) => {
    if (username !== null) return { kind: 'attempt', attempt: { username, password: text } };
    if (text === '') return refused(REPLIES.authMalformed);
    username = text;
    return { kind: 'prompt', text: PASSWORD_PROMPT };
  });
}

/** Each response is UTF-8 in Base64, or a star that ends the exchange (RFC 4954 §4). */
function exchangeOf(answer: (text: string) => AuthStep): AuthExchange {
  return {
    next(response) {
      if (response === '*') return refused(REPLIES.authCanceled);
      const text = decode(response);
      return text === null ? refused(REPLIES.notBase64) : answer(text);
    },
  };
}

function refused(reply: ServerReply): AuthStep {
  return { kind: 'refused', reply };
}

function decode(response: string): string | null {
  if (response.length % 4 !== 0 || !BASE64.test(response)) return null;
  const bytes = Buffer.from(response, 'base64');
  const text = bytes.toString('utf8');
  return bytes.toString('base64') === response && !text.includes('\ufffd') ? text : null;
}
