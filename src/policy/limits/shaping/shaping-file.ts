/**
 * Reads a list of shaping rows: the shipped shaping.json, or the operator's file in the same format. Returns checked
 * rows, or every problem with its line and the correction. A file with one mistake changes nothing.
 */
import { closest } from '../../../lib/closest.ts';
import { readJson } from '../../../lib/json-lines.ts';
import { isJsonObject } from '../../../lib/json-object.ts';
import { isLimitName, LIMIT_NAMES, LIMITS } from './limit-values.ts';
import { MOST_SMALL_MESSAGES, type PathLimits } from './types.ts';

/** One row as written in the file; absent members keep their value. */
export interface ShapingRow {
  id: string;
  /** Suffixes of MX host names, each with its leading dot. */
  mx?: readonly string[];
  /** Recipient domains. */
  domains?: readonly string[];
  /** Relays, `host` or `host:port`. */
  relays?: readonly string[];
  /** All hosts are one site; false: each domain or host set is a separate site. */
  oneSite?: boolean;
  /** Only for sites that accepted fewer messages within a day. */
  belowMessagesPerDay?: number;
  route?: 'mx' | 'relay';
  limits?: Partial<PathLimits>;
  /** Limits that differ for one source, by its id. */
  sources?: Readonly<Record<string, Partial<PathLimits>>>;
  since?: string;
  source?: string;
  note?: string;
}

export type ShapingFile =
  | { kind: 'rows'; rows: readonly ShapingRow[] }
  | { kind: 'refused'; problems: readonly string[] };

/** Rows without hosts: every path begins with `default`, then one of the others may apply. */
export const GENERAL_ROWS: readonly string[] = ['default', 'small', 'relay'];

