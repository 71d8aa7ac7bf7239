/**
 * Writes delivery status notifications (RFC 3464 in the multipart/report of RFC 6522): a text for people, fields for
 * programs, and the returned part of the message. Returns 7-bit CRLF bytes, the same for the same input. No input is
 * trusted: names, replies and values of the sender are cut, and every octet that could begin another field becomes `?`.
 * Reports are read in dsn.ts, which shares nothing with this.
 */
import { cleanHeaderText, foldAddressList, foldUnstructured } from './header-fold.ts';
import { countNonAscii, encodeQuotedPrintable, quotedPrintableBound } from './transfer-encoding.ts';

/** RFC 3464 §2.3.3; `expanded` never occurs here. */
export type ReportAction = 'failed' | 'delayed' | 'delivered' | 'relayed';

export interface ReportedRecipient {
  /** `local@domain`. */
  address: string;
  /** `type;address`, decoded; null = not given by the sender. */
  originalRecipient: string | null;
  action: ReportAction;
  /** RFC 3463. */
  status: string;
  /** The remote's reply with its code, or our own text; null = none. */
  diagnostic: { type: 'smtp' | 'x-postrider'; text: string } | null;
  /** Host name, or an address in brackets; '' = none. */
  remoteMta: string;
  /** RFC 5322 date; null = none. */
  lastAttempt: string | null;
  willRetryUntil: string | null;
}

export interface StatusReport {
  /** The author of the report and its recipient, as parsed addresses. */
  from: string;
  to: string;
  subject: string;
  /** RFC 5322 dates: of the report, and of the message's arrival. */
  date: string;
  arrivalDate: string;
  /** Without angle brackets; its letters and digits make the boundary. */
  messageId: string;
  reportingMta: string;
  /** The sender's ENVID; null = none. */
  envelopeId: string | null;
  /** The text for people; LF between lines. */
  text: string;
  /** At least one. */
  recipients: readonly ReportedRecipient[];
  /** `whole` requires a message with 7-bit lines; null: the content no longer exists. */
  returned: { kind: 'header' | 'whole'; bytes: Uint8Array } | null;
}

/** Display name in From of reports. */
export const SENDER_NAME = 'Mail Delivery System';
const MAX_LINE = 76;
const MAX_VALUE = 900;
const CRLF = '\r\n';

/** The bytes of the report; `needsSmtpUtf8`: its recipient is not ASCII. */
export function writeStatusReport(report: StatusReport): {
  bytes: Uint8Array;
  bodyOffset: number;
  needsSmtpUtf8: boolean;
} {
  const seed = report.messageId.replace(/[^A-Za-z0-9-]/g, '').slice(0, 48);
  // `=_` cannot occur in quoted-printable, and nobody knows the rest beforehand.
  const boundary = `=_report_${seed}`;
  const header = Buffer.from(
    [
      foldAddressList('From', [{ name: SENDER_NAME, address: report.from }]),
      foldAddressList('To', [{ name: '', address: report.to }]),
      foldUnstructured('Subject', report.subject),
      `Date: ${report.date}${CRLF}`,
      `Message-ID: <${oneLine(report.messageId)}>${CRLF}`,
      `Auto-Submitted: auto-replied${CRLF}`,
      `MIME-Version: 1.0${CRLF}`,
      `Content-Type: multipart/report; report-type=delivery-status;${CRLF} boundary="${boundary}"${CRLF}`,
      CRLF,
    ].join(''),
    'utf8',
  );
  const parts = [textPart(report.text), statusPart(report)];
  if (report.returned !== null) parts.push(returnedPart(report.returned));
  const body: Uint8Array[] = [];
  for (const part of parts) body.push(Buffer.from(`--${boundary}${CRLF}`, 'latin1'), part);
  body.push(Buffer.from(`--${boundary}--${CRLF}`, 'latin1'));
  return {
    bytes: Buffer.concat([header, ...body]),
    bodyOffset: header.length,
    needsSmtpUtf8: countNonAscii(header) > 0,
  };
}

/** Whether a message can be returned completely: 7-bit, no line over 998 octets (RFC 2045 §2.7), ending with CRLF. */
export function isSevenBitMessage(bytes: Uint8Array): boolean {
  let line = 0;
  for (let i = 0; i < bytes.length; i += 1) {
    const octet = bytes[i] ?? 0;
    if (octet === 10) {
      if (bytes[i - 1] !== 13) return false;
      line = 0;
    } else {
      line += 1;
      // The CR of the line end is counted.
      if (octet > 127 || octet === 0 || line > 999) return false;
    }
  }
  return bytes.length > 0 && line === 0;
}

