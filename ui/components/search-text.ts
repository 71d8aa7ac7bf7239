/** Reading what is typed into a search box: words, some of them in quotes, and times. Pure. */

export interface SearchWord {
  /** Without its quotes. */
  word: string;
  /** As it was typed. */
  typed: string;
}

/** Split at blanks that stand in no quotes. */
export function splitWords(text: string): readonly SearchWord[] {
  const words: SearchWord[] = [];
  let word = '';
  let typed = '';
  let quoted = false;
  const end = (): void => {
    if (word !== '') words.push({ word, typed });
    word = '';
    typed = '';
  };
  for (const char of text) {
    if (char.trim() === '' && !quoted) {
      end();
      continue;
    }
    typed += char;
    if (char === '"') quoted = !quoted;
    else word += char;
  }
  end();
  return words;
}

/** As one word of a search; what holds a quote cannot be one. */
export function quoted(text: string): string {
  const plain = text.replaceAll('"', '');
  return /\s/.test(plain) ? `"${plain}"` : plain;
}

/**
 * The address that a text ends with, as people copy it: `Ada <ada@example.net>`, `mailto:ada@example.net`, or with the comma of
 * a list behind it; null = none.
 */
export function addressOf(text: string): string | null {
  return /(?:^|[\s<:])([^\s<>:"@]+@[^\s<>"@,;?]*[^\s<>"@,;.?])>?(?:\?\S*|[.,;]*)$/.exec(text)?.[1] ?? null;
}

const UNITS: Readonly<Record<string, number>> = { m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** What is said of a time that `instantOf` does not know, behind the word. */
export const NO_INSTANT = 'is neither an age such as 2h nor a date such as 2026-12-24';

/** An age (`2h`), or a date or time in the reader's zone, as everything is shown; as ISO 8601, null = neither. */
export function instantOf(value: string, nowMs: number): string | null {
  const age = /^([0-9]{1,5})([mhdw])$/.exec(value);
  if (age !== null)
    return new Date(nowMs - Number(age[1]) * (UNITS[age[2] ?? ''] ?? 0) * 1_000).toISOString();
  // Of a date alone the language makes a day of UTC.
  const isDate = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(value);
  const at = /^[0-9]{4}-[0-9]{2}-[0-9]{2}/.test(value)
    ? Date.parse(isDate ? `${value}T00:00` : value)
    : Number.NaN;
  return Number.isNaN(at) ? null : new Date(at).toISOString();
}

/** Whether every word of `text` is somewhere in what is shown of a row. */
export function holdsWords(shown: readonly (string | null)[], text: string): boolean {
  const said = shown.join(' ').toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => said.includes(word));
}
