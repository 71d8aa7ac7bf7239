/**
 * Finds where a text stops being JSON, and the line of each member in one that is, so that a mistake can be reported with
 * its line. Of text that JSON.parse accepts it returns the line of a member by its JSON Pointer. Also reports keys that occur
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
    const line = syntaxFault(text, cause)?.line ?? text.trimEnd().split('\n').length;
    return { ok: false, message: `line ${line}: is not JSON (${firstLine(cause)})` };
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

export interface SyntaxFault {
  /** Both from 1. */
  line: number;
  column: number;
  /** What to change there, or ''. Repeats nothing of the text, which may hold secrets. */
  advice: string;
}

const ADVICE: readonly [when: RegExp, advice: string][] = [
  [/^\0/, 'it is in UTF-16; write it in UTF-8'],
  [/^[,:\]}]Unexpected token/, 'there is a comma too many, or a value is missing'],
  [
    /^.Unexpected token/,
    'texts stand in straight double quotation marks; other values are numbers, true, false and null',
  ],
  [
    /^.Expected (property|double)/,
    'names stand in straight double quotation marks, and no comma follows the last one',
  ],
  [/^.Expected ','/, 'a comma is missing, or a quotation mark within a text that is written \\"'],
  [/^.Bad control/s, 'a line break within a text is written \\n'],
  [/^.Bad escaped/, 'a backslash within a text is written \\\\'],
];
const WORD = /[[\]{},:]|true|false|null|-?\d[\d.eE+-]*/y;

/** Where `text`, which JSON.parse refused with `cause`, stops being JSON. null: it only ends too early. */
export function syntaxFault(text: string, cause: unknown): SyntaxFault | null {
  const { message } = cause as Error;
  // With an unexpected token the parser names no position.
  const at = Number(/position (\d+)/.exec(message)?.[1] ?? unexpectedToken(text));
  if (message.startsWith('Unexpected end') || at >= text.trimEnd().length) return null;
  const before = text.slice(0, at).split('\n');
  const said = `${text[at]}${message}`;
  const advice = at === 0 ? 'JSON begins with { or [' : (ADVICE.find(([when]) => when.test(said))?.[1] ?? '');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1, advice };
}

/** Offset of the first token that is none of JSON's, or stands where a value must. */
function unexpectedToken(text: string): number {
  let last = '';
  for (let at = 0; at < text.length; ) {
    const character = text[at] ?? '';
    if (' \t\r\n'.includes(character)) {
      at += 1;
      continue;
    }
    WORD.lastIndex = at;
    const end = character === '"' ? endOfText(text, at) : WORD.test(text) ? WORD.lastIndex : at;
    const needsValue = last === ',' || last === ':' || (last === '[' && character !== ']');
    if (end === at || (needsValue && ',:]}'.includes(character))) return at;
    last = character;
    at = end;
  }
  return 0;
}

/** The offset after the text in quotation marks that begins at `start`. */
function endOfText(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
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