const HOST_FIELDS = ['mx', 'domains', 'relays'] as const;
const MAX_ROWS = 2000;
const HOST = '(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)';
const SUFFIX = new RegExp(`^\\.${HOST}(?:\\.${HOST})*$`);
const DOMAIN = new RegExp(`^${HOST}(?:\\.${HOST})+$`);
const RELAY = /^(?:[a-z0-9._-]{1,253}|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;
const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/**
 * `file`: the name of the file in problems. `sourceIds`: the sources that a row may name; null = any. `shippedIds`: the
 * rows that it may change without naming hosts; null: it is the shipped file.
 */
export function readShapingFile(
  text: string,
  file: string,
  sourceIds: ReadonlySet<string> | null = null,
  shippedIds: ReadonlySet<string> | null = null,
): ShapingFile {
  const json = readJson(text);
  if (!json.ok) return { kind: 'refused', problems: [`${file}: ${json.message}`] };
  const { value, lines } = json;
  const problems: string[] = [];
  const say = (pointer: string, message: string) => {
    problems.push(`${file}: line ${lines.lineOf(pointer)}: ${message}`);
  };
  for (const pointer of lines.duplicates) {
    say(pointer, `"${lastOf(pointer)}" stands twice in one object; keep one of them`);
  }
  if (!Array.isArray(value)) {
    say('', 'must hold a list of rows, e.g. [{"id": "google", "limits": {"connections": 3}}]');
  } else if (value.length > MAX_ROWS) {
    say('', `holds more than ${MAX_ROWS} rows; merge rows of the same limits into one`);
  } else {
    const seen = new Set<string>();
    for (const [index, item] of value.entries()) checkRow(item, index, seen, shippedIds, say);
  }
  if (sourceIds !== null && problems.length === 0)
    checkSources(value as readonly ShapingRow[], sourceIds, say);
  // Checked field by field above; an invalid row has caused a problem.
  return problems.length > 0
    ? { kind: 'refused', problems }
    : { kind: 'rows', rows: value as readonly ShapingRow[] };
}

type Say = (pointer: string, message: string) => void;

const FIELDS: Readonly<
  Record<keyof ShapingRow, (value: unknown, at: string, row: string, say: Say) => void>
> = {
  id: () => {},
  mx: (value, at, row, say) =>
    checkTexts(
      value,
      at,
      `${row} mx`,
      SUFFIX,
      'a lower-case end of a host name with its dot, e.g. ".example.net"',
      say,
    ),
  domains: (value, at, row, say) =>
    checkTexts(value, at, `${row} domains`, DOMAIN, 'a lower-case domain, e.g. "example.net"', say),
  relays: (value, at, row, say) =>
    checkTexts(
      value,
      at,
      `${row} relays`,
      RELAY,
      'host or host:port of a relay, e.g. "smtp.example.net:587"',
      say,
    ),
  oneSite: (value, at, row, say) => {
    if (typeof value !== 'boolean') say(at, `${row} oneSite ${shown(value)}: use true or false`);
  },
  belowMessagesPerDay: (value, at, row, say) => {
    const most = MOST_SMALL_MESSAGES;
    if (!Number.isInteger(value) || Number(value) < 0 || Number(value) > most)
      say(
        at,
        `${row} belowMessagesPerDay ${shown(value)}: use a whole number up to ${most}, 0 to switch the row off`,
      );
  },
  route: (value, at, row, say) => {
    if (value !== 'mx' && value !== 'relay') say(at, `${row} route ${shown(value)}: use "mx" or "relay"`);
  },
  limits: checkLimits,
  sources: (value, at, row, say) => {
    if (!isJsonObject(value)) {
      say(at, `${row} sources ${shown(value)}: use an object of limits by source id`);
      return;
    }
    for (const [source, limits] of Object.entries(value))
      checkLimits(limits, `${at}/${source}`, `${row} source "${source}"`, say);
  },
  since: checkText,
  source: checkText,
  note: checkText,
};

function checkRow(
  item: unknown,
  index: number,
  seen: Set<string>,
  shippedIds: ReadonlySet<string> | null,
  say: Say,
): void {
  const at = `/${index}`;
  if (!isJsonObject(item)) {
    say(at, `row ${index + 1}: use an object such as {"id": "google", "limits": {"connections": 3}}`);
    return;
  }
  const { id } = item;
  const row = typeof id === 'string' ? `row "${id.slice(0, 64)}"` : `row ${index + 1}`;
  if (typeof id !== 'string' || !ID.test(id)) {
    say(`${at}/id`, `${row} id ${shown(id)}: use 1 to 64 letters, digits, dots or hyphens`);
  } else if (seen.has(id)) {
    say(`${at}/id`, `${row}: another row has this id; merge the two`);
  } else {
    seen.add(id);
    const hasHosts = HOST_FIELDS.some((field) => field in item);
    if (!hasHosts && shippedIds?.has(id) === false)
      say(
        at,
        `${row}: applies to nothing, because no shipped row has this id; name its hosts by mx, domains or relays, or write the id of a shipped row (did you mean ${closest(id, [...shippedIds])}?)`,
      );
    if (hasHosts && GENERAL_ROWS.includes(id))
      say(
        at,
        `${row}: holds for what no other row names, so it takes limits only; give the hosts a row of their own`,
      );
  }
  for (const [name, value] of Object.entries(item)) {
    if (Object.hasOwn(FIELDS, name)) FIELDS[name as keyof ShapingRow](value, `${at}/${name}`, row, say);
    else say(`${at}/${name}`, `${row}: unknown key "${name}"; known keys: ${Object.keys(FIELDS).join(', ')}`);
  }
}

function checkSources(rows: readonly ShapingRow[], ids: ReadonlySet<string>, say: Say): void {
  for (const [index, row] of rows.entries()) {
    for (const id of Object.keys(row.sources ?? {})) {
      if (ids.has(id)) continue;
      const known = ids.size === 0 ? 'none is configured' : `configured are ${[...ids].join(', ')}`;
      say(
        `/${index}/sources/${id}`,
        `row "${row.id}": no source "${id}"; ${known} (key sources of postrider.json)`,
      );
    }
  }
}

function checkLimits(value: unknown, at: string, row: string, say: Say): void {
  if (!isJsonObject(value)) {
    say(at, `${row} limits ${shown(value)}: use an object such as {"connections": 3}`);
    return;
  }
  for (const [name, limit] of Object.entries(value)) {
    if (!isLimitName(name))
      say(`${at}/${name}`, `${row}: unknown limit "${name}"; known limits: ${LIMIT_NAMES.join(', ')}`);
    else if (!LIMITS[name].valid(limit))
      say(`${at}/${name}`, `${row} ${name} ${shown(limit)}: use ${LIMITS[name].form}`);
  }
}

function checkTexts(value: unknown, at: string, what: string, form: RegExp, fix: string, say: Say): void {
  if (!Array.isArray(value)) {
    say(at, `${what} ${shown(value)}: use a list, each ${fix}`);
    return;
  }
  value.forEach((one: unknown, index) => {
    if (typeof one !== 'string' || one.length > 300 || !form.test(one))
      say(`${at}/${index}`, `${what} ${shown(one)}: use ${fix}`);
  });
}

function checkText(value: unknown, at: string, row: string, say: Say): void {
  if (typeof value !== 'string') say(at, `${row} ${lastOf(at)} ${shown(value)}: use a text`);
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'is missing').slice(0, 80);
}

function lastOf(pointer: string): string {
  return pointer.slice(pointer.lastIndexOf('/') + 1);
}
