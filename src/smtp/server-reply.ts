/**
 * The wire form of replies (RFC 5321 §4.2, enhanced codes by RFC 2034), and the fixed replies of the protocol. Takes a
 * reply with any text; returns lines of at most 510 octets with CRLF. A text can never start a line of its own: control
 * characters become spaces, and non-ASCII characters question marks unless the peer has requested UTF-8.
 */
import type { ServerReply } from './server-types.ts';

const MAX_TEXT_CHARS = 450;
const MAX_LINES = 20;
// biome-ignore lint/suspicious/noControlCharactersInRegex: keeping them out is its purpose
const CONTROLS = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/g;
const NOT_ASCII = /[^\x20-\x7e]/gu;

/** The reply with CRLF. 3xx and the reply to EHLO have no enhanced code (RFC 2034 §3). */
export function formatReply({ code, enhanced, text }: ServerReply): string {
  const lines = typeof text === 'string' ? [text] : text.slice(0, MAX_LINES);
  const prefix = enhanced === '' || (code >= 300 && code < 400) ? '' : `${enhanced} `;
  let out = '';
  for (let i = 0; i < lines.length; i += 1) {
    out += `${code}${i === lines.length - 1 ? ' ' : '-'}${prefix}${cleanText(lines[i] ?? '')}\r\n`;
  }
  return out;
}

function cleanText(text: string): string {
  return text.replace(CONTROLS, ' ').replace(NOT_ASCII, '?').slice(0, MAX_TEXT_CHARS);
}

export function reply(code: number, enhanced: string, text: string | readonly string[]): ServerReply {
  return { code, enhanced, text };
}

/** The reply to a message of more than `maxBytes`. */
export function tooLarge(maxBytes: number): ServerReply {
  return reply(
    552,
    '5.3.4',
    `Message too large; at most ${maxBytes} octets are taken, with attachments in base64, a third larger`,
  );
}

/** A reply after which the connection is closed. */
export function lastReply(code: number, enhanced: string, text: string): ServerReply {
  return { code, enhanced, text, close: true };
}

export const REPLIES = {
  ok: reply(250, '2.0.0', 'OK'),
  reset: reply(250, '2.0.0', 'Forgotten'),
  sender: reply(250, '2.1.0', 'Sender OK'),
  recipient: reply(250, '2.1.5', 'Recipient OK'),
  data: reply(354, '', 'Send the message; end with <CRLF>.<CRLF>'),
  cannotVerify: reply(252, '2.5.0', 'Not verified; send mail and it will be tried'),
  bye: lastReply(221, '2.0.0', 'Goodbye'),
  loggedIn: reply(235, '2.7.0', 'Authenticated'),
  startTls: reply(220, '2.0.0', 'Ready to start TLS'),

  unknown: reply(500, '5.5.1', 'Command not known'),
  noStartTls: reply(
    502,
    '5.5.1',
    'STARTTLS is not offered at this port; switch TLS off in the client, or use a port that begins with it',
  ),
  notOffered: reply(502, '5.5.1', 'Command not offered here'),
  notText: reply(500, '5.5.2', 'A command is one line of text without control characters, ended by CRLF'),
  bareLineEnd: reply(500, '5.5.2', 'Lines end with CRLF; a bare line feed is refused'),
  lineTooLong: reply(500, '5.5.2', 'Command line too long'),
  authLineTooLong: reply(500, '5.5.6', 'Authentication line too long'),
  noArgument: reply(501, '5.5.4', 'This command takes no argument'),
  helloName: reply(501, '5.5.4', 'Give your host name'),
  wrongOrder: reply(503, '5.5.1', 'Say EHLO first'),
  needMail: reply(503, '5.5.1', 'MAIL first'),
  needRcpt: reply(503, '5.5.1', 'RCPT first'),
  noRecipient: reply(554, '5.5.1', 'No recipient was taken'),
  nestedMail: reply(503, '5.5.1', 'A transaction is open already; RSET ends it'),
  inTransaction: reply(503, '5.5.1', 'Not within a transaction'),
  tooManyRecipients: reply(
    452,
    '4.5.3',
    'Too many recipients for one transaction; send the others in another',
  ),
  tlsAlready: reply(503, '5.5.1', 'TLS is active already'),
  tlsFirst: reply(538, '5.7.11', 'Encryption required: STARTTLS first'),
  loginFirst: reply(530, '5.7.0', 'Authentication required'),
  /** AUTH was not offered yet, so a client that has a password could not use it. */
  tlsThenLogin: reply(530, '5.7.0', 'Authentication required, which needs STARTTLS first'),
  loginAlready: reply(503, '5.5.1', 'Authenticated already'),
  mechanism: reply(504, '5.5.4', 'Mechanism not known; PLAIN or LOGIN'),
  notBase64: reply(501, '5.5.2', 'Not base64'),
  authMalformed: reply(501, '5.5.2', 'Malformed credentials'),
  authCanceled: reply(501, '5.7.0', 'Authentication canceled'),
  bareInData: reply(554, '5.6.0', 'The message holds a bare CR or LF; lines end with CRLF'),
  nulInData: reply(554, '5.6.0', 'The message holds a NUL octet'),
  noRoom: reply(452, '4.3.1', 'Too many messages are arriving at once; try again soon'),
  failed: reply(451, '4.3.0', 'Something went wrong here; try again later'),

  injected: lastReply(503, '5.5.1', 'Nothing may follow STARTTLS before the handshake'),
  chunking: lastReply(503, '5.5.1', 'CHUNKING is not offered'),
  notSmtp: lastReply(554, '5.5.1', 'This port speaks SMTP; HTTP has another port'),
  /** Sent only to a peer that has said nothing: others may wait for a record of TLS. */
  notTls: lastReply(
    554,
    '5.5.1',
    'No TLS was spoken to a port that begins with it; for STARTTLS use the other port',
  ),
  notPlain: lastReply(554, '5.5.1', 'This port speaks plain SMTP first; TLS begins with STARTTLS'),
  tooManyErrors: lastReply(421, '4.7.0', 'Too many errors'),
  tooManyIdle: lastReply(421, '4.7.0', 'Too many commands without a message'),
  endlessLine: lastReply(421, '4.7.0', 'Endless command line'),
  timeout: lastReply(421, '4.4.2', 'Timed out'),
  stopping: lastReply(421, '4.3.2', 'The server is stopping; try again soon'),
} as const satisfies Record<string, ServerReply>;
