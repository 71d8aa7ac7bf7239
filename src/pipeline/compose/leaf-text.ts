/**
 * The text of one part of a received message, and back to its octets: decodes without losing a character, and encodes
 * unchanged text to the same octets. null if that is impossible; such a part is left unchanged.
 */
import { inOctets, type UnbrokenStretch } from '../../mail/transfer-encoding.ts';

interface LeafText {
  html: string;
  /** Each character beyond ASCII stands for an octet, whatever it means in its charset. */
  inOctets: boolean;
  encode(text: string): Uint8Array;
  /** Converts stretches of the text to stretches of its octets. */
  stretches(text: string, of: readonly UnbrokenStretch[]): readonly UnbrokenStretch[];
}

/** Charsets in which ASCII octets always mean ASCII: read octet by octet, links in pure ASCII can be replaced. */
const ASCII_COMPATIBLE = /^(?:us-ascii|ascii|iso-8859-\d{1,2}|windows-125\d|koi8-[ru]|macintosh)$/;

/** The characters; null for a charset whose octets cannot be preserved. */
export function leafText(content: Buffer, charset: string): LeafText | null {
  if (charset === 'utf-8' || charset === 'utf8') {
    const html = content.toString('utf8');
    if (Buffer.byteLength(html) === content.length && !html.includes('\ufffd')) {
      const encode = (text: string) => Buffer.from(text, 'utf8');
      return { html, inOctets: false, encode, stretches: inOctets };
    }
  } else if (!ASCII_COMPATIBLE.test(charset)) return null;
  return {
    html: content.toString('latin1'),
    inOctets: true,
    encode: (text) => Buffer.from(text, 'latin1'),
    stretches: (_text, of) => of,
  };
}