function textPart(text: string): Uint8Array {
  return quotedPrintable('Content-Type: text/plain; charset=utf-8', Buffer.from(text, 'utf8'));
}

function statusPart(report: StatusReport): Uint8Array {
  const perMessage = [
    field('Original-Envelope-Id', report.envelopeId),
    field('Reporting-MTA', `dns; ${report.reportingMta}`),
    field('Arrival-Date', report.arrivalDate),
  ].join('');
  const blocks = report.recipients.map((one) => recipientBlock(one));
  return Buffer.from(
    `Content-Type: message/delivery-status${CRLF}${CRLF}${[perMessage, ...blocks].join(CRLF)}${CRLF}`,
    'latin1',
  );
}

function recipientBlock(one: ReportedRecipient): string {
  return [
    field('Original-Recipient', one.originalRecipient === null ? null : typed(one.originalRecipient)),
    field('Final-Recipient', typed(`rfc822;${one.address}`)),
    field('Action', one.action),
    field('Status', one.status),
    field('Remote-MTA', one.remoteMta === '' ? null : `dns; ${one.remoteMta}`),
    field(
      'Diagnostic-Code',
      one.diagnostic === null ? null : `${one.diagnostic.type}; ${one.diagnostic.text}`,
    ),
    field('Last-Attempt-Date', one.lastAttempt),
    field('Will-Retry-Until', one.willRetryUntil),
  ].join('');
}

/**
 * The third part, as it was: programs look for their Message-ID in it without decoding. A header that is not 7-bit is
 * encoded (RFC 6522 §4); a whole message never is (RFC 2046 §5.2.1).
 */
function returnedPart({ kind, bytes }: NonNullable<StatusReport['returned']>): Uint8Array {
  const type = `Content-Type: ${kind === 'header' ? 'text/rfc822-headers' : 'message/rfc822'}`;
  if (kind === 'header' && !isSevenBitMessage(bytes)) return quotedPrintable(type, bytes);
  return Buffer.concat([Buffer.from(`${type}${CRLF}${CRLF}`, 'latin1'), bytes, Buffer.from(CRLF, 'latin1')]);
}

function quotedPrintable(type: string, bytes: Uint8Array): Uint8Array {
  const target = Buffer.allocUnsafe(quotedPrintableBound(bytes.length));
  const end = encodeQuotedPrintable(bytes, target, 0);
  return Buffer.concat([
    Buffer.from(`${type}${CRLF}Content-Transfer-Encoding: quoted-printable${CRLF}${CRLF}`, 'latin1'),
    target.subarray(0, end),
    Buffer.from(CRLF, 'latin1'),
  ]);
}

/** One field, folded at blanks; '' without a value. */
function field(name: string, value: string | null): string {
  if (value === null) return '';
  const words = asciiOnly(value).slice(0, MAX_VALUE).split(' ');
  let out = `${name}:`;
  let column = out.length;
  for (const word of words) {
    if (word === '') continue;
    const room = column + 1 + word.length <= MAX_LINE || column <= name.length + 1;
    out += room ? ` ${word}` : `${CRLF} ${word}`;
    column = room ? column + 1 + word.length : 1 + word.length;
  }
  return `${out}${CRLF}`;
}

/** `type;address`; a non-ASCII address in the form of RFC 6533 §3, which older programs ignore. */
function typed(text: string): string {
  const semicolon = text.indexOf(';');
  const type = text.slice(0, semicolon).replace(/[^A-Za-z0-9-]/g, '');
  const address = text.slice(semicolon + 1);
  if (/^[\x20-\x7e]*$/.test(address) || !address.isWellFormed()) return `${type};${address}`;
  let out = '';
  for (const character of address) {
    const code = character.codePointAt(0) ?? 0;
    const plain = code > 32 && code < 127 && character !== '\\' && character !== '+' && character !== '=';
    out += plain ? character : `\\x{${code.toString(16).toUpperCase()}}`;
  }
  return `utf-8;${out}`;
}

function asciiOnly(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?');
}

/** Text between angle brackets, without characters that would end them or the line. */
function oneLine(text: string): string {
  return cleanHeaderText(text).replace(/[<>]/g, '?');
}
