/**
 * Reads a file of suppressed addresses: CSV with any common separator, JSON, or one JSON object per line. Returns a
 * plan: the entries, the columns they come from, and everything that was not understood, so that the user can decide
 * before anything is stored. Used by the command and by the dashboard in a browser. Pure; one pass over the rows.
 */

import { parseCsv, withoutGuards } from '../../lib/csv.ts';
import { addressProblem } from '../../mail/address-text.ts';
import type { SuppressionReason } from '../../model/suppression.ts';
import { ALIASES, FIELDS, type Field, LEFT_OUT, PRESETS, plainName, reasonOf } from './import-presets.ts';

/** An entry as the API takes it. */
export type ImportItem = { [Name in Field]?: string | undefined };

/** The file cannot be read; its message says why. */
export class ImportProblem extends Error {}

export interface ImportWishes {
  /** Of rows whose own cannot be read. */
  reason: SuppressionReason;
  /** Key of PRESETS; null = none, absent = as the columns look. */
  preset?: string | null;
  /** The place of a field's column, from 0; null = it is not in the file. Absent = as its name says. */
  columns: Places;
  /** `left us=Unsubscribe`. */
  words: ReadonlyMap<string, SuppressionReason>;
}

export interface ImportPlan {
  items: readonly { line: number; item: ImportItem }[];
  /** Whose export it looks like, or was said to be; null = nobody's in particular. */
  preset: string | null;
  /** The preset was guessed, and gives every row its reason. */
  guessedReason: SuppressionReason | null;
  /** It has other columns than the address, and none of them nor its preset says a reason. */
  lacksReason: boolean;
  /** Name of the column that each field was read from; without Email nothing could be read. */
  columns: Readonly<Partial<Record<Field, string>>>;
  unknownColumns: readonly string[];
  /** Words for a reason that nobody knows, with how many rows have them. */
  unknownReasons: ReadonlyMap<string, number>;
  byReason: ReadonlyMap<string, number>;
  /** Rows without an address. */
  invalid: readonly InvalidRow[];
  /** Rows whose time has passed. */
  expired: number;
}

/** What stands there for an address, and what is wrong with it (completes "the address …"). */
export interface InvalidRow {
  line: number;
  text: string;
  problem: string;
}

/** The rows of a file and the names of their columns. */
export interface ImportSheet {
  names: readonly string[];
  rows: readonly { line: number; cells: readonly string[] }[];
}

type Places = Readonly<Partial<Record<Field, number | null>>>;

/** `now` in ms. */
export function planImport(sheet: ImportSheet, wishes: ImportWishes, now: number): ImportPlan {
  const plain = sheet.names.map(plainName);
  const presetName = presetOf(sheet, wishes);
  const preset = presetName === null ? undefined : PRESETS[presetName];
  const places = placesIn(sheet, wishes);
  const origin = presetName === 'postmark' ? plain.indexOf('origin') : -1;
  const fixed = preset?.reason ?? null;

  const items: { line: number; item: ImportItem }[] = [];
  const invalid: InvalidRow[] = [];
  const unknownReasons = new Map<string, number>();
  const byReason = new Map<string, number>();
  let expired = 0;
  for (const { line, cells } of sheet.rows) {
    const cell = (field: Field) => withoutGuards(cells[places[field] ?? -1]?.trim() ?? '');
    const email = cell('Email');
    const problem = email.includes(NO_UTF8) ? 'has letters that are not UTF-8' : addressProblem(email);
    if (problem !== null) {
      invalid.push({ line, text: email, problem });
      continue;
    }
    const expiresAt = instantOf(cell('ExpiresAt'));
    if (expiresAt !== '' && Date.parse(expiresAt) <= now) {
      expired += 1;
      continue;
    }
    const word = fixed === null ? cell('Reason') : '';
    const read = wishes.words.get(plainName(word)) ?? reasonOf(word);
    if (word !== '' && read === null) unknownReasons.set(word, (unknownReasons.get(word) ?? 0) + 1);
    // Postmark's one word for both: a reader who left, and an address that the sender blocked.
    const left = origin >= 0 && plainName(word) === 'manualsuppression' && cells[origin] === 'Recipient';
    const reason = left ? 'Unsubscribe' : (fixed ?? read ?? wishes.reason);
    byReason.set(reason, (byReason.get(reason) ?? 0) + 1);
    const note = cell('Note') || (read === null ? word : '');
    const item: ImportItem = { Email: email, Reason: reason };
    if (note !== '') item.Note = note.slice(0, MAX_NOTE_CHARS);
    if (expiresAt !== '') item.ExpiresAt = expiresAt;
    items.push({ line, item });
  }
  const taken = new Set(Object.values(places));
  return {
    items,
    invalid,
    unknownReasons,
    byReason,
    expired,
    preset: presetName,
    guessedReason: wishes.preset === undefined ? fixed : null,
    lacksReason: places.Reason === undefined && fixed === null && sheet.names.length > 1,
    columns: Object.fromEntries(Object.entries(places).map(([field, i]) => [field, sheet.names[i] ?? ''])),
    unknownColumns: sheet.names.filter(
      (name, i) =>
        !taken.has(i) && name.trim() !== '' && !LEFT_OUT.has(plain[i] ?? '') && !namedIn(preset, plain[i]),
    ),
  };
}

/** What stands in a decoded text for octets that are not UTF-8: nobody has such an address, and nothing would match it. */
const NO_UTF8 = '\ufffd';

/** The longest note that the API takes. */
export const MAX_NOTE_CHARS = 256;

function namedIn(preset: (typeof PRESETS)[string] | undefined, name: string | undefined): boolean {
  return name !== undefined && preset?.known?.includes(name) === true;
}

