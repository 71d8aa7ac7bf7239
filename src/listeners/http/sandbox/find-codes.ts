/**
 * Finds one-time codes in the subject and text of a mail, most likely first. Every run of digits or letters that has the form
 * of a code is a candidate. The words around it decide: those that announce a code, those that announce another number
 * (an order, a telephone, a postcode), or a line of its own. The text is limited and read once, and the words around a
 * candidate are searched in windows of fixed size, so the time is linear.
 *
 * A code in groups is listed twice: without spaces, as people type it, and as it is written (`123456`, `123 456`). One with a
 * prefix is listed as it is written and without the prefix (`G-482913`, `482913`).
 */
import { ACTION_WORD, CODE_WORD, OTHER_WORD, PRICE, UNIT } from './code-words.ts';

const MAX_CODES = 20;
const MAX_CANDIDATES = 2_000;
/** A text beyond this is not searched: mails with codes are short, and this runs while others wait. */
const MAX_SEARCHED_CHARS = 32_768;
const BEFORE_CHARS = 90;
const AFTER_CHARS = 60;
const MAX_LINE_END = 400;

interface Candidate {
  /** Best spelling first. */
  spellings: readonly string[];
  start: number;
  end: number;
  shape: 'digits' | 'groups' | 'prefixed' | 'mixed' | 'letters';
}

interface Token {
  text: string;
  start: number;
  end: number;
}

/** `texts`: the same mail in one form or several. At most 20, each spelling once. */
export function findCodes(texts: readonly string[], subject = ''): string[] {
  const scored: { spellings: readonly string[]; score: number }[] = [];
  const plain = texts
    .map((text) => withoutAddresses(asciiDigits(text.slice(0, MAX_SEARCHED_CHARS))))
    .join('\n\n\n\n\n');
  const head = withoutAddresses(asciiDigits(subject.slice(0, 1_000)));
  const lines = [...linesOf(head), '', ...linesOf(plain)];
  const all = `${head}\n${plain}`;
  const rest = all.replace(OTHER_WORD, ' ');
  // The word `postcode` does not announce a code. In a mail that names no other number, a code counts without such a word.
  const mentioned = rest === all || firstOf(CODE_WORD, rest) >= 0 || ACTION_WORD.test(rest);
  let left = MAX_CANDIDATES;
  lines.forEach((line, at) => {
    if (left <= 0) return;
    for (const candidate of candidatesOf(line)) {
      if (left-- <= 0) return;
      const score = scoreOf(candidate, line, lines, at, mentioned);
      if (score > 0) scored.push({ spellings: candidate.spellings, score });
    }
  });
  const best = scored.sort((a, b) => b.score - a.score);
  const announced = best.filter(({ score }) => score >= ANNOUNCED);
  // Candidates that nothing announces count only if there are no others.
  const codes = new Set((announced.length > 0 ? announced : best).flatMap(({ spellings }) => spellings));
  return [...codes].slice(0, MAX_CODES);
}

/** From this score on a word beside the candidate says that it is a code. */
const ANNOUNCED = 10;

