/**
 * The shape of a reply: the text without everything that differs between recipients or times (addresses, host names, IP
 * addresses, numbers, ids, links), so that a thousand refusals with one cause are one line. Linear; any characters are
 * accepted.
 */
import { countAtEnd, countAtStart } from '../../../../lib/edges.ts';

const MAX_CHARS = 200;

/**
 * `550 5.7.1 [192.0.2.7] blocked, see https://x/?ip=192.0.2.7` → `550 5.7.1 <ip> blocked, see <link>`. At most 200
 * characters.
 */
export function replyShape(reply: string): string {
  const words = reply
    .slice(0, 4 * MAX_CHARS)
    .toLowerCase()
    .split(BLANKS);
  return words
    .filter((word) => word !== '')
    .map((word, i) => (i < 2 && CODES.test(word) ? word : general(word)))
    .join(' ')
    .slice(0, MAX_CHARS);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters separate words like blanks do
const BLANKS = /[\u0000-\u0020\u007f-\u00a0]+/;
/** Reply code and enhanced code, the numbers with a fixed meaning. */
const CODES = /^[245](?:\d\d|\.\d{1,3}\.\d{1,3})$/;
const OPENING = '("\'<[{';
const CLOSING = ')"\'>]}.,;:!?';

function general(word: string): string {
  const start = countAtStart(word, OPENING);
  const end = word.length - countAtEnd(word.slice(start), CLOSING);
  return kept(word.slice(0, start)) + named(word.slice(start, end)) + kept(word.slice(end));
}

/** Brackets around a replaced name are dropped. */
function kept(edge: string): string {
  return edge.replace(/[<>[\]{}()]/g, '');
}

function named(core: string): string {
  if (core.includes('@')) return '<address>';
  if (/^[a-z][a-z0-9+.-]*:\/\//.test(core) || core.startsWith('www.')) return '<link>';
  if (/^\d{1,3}(?:\.\d{1,3}){3}$/.test(core) || (core.includes(':') && /^[0-9a-f:.]+$/.test(core)))
    return '<ip>';
  if (/^[a-z0-9_-]+(?:\.[a-z0-9_-]+)+$/.test(core) && /[a-z]/.test(core)) return '<host>';
  // Queue ids and similar: letters and digits mixed, or hexadecimal.
  if (core.length >= 6 && /\d/.test(core) && /^[a-z0-9_\-.=+/]+$/.test(core)) return '<id>';
  return core.replace(/\d+/g, '#');
}
