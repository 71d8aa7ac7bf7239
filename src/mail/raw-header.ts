/**
 * The header of a message that somebody else wrote (RFC 5322 §2.2), read without changing an octet: where each field
 * lies, and its value for those who ask. Given a message with CRLF line ends, leaves fields in order and the offset of
 * the body. Wrong: a line that is neither a field nor a continuation, or more header than anybody needs, is
 * `malformed`; nothing is repaired, because every reader would repair it in a way of its own. One pass.
 */

export interface RawField {
  /** Lower case. */
  readonly name: string;
  /** Offset of its first octet, and of the octet after its last CRLF. */
  readonly start: number;
  readonly end: number;
  /** Offset after the colon. */
  readonly valueStart: number;
}

export type RawHeader =
  | {
      readonly kind: 'header';
      readonly fields: readonly RawField[];
      /** After the last field, before the empty line. */
      readonly headerEnd: number;
      /** First octet of the body; the message's length where there is no empty line. */
      readonly bodyOffset: number;
      /** Some octet of the header is above 127. */
      readonly eightBit: boolean;
    }
  | { readonly kind: 'malformed'; readonly detail: string };

const MAX_HEADER_BYTES = 256 * 1024;
const MAX_FIELDS = 2000;
const SP = 32;
const TAB = 9;
const CR = 13;
const LF = 10;
const COLON = 58;

/** Reads the header of `message`, whose lines end with CRLF. */
export function readRawHeader(message: Uint8Array): RawHeader {
  const fields: RawField[] = [];
  let eightBit = false;
  let at = 0;
  while (at < message.length && !(message[at] === CR && message[at + 1] === LF)) {
    const start = at;
    const valueStart = endOfName(message, at);
    if (valueStart === -1) {
      return malformed(
        `line ${lineNumber(message, at)} is no header field, and no empty line stands before it`,
      );
    }
    const name = Buffer.from(message.buffer, message.byteOffset + start, valueStart - 1 - start)
      .toString('latin1')
      .trimEnd()
      .toLowerCase();
    do {
      const lf = message.indexOf(LF, at);
      const lineEnd = lf === -1 ? message.length : lf + 1;
      for (let i = at; i < lineEnd && !eightBit; i += 1) eightBit = (message[i] as number) > 127;
      at = lineEnd;
    } while (at < message.length && (message[at] === SP || message[at] === TAB));
    fields.push({ name, start, end: at, valueStart });
    if (at > MAX_HEADER_BYTES || fields.length > MAX_FIELDS) return malformed('the header is too large');
  }
  const separated = at < message.length;
  return { kind: 'header', fields, headerEnd: at, bodyOffset: separated ? at + 2 : at, eightBit };
}

/** The value of a field, unfolded (RFC 5322 §2.2.3), trimmed; UTF-8 where it is valid, else Latin-1. */
export function rawFieldValue(message: Uint8Array, field: RawField): string {
  const bytes = Buffer.from(
    message.buffer,
    message.byteOffset + field.valueStart,
    field.end - field.valueStart,
  );
  const utf8 = bytes.toString('utf8');
  const text = utf8.includes('\ufffd') ? bytes.toString('latin1') : utf8;
  return text.replaceAll('\r\n', '').trim();
}

/**
 * The same of a field whose meaning must not be in doubt: null where blanks stand before the colon, a line of it is
 * blank, or it is not UTF-8.
 */
export function strictFieldValue(message: Uint8Array, field: RawField): string | null {
  const { start, end, name, valueStart } = field;
  if (valueStart !== start + name.length + 1) return null;
  const bytes = Buffer.from(message.buffer, message.byteOffset + valueStart, end - valueStart);
  const text = bytes.toString('utf8');
  if (text.includes('\ufffd') || /\r\n[ \t]+\r\n/.test(text)) return null;
  return text.replaceAll('\r\n', '').trim();
}

/** Offset after the colon of the field name at `at`, or -1. Blanks before the colon are an old form (RFC 5322 §4.5). */
function endOfName(message: Uint8Array, at: number): number {
  let i = at;
  while (
    i < message.length &&
    (message[i] as number) > SP &&
    (message[i] as number) < 127 &&
    message[i] !== COLON
  ) {
    i += 1;
  }
  if (i === at) return -1;
  while (message[i] === SP || message[i] === TAB) i += 1;
  return message[i] === COLON ? i + 1 : -1;
}

function lineNumber(message: Uint8Array, at: number): number {
  let lines = 1;
  for (let i = 0; i < at; i += 1) if (message[i] === LF) lines += 1;
  return lines;
}

function malformed(detail: string): RawHeader {
  return { kind: 'malformed', detail };
}
