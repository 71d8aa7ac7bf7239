/**
 * Reads the properties of one JSON object by their documented names. Names match in any ASCII case; the exact spelling
 * wins; two other spellings of one name are reported; null counts as absent; unknown names are reported only in strict
 * mode. Keys are looked up in tables, never assigned to an object, so `__proto__` is ordinary data.
 */
import type { JsonObject } from '../../../lib/json-object.ts';
import { pointerSegment } from './problem-list.ts';

/** The most unknown names of one object that are reported. */
const MAX_UNKNOWN = 25;

/** How a name was given: absent, as documented, in another spelling, in two others and not as documented. */
const ABSENT = 0;
const EXACT = 1;
const OTHER = 2;
const CLASH = 3;

/** The documented names of one object, in documented order. */
export interface PropertyTable {
  readonly names: readonly string[];
  readonly exact: ReadonlyMap<string, number>;
  readonly lower: ReadonlyMap<string, number>;
  readonly longest: number;
}

export type PropertyReport = (
  name: 'unknown-property' | 'duplicate-property',
  segment: string,
  message: string,
) => void;

/** A table for `names`, to be created once and kept. */
export function propertyTable(names: readonly string[]): PropertyTable {
  return {
    names,
    exact: new Map(names.map((name, index) => [name, index])),
    lower: new Map(names.map((name, index) => [name.toLowerCase(), index])),
    longest: Math.max(...names.map((name) => name.length)),
  };
}

/** The values in the table's order; undefined = absent or null. */
export function readProperties(
  object: JsonObject,
  table: PropertyTable,
  strict: boolean,
  report: PropertyReport,
): unknown[] {
  const count = table.names.length;
  const values: unknown[] = new Array(count).fill(undefined);
  // How each name was given so far, and whether any had two other spellings.
  const seen = new Uint8Array(count);
  let clashes = false;
  let unknown = 0;
  for (const key of Object.keys(object)) {
    const value = object[key];
    if (value === null) continue;
    const exact = table.exact.get(key);
    if (exact !== undefined) {
      values[exact] = value;
      seen[exact] = EXACT;
      continue;
    }
    const slot = isShortAscii(key, table.longest) ? table.lower.get(key.toLowerCase()) : undefined;
    if (slot === undefined) {
      if (strict && unknown++ < MAX_UNKNOWN) {
        report('unknown-property', pointerSegment(key), 'This property is not known');
      }
      continue;
    }
    if (seen[slot] === EXACT) continue;
    if (seen[slot] !== ABSENT) {
      seen[slot] = CLASH;
      clashes = true;
      continue;
    }
    values[slot] = value;
    seen[slot] = OTHER;
  }
  if (clashes) {
    for (const [slot, name] of table.names.entries()) {
      if (seen[slot] !== CLASH) continue;
      report('duplicate-property', name, `${name} is given twice in different spellings`);
    }
  }
  return values;
}

/** Only ASCII may be lower-cased: U+212A KELVIN SIGN becomes an ordinary k. */
function isShortAscii(key: string, longest: number): boolean {
  if (key.length > longest) return false;
  for (let i = 0; i < key.length; i++) if (key.charCodeAt(i) > 127) return false;
  return true;
}
