/**
 * Finds the line of each member in a JSON text, so that a mistake in an operator's file can be reported with its line.
 * Takes text that JSON.parse accepts; returns the line of a member by its JSON Pointer. Also reports keys that occur
 * twice in one object, of which JSON.parse silently keeps the last.
 */

export interface JsonLines {
  /** Line (from 1) of the member that a pointer names (`/0/limits/tls`), or of the closest member that contains it. */
  lineOf(pointer: string): number;
  /** Pointers of keys that occur a second time in their object. */
  readonly duplicates: readonly string[];
}

export type JsonFile = { ok: true; value: unknown; lines: JsonLines } | { ok: false; message: string };

/** Reads the JSON of an operator's file. `message` names the line. */
export function readJson(text: string): JsonFile {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    return { ok: false, message: `line ${syntaxErrorLine(text)}: is not JSON (${firstLine(cause)})` };
  }
  return { ok: true, value, lines: locate(text) };
}

function firstLine(cause: unknown): string {
  return (
    (cause as Error).message
      .replace(/ (in JSON )?at position .*/s, '')
      .split('\n', 1)[0]
      ?.slice(0, 120) ?? ''
  );
}

/** The first line up to which the text cannot be the beginning of any valid JSON. */
export function syntaxErrorLine(text: string): number {
  const ends = [...text.matchAll(/\n|$/g)].map((match) => match.index);
  let low = 0;
  let high = ends.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (mayGoOn(text.slice(0, (ends[middle] ?? 0) + 1))) low = middle + 1;
    else high = middle;
  }
  return low + 1;
}

/** Whether the parser failed only because the text ended, and not earlier. */
function mayGoOn(beginning: string): boolean {
  try {
    JSON.parse(beginning);
    return true;
  } catch (cause) {
    const { message } = cause as Error;
    const at = /position (\d+)/.exec(message)?.[1];
    return /^Unexpected end|^Unterminated/.test(message) || Number(at) >= beginning.length;
  }
}

interface Open {
  pointer: string;
  /** Next index of a list; -1 = an object. */
  index: number;
  keys: Set<string>;
}

/** One pass over the tokens of a valid text, without recursion, because deep nesting must not exhaust the stack. */
function locate(text: string): JsonLines {
  const lineOfPointer = new Map<string, number>([['', 1]]);
  const duplicates: string[] = [];
  const stack: Open[] = [];
  let line = 1;
  /** Pointer of the value that comes next. */
  let next = '';
  const tokens = /\n|"(?:[^"\\]|\\.)*"(\s*:)?|[[\]{},]|[^\s"[\]{},:]+/g;
  for (const [token, colon] of text.matchAll(tokens)) {
    const top = stack.at(-1);
    if (token === '\n') {
      line += 1;
      continue;
    }
    const isEnd = token === '}' || token === ']' || token === ',';
    if (!isEnd && colon === undefined && !lineOfPointer.has(next)) lineOfPointer.set(next, line);
    if (token === '{' || token === '[') {
      stack.push({ pointer: next, index: token === '[' ? 0 : -1, keys: new Set() });
      if (token === '[') next = element(next, 0);
    } else if (token === '}' || token === ']') {
      stack.pop();
    } else if (token === ',') {
      if (top !== undefined && top.index >= 0) {
        top.index += 1;
        next = element(top.pointer, top.index);
      }
    } else if (colon !== undefined && top !== undefined) {
      const key = JSON.parse(token.slice(0, token.length - colon.length)) as string;
      next = `${top.pointer}/${pointerKey(key)}`;
      if (top.keys.has(key)) duplicates.push(next);
      top.keys.add(key);
      lineOfPointer.set(next, line);
      line += colon.split('\n').length - 1;
    }
  }
  return {
    duplicates,
    lineOf(pointer) {
      for (let at = pointer; ; at = at.slice(0, at.lastIndexOf('/'))) {
        const found = lineOfPointer.get(at);
        if (found !== undefined) return found;
        if (!at.includes('/')) return 1;
      }
    },
  };
}

function element(pointer: string, index: number): string {
  return `${pointer}/${index}`;
}

/** A key as a JSON Pointer writes it (RFC 6901 §3). */
function pointerKey(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
