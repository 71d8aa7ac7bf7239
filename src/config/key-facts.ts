/**
 * What the table contains about one key: format, default, meaning, how it is read and shown. The key's name is its
 * position in the table; its environment name is made from it.
 */
import type { Parsed } from './forms.ts';

/** How a server runs: `dev` captures everything, `serve` delivers. */
export type Mode = 'dev' | 'serve';

/** Facts about one key. */
export interface KeyFacts<T> {
  /** Unit or form of the value, as the reference shows it. */
  form: string;
  /** Default text per mode as a user would write it; null = not set. */
  defaults: Readonly<Record<Mode, string | null>>;
  meaning: string;
  /** Shown as `(secret)`. */
  secret?: boolean;
  /** The value as it may be shown, for keys that contain a secret among other things; no message of `parse` repeats one. */
  shown?: (text: string) => string;
  parse(text: string): Parsed<T>;
}

/** A table with one row for each member of T. */
export type KeyTable<T> = { readonly [K in keyof T]: KeyFacts<T[K]> };

/** The facts of an ordinary key. */
export function key<T>(
  form: string,
  defaults: Readonly<Record<Mode, string | null>>,
  meaning: string,
  parse: (text: string) => Parsed<T>,
): KeyFacts<T> {
  return { form, defaults, meaning, parse };
}

/** One default for both modes. */
export function both(text: string | null): Readonly<Record<Mode, string | null>> {
  return { dev: text, serve: text };
}
