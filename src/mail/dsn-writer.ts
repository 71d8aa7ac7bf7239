/**
 * Writes delivery status notifications (RFC 3464 in the multipart/report of RFC 6522): words for a person, fields for a
 * program, and what comes back of the message itself. Given facts, leaves 7-bit CRLF bytes, the same for the same facts.
 * Nothing in the facts is trusted: names, replies and what the sender gave with its message are cut, and every octet that
 * could begin another field becomes `?`. The reader of such reports is dsn.ts; the two share nothing.
 */
import { cleanHeaderText, foldAddressList, foldUnstructured } from './header-fold.ts';
import { countNonAscii, encodeQuotedPrintable, quotedPrintableBound } from './transfer-encoding.ts';

/** RFC 3464 §2.3.3; `expanded` is nothing that happens here. */
export type ReportAction = 'failed' | 'delayed' | 'delivered' | 'relayed';

export interface ReportedRecipient {
  /** `local@domain`. */
  address: string;
  /** `type;address`, decoded; null = the sender gave none. */
  originalRecipient: string | null;
  action: ReportAction;
  /** RFC 3463. */
  status: string;
  /** The far side's reply with its code, or words of ours; null = none. */
  diagnostic: { type: 'smtp' | 'x-postrider'; text: string } | null;
  /** Host name; '' = none. */
  remoteMta: string;
  /** Dates of RFC 5322; null = none. */
  lastAttempt: string | null;
  willRetryUntil: string | null;
}

export interface StatusReport {
  /** Who writes, and whom it is for: parsed addresses. */
  from: string;
  to: string;
  subject: string;
  /** Dates of RFC 5322: of the report, and when the message came. */
  date: string;
  arrivalDate: string;
  /** Without angle brackets; letters and digits of it make the boundary. */
  messageId: string;
  reportingMta: string;
  /** The sender's own name for its transaction; null = none. */
  envelopeId: string | null;
  /** Words for a person; LF between lines. */
  text: string;
  /** At least one. */
  recipients: readonly ReportedRecipient[];
  /** `whole` needs a message of 7-bit lines; null: nothing of it is there any more. */
  returned: { kind: 'header' | 'whole'; bytes: Uint8Array } | null;
}

/** Display name of whoever writes reports. */
export const SENDER_NAME = 'Mail Delivery System';
const MAX_LINE = 76;
const MAX_VALUE = 900;
const CRLF = '\r\n';

/** The bytes of the report; `needsSmtpUtf8`: the address it is for is not ASCII. */
export function writeStatusReport(report: StatusReport): {
  bytes: Uint8Array;
  bodyOffset: number;
  needsSmtpUtf8: boolean;
} {
  const seed = report.messageId.replace(/[^A-Za-z0-9-]/g, '').slice(0, 48);
  // `=_` is nothing that quoted-printable can produce, and nobody knows the rest beforehand.
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

/** Whether a message may come back whole: 7-bit, no line over 998 octets (RFC 2045 §2.7), ended by CRLF. */
export function isSevenBitMessage(bytes: Uint8Array): boolean {
  let line = 0;
  for (let i = 0; i < bytes.length; i += 1) {
    const octet = bytes[i] ?? 0;
    if (octet === 10) {
      if (bytes[i - 1] !== 13) return false;
      line = 0;
    } else {
      line += 1;
      // The CR of the line's end is counted.
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

/** The third part. A header with octets above 127 is encoded, which a message never is (RFC 2046 §5.2.1). */
function returnedPart({ kind, bytes }: NonNullable<StatusReport['returned']>): Uint8Array {
  if (kind === 'header') return quotedPrintable('Content-Type: text/rfc822-headers', bytes);
  return Buffer.concat([
    Buffer.from(`Content-Type: message/rfc822${CRLF}${CRLF}`, 'latin1'),
    bytes,
    Buffer.from(CRLF, 'latin1'),
  ]);
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

/** One field, folded at blanks; '' where there is no value. */
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

/** `type;address`; one outside ASCII in the form of RFC 6533 §3, which every reader of plain fields can skip. */
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

/** For what stands between angle brackets: nothing that ends them or the line. */
function oneLine(text: string): string {
  return cleanHeaderText(text).replace(/[<>]/g, '?');
}
