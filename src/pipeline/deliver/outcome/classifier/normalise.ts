/**
 * The form of a reply that rules match: one line, `550 5.1.1 text`, lower case, single blanks, at most 2 KiB, without
 * the codes that servers repeat on every line. Also reads a reply that a person pasted. Linear in the input, which may
 * contain any characters.
 */

/** Longer replies are cut: the meaning is at their beginning, the provider's own mark (`- gcdp … - gsmtp`) at their end. */
export const MAX_SUBJECT_CHARS = 2048;
const END_CHARS = 128;
/** Of a longer text; the codes come before it. */
const BEGINNING_CHARS = MAX_SUBJECT_CHARS - END_CHARS - 32;

/** The text that rules match: code, enhanced code and text. If `enhanced` is null, it is searched for in the text. */
export function subjectOf(code: number, enhanced: string | null, text: string): string {
  const words: string[] = [String(code)];
  if (enhanced !== null) words.push(enhanced);
  let length = 0;
  const read =
    text.length <= MAX_SUBJECT_CHARS ? text : `${text.slice(0, BEGINNING_CHARS)} ${text.slice(-END_CHARS)}`;
  for (const word of plainLetters(read).split(BLANKS)) {
    if (word === '' || word === enhanced) continue;
    words.push(word);
    length += word.length;
  }
  return length === 0
    ? words.join(' ')
    : words.join(' ').replaceAll(TYPOGRAPHIC, "'").slice(0, MAX_SUBJECT_CHARS);
}

/**
 * Lower case without accents: `Empfänger überfüllt` → `empfanger uberfullt`, `ß` → `ss`, Cyrillic `й` → `и`, because
 * servers write their languages with and without them. ASCII is only lower-cased.
 */
function plainLetters(text: string): string {
  return withoutAccents(text.toLowerCase());
}

/** `text` with letters in the form that rules use; ASCII stays the same. */
export function withoutAccents(text: string): string {
  if (!BEYOND_ASCII.test(text)) return text;
  return text
    .replace(TYPOGRAPHIC, "'")
    .normalize('NFKD')
    .replace(ACCENTS, '')
    .replace(OTHER_LETTERS, (letter) => OTHER_LETTER[letter] ?? letter)
    .normalize('NFC');
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: everything that is not ASCII
const BEYOND_ASCII = /[^\u0000-\u007f]/;
const ACCENTS = /[\u0300-\u036f]/g;
const OTHER_LETTERS = /[ßøłđıæœ]/g;
/** Letters that Unicode does not decompose. */
const OTHER_LETTER: Readonly<Record<string, string>> = {
  ß: 'ss',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ı: 'i',
  æ: 'ae',
  œ: 'oe',
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters separate words like blanks do
const BLANKS = /[\u0000-\u0020\u007f-\u00a0]/;
const TYPOGRAPHIC = /[\u2018\u2019\u00b4`]/g;

export interface PastedReply {
  code: number;
  enhanced: string | null;
  text: string;
}

const LINE = /^[ \t]{0,20}(?:smtp ?; ?)?([2345]\d\d)(?:[- ]|$)/i;
const ENHANCED = /^[ \t]{0,8}[#(]?([245]\.\d{1,3}\.\d{1,3})\)?(?=[ \t:;,]|$)/;

/**
 * `550-5.1.1 No such\n550 5.1.1 user` → code, enhanced code and text. Accepts `smtp;`, a missing enhanced code, and
 * lines separated by a literal `\n` or `\r\n`. null if no line begins with a reply code.
 */
export function readReply(pasted: string): PastedReply | null {
  let code = 0;
  let enhanced: string | null = null;
  const texts: string[] = [];
  for (const line of pasted.slice(0, 8 * MAX_SUBJECT_CHARS).split(/\r\n|\n|\\r\\n|\\n/)) {
    const match = LINE.exec(line);
    let rest = line;
    if (match !== null) {
      code = Number(match[1]);
      rest = line.slice(match[0].length);
    } else if (code === 0) {
      continue;
    }
    const found = ENHANCED.exec(rest);
    if (found !== null) {
      enhanced = found[1] ?? enhanced;
      rest = rest.slice(found[0].length);
    }
    if (rest.trim() !== '') texts.push(rest.trim());
  }
  return code === 0 ? null : { code, enhanced, text: texts.join(' ') };
}

/** The form of qmail, whose add-ons put their name after the code. */
const ENHANCED_LAST = /\(#([245]\.\d{1,3}\.\d{1,3})(?: ?- ?[\w.]{1,16})?\)\.?$/;

/** Enhanced code at the start of a reply's text, or at its end as qmail writes it: `sorry (#5.1.1)`. */
export function enhancedIn(text: string): string | null {
  return ENHANCED.exec(text.slice(0, 40))?.[1] ?? ENHANCED_LAST.exec(text.trimEnd().slice(-40))?.[1] ?? null;
}

const HINT =
  /\b(?:try again|try later|retry|come back|wait|deferred for|available in)\b[^\d]{0,40}(\d{1,5}) ?(s|sec|secs|seconds?|m|min|mins|minutes?|h|hours?)\b/i;

/** The wait that the remote asks for in its text ("try again in 300 seconds"), in ms; null without one. */
export function retryHintMs(text: string): number | null {
  const match = HINT.exec(text.slice(0, MAX_SUBJECT_CHARS));
  if (match === null) return null;
  const unit = (match[2] ?? 's').charAt(0).toLowerCase();
  return Number(match[1]) * (unit === 'h' ? 3_600_000 : unit === 'm' ? 60_000 : 1000);
}
