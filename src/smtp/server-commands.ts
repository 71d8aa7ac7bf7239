/**
 * Command lines of untrusted peers: from the octets of one line to a command with checked arguments, or the reply that
 * refuses it (RFC 5321 §4.1, and the extensions' parameters). One pass; nothing is guessed. An argument cannot contain
 * a second command, because `lineText` refuses control characters.
 */
import { asBuffer } from '../lib/as-buffer.ts';
import { parseAddress } from '../mail/address.ts';
import { isAscii } from '../mail/address-text.ts';
import { REPLIES, reply, tooLarge } from './server-reply.ts';
import type { MailFrom, RcptTo, ServerReply } from './server-types.ts';

export type Command =
  | { verb: 'EHLO' | 'HELO'; name: string }
  | { verb: 'MAIL' | 'RCPT'; argument: string }
  | { verb: 'AUTH'; mechanism: string; initial: string | null }
  | { verb: 'DATA' | 'STARTTLS' | 'RSET' | 'QUIT' | 'NOOP' | 'HELP' | 'VRFY' }
  | { verb: 'refused'; reply: ServerReply };

type PathResult<T> = { ok: true; value: T } | { ok: false; reply: ServerReply };

/** RFC 5321 §4.5.3.1.4 says 512 and the extensions add to it; legitimate commands are far shorter. */
const MAX_COMMAND_BYTES = 2048;
/** RFC 4954 §4.3: the length of an AUTH line without its CRLF. */
export const MAX_AUTH_BYTES = 12_288;

/** A peer that continues after this much of a line, or this much more than twice a message, does not intend to end. */
export const MAX_ENDLESS_BYTES = 64 * 1024;

const CR = 13;
const MAX_NAME_CHARS = 255;
const MAX_ENVID_CHARS = 100;
const MAX_ORCPT_CHARS = 500;
const PARAMETER = /^[A-Za-z0-9][A-Za-z0-9-]*(?:=[!-<>-~]+)?$/;
/** First words of other protocols, sent by web browsers and scanners that were directed to this port. */
const FOREIGN = new Set([
  'GET',
  'POST',
  'PUT',
  'HEAD',
  'OPTIONS',
  'CONNECT',
  'DELETE',
  'PATCH',
  'TRACE',
  'PRI',
]);
const NOT_OFFERED = new Set(['EXPN', 'SEND', 'SOML', 'SAML', 'TURN', 'ETRN', 'ATRN', 'BURL']);

/**
 * A line of a command, or of a login, as text; or why it is refused. `line`: with its end, cut if it is longer than allowed;
 * `length`: its real length.
 */
export function lineText(line: Uint8Array, length: number, isLogin: boolean): string | ServerReply {
  if (length > MAX_AUTH_BYTES + 2) return isLogin ? REPLIES.authLineTooLong : REPLIES.lineTooLong;
  if (line[line.length - 2] !== CR) return REPLIES.bareLineEnd;
  const text = commandText(line.subarray(0, line.length - 2));
  if (text === null) return REPLIES.notText;
  const isLong = length > MAX_COMMAND_BYTES && !isLogin && !/^AUTH /i.test(text);
  return isLong ? REPLIES.lineTooLong : text;
}

/** A line without its CRLF as text; null if it contains a control character or is not UTF-8. */
function commandText(line: Uint8Array): string | null {
  let ascii = true;
  for (const octet of line) {
    if (octet < 32 || octet === 127) return null;
    if (octet > 127) ascii = false;
  }
  const bytes = asBuffer(line);
  if (ascii) return bytes.toString('latin1');
  const text = bytes.toString('utf8');
  // C1 control characters have two octets in UTF-8.
  return text.includes('\ufffd') || /[\x80-\x9f]/.test(text) ? null : text;
}

/** The command of a line. Verbs and keywords in any case; blanks at the end are ignored (RFC 5321 §4.1.1). */
export function parseCommand(line: string): Command {
  const text = line.trimEnd();
  const space = text.indexOf(' ');
  const verb = (space === -1 ? text : text.slice(0, space)).toUpperCase();
  const rest = space === -1 ? '' : text.slice(space + 1).trim();
  switch (verb) {
    case 'EHLO':
    case 'HELO':
      return rest === '' ? { verb: 'refused', reply: REPLIES.helloName } : { verb, name: helloName(rest) };
    case 'MAIL':
    case 'RCPT':
      return { verb, argument: rest };
    case 'AUTH': {
      const [mechanism = '', initial = null, ...more] = rest.split(' ');
      if (mechanism === '' || more.length > 0) {
        return { verb: 'refused', reply: reply(501, '5.5.4', 'Use AUTH PLAIN or AUTH LOGIN') };
      }
      return { verb, mechanism: mechanism.toUpperCase(), initial };
    }
    case 'DATA':
    case 'STARTTLS':
    case 'RSET':
    case 'QUIT':
      return rest === '' ? { verb } : { verb: 'refused', reply: REPLIES.noArgument };
    case 'NOOP':
    case 'HELP':
    case 'VRFY':
      return { verb };
    case 'BDAT':
      // The octets of the chunk would follow and be read as commands.
      return { verb: 'refused', reply: REPLIES.chunking };
    default:
      if (FOREIGN.has(verb)) return { verb: 'refused', reply: REPLIES.notSmtp };
      return { verb: 'refused', reply: NOT_OFFERED.has(verb) ? REPLIES.notOffered : REPLIES.unknown };
  }
}

