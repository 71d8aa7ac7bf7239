/**
 * What the table contains about one key: format, default, meaning, how it is read and shown. The key's name is its
 * position in the table; its environment name is made from it.
 */
import type { Parsed } from './forms.ts';

/** How a server runs: `dev` captures everything, `serve` delivers. */
export type Mode = 'dev' | 'serve';

/** Default text per mode as a user would write it; null = not set. */
type Defaults = Readonly<Record<Mode, string | null>>;

/** Facts about one key. */
export interface KeyFacts<T> {
  /** Unit or form of the value, as the reference shows it. */
  form: string;
  defaults: Defaults;
  meaning: string;
  /** Shown as `(secret)`. */
  secret?: boolean;
  /** The value as it may be shown, for keys that contain a secret among other things; no message of `parse` repeats one. */
  shown?: (text: string) => string;
  parse(text: string): Parsed<T>;
}

/** A table with one row for each key. */
export type KeyTable = Readonly<Record<string, KeyFacts<unknown>>>;

/** The values of a table's keys. */
export type ValuesOf<Table extends KeyTable> = {
  -readonly [Key in keyof Table]: Table[Key] extends KeyFacts<infer Value> ? Value : never;
};

/** The facts of an ordinary key. Without a default its value may be null. */
export function key<T, Usual extends Defaults>(
  form: string,
  defaults: Usual,
  meaning: string,
  parse: (text: string) => Parsed<T>,
): KeyFacts<null extends Usual[Mode] ? T | null : T> {
  return { form, defaults, meaning, parse };
}

/** One default for both modes. */
export function both<Text extends string | null>(text: Text): Readonly<Record<Mode, Text>> {
  return { dev: text, serve: text };
}
