/**
 * The exchange of AUTH PLAIN (RFC 4616) and AUTH LOGIN, without checking the credentials. Takes the initial response or
 * null, then line after line; returns prompts and finally the credentials, or the reply that ends the exchange. Base64
 * is read strictly, so that each password has one encoding.
 */
import { REPLIES } from './server-reply.ts';
import type { AuthAttempt, ServerReply } from './server-types.ts';

export type AuthStep =
  /** `text`: what follows `334 `, base64 or empty. */
  | { kind: 'prompt'; text: string }
  | { kind: 'attempt'; attempt: AuthAttempt }
  | { kind: 'refused'; reply: ServerReply };

export interface AuthExchange {
  /** The next response of the peer, still in base64. */
  next(response: string): AuthStep;
}

const USERNAME_PROMPT = 'VXNlcm5hbWU6';
const PASSWORD_PROMPT = 'UGFzc3dvcmQ6';
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

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