/** The first word, made safe for a Received header. Nothing depends on this name, so no form of it is refused. */
function helloName(rest: string): string {
  const [word = ''] = rest.split(' ', 1);
  return word.slice(0, MAX_NAME_CHARS).replace(/[^A-Za-z0-9._:[\]-]/g, '?');
}

/** `FROM:<path> parameters` of MAIL. */
export function parseMail(
  argument: string,
  options: { maxMessageBytes: number; dsn: boolean; minLabels: number },
): PathResult<MailFrom> {
  const found = splitPath(argument, 'FROM:');
  if (found === null) return refuse(501, '5.5.4', 'Use MAIL FROM:<address>');
  const parameters = splitParameters(found.rest);
  if (!parameters.ok) return parameters;
  let size: number | null = null;
  let smtpUtf8 = false;
  let ret: MailFrom['ret'] = null;
  let envid: string | null = null;
  for (const [name, value] of parameters.value) {
    if (name === 'SIZE') {
      if (value === null || !/^\d{1,20}$/.test(value)) return badParameter(name);
      size = Number(value);
    } else if (name === 'BODY') {
      const body = value?.toUpperCase();
      if (body !== '7BIT' && body !== '8BITMIME') return badParameter(name);
    } else if (name === 'SMTPUTF8') {
      if (value !== null) return badParameter(name);
      smtpUtf8 = true;
    } else if (name === 'AUTH') {
      // RFC 4954 §5: must be accepted where AUTH is offered; its claim is ignored.
      if (value === null || decodeXtext(value) === null) return badParameter(name);
    } else if (name === 'RET' && options.dsn) {
      const word = value?.toUpperCase();
      if (word !== 'FULL' && word !== 'HDRS') return badParameter(name);
      ret = word;
    } else if (name === 'ENVID' && options.dsn) {
      const text = value === null || value.length > MAX_ENVID_CHARS ? null : decodeXtext(value);
      if (text === null) return badParameter(name);
      envid = text;
    } else return unknownParameter(name);
  }
  if (size !== null && size > options.maxMessageBytes) {
    return { ok: false, reply: tooLarge(options.maxMessageBytes) };
  }
  const facts = { size, smtpUtf8, ret, envid };
  if (found.path === '') return { ok: true, value: { address: null, ...facts } };
  const parsed = parseAddress(withoutRoute(found.path), options.minLabels);
  if (!parsed.ok) return refuse(553, '5.1.7', `The sender address ${parsed.problem}`);
  if (!smtpUtf8 && !isAscii(found.path)) return refuse(553, '5.6.7', 'A sender outside ASCII needs SMTPUTF8');
  return { ok: true, value: { address: parsed.address, ...facts } };
}

/** `TO:<path> parameters` of RCPT. */
export function parseRcpt(
  argument: string,
  options: { smtpUtf8: boolean; dsn: boolean; minLabels: number },
): PathResult<RcptTo> {
  const found = splitPath(argument, 'TO:');
  if (found === null || found.path === '') return refuse(501, '5.5.4', 'Use RCPT TO:<address>');
  const parameters = splitParameters(found.rest);
  if (!parameters.ok) return parameters;
  let notify: RcptTo['notify'] = [];
  let orcpt: string | null = null;
  for (const [name, value] of parameters.value) {
    if (name === 'NOTIFY' && options.dsn) {
      const words = readNotify(value);
      if (words === null) return badParameter(name);
      notify = words;
    } else if (name === 'ORCPT' && options.dsn) {
      const semicolon = value?.indexOf(';') ?? -1;
      const text =
        value === null || value.length > MAX_ORCPT_CHARS ? null : decodeXtext(value.slice(semicolon + 1));
      if (value === null || semicolon < 1 || text === null) return badParameter(name);
      orcpt = `${value.slice(0, semicolon)};${text}`;
    } else return unknownParameter(name);
  }
  if (found.path.toLowerCase() === 'postmaster') return { ok: true, value: { address: null, notify, orcpt } };
  const parsed = parseAddress(withoutNeedlessQuotes(withoutRoute(found.path)), options.minLabels);
  if (!parsed.ok) return refuse(553, '5.1.3', `The recipient address ${parsed.problem}`);
  if (!options.smtpUtf8 && !isAscii(found.path)) {
    return refuse(553, '5.6.7', 'A recipient outside ASCII needs SMTPUTF8 at MAIL');
  }
  return { ok: true, value: { address: parsed.address, notify, orcpt } };
}

