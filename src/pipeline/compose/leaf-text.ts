/**
 * The text of one part of a message that somebody else wrote, and the way back to its octets: undoing the transfer
 * encoding, reading the characters without losing one, writing them again as they were. null for what cannot be undone
 * exactly; such a part is left alone.
 */
import type { UnbrokenStretch } from '../../mail/transfer-encoding.ts';

export interface LeafText {
  html: string;
  encode(text: string): Uint8Array;
  /** Stretches of the text as stretches of its octets. */
  stretches(text: string, of: readonly UnbrokenStretch[]): readonly UnbrokenStretch[];
}

/** Charsets whose ASCII octets always mean ASCII: read octet by octet, links in pure ASCII can be replaced. */
const ASCII_COMPATIBLE = /^(?:us-ascii|ascii|iso-8859-\d{1,2}|windows-125\d|koi8-[ru]|macintosh)$/;

/** The octets behind a transfer encoding; null where it is unknown or broken. */
export function decodeLeaf(body: Uint8Array, encoding: string): Buffer | null {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  switch (encoding.trim().toLowerCase()) {
    case '7bit':
    case '8bit':
      return bytes;
    case 'base64': {
      const text = bytes.toString('latin1').replace(/[\r\n\t ]+/g, '');
      return /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0
        ? Buffer.from(text, 'base64')
        : null;
    }
    case 'quoted-printable':
      return decodeQuotedPrintable(bytes);
    default:
      return null;
  }
}

/** The characters; null where the charset is not one whose octets can be kept. */
export function leafText(content: Buffer, charset: string): LeafText | null {
  if (charset === 'utf-8' || charset === 'utf8') {
    const html = content.toString('utf8');
    if (Buffer.byteLength(html) === content.length && !html.includes('\ufffd')) {
      return { html, encode: (text) => Buffer.from(text, 'utf8'), stretches: inUtf8 };
    }
  } else if (!ASCII_COMPATIBLE.test(charset)) return null;
  return {
    html: content.toString('latin1'),
    encode: (text) => Buffer.from(text, 'latin1'),
    stretches: (_text, of) => of,
  };
}

function inUtf8(text: string, of: readonly UnbrokenStretch[]): readonly UnbrokenStretch[] {
  let octets = 0;
  let from = 0;
  return of.map(({ start, length }) => {
    octets += Buffer.byteLength(text.slice(from, start));
    from = start;
    return { start: octets, length };
  });
}

/** RFC 2045 §6.7; null for an escape that is none, since every reader repairs it in a way of its own. */
function decodeQuotedPrintable(bytes: Buffer): Buffer | null {
  const out = Buffer.allocUnsafe(bytes.length);
  let at = 0;
  // What stands behind it are blanks as such: at the end of a line they are transport's, not the author's.
  let kept = 0;
  let i = 0;
  while (i < bytes.length) {
    const byte = bytes[i] as number;
    if (byte === 61) {
      let end = i + 1;
      while (bytes[end] === 32 || bytes[end] === 9) end++;
      if (bytes[end] === 13 && bytes[end + 1] === 10) {
        kept = at;
        i = end + 2;
        continue;
      }
      if (end === bytes.length) break;
      const value = Number.parseInt(bytes.toString('latin1', i + 1, i + 3), 16);
      if (!/^[0-9A-Fa-f]{2}$/.test(bytes.toString('latin1', i + 1, i + 3))) return null;
      out[at++] = value;
      kept = at;
      i += 3;
      continue;
    }
    if (byte === 13 && bytes[i + 1] === 10) {
      at = kept;
      out[at++] = 13;
      out[at++] = 10;
      kept = at;
      i += 2;
      continue;
    }
    out[at++] = byte;
    if (byte !== 32 && byte !== 9) kept = at;
    i++;
  }
  return out.subarray(0, kept);
}
