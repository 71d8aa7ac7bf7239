/**
 * Finds the fields in the header of a received message (RFC 5322 §2.2) without changing it, and returns their values on
 * request. Takes a message with CRLF line ends; returns fields in order and the offset of the body. A line that is
 * neither a field nor a continuation, or a header that is too long, is `malformed`; nothing is corrected, because every
 * program would correct it differently. One pass.
 */
import { isAscii } from 'node:buffer';
import { asBuffer } from '../lib/as-buffer.ts';
import { textOfOctets } from './readable-text.ts';

export interface RawField {
  /** Lower case. */
  readonly name: string;
  /** Offset of its first octet, and of the octet after its last CRLF. */
  readonly start: number;
  readonly end: number;
  /** Offset after the colon. */
  readonly valueStart: number;
}

/** A header as far as it could be read. */
export interface HeaderLines {
  readonly fields: readonly RawField[];
  /** After its last line, before the empty line. */
  readonly headerEnd: number;
  /** First octet of the body; equal to `headerEnd` if there is no empty line. */
  readonly bodyOffset: number;
  /** Some octet of the header is above 127. */
  readonly eightBit: boolean;
  /** Offset of the first line that is neither a field nor a continuation, or of what exceeds the limit; null = none. */
  readonly fault: { readonly at: number; readonly tooLarge: boolean } | null;
}

export type RawHeader =
  | ({ readonly kind: 'header' } & Omit<HeaderLines, 'fault'>)
  | { readonly kind: 'malformed'; readonly detail: string };

const MAX_HEADER_BYTES = 256 * 1024;
const MAX_FIELDS = 2000;
/** So far it is faster to look at each octet than to call `indexOf`. */
const NEAR_OCTETS = 256;
const SP = 32;
const TAB = 9;
const CR = 13;
const LF = 10;
const COLON = 58;
const HYPHEN = 45;

/** Reads the header of `message`, whose lines end with CRLF. */
export function readRawHeader(message: Uint8Array): RawHeader {
  const { fault, ...header } = readHeaderLines(message, 0);
  if (fault === null) return { kind: 'header', ...header };
  const detail = fault.tooLarge
    ? 'the header is too large'
    : `line ${lineNumber(message, fault.at)} is no header field, and no empty line stands before it`;
  return { kind: 'malformed', detail };
}

/** The same for a message that is to be sent: blanks before a colon are malformed too (RFC 5322 §4.5). */
export function readHeaderToSend(message: Uint8Array): RawHeader {
  const header = readRawHeader(message);
  const old = header.kind === 'header' ? header.fields.find((field) => !isPlainlyNamed(field)) : undefined;
  if (old === undefined) return header;
  return { kind: 'malformed', detail: `line ${lineNumber(message, old.start)} has a blank before its colon` };
}

/**
 * Reads the header at `from` tolerantly: lines that are not fields are skipped, and a bare LF ends a line too; both are
 * a `fault`. `endsAt`: asked for lines that begin with `--`, whether the part ends before them.
 */
export function readHeaderLines(
  source: Uint8Array,
  from: number,
  endsAt?: (lineStart: number) => boolean,
): HeaderLines {
  const fields: RawField[] = [];
  let eightBit = false;
  let fault: HeaderLines['fault'] = null;
  let at = from;
  while (at < source.length) {
    const blank = source[at] === CR ? 1 : 0;
    if (source[at + blank] === LF) {
      if (blank === 0) fault ??= { at, tooLarge: false };
      return { fields, headerEnd: at, bodyOffset: at + blank + 1, eightBit, fault };
    }
    if (source[at] === HYPHEN && source[at + 1] === HYPHEN && endsAt?.(at) === true) break;
    const start = at;
    const valueStart = endOfName(source, at);
    if (valueStart === -1) fault ??= { at, tooLarge: false };
    do {
      const near = Math.min(source.length, at + NEAR_OCTETS);
      while (at < near && source[at] !== LF) {
        if ((source[at] as number) > 127) eightBit = true;
        at += 1;
      }
      if (at < near) at += 1;
      else {
        const lf = source.indexOf(LF, at);
        const lineEnd = lf === -1 ? source.length : lf + 1;
        eightBit ||= !isAscii(source.subarray(at, lineEnd));
        at = lineEnd;
      }
    } while (
      valueStart !== -1 &&
      at < source.length &&
      at - from <= MAX_HEADER_BYTES &&
      (source[at] === SP || source[at] === TAB)
    );
    if (valueStart !== -1)
      fields.push({ name: nameAt(source, start, valueStart), start, end: at, valueStart });
    if (at - from > MAX_HEADER_BYTES || fields.length > MAX_FIELDS) {
      fault ??= { at, tooLarge: true };
      break;
    }
  }
  return { fields, headerEnd: at, bodyOffset: at, eightBit, fault };
}

function nameAt(source: Uint8Array, start: number, valueStart: number): string {
  return asBuffer(source)
    .toString('latin1', start, valueStart - 1)
    .trimEnd()
    .toLowerCase();
}

/**
 * The value of a field, unfolded (RFC 5322 §2.2.3), trimmed; UTF-8 if valid, otherwise Latin-1. At most 256 KiB of it
 * are read.
 */
export function rawFieldValue(message: Uint8Array, { valueStart, end }: RawField): string {
  const text = textOfOctets(asBuffer(message, valueStart, Math.min(end, valueStart + MAX_HEADER_BYTES)));
  return text.replace(/\r?\n/g, '').trim();
}

/**
 * The same for a field that must be unambiguous: null if blanks precede the colon, one of its lines is blank, or it is
 * not UTF-8.
 */
export function strictFieldValue(message: Uint8Array, field: RawField): string | null {
  if (!isPlainlyNamed(field)) return null;
  const text = asBuffer(message, field.valueStart, field.end).toString('utf8');
  if (text.includes('\ufffd') || /\r\n[ \t]+\r\n/.test(text)) return null;
  return text.replaceAll('\r\n', '').trim();
}

function isPlainlyNamed({ start, name, valueStart }: RawField): boolean {
  return valueStart === start + name.length + 1;
}

/**
 * Offset after the colon of the field name at `at`, or -1. Blanks before the colon are an obsolete form (RFC 5322
 * §4.5). A name longer than a header is none.
 */
function endOfName(message: Uint8Array, at: number): number {
  const limit = Math.min(message.length, at + MAX_HEADER_BYTES);
  let i = at;
  while (i < limit && (message[i] as number) > SP && (message[i] as number) < 127 && message[i] !== COLON) {
    i += 1;
  }
  if (i === at) return -1;
  while (i < limit && (message[i] === SP || message[i] === TAB)) i += 1;
  return message[i] === COLON ? i + 1 : -1;
}

function lineNumber(message: Uint8Array, at: number): number {
  let lines = 1;
  for (let i = 0; i < at; i += 1) if (message[i] === LF) lines += 1;
  return lines;
}