/** The text between `<` and the `>` that ends it (not one inside quotes), and what follows. */
function splitPath(argument: string, keyword: string): { path: string; rest: string } | null {
  if (argument.slice(0, keyword.length).toUpperCase() !== keyword) return null;
  let at = keyword.length;
  // A blank after the colon is wrong but common.
  if (argument.charCodeAt(at) === 32) at += 1;
  if (argument.charCodeAt(at) !== 60) return null;
  let quoted = false;
  for (let i = at + 1; i < argument.length; i += 1) {
    const code = argument.charCodeAt(i);
    if (code === 92 && quoted) i += 1;
    else if (code === 34) quoted = !quoted;
    else if (code === 60 && !quoted) return null;
    else if (code === 62 && !quoted) {
      const rest = argument.slice(i + 1);
      if (rest !== '' && rest.charCodeAt(0) !== 32) return null;
      return { path: argument.slice(at + 1, i), rest: rest.trim() };
    }
  }
  return null;
}

/** A source route is accepted and ignored (RFC 5321 §4.1.1.3, Appendix C). */
function withoutRoute(path: string): string {
  if (path.charCodeAt(0) !== 64) return path;
  const colon = path.indexOf(':');
  return colon === -1 ? path : path.slice(colon + 1);
}

/** `"a.b"@c` is `a.b@c` (RFC 5321 §4.1.2); a local part that needs its quotes keeps them and is refused. */
function withoutNeedlessQuotes(path: string): string {
  const end = path.lastIndexOf('"@');
  return path.startsWith('"') && end > 0 ? path.slice(1, end) + path.slice(end + 1) : path;
}

function splitParameters(
  text: string,
): PathResult<readonly (readonly [name: string, value: string | null])[]> {
  const found: (readonly [string, string | null])[] = [];
  if (text === '') return { ok: true, value: found };
  const seen = new Set<string>();
  for (const word of text.split(' ')) {
    if (word === '') continue;
    if (!PARAMETER.test(word)) return refuse(501, '5.5.4', 'Malformed parameter');
    const equals = word.indexOf('=');
    const name = (equals === -1 ? word : word.slice(0, equals)).toUpperCase();
    if (seen.has(name)) return refuse(501, '5.5.4', `The parameter ${name} is given twice`);
    seen.add(name);
    found.push([name, equals === -1 ? null : word.slice(equals + 1)]);
  }
  return { ok: true, value: found };
}

function readNotify(value: string | null): RcptTo['notify'] | null {
  const words = new Set<'NEVER' | 'SUCCESS' | 'FAILURE' | 'DELAY'>();
  for (const item of (value ?? '').toUpperCase().split(',')) {
    if (item !== 'NEVER' && item !== 'SUCCESS' && item !== 'FAILURE' && item !== 'DELAY') return null;
    words.add(item);
  }
  return words.has('NEVER') && words.size > 1 ? null : [...words];
}

/** RFC 3461 §4: `+HH` is an octet; other characters are printable ASCII except `+` and `=`. null if invalid. */
export function decodeXtext(value: string): string | null {
  let out = '';
  for (let i = 0; i < value.length; i += 1) {
    const code = value.charCodeAt(i);
    if (code < 33 || code > 126 || code === 61) return null;
    if (code !== 43) {
      out += value.charAt(i);
      continue;
    }
    const hex = value.slice(i + 1, i + 3);
    if (!/^[0-9A-F]{2}$/.test(hex)) return null;
    const octet = Number.parseInt(hex, 16);
    // Control characters are invalid in an address or an envelope id.
    if (octet < 32 || octet > 126) return null;
    out += String.fromCharCode(octet);
    i += 2;
  }
  return out;
}

function refuse(code: number, enhanced: string, text: string): { ok: false; reply: ServerReply } {
  return { ok: false, reply: reply(code, enhanced, text) };
}

function badParameter(name: string): { ok: false; reply: ServerReply } {
  return refuse(501, '5.5.4', `The parameter ${name} has no valid value`);
}

function unknownParameter(name: string): { ok: false; reply: ServerReply } {
  return refuse(555, '5.5.4', `The parameter ${name.slice(0, 40)} is not known or not offered`);
}
