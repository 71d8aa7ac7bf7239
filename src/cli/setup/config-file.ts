/**
 * What `setup` changes in `postrider.json`: answers merged into the existing content, and the difference as a person
 * reads it. Other keys stay unchanged. Pure.
 */
import { shownValue } from '../../config/shown.ts';
import { CONFIG_KEYS, type ConfigKey } from '../../config/table.ts';

/** The parsed content of `postrider.json`. */
export type ConfigObject = Readonly<Record<string, unknown>>;

/** Answers by key, as a user writes them. */
export type Answers = Partial<Record<ConfigKey, string>>;

/** Written even if it is the default, because readers of the file want to know where mail goes. */
const ALWAYS: readonly string[] = ['route'];

/** The content with the answers, in its existing order; new keys come last. */
export function mergeAnswers(existing: ConfigObject, answers: Readonly<Answers>): ConfigObject {
  const merged: Record<string, unknown> = { ...existing };
  for (const [name, answer] of Object.entries(answers) as [ConfigKey, string][]) {
    const old = existing[name];
    // A list stays a list, a number a number.
    if (old !== undefined && textOf(old) === answer) continue;
    if (old === undefined && answer === CONFIG_KEYS[name].defaults.serve && !ALWAYS.includes(name)) continue;
    merged[name] = answer;
  }
  return merged;
}

/** The file's text. */
export function fileText(content: ConfigObject): string {
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** Whether both have the same content in the same order. */
export function isSame(before: ConfigObject, after: ConfigObject): boolean {
  return fileText(before) === fileText(after);
}

/**
 * The new file, one line per key, without secrets. If the file exists, removed lines begin with `-` and added lines
 * with `+`.
 */
export function shownChange(before: ConfigObject | null, after: ConfigObject): readonly string[] {
  const last = Object.keys(after).at(-1);
  const line = (name: string, value: unknown) =>
    `  ${JSON.stringify(name)}: ${shown(name, value)}${name === last ? '' : ','}`;
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after)])];
  const body = names.flatMap((name) => {
    const [old, now] = [before?.[name], after[name]];
    if (before === null || (old !== undefined && JSON.stringify(old) === JSON.stringify(now)))
      return [`  ${line(name, now)}`];
    return [...(old === undefined ? [] : [`- ${line(name, old)}`]), `+ ${line(name, now)}`];
  });
  return ['  {', ...body, '  }'];
}

function shown(name: string, value: unknown): string {
  // Structured values may hold passwords of relays.
  if (!(name in CONFIG_KEYS)) return '…';
  const text = textOf(value);
  const safe = shownValue(name as ConfigKey, text);
  return JSON.stringify(safe === text ? value : safe);
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join(',') : String(value);
}
