/**
 * Decodes encoded words (RFC 2047 §6), to show subjects and names of received mail. Takes an unfolded value; a word in
 * an unknown charset or encoding stays as written. Blanks between two encoded words are dropped. Control characters
 * become spaces, because the text may be shown on a terminal or in a log.
 */
import { decodeQuotedPrintable } from './transfer-encoding.ts';

const MAX_CHARS = 16 * 1024;
const WORD = /=\?([A-Za-z0-9_.:-]{1,40})(?:\*[A-Za-z0-9-]{0,35})?\?([BbQq])\?([!->@-~]{0,2000})\?=/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is its purpose
const CONTROLS = /[\x00-\x1f\x7f-\x9f]/g;

/** The text of a header value; at most 16,384 characters of it are read. */
export function decodeWords(value: string): string {
  const text = value.length > MAX_CHARS ? value.slice(0, MAX_CHARS) : value;
  if (!text.includes('=?')) return text.replace(CONTROLS, ' ');
  let out = '';
  let from = 0;
  let afterWord = false;
  // Adjacent words of one charset are joined as octets: some programs split a character between two words.
  let runCharset = '';
  let run: Buffer[] = [];
  const endRun = (): void => {
    if (run.length > 0) out += textIn(runCharset, Buffer.concat(run)) ?? '';
    run = [];
  };
  for (const match of text.matchAll(WORD)) {
    const [whole, charset = '', encoding = '', payload = ''] = match;
    const between = text.slice(from, match.index);
    if (!(afterWord && between.trim() === '')) {
      endRun();
      out += between;
    }
    from = match.index + whole.length;
    const bytes = encoding.toUpperCase() === 'B' ? Buffer.from(payload, 'base64') : fromQ(payload);
    const lower = charset.toLowerCase();
    if (textIn(lower, bytes) === null) {
      endRun();
      out += whole;
      afterWord = false;
      continue;
    }
    if (runCharset !== lower) endRun();
    runCharset = lower;
    run.push(bytes);
    afterWord = true;
  }
  endRun();
  return (out + text.slice(from)).replace(CONTROLS, ' ');
}

/** Octets of a charset (lower case) as text, or null for an unknown charset. */
export function textIn(charset: string, bytes: Uint8Array): string | null {
  try {
    return new TextDecoder(charset === 'us-ascii' ? 'utf-8' : charset).decode(bytes);
  } catch {
    return null;
  }
}

/** RFC 2047 §4.2: quoted-printable in which an underscore is a blank. */
function fromQ(payload: string): Buffer {
  return decodeQuotedPrintable(Buffer.from(payload.replaceAll('_', '=20'), 'latin1')).bytes;
}
