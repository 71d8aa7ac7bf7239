/**
 * The sample variables of a template: a JSON object that somebody types, read with the place of what is wrong in it. They are
 * kept in this browser, because they belong to nobody's mail.
 */
import { parser } from '@lezer/json';

export type Variables = Readonly<Record<string, unknown>>;

export type ReadVariables =
  | { ok: true; variables: Variables }
  /** Line and column from 1. */
  | { ok: false; line: number; column: number; message: string };

/** Nothing at all is no variables. */
export function readVariables(text: string): ReadVariables {
  if (text.trim() === '') return { ok: true, variables: {} };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { ok: true, variables: value as Variables };
    return { ok: false, line: 1, column: 1, message: 'Variables are an object: { "name": "Ann" }' };
  } catch {
    const at = firstMistake(text);
    return { ok: false, ...placeOf(text, at), message: whatIsWrong(text, at) };
  }
}

/** With a value for each of these names, which have dots: its last part, until somebody writes a better one. */
export function withNames(variables: Variables, names: readonly string[]): Variables {
  const all = structuredClone(variables) as Record<string, unknown>;
  for (const name of names) {
    const path = name.split('.');
    const last = path.pop() ?? name;
    let place: Record<string, unknown> | null = all;
    for (const part of path) {
      if (place === null) break;
      if (!Object.hasOwn(place, part)) setOwn(place, part, {});
      const next: unknown = place[part];
      const isObject: boolean = typeof next === 'object' && next !== null && !Array.isArray(next);
      place = isObject ? (next as Record<string, unknown>) : null;
    }
    if (place !== null && !Object.hasOwn(place, last)) setOwn(place, last, last);
  }
  return all;
}

/** As JSON has it, also for `__proto__`. */
function setOwn(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}

function firstMistake(text: string): number {
  let found: number | null = null;
  parser.parse(text).iterate({
    enter({ type, from }) {
      if (type.isError) found ??= from;
      return found === null;
    },
  });
  return found ?? 0;
}

function whatIsWrong(text: string, at: number): string {
  const before = text.slice(0, at).trimEnd();
  const rest = text.slice(at).trimStart();
  if (rest === '') return 'Something is missing at the end';
  if (before.endsWith(',') && /^[}\]]/.test(rest)) return 'There is a comma too many before this';
  if (rest.startsWith("'")) return 'JSON writes texts in double quotes';
  if (/^["\d[{tfn-]/.test(rest) && /["\d\]}el]$/.test(before)) return 'A comma is missing before this';
  return `This is not JSON: ${rest.slice(0, 20).split('\n')[0]}`;
}

function placeOf(text: string, at: number): { line: number; column: number } {
  const lines = text.slice(0, at).split('\n');
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}

const KEY = 'postrider.template-variables';
const MOST = 50;

/** '' where none are kept. */
export function keptVariables(key: string): string {
  return new Map(kept()).get(key) ?? '';
}

/** The latest fifty templates. */
export function keepVariables(key: string, text: string): void {
  const others = kept().filter(([one]) => one !== key);
  try {
    localStorage.setItem(KEY, JSON.stringify([[key, text], ...others].slice(0, MOST)));
  } catch {
    // There is no room: they last as long as the page.
  }
}

function kept(): [string, string][] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(value)
      ? value.filter(
          (one) => Array.isArray(one) && one.length === 2 && one.every((part) => typeof part === 'string'),
        )
      : [];
  } catch {
    return [];
  }
}
