/**
 * SMTP replies (RFC 5321 §4.2, RFC 2034), read as real servers write them: LF alone ends a line, text and enhanced code
 * may be missing, the lines of one reply may have different codes (the last line decides). Takes bytes divided
 * anywhere; returns one `Reply` per answer, with at most 64 lines and 8 KiB of it. Further lines are read and dropped
 * up to 64 KiB. A reply that has not ended by then is returned as it is, because its code is known: a 250 with too much
 * text is still a 250, but nothing can be read after it. A line that is not a reply line, or too much input before any
 * code, gives `malformed`. After that, and after a cut reply, the connection cannot be used.
 */
import { createLineReader } from './line-reader.ts';

export interface Reply {
  /** Code of the last line, 200–599. Its first digit decides. */
  readonly code: number;
  /** Enhanced status code such as "5.1.1" (RFC 3463): of the last line, otherwise of the first line that has one. */
  readonly enhanced: string | null;
  /** Text of each line after the code and its separator, including an enhanced code. */
  readonly lines: readonly string[];
  /** All lines joined by a space. */
  readonly text: string;
}

/** `cut`: the reply had not ended after 64 KiB; the code is that of its last line so far. */
export type ReplyItem = { kind: 'reply'; reply: Reply; cut?: true } | { kind: 'malformed'; detail: string };

interface ReplyReader {
  push(chunk: Uint8Array): void;
  /** The next complete reply, or null if more bytes are needed. After `malformed` or a cut reply nothing more comes. */
  next(): ReplyItem | null;
  /** Octets received after the last reply returned. */
  buffered(): number;
}

const MAX_REPLY_LINES = 64;
const MAX_REPLY_BYTES = 8 * 1024;
const MAX_RECEIVED_BYTES = 64 * 1024;

const ZERO = 48;
const isDigit = (code: number) => code >= ZERO && code <= 57;

/**
 * The enhanced status code at the start of a reply text, or null: class 2, 4 or 5, then two numbers of at most 3
 * digits.
 */
export function enhancedCodeOf(text: string): string | null {
  const first = text.charCodeAt(0);
  if ((first !== 50 && first !== 52 && first !== 53) || text.charCodeAt(1) !== 46) return null;
  let at = 2;
  for (let part = 0; part < 2; part += 1) {
    const start = at;
    while (at - start < 3 && isDigit(text.charCodeAt(at))) at += 1;
    if (at === start) return null;
    if (part === 0) {
      if (text.charCodeAt(at) !== 46) return null;
      at += 1;
    }
  }
  const after = text.charCodeAt(at);
  return Number.isNaN(after) || after === 32 ? text.slice(0, at) : null;
}

/** Code of a reply line "250…", or 0 if it is not one. */
function codeOf(line: string): number {
  const a = line.charCodeAt(0);
  const b = line.charCodeAt(1);
  const c = line.charCodeAt(2);
  if (a < 50 || a > 53 || !isDigit(b) || !isDigit(c)) return 0;
  return (a - ZERO) * 100 + (b - ZERO) * 10 + (c - ZERO);
}

function replyOf(code: number, lines: readonly string[]): Reply {
  const last = lines[lines.length - 1] ?? '';
  let enhanced = enhancedCodeOf(last);
  for (let i = 0; enhanced === null && i < lines.length - 1; i += 1)
    enhanced = enhancedCodeOf(lines[i] ?? '');
  return { code, enhanced, lines, text: lines.length === 1 ? last : lines.join(' ') };
}

/** Reads replies in order; holds at most one of them. */
export function createReplyReader(): ReplyReader {
  const reader = createLineReader({ maxLineBytes: MAX_REPLY_BYTES });
  let lines: string[] = [];
  let keptChars = 0;
  let receivedBytes = 0;
  /** Of the lines of this reply so far. */
  let lastCode = 0;
  let broken = false;

  function malformed(detail: string): ReplyItem {
    broken = true;
    return { kind: 'malformed', detail };
  }

  /**
   * The result for a reply that does not end. A code that asks to continue gives `malformed`, because what follows
   * could not be read.
   */
  function endless(code: number, line: string): ReplyItem {
    const isText = line === '' || line.charAt(3) === ' ' || line.charAt(3) === '-';
    if (code === 0 || !isText || Math.floor(code / 100) === 3) return malformed('endless reply');
    broken = true;
    return { kind: 'reply', reply: replyOf(code, [...lines, line.slice(4, 516)]), cut: true };
  }

  return {
    push(chunk) {
      if (!broken) reader.push(chunk);
    },
    next() {
      for (;;) {
        if (broken) return null;
        const line = reader.next();
        if (line === null) {
          if (receivedBytes + reader.buffered() <= MAX_RECEIVED_BYTES) return null;
          const begun = reader.unfinished();
          return begun.length < 4 ? endless(lastCode, '') : endless(codeOf(begun), begun);
        }
        const code = codeOf(line);
        const separator = line.charCodeAt(3);
        const isLast = Number.isNaN(separator) || separator === 32;
        if (code === 0 || (!isLast && separator !== 45)) {
          return malformed(`not an SMTP reply: ${JSON.stringify(line.slice(0, 80))}`);
        }
        receivedBytes += reader.lineBytes();
        const text = line.slice(4);
        if (!isLast && receivedBytes > MAX_RECEIVED_BYTES) return endless(code, line);
        lastCode = code;
        if (!isLast) {
          if (lines.length < MAX_REPLY_LINES - 1 && keptChars + text.length <= MAX_REPLY_BYTES) {
            lines.push(text);
            keptChars += text.length;
          }
          continue;
        }
        // The last line is always kept: its code decides, and it often has the reason.
        const last = text.slice(0, Math.max(512, MAX_REPLY_BYTES - keptChars));
        const reply = replyOf(code, lines.concat(last));
        lines = [];
        keptChars = 0;
        receivedBytes = 0;
        lastCode = 0;
        return { kind: 'reply', reply };
      }
    },
    buffered: () => receivedBytes + reader.buffered(),
  };
}
