/**
 * Reads delivery status notifications (RFC 3464). Takes a parsed MIME message; returns what the report says of every
 * recipient; null if it is not such a report. Reports written for people are read in `bounce-text.ts`. No content is
 * trusted: the address that the report was sent to says which delivery it concerns.
 */
import { decodeWords } from './decode-words.ts';
import { bodyOf, fieldOf, type MimePart, ownParts, walkParts } from './mime-tree.ts';
import { rawFieldValue, readHeaderLines } from './raw-header.ts';
import { readableText } from './readable-text.ts';

export type DsnAction = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded';

export interface DsnRecipient {
  action: DsnAction;
  /** RFC 3463, null where there is none. */
  status: string | null;
  /** The remote's text without its type, '' = none; at most 1024 characters. */
  diagnostic: string;
  /** The text is an SMTP reply and begins with its code. */
  isSmtp: boolean;
  /** As written, without type and brackets, in its original case; null = not named. */
  finalRecipient: string | null;
  originalRecipient: string | null;
  /** The server that reported it, '' = not named. */
  remoteMta: string;
}

/** A header field of a report: name in lower case, value unfolded, each run of blanks as one. */
export interface ReportField {
  readonly name: string;
  readonly value: string;
}

export interface DsnReport {
  reportingMta: string;
  recipients: readonly DsnRecipient[];
  /** Header fields of the returned message, if present. */
  returned: readonly ReportField[];
}

const STATUS_TYPES: ReadonlySet<string> = new Set([
  'message/delivery-status',
  'message/global-delivery-status',
]);
/** Parts that contain the returned message, or only its header. */
const RETURNED_TYPES: ReadonlySet<string> = new Set([
  'message/rfc822',
  'message/global',
  'text/rfc822-headers',
  'message/global-headers',
  'text/rfc822-header',
]);
const MAX_REPORT_BYTES = 256 * 1024;
const MAX_FIELDS = 500;
const MAX_VALUE_CHARS = 8 * 1024;
const MAX_DIAGNOSTIC = 1024;
const MAX_ADDRESS = 320;
const MAX_RECIPIENTS = 1000;
/** One is about the report itself; many others that name nobody are an attempt to cost time. */
const MAX_GROUPS = 2 * MAX_RECIPIENTS;
const ENHANCED = /\b([245]\.\d{1,3}\.\d{1,3})\b/;
const SMTP_CODE = /^\s{0,20}[2-5]\d\d(?![0-9.])/;

/** In `From`: what mail systems call themselves, in any language. */
const MAIL_SYSTEM =
  /\b(?:mailer|mail|m)?[-_. ]?daemon\b|\bpost[-_]?master\b|\bmail (?:delivery|system|administrator)\b|\bmail[-_]?admin|\bmicrosoftexchange[0-9a-f]{8}|^(?:<>)?$/;
/** How subjects of answers and of mail that was passed on begin. */
const PASSED_ON =
  /^(?:re|fwd?|aw|wg|tr|rv|sv|vs|antw|odp|pd|enc|rif|vb|vl|ynt|ilt|doorst|ang|res|r|i)\s?(?:\[\d{1,3}\]\s?)?[:：]|^(?:回复|回覆|答复|转发|轉寄|返信|転送|답장|회신|전달)\s?[:：]/i;

/** Whether a mail system sent `mail`, by its name. */
export function isFromMailSystem(mail: MimePart): boolean {
  return MAIL_SYSTEM.test(decodeWords(fieldOf(mail, 'from') ?? '').toLowerCase());
}

/** Whether a person answers or passes on what somebody else wrote, such as a report that they received themselves. */
export function isPassedOn(mail: MimePart): boolean {
  if (mail.type === 'multipart/report' || isFromMailSystem(mail)) return false;
  return (
    fieldOf(mail, 'in-reply-to') !== null ||
    PASSED_ON.test(decodeWords(fieldOf(mail, 'subject') ?? '').trim())
  );
}

