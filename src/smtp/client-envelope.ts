/**
 * The commands of one transaction: MAIL, RCPT and their parameters, depending on the server's extensions. Takes a
 * transaction and the server's capabilities; returns command lines with CRLF that passed the guard, or the reason why
 * this message cannot go to this server (then nothing was sent).
 */
import type { Transaction, TransactionResult } from './client-types.ts';
import { commandLine, isSafePath } from './command-guard.ts';
import type { Capabilities } from './ehlo.ts';

type NotSendable = Extract<TransactionResult, { kind: 'not-sendable' }>;

export type Envelope = { kind: 'envelope'; mail: string; rcpts: readonly string[] } | NotSendable;

const UNSAFE: NotSendable = { kind: 'not-sendable', why: 'unsafe-command' };

/** xtext (RFC 3461 §4): printable ASCII unchanged, `+`, `=` and others as `+HH`; null for text outside ASCII. */
export function xtext(value: string): string | null {
  let out = '';
  for (let i = 0; i < value.length; i += 1) {
    const code = value.charCodeAt(i);
    if (code > 126) return null;
    const plain = code > 32 && code !== 43 && code !== 61;
    out += plain ? value.charAt(i) : `+${code.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return out;
}

function mailParameters(tx: Transaction, offered: Capabilities): string {
  let out = '';
  if (offered.sizeOffered) out += ` SIZE=${tx.size}`;
  if (tx.eightBit) out += ' BODY=8BITMIME';
  if (tx.smtpUtf8) out += ' SMTPUTF8';
  // RFC 3461 §6.1: there are no notices about mail from the null sender.
  if (tx.dsn !== undefined && offered.dsn && tx.mailFrom !== '') {
    const envid = xtext(tx.dsn.envid ?? '');
    out += ` RET=${tx.dsn.ret ?? 'HDRS'}`;
    // RFC 3461 §4.4: at most 100 characters.
    if (envid !== null && envid !== '' && envid.length <= 100) out += ` ENVID=${envid}`;
  }
  return out;
}

function rcptParameters(tx: Transaction, recipient: string, offered: Capabilities): string {
  if (tx.dsn === undefined || !offered.dsn) return '';
  if (tx.mailFrom === '') return ' NOTIFY=NEVER';
  const { notify = ['FAILURE', 'DELAY'], orcpt } = tx.dsn;
  const own = xtext(recipient);
  const original = orcpt ?? (own === null ? null : `rfc822;${own}`);
  const asked = notify.length === 0 ? '' : ` NOTIFY=${notify.join(',')}`;
  // RFC 3461 §4.2: at most 500 characters.
  return original === null || original.length > 500 ? asked : `${asked} ORCPT=${original}`;
}

/** The envelope of `tx` for a server with these capabilities. */
export function buildEnvelope(tx: Transaction, offered: Capabilities): Envelope {
  if (offered.maxSize !== null && tx.size > offered.maxSize) {
    return { kind: 'not-sendable', why: 'too-large', limit: offered.maxSize };
  }
  if (tx.smtpUtf8 && !offered.smtpUtf8) return { kind: 'not-sendable', why: 'smtputf8-unsupported' };
  if (tx.eightBit && !offered.eightBitMime) return { kind: 'not-sendable', why: 'eight-bit-unsupported' };
  if (!isSafePath(tx.mailFrom)) return UNSAFE;
  const mail = commandLine(`MAIL FROM:<${tx.mailFrom}>${mailParameters(tx, offered)}`, tx.smtpUtf8);
  if (mail === null || tx.recipients.length === 0) return UNSAFE;
  const rcpts: string[] = [];
  for (const recipient of tx.recipients) {
    if (recipient === '' || !isSafePath(recipient)) return UNSAFE;
    const rcpt = commandLine(`RCPT TO:<${recipient}>${rcptParameters(tx, recipient, offered)}`, tx.smtpUtf8);
    if (rcpt === null) return UNSAFE;
    rcpts.push(rcpt);
  }
  return { kind: 'envelope', mail, rcpts };
}