function scoreOf(
  { shape, spellings, start, end }: Candidate,
  line: string,
  lines: readonly string[],
  at: number,
  mentioned: boolean,
): number {
  const before = line.slice(Math.max(0, start - BEFORE_CHARS), start);
  const rest = line.slice(end, end + AFTER_CHARS);
  const code = spellings[0] ?? '';
  if (PRICE.test(before) || UNIT.test(rest)) return 0;
  const first = !/[\p{L}\p{N}]/u.test(before) && start <= BEFORE_CHARS;
  const alone = first && !/[\p{L}\p{N}]/u.test(rest);
  const after = alone ? `${rest}\n${nextLine(lines, at)}` : rest;
  const lead = first ? `${previousLine(lines, at)}\n${before}` : before;
  const word = lastOf(CODE_WORD, lead);
  const other = lastOf(OTHER_WORD, lead);
  // The nearer word decides; `postcode` is both, and is another number.
  if (other > 0 && other >= word) return 0;
  const behind = firstOf(CODE_WORD, after);
  const otherBehind = firstOf(OTHER_WORD, after);
  const distance = lead.length - word;
  const close = word > 0 && distance <= 12;
  if (isYear(code, shape) && !close) return 0;
  // `10115 Berlin`, `CA 94105`: a short number beside a name, which nothing announces.
  const beside = /^\s\p{Lu}\p{Ll}/u.test(rest) || /\p{Lu}{2}\s$/u.test(before);
  const announced = word > 0 || (behind >= 0 && (otherBehind < 0 || behind < otherBehind));
  if (!announced) {
    if (shape !== 'digits' || code.length < 4 || code.length > 8 || beside) return 0;
    if (alone) return code.length === 6 ? 4 : 3;
    return mentioned && code.length === 6 ? 2 : 0;
  }
  const afterColon =
    /[:：=>»]\s{0,3}["'«“„*]?$/u.test(before) || (first && /[:：]\s{0,3}$/u.test(lead.trimEnd()));
  if (shape === 'letters' && !(alone || afterColon)) return 0;
  if (shape === 'mixed' && code !== code.toUpperCase() && !(alone || afterColon)) return 0;
  return (
    ANNOUNCED +
    (word > 0 ? (close ? 4 : distance <= 40 ? 2 : 1) : 2) +
    (alone ? 4 : 0) +
    (afterColon ? 3 : 0) +
    (shape === 'digits' || shape === 'groups' || shape === 'prefixed' ? 2 : 0) +
    (code.length === 6 ? 1 : 0) -
    (shape === 'letters' ? 3 : 0) -
    (beside ? 3 : 0)
  );
}

/** The shapes of codes in a line, from left to right. */
function candidatesOf(line: string): Candidate[] {
  const found: Candidate[] = [];
  const tokens = tokensOf(line);
  for (let i = 0; i < tokens.length; ) {
    const run = runFrom(line, tokens, i);
    i += run.length;
    const candidate = candidateOf(line, run);
    if (candidate !== null) found.push(candidate);
    else if (isSeveral(line, run)) {
      for (const token of run) {
        const single = candidateOf(line, [token]);
        if (single !== null) found.push(single);
      }
    }
  }
  return found;
}

/** Maximal runs of ASCII letters and digits; a line of a million is looked through to its end all the same. */
function tokensOf(line: string): Token[] {
  return [...line.matchAll(/[0-9A-Za-z]+/g)].map((match) => ({
    text: match[0],
    start: match.index,
    end: match.index + match[0].length,
  }));
}

const SPACES = /^[ \u00a0\u2002-\u200a\u202f]{1,3}$/;
const DASH = /^[-\u2010-\u2013\u00b7]$/;

/** The tokens from `i` on that belong together: digits set apart by spaces, anything by dashes. */
function runFrom(line: string, tokens: readonly Token[], i: number): Token[] {
  const run: Token[] = [];
  let kind: RegExp | null = null;
  for (let at = i; at < tokens.length; at++) {
    const token = tokens[at] as Token;
    const last = run.at(-1);
    if (last !== undefined) {
      const gap = token.start - last.end <= 3 ? line.slice(last.end, token.start) : '';
      const digits = isDigits(last.text) && isDigits(token.text);
      const here = DASH.test(gap) ? DASH : digits && SPACES.test(gap) ? SPACES : null;
      if (here === null || (kind !== null && kind !== here)) break;
      kind = here;
    }
    run.push(token);
  }
  return run;
}

/** Numbers beside each other that are no groups of one: `482913 10 minutes`; a telephone number has more of them. */
function isSeveral(line: string, run: readonly Token[]): boolean {
  const [first, second] = run;
  return (
    run.length === 2 &&
    first !== undefined &&
    second !== undefined &&
    SPACES.test(line.slice(first.end, second.start))
  );
}

function candidateOf(line: string, run: readonly Token[]): Candidate | null {
  const start = run[0]?.start ?? 0;
  const end = run.at(-1)?.end ?? 0;
  // Part of a longer word, a decimal, a date, a time, a path, a number of another kind.
  if (
    /[\p{L}\p{M}\p{N}_./,:+&=@#\\-]$/u.test(line.slice(Math.max(0, start - 1), start)) &&
    !follows(line, start)
  )
    return null;
  if (/^(?:[\p{M}_/\\@&=-]|[.,:][\p{L}\p{N}])/u.test(line.slice(end, end + 2))) return null;
  const texts = run.map(({ text }) => text);
  const joined = texts.join('');
  const written = line.slice(start, end).replaceAll(/[\u00a0\u2002-\u200a\u202f]/g, ' ');
  const at = { start, end };
  const [head = '', tail = ''] = texts;
  if (run.length === 1) {
    if (isDigits(head)) {
      return head.length >= 4 && head.length <= 10 ? { ...at, spellings: [head], shape: 'digits' } : null;
    }
    if (head.length < 4 || head.length > 12) return null;
    if (/\d/.test(head)) return { ...at, spellings: [head], shape: 'mixed' };
    return head === head.toUpperCase() && head.length <= 8
      ? { ...at, spellings: [head], shape: 'letters' }
      : null;
  }
  const equal = texts.every((text) => text.length === head.length);
  if (texts.every(isDigits)) {
    const groups = equal && (head.length > 1 || run.length >= 4) && head.length <= 4;
    if (!groups || joined.length < 4 || joined.length > 12) return null;
    return { ...at, spellings: [joined, written], shape: 'groups' };
  }
  if (
    run.length === 2 &&
    /^[A-Z]{1,4}$/.test(head) &&
    isDigits(tail) &&
    tail.length >= 4 &&
    tail.length <= 8
  ) {
    return { ...at, spellings: [written, tail], shape: 'prefixed' };
  }
  const upper = joined === joined.toUpperCase() && (/\d/.test(joined) || equal);
  if (!upper || !equal || head.length < 2 || joined.length < 6 || joined.length > 20) return null;
  return { ...at, spellings: [written, joined], shape: 'mixed' };
}

/** A letter of a script without spaces, or a mark behind a word, may stand right before a code. */
function follows(line: string, start: number): boolean {
  const char = line.slice(start - 1, start);
  if (/[:：=]/.test(char)) return !/\d$/.test(line.slice(Math.max(0, start - 2), start - 1));
  return /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}ー]/u.test(
    char,
  );
}