/** The report in `mail`, or null. Every per-recipient block counts, also those without an action (RFC 3464 §2.3). */
export function readDsn(mail: MimePart): DsnReport | null {
  // A report that this report is about is inside the returned message.
  const status = [...ownParts(mail)].find(({ type }) => STATUS_TYPES.has(type));
  if (status === undefined || isPassedOn(mail)) return null;
  const recipients: DsnRecipient[] = [];
  let reportingMta = '';
  for (const fields of blocksOf(bodyOf(status, MAX_REPORT_BYTES))) {
    if (recipients.length === MAX_RECIPIENTS) break;
    reportingMta ||= typedValue(fieldValue(fields, 'reporting-mta')).value;
    const recipient = recipientOf(fields, reportingMta);
    if (recipient !== null) recipients.push(recipient);
  }
  if (recipients.length === 0) return null;
  return { reportingMta, recipients, returned: returnedFields(mail) };
}

/** Header fields of the message that a report returns, whole or only its header; empty if it returns none. */
export function returnedFields(mail: MimePart): readonly ReportField[] {
  for (const part of walkParts(mail)) {
    if (part === mail) continue;
    if (RETURNED_TYPES.has(part.type)) return reportFields(bodyOf(part, MAX_REPORT_BYTES), 0).fields;
  }
  return [];
}

/** The fields of the header at `from`, at most 500, and the offset after it. */
function reportFields(text: Buffer, from: number): { fields: ReportField[]; next: number } {
  const { fields, bodyOffset } = readHeaderLines(text, from);
  const read = fields.slice(0, MAX_FIELDS).map((field) => ({
    name: field.name,
    value: rawFieldValue(text, field)
      .slice(0, MAX_VALUE_CHARS)
      .replace(/[ \t]+/g, ' '),
  }));
  return { fields: read, next: bodyOffset };
}

/** The value of the first field of that (lower-case) name, or null. */
export function fieldValue(fields: readonly ReportField[], name: string): string | null {
  return fields.find((field) => field.name === name)?.value ?? null;
}

/** The first `most` groups of fields between empty lines (RFC 3464 §2.1). */
export function* fieldGroups(text: Buffer, most: number): Generator<readonly ReportField[]> {
  let count = 0;
  for (let at = 0; at < text.length && count < most; ) {
    const { fields, next } = reportFields(text, at);
    if (fields.length > 0) {
      yield fields;
      count += 1;
    }
    at = next;
  }
}

const RECIPIENT_FIELDS: ReadonlySet<string> = new Set(['original-recipient', 'final-recipient']);
/** Fields of which a block has one (RFC 3464 §2.3). */
const OF_ONE_BLOCK: ReadonlySet<string> = new Set([
  ...RECIPIENT_FIELDS,
  'action',
  'status',
  'diagnostic-code',
]);

/**
 * The blocks of a report: about itself, and about each recipient. Empty lines alone do not separate them, because some
 * programs write one after each field, and others none between two recipients.
 */
function* blocksOf(text: Buffer): Generator<readonly ReportField[]> {
  let block: ReportField[] = [];
  let names = new Set<string>();
  for (const group of fieldGroups(text, MAX_GROUPS)) {
    const namesRecipient = group.some(({ name }) => RECIPIENT_FIELDS.has(name));
    const isMore =
      (names.has('final-recipient') || names.has('original-recipient')) &&
      !(namesRecipient && names.has('action')) &&
      !group.some(({ name }) => name === 'reporting-mta' || (OF_ONE_BLOCK.has(name) && names.has(name)));
    const parts = isMore ? [] : [block];
    if (!isMore) [block, names] = [[], new Set()];
    for (const field of group) {
      if (RECIPIENT_FIELDS.has(field.name) && names.has(field.name)) {
        parts.push(block);
        [block, names] = [[], new Set()];
      }
      block.push(field);
      names.add(field.name);
    }
    for (const part of parts) if (part.length > 0) yield part;
  }
  if (block.length > 0) yield block;
}

function recipientOf(fields: readonly ReportField[], reportingMta: string): DsnRecipient | null {
  const value = (name: string) => fieldValue(fields, name);
  const final = value('final-recipient');
  const original = value('original-recipient');
  const status = ENHANCED.exec(value('status') ?? '')?.[1] ?? null;
  const { type, value: words } = typedValue(decodeWords(value('diagnostic-code') ?? ''));
  const told = readableText(words).replace(/\s+/g, ' ').trim().slice(0, MAX_DIAGNOSTIC);
  // Sendmail gives the exit code of a local program, whose meaning is in the text for people.
  const diagnostic = type === 'x-unix' && /^\d{1,3}$/.test(told) ? '' : told;
  const isSmtp = SMTP_CODE.test(diagnostic) && (type === 'smtp' || type === '');
  const action = actionOf(value('action'), status ?? (isSmtp ? diagnostic : null));
  if ((final === null && original === null) || action === null) return null;
  const finalRecipient = addressOf(final);
  const actual = addressOf(value('x-actual-recipient'));
  return behindForwarding(
    {
      action,
      status,
      diagnostic,
      isSmtp,
      finalRecipient,
      originalRecipient: originalAddressOf(original),
      remoteMta: typedValue(value('remote-mta')).value.slice(0, 255),
    },
    actual === null || isMailboxAt(reportingMta, actual, finalRecipient) ? null : actual,
  );
}

