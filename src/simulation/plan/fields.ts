/**
 * Reads the members of one JSON object of a plan file, each in its form. A member in another form is reported with
 * its position, its value and the correction, and counts as absent. `done` reports members that were not read.
 */
import { parseRoute, withoutPasswords } from '../../config-routing.ts';
import { isJsonObject } from '../../lib/json-object.ts';
import type { Route } from '../../model/route.ts';

export interface Fields {
  raw(name: string): unknown;
  whole(name: string, low: number, high: number, required?: boolean): number | null;
  number(name: string, low: number, high: number, required?: boolean): number | null;
  /** A list of whole numbers. */
  wholes(name: string, low: number, high: number): readonly number[] | null;
  text(
    name: string,
    valid: (text: string) => boolean,
    fix: string | ((text: string) => string),
    required?: boolean,
  ): string | null;
  oneOf<Word extends string>(name: string, words: readonly Word[], required?: boolean): Word | null;
  flag(name: string): boolean | null;
  /** `2027-01-31`, as midnight UTC. */
  date(name: string): number | null;
  /** The time of day (`08:30`) in `from`, in milliseconds; by default midnight. */
  startMs(): number;
  /** That, and the one in `until`; by default the next midnight. */
  hours(): { fromMs: number; untilMs: number };
  /** The form of the key `route`. */
  route(name: string): readonly Route[] | null;
  /** A list of at most 200 objects. */
  list<Item>(name: string, read: (fields: Fields) => Item): Item[];
  /** The members that were not read, unchanged. */
  rest(): object;
  done(): void;
}

type Say = (where: string, message: string) => void;

const MOST_ENTRIES = 200;
const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;

/** null: `value` is not an object. `at`: its position in the file, '' = the whole. */
export function createFields(value: unknown, at: string, say: Say): Fields | null {
  if (!isJsonObject(value)) return null;
  const object = value;
  const asked = new Set<string>();
  const place = (name: string) => (at === '' ? name : `${at}.${name}`);

  /** null: it is absent, or was told. */
  function read<T>(
    name: string,
    required: boolean,
    fix: string | ((shown: string) => string),
    parse: (one: unknown) => T | null,
  ) {
    asked.add(name);
    const one = object[name];
    if (one === undefined) {
      if (required) say(place(name), `is missing; ${typeof fix === 'string' ? `use ${fix}` : fix('')}`);
      return null;
    }
    const parsed = parse(one);
    if (parsed === null)
      say(
        place(name),
        `${shown(one)}: ${typeof fix === 'string' ? `use ${fix}` : fix(String(one).slice(0, 80))}`,
      );
    return parsed;
  }

  const within = (one: unknown, low: number, high: number): one is number =>
    typeof one === 'number' && one >= low && one <= high;

  const time = (name: string) => read(name, false, 'a time of day (UTC) from "00:00" to "24:00"', timeOf);
  const startMs = () => time('from') ?? 0;

  return {
    raw(name) {
      asked.add(name);
      return object[name];
    },
    whole: (name, low, high, required = false) =>
      read(name, required, `a whole number from ${low} to ${high}`, (one) =>
        Number.isInteger(one) && within(one, low, high) ? one : null,
      ),
    number: (name, low, high, required = false) =>
      read(name, required, `a number from ${low} to ${high}`, (one) => (within(one, low, high) ? one : null)),
    wholes: (name, low, high) =>
      read(name, false, `a list of whole numbers from ${low} to ${high}`, (one) =>
        Array.isArray(one) && one.length > 0 && one.every((n) => Number.isInteger(n) && within(n, low, high))
          ? (one as number[])
          : null,
      ),
    text: (name, valid, fix, required = true) =>
      read(name, required, fix, (one) => (typeof one === 'string' && valid(one) ? one : null)),
    oneOf: (name, words, required = false) =>
      read(name, required, `one of ${words.join(', ')}`, (one) => words.find((word) => word === one) ?? null),
    flag: (name) => read(name, false, 'true or false', (one) => (typeof one === 'boolean' ? one : null)),
    date: (name) =>
      read(name, false, 'a date, e.g. "2027-01-31"', (one) => {
        const at = typeof one === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(one) ? Date.parse(one) : Number.NaN;
        return Number.isNaN(at) ? null : at;
      }),
    startMs,
    hours() {
      const fromMs = startMs();
      const untilMs = time('until') ?? DAY_MINUTES * MINUTE_MS;
      if (untilMs < fromMs)
        say(place('until'), `is before ${place('from')}; mail over midnight is two entries`);
      return { fromMs, untilMs };
    },
    route: (name) =>
      read(
        name,
        false,
        () => 'use mx, pool:NAME, smtp://host:port, or a list of these',
        (one) => {
          const items: readonly unknown[] = Array.isArray(one) ? one : [one];
          const routes = items.flatMap((item) => {
            const route = typeof item === 'string' ? parseRoute(item.trim()) : null;
            return route === null || route.kind === 'sandbox' ? [] : [route];
          });
          return routes.length === items.length && routes.length > 0 ? routes : null;
        },
      ),
    list(name, readOne) {
      asked.add(name);
      const items = object[name];
      if (items === undefined) return [];
      if (!Array.isArray(items) || items.length > MOST_ENTRIES) {
        say(place(name), `must be a list of at most ${MOST_ENTRIES} objects`);
        return [];
      }
      return items.flatMap((item: unknown, i) => {
        const where = `${place(name)}[${i}]`;
        const fields = createFields(item, where, say);
        if (fields === null) say(where, `${shown(item)}: use an object`);
        return fields === null ? [] : [readOne(fields)];
      });
    },
    rest: () => Object.fromEntries(Object.entries(object).filter(([name]) => !asked.has(name))),
    done() {
      const known = [...asked];
      for (const name of Object.keys(object))
        if (!asked.has(name)) say(place(name), `unknown key; known keys: ${known.join(', ')}`);
    },
  };
}

/** Milliseconds after midnight. */
function timeOf(text: unknown): number | null {
  const [, hour = '', minute = ''] = (typeof text === 'string' && /^(\d{2}):(\d{2})$/.exec(text)) || [];
  const minutes = Number(hour) * 60 + Number(minute);
  return hour === '' || Number(minute) > 59 || minutes > DAY_MINUTES ? null : minutes * MINUTE_MS;
}

/** A value as it was written; of a route, nothing that could be a password. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? '';
  return (
    text.includes('://') && typeof value === 'string' ? JSON.stringify(withoutPasswords(value)) : text
  ).slice(0, 80);
}
