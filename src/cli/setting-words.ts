/**
 * Settings as arguments of a command: `RequireTls=true`, `Retention.ContentDays=0`. A value that is valid JSON is read as
 * JSON, any other value is text. The names are checked by the server.
 */
import { UsageError } from './terminal.ts';

const WORD = /^([A-Za-z]+)(?:\.([A-Za-z]+))?=(.*)$/s;

/** `['A=true', 'B.C=1']` → `{A: true, B: {C: 1}}`. Throws UsageError for a word in another form. */
export function readSettings(words: readonly string[]): Record<string, unknown> {
  const settings = new Map<string, unknown>();
  for (const word of words) {
    const match = WORD.exec(word);
    if (match === null) {
      throw new UsageError(`"${word}" is not a setting; write name=value, e.g. RequireTls=true`);
    }
    const [, name = '', member, text = ''] = match;
    const value = readValue(text);
    if (member === undefined) settings.set(name, value);
    else {
      const group = settings.get(name);
      settings.set(name, { ...(typeof group === 'object' ? group : {}), [member]: value });
    }
  }
  return Object.fromEntries(settings);
}

/** One row per setting, with the members of a group separately, in the form that `readSettings` reads. */
export function settingRows(settings: object): string[][] {
  return Object.entries(settings).flatMap(([name, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).map(([member, inner]: [string, unknown]) => [
          `${name}.${member}`,
          JSON.stringify(inner),
        ])
      : [[name, typeof value === 'string' && value !== '' ? value : JSON.stringify(value)]],
  );
}

function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