/**
 * `one` with the address that was really refused as its final recipient. Exim and Sendmail name there the address as they
 * received it, also where its forwarding failed.
 */
export function behindForwarding(one: DsnRecipient, actual: string | null): DsnRecipient {
  return actual === null
    ? one
    : { ...one, finalRecipient: actual, originalRecipient: one.originalRecipient ?? one.finalRecipient };
}

/** Sendmail adds its own host to the name of each local mailbox, also where nothing was forwarded. */
function isMailboxAt(host: string, actual: string, final: string | null): boolean {
  const name = final === null ? '' : final.slice(0, final.lastIndexOf('@'));
  return `${name}@${host}`.toLowerCase() === actual.toLowerCase();
}

/** The action as written, or what the status or the reply means if there is none. */
function actionOf(text: string | null, status: string | null): DsnAction | null {
  const word = /^[a-z]{1,20}/.exec((text ?? '').trim().toLowerCase())?.[0] ?? '';
  switch (word) {
    case 'failed':
    case 'failure':
      return 'failed';
    case 'delayed':
      return 'delayed';
    case 'delivered':
    case 'relayed':
    case 'expanded':
      return word;
    case '':
      return status === null
        ? null
        : status.startsWith('5')
          ? 'failed'
          : status.startsWith('4')
            ? 'delayed'
            : 'delivered';
    default:
      return null;
  }
}

/** `smtp; 550 …` → both parts; without a type the whole text is the value. */
function typedValue(text: string | null): { type: string; value: string } {
  if (text === null) return { type: '', value: '' };
  const semicolon = text.indexOf(';');
  const type = text.slice(0, Math.max(0, semicolon)).trim().toLowerCase();
  if (semicolon === -1 || !/^[a-z0-9-]{1,40}$/.test(type)) return { type: '', value: text.trim() };
  return { type, value: text.slice(semicolon + 1).trim() };
}

/**
 * `rfc822;<a@example.net>` → `a@example.net` as written (RFC 3464 §2.3.2), without a name, a comment and `mailto:`; with
 * type `utf-8`, `\x{E4}` is a character (RFC 6533 §3). null if empty or invalid.
 */
function addressOf(text: string | null): string | null {
  if (text === null) return null;
  const { type, value } = typedValue(text.slice(0, 2 * MAX_ADDRESS));
  const named = /<([^<>]{1,340})>\s{0,20}$/.exec(value)?.[1] ?? value;
  const bare = named
    .replace(/\s\([^()]{0,200}\)$/, '')
    .replace(/^[<\s]{1,20}/, '')
    .replace(/[>\s]{1,20}$/, '')
    .replace(/^mailto:/i, '');
  if (bare.length === 0 || bare.length > MAX_ADDRESS || !bare.includes('@')) return null;
  return readableText(type === 'utf-8' ? bare.replace(/\\x\{([0-9a-f]{2,6})\}/gi, characterOf) : bare);
}

function characterOf(written: string, hexadecimal: string): string {
  const code = Number.parseInt(hexadecimal, 16);
  return code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? written : String.fromCodePoint(code);
}

/**
 * An Original-Recipient, which many servers return as they got it in ORCPT, in xtext (RFC 3461 §4). It is decoded only
 * if every plus sign encodes one of the two printable characters that xtext must encode; otherwise the plus sign
 * belongs to the address, as in `ann+AB@example.net`.
 */
function originalAddressOf(text: string | null): string | null {
  const address = addressOf(text);
  if (address === null || /\+(?!2B|3D)/.test(address)) return address;
  return address.replaceAll('+2B', '\u0000').replaceAll('+3D', '=').replaceAll('\u0000', '+');
}
