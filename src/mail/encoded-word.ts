/**
 * Encoded words (RFC 2047): the form of non-ASCII text in a header. Takes any text; returns words of at most 75 octets,
 * each complete UTF-8 (no code point is split), in Q or B, whichever is shorter. Only the letters allowed in a phrase
 * (RFC 2047 §5 rule 3) are literal in Q, so one form serves subjects and display names. The caller joins the words by
 * blanks or folds, which readers drop.
 */

/** Longest encoded word, and longest header line that may hold one (RFC 2047 §2). */
const MAX_WORD_OCTETS = 75;
export const MAX_WORD_LINE_OCTETS = 76;

const HEX = Array.from({ length: 256 }, (_, byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`);
const FRAME_OCTETS = '=?utf-8?Q??='.length;

/** Octets per byte in Q: 1 if literal (space becomes `_`), otherwise 3. */
const Q_COST = new Uint8Array(256).fill(3);
for (const c of 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!*+-/ ')
  Q_COST[c.charCodeAt(0)] = 1;

/**
 * Encodes a text as words. The first word has at most `firstRoom` octets (limited to 24–75; with less room the line
 * should be folded first), the others at most 75. Lone surrogates become U+FFFD. Empty → [].
 */
export function encodeWords(text: string, firstRoom: number = MAX_WORD_OCTETS): string[] {
  const bytes = Buffer.from(text, 'utf8');
  let qOctets = 0;
  for (const byte of bytes) qOctets += Q_COST[byte] as number;
  const useB = Math.ceil(bytes.length / 3) * 4 < qOctets;
  const words: string[] = [];
  let room = Math.max(24, Math.min(MAX_WORD_OCTETS, firstRoom)) - FRAME_OCTETS;
  let start = 0;
  while (start < bytes.length) {
    const end = useB ? endOfB(bytes, start, room) : endOfQ(bytes, start, room);
    words.push(useB ? `=?utf-8?B?${bytes.toString('base64', start, end)}?=` : qWord(bytes, start, end));
    start = end;
    room = MAX_WORD_OCTETS - FRAME_OCTETS;
  }
  return words;
}

function endOfB(bytes: Uint8Array, start: number, room: number): number {
  const end = start + Math.floor(room / 4) * 3;
  if (end >= bytes.length) return bytes.length;
  return backToCharacter(bytes, end);
}

function endOfQ(bytes: Uint8Array, start: number, room: number): number {
  let end = start;
  let used = 0;
  while (end < bytes.length) {
    used += Q_COST[bytes[end] as number] as number;
    if (used > room) return backToCharacter(bytes, end);
    end++;
  }
  return end;
}

/** The first byte of the character that contains `index`. A word always has room for one character. */
function backToCharacter(bytes: Uint8Array, index: number): number {
  let at = index;
  while (((bytes[at] as number) & 0xc0) === 0x80) at--;
  return at;
}

function qWord(bytes: Uint8Array, start: number, end: number): string {
  let payload = '';
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    if (byte === 32) payload += '_';
    else payload += Q_COST[byte] === 1 ? String.fromCharCode(byte) : HEX[byte];
  }
  return `=?utf-8?Q?${payload}?=`;
}
