/**
 * Readers of option values: a word of a list, a number within bounds, a time. They run before anything else; a value that
 * does not fit is wrong usage (exit code 2), and the message names what would fit. Words are compared without case.
 */
import { InvalidArgumentError, type Option } from 'commander';
import { parseDuration } from '../config/forms.ts';
import { systemClock } from '../lib/clock.ts';
import { parseInstant } from '../lib/instant.ts';
import { UsageError } from './terminal.ts';

/** A reader with the words that it accepts. */
type Worded<Read> = Read & { readonly words: readonly string[] };

/** One of `words`, in any case; returns it as `words` has it. */
export function oneOf(words: readonly string[]): Worded<(text: string) => string> {
  const read = (text: string): string => {
    const found = words.find((word) => word.toLowerCase() === text.toLowerCase());
    if (found === undefined) throw new InvalidArgumentError(`Use one of ${words.join(', ')}.`);
    return found;
  };
  return Object.assign(read, { words });
}

/** The same for an option that takes several, one by one or with commas between them. */
export function someOf(
  words: readonly string[],
): Worded<(text: string, before?: readonly string[]) => string[]> {
  const read = oneOf(words);
  return Object.assign(
    (text: string, before: readonly string[] = []) => [...before, ...atCommas(text).map(read)],
    { words },
  );
}

/**
 * Any text, for an option that is repeated for each value. (An option with several values in a row would also take
 * the argument after it.) `words`: known values, for completion; commas may stand between several.
 */
export function each(words: readonly string[] = []) {
  const read = (text: string, before: readonly string[] = []): string[] => [
    ...before,
    ...(words.length > 0 ? atCommas(text) : [text]),
  ];
  return Object.assign(read, { words, collects: true as const });
}

const atCommas = (text: string): string[] => text.split(',').map((word) => word.trim());

/** An ISO time, or Unix seconds, as they are; a duration (`2h`) is that long ago. Throws UsageError for another text. */
export function backFromNow(flag: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d+$/.test(text) ? null : parseDuration(text);
  if (ms !== null) return new Date(systemClock.now() - ms).toISOString();
  if (parseInstant(text, true) !== null) return text;
  throw new UsageError(
    `${flag} "${text}": use a time such as 2026-11-20T08:00:00Z, or a duration such as 2h`,
  );
}

/** A time as a request's body contains it: Unix seconds as a number, anything else as a text. */
export function instantField(text: string): number | string {
  return /^\d{1,12}$/.test(text) ? Number(text) : text;
}

/** Those of `keys` that a command was given as flags: commander's names have capitals in place of the dashes of keys. */
export function keysGiven<Key extends string>(
  keys: readonly Key[],
  options: Readonly<Record<string, unknown>>,
): Partial<Record<Key, string>> {
  const given: Partial<Record<Key, string>> = {};
  for (const key of keys) {
    const value = options[key.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())];
    if (typeof value === 'string') given[key] = value;
  }
  return given;
}

/** Whether an option keeps every value that it is given. */
export function keepsAll({ variadic, parseArg }: Option): boolean {
  return variadic || (parseArg as { collects?: true } | undefined)?.collects === true;
}

/** The values that an option accepts, for completion; none if it accepts any text. */
export function wordsOf({ parseArg }: Option): readonly string[] {
  return (parseArg as Partial<Worded<object>> | undefined)?.words ?? [];
}

/** A number in decimal digits, with a fraction where `fraction` allows it. Bounds are included. */
export function numberFrom(
  min: number,
  max: number,
  { fraction = false }: { fraction?: boolean } = {},
): (text: string) => number {
  const form = fraction ? /^\d{1,15}(\.\d{1,6})?$/ : /^\d{1,15}$/;
  return (text) => {
    const value = form.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) {
      throw new InvalidArgumentError(`Use a ${fraction ? '' : 'whole '}number from ${min} to ${max}.`);
    }
    return value;
  };
}