/** The preset that was named, else the one whose columns are all there; null = none. */
function presetOf(sheet: ImportSheet, { preset }: ImportWishes): string | null {
  return preset === undefined ? guess(sheet, sheet.names.map(plainName)) : preset;
}

/** Not one whose note is a column of reasons that are known. */
function guess({ rows }: ImportSheet, plain: readonly string[]): string | null {
  const found = Object.entries(PRESETS).find(([, { known, columns }]) => {
    if (known === undefined || !known.every((name) => plain.includes(name))) return false;
    const at = columns?.Note === 'reason' ? plain.indexOf('reason') : -1;
    return at < 0 || rows.some(({ cells }) => reasonOf(cells[at] ?? '') === null);
  });
  return found?.[0] ?? null;
}

/** Where each field stands, from 0: as it is wished, else as the preset does, else by its name. */
export function placesIn(sheet: ImportSheet, wishes: ImportWishes): Partial<Record<Field, number>> {
  const plain = sheet.names.map(plainName);
  const presetName = presetOf(sheet, wishes);
  const preset = (presetName === null ? undefined : PRESETS[presetName])?.columns ?? {};
  const places: Partial<Record<Field, number>> = {};
  for (const field of FIELDS) {
    const wished = wishes.columns[field] ?? null;
    if (wished !== null) places[field] = wished;
  }
  for (const field of FIELDS) {
    if (wishes.columns[field] !== undefined) continue;
    const name = preset[field];
    const byPreset = name === undefined ? -1 : plain.indexOf(name);
    const free = (i: number) =>
      !Object.values(places).includes(i) && !Object.values(preset).includes(plain[i] ?? '');
    const at = byPreset >= 0 ? byPreset : plain.findIndex((one, i) => ALIASES[one] === field && free(i));
    if (at >= 0) places[field] = at;
  }
  return places;
}

/**
 * CSV with any common separator, JSON, or one JSON object a line. `text`: decoded as UTF-8. Throws ImportProblem where there
 * is nothing to read.
 */
export function readSheet(text: string): ImportSheet {
  // UTF-16 and the formats of spreadsheets have them, text never.
  if (text.includes('\0'))
    throw new ImportProblem(
      'the file is UTF-16 or no text: save it as CSV in UTF-8, which spreadsheets offer',
    );
  const start = text.replace(/^\ufeff/, '').trimStart();
  const sheet = start.startsWith('{') || start.startsWith('[') ? fromJson(start) : fromCsv(text);
  if (sheet.rows.length === 0 && sheet.names.length === 0) throw new ImportProblem('the file has no rows');
  return sheet;
}

function fromCsv(text: string): ImportSheet {
  const rows = parseCsv(text);
  const [head] = rows;
  if (head === undefined) return { names: [], rows };
  // An address is no name: there is no line of names, and the columns are called by their numbers.
  const at = head.cells.findIndex((cell) => cell.includes('@'));
  if (at < 0) return { names: head.cells.map((cell) => cell.trim()), rows: rows.slice(1) };
  const isReason = (i: number) => rows.every(({ cells }) => reasonOf(cells[i] ?? '') !== null);
  const reasonAt = head.cells.findIndex((_, i) => i !== at && isReason(i));
  return {
    names: head.cells.map((_, i) => (i === at ? 'Email' : i === reasonAt ? 'Reason' : `column ${i + 1}`)),
    rows,
  };
}

/** The first list of objects in it; members of members are called `reason.code`. */
function fromJson(text: string): ImportSheet {
  const objects = listOf(text);
  const names: string[] = [];
  const rows = objects.map((object, i) => {
    const cells: string[] = [];
    for (const [name, value] of members(object, '')) {
      let at = names.indexOf(name);
      if (at < 0) at = names.push(name) - 1;
      if (at < MAX_COLUMNS) cells[at] = value;
    }
    return { line: i + 1, cells: Array.from(cells, (cell) => cell ?? '') };
  });
  return { names, rows };
}

const MAX_COLUMNS = 200;

function listOf(text: string): readonly object[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    try {
      value = text
        .split('\n')
        .filter((line) => line.trim() !== '')
        .map((line): unknown => JSON.parse(line));
    } catch (cause) {
      throw new ImportProblem(`the file is not JSON: ${(cause as Error).message}`);
    }
  }
  const list = Array.isArray(value)
    ? value
    : (Object.values(value as object).find((member) => Array.isArray(member)) ?? [value]);
  return (list as unknown[]).filter((one): one is object => typeof one === 'object' && one !== null);
}

function members(object: object, prefix: string): [string, string][] {
  return Object.entries(object).flatMap(([name, value]: [string, unknown]): [string, string][] => {
    if (value === null || value === undefined) return [];
    if (typeof value === 'object' && prefix === '') return members(value, `${name}.`);
    return [[`${prefix}${name}`, String(value)]];
  });
}

/** As the API takes it; times without an offset are UTC, as the services that leave it out write them. */
function instantOf(text: string): string {
  return /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/.test(text) ? `${text.replace(' ', 'T')}Z` : text;
}

/** As many as the API takes at once, and well below what a body may have: notes can be long. */
export const PER_REQUEST = 1000;
const BYTES_PER_REQUEST = 256 * 1024;

/** The rows in portions of one request each, in their order. */
export function* portionsOf<Row extends { readonly item: ImportItem }>(
  rows: readonly Row[],
): Generator<Row[]> {
  const encoder = new TextEncoder();
  let portion: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    const size = encoder.encode(JSON.stringify(row.item)).length + 1;
    if (portion.length > 0 && (portion.length === PER_REQUEST || bytes + size > BYTES_PER_REQUEST)) {
      yield portion;
      portion = [];
      bytes = 0;
    }
    portion.push(row);
    bytes += size;
  }
  if (portion.length > 0) yield portion;
}
