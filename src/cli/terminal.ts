/** Output to the terminal, and questions to the user. Colours are used only at a terminal. */
import { styleText } from 'node:util';

export interface Terminal {
  /** How the user calls this program (called-as.ts). */
  calledAs: () => string;
  environment: Readonly<Record<string, string | undefined>>;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
  stdin: NodeJS.ReadStream;
}

/** A command ends with this sentence. `errors`: the problems as the server listed them. */
export class Failure extends Error {
  readonly errors: readonly object[];
  constructor(message: string, errors: readonly object[] = []) {
    super(message);
    this.errors = errors;
  }
}

/** The arguments are wrong; exit code 2. */
export class UsageError extends Failure {}

/** The arguments are right, but the command failed; exit code 1. */
export class CommandError extends Failure {}

/** Where text is written; a terminal knows its width (a serial console may say 0). */
export type Screen = NodeJS.WritableStream & { isTTY?: boolean; columns?: number };

export type Style = Parameters<typeof styleText>[0];

/** `text` in a style on a terminal, plain elsewhere (pipes, NO_COLOR). */
export function styled(stream: Screen, style: Style, text: string): string {
  return styleText(style, text, { stream, validateStream: true });
}

/**
 * Controls that a terminal obeys (C0 without tab and line feed, DEL, C1), separators of lines, and what changes the
 * direction of the text after it.
 */
const OBEYED =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be replaced
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Text of several lines from outside made safe for a terminal: what it would obey (escape sequences) becomes dots. */
export function printableLines(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(OBEYED, '·');
}

/** The same in one line: line feeds and tabs become dots too, so that no text can look like a further line or cell. */
export function printable(text: string): string {
  return printableLines(text).replace(/[\t\n]/g, '·');
}

/** The value as JSON. What a terminal would obey is escaped (JSON.stringify leaves DEL, C1 and directions as they are). */
export function jsonText(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent);
  return text.replace(OBEYED, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Members of the API's answers that have several lines. */
const OF_LINES: ReadonlySet<string> = new Set([
  'PlainContent',
  'HTMLContent',
  'Conversation',
  'Body',
  'Zone',
]);

/**
 * The JSON of an answer with all its texts made safe for a terminal. Most come from senders, receivers and tenants; made
 * safe where they arrive, no command can forget it.
 */
export function parsedForTerminal(json: string): unknown {
  return JSON.parse(json, (name, value: unknown) => {
    if (typeof value !== 'string') return value;
    return OF_LINES.has(name) ? printableLines(value) : printable(value);
  });
}

/** The same in at most `most` characters; what is left out is marked by … at the end. */
export function shortened(text: string, most: number): string {
  const shown = printable(text);
  if (shown.length <= most) return shown;
  // Half of a character outside the first plane would be shown as a question mark.
  return `${shown.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** How to see the whole of what a list shortens, whatever options it was given. */
export const SAME_WITH_JSON = 'the same command with --json';

/** `text`, and below it how to see what its … left out, if there is any. `command` as it is typed, or described. */
export function withWhole(text: string, command: string): string {
  return text.includes('…') ? `${text}\n\n… = shortened; the whole text: ${command}` : text;
}

/** Columns padded to the widest cell; the last column is not padded. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, cell.length);
    });
  }
  return rows
    .map((row) =>
      row
        .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** `rows` as a table below `head`; `none` where there are no rows. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[], none: string): string {
  return rows.length === 0 ? none : table([head, ...rows]);
}

/** `1 address`, `2 addresses`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

const WIDEST_TEXT = 110;

/**
 * `text` wrapped at spaces to fit the terminal; every line but the first is indented by `indent` spaces, and the
 * first is assumed to begin there. Outside of terminals (pipes, files) it stays one line.
 */
export function wrapped(screen: Screen, indent: number, text: string): string {
  if (screen.isTTY !== true) return text;
  const width = Math.max(20, Math.min(screen.columns || 80, WIDEST_TEXT) - indent);
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].join(`\n${' '.repeat(indent)}`);
}
