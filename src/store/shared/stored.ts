/**
 * What the engines store in different forms, read in either: SQLite keeps ids as 16 octets, true and false as 1 and 0, and
 * a list of texts as JSON; PostgreSQL has a type for each.
 */
import { uuidText } from '../../lib/ids.ts';

export type StoredId = Uint8Array | string;
export type StoredFlag = number | boolean;
/** null: none. */
export type StoredTexts = string | readonly string[] | null;

export function idOf(stored: StoredId): string {
  return typeof stored === 'string' ? stored : uuidText(stored);
}

export function isTrue(stored: StoredFlag | null): boolean {
  return stored === 1 || stored === true;
}

export function textsOf(stored: StoredTexts): readonly string[] {
  return typeof stored === 'string' ? (JSON.parse(stored) as readonly string[]) : (stored ?? []);
}