function isDigits(text: string): boolean {
  return /^\d+$/.test(text);
}

function isYear(code: string, shape: Candidate['shape']): boolean {
  return shape === 'digits' && /^(?:19|20)\d\d$/.test(code);
}

/** The nearest line above that says something, cut to its end. */
function previousLine(lines: readonly string[], at: number): string {
  for (let i = at - 1; i >= 0 && i >= at - 4; i--) {
    const line = lines[i]?.slice(-MAX_LINE_END).trim() ?? '';
    if (/[\p{L}\p{N}]/u.test(line)) return line.slice(-BEFORE_CHARS);
  }
  return '';
}

/** The nearest line below that says something, its beginning. */
function nextLine(lines: readonly string[], at: number): string {
  for (let i = at + 1; i < lines.length && i <= at + 3; i++) {
    const line = lines[i]?.slice(0, MAX_LINE_END).trim() ?? '';
    if (/[\p{L}\p{N}]/u.test(line)) return line.slice(0, AFTER_CHARS);
  }
  return '';
}

/** Where the last match ends; 0 = there is none. */
function lastOf(words: RegExp, text: string): number {
  let end = 0;
  for (const match of text.matchAll(words)) end = match.index + match[0].length;
  return end;
}

/** Where the first match begins; -1 = there is none. */
function firstOf(words: RegExp, text: string): number {
  for (const match of text.matchAll(words)) return match.index;
  return -1;
}

function linesOf(text: string): string[] {
  return text.split(/\r\n|\r|\n/);
}

/** Digits of other scripts and full-width letters as ASCII; each stays one character. */
function asciiDigits(text: string): string {
  return text
    .replace(/[\u0660-\u0669]/g, (char) => String(char.charCodeAt(0) - 0x660))
    .replace(/[\u06f0-\u06f9]/g, (char) => String(char.charCodeAt(0) - 0x6f0))
    .replace(/[\u0966-\u096f]/g, (char) => String(char.charCodeAt(0) - 0x966))
    .replace(/[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]/g, (char) =>
      String.fromCharCode(char.charCodeAt(0) - 0xfee0),
    );
}

/** Links and mail addresses become blanks of the same length: what stands in them is no code. */
function withoutAddresses(text: string): string {
  return text.replace(/[^\s<>"'()]+/g, (word) => {
    if (word.includes('@') && !word.startsWith('@')) return word.replace(/[\x21-\x7e]/g, ' ');
    const at = word.indexOf('://');
    const from = at >= 0 ? schemeStart(word, at) : word.startsWith('www.') ? 0 : -1;
    if (from < 0) return word;
    let end = from;
    while (end < word.length && word.charCodeAt(end) < 0x7f) end++;
    return `${word.slice(0, from)}${' '.repeat(end - from)}${word.slice(end)}`;
  });
}

function schemeStart(word: string, at: number): number {
  let start = at;
  while (start > 0 && /[a-z0-9+.-]/i.test(word.charAt(start - 1))) start--;
  return start;
}
