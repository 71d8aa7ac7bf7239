/**
 * How the user calls this program, for hints that can be pasted: the bare name if PATH leads to it, `npx` and the
 * name in the project that it is installed in, otherwise the launcher's path from the current folder. Nothing is run;
 * folders of PATH that cannot be read are ignored.
 */
import { realpathSync } from 'node:fs';
import { delimiter, join, relative, sep } from 'node:path';
import type { Terminal } from './terminal.ts';

const NAME = 'postrider';

/** `postrider`, `npx postrider`, `./bin/postrider` or an absolute path. `launcher`: the file in `bin` that starts this program. */
export function calledAs(options: { path: string | undefined; cwd: string; launcher: string }): string {
  const { path = '', cwd, launcher } = options;
  const real = realPath(launcher);
  const leadsHere = (folder: string) => folder !== '' && realPath(join(folder, NAME)) === real;
  // While npm runs a project's command, it puts all of them into PATH.
  const inPath = path
    .split(delimiter)
    .some((folder) => !folder.endsWith(join('node_modules', '.bin')) && leadsHere(folder));
  if (real !== null && inPath) return NAME;
  if (real !== null && leadsHere(join(cwd, 'node_modules', '.bin'))) return `npx ${NAME}`;
  const fromHere = relative(cwd, launcher);
  // A service starts in the root folder, and its user types commands elsewhere.
  const isElsewhere = cwd === sep || fromHere.startsWith('..') || fromHere.startsWith(sep);
  return isElsewhere ? quoted(launcher) : quoted(`./${fromHere}`);
}

/** `domain list` as the user would type it here, with the data folder that was given. */
export function commandLine(
  { calledAs }: Pick<Terminal, 'calledAs'>,
  { data }: Readonly<Record<string, string | undefined>>,
  words: string,
): string {
  return `${calledAs()} ${words}${data === undefined ? '' : ` --data ${quoted(data)}`}`;
}

/**
 * A sentence of the server with its commands as the user would type them here: it says `postrider …` after a colon or in
 * backticks, because it does not know how it is called. `command` as `CommandContext.command`.
 */
export function withCommands(text: string, command: (words: string) => string): string {
  // To the end of the line, of the column or of its part of the sentence; an address may hold almost anything (o'neil@…).
  return text.replace(
    /(?<=: |`)postrider ([a-z](?:[^\s`,;()]| (?=[^\s`,;()]))*[^\s`,;().:])/g,
    (_, words: string) => command(words),
  );
}

/** `text` as one word of a shell. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function realPath(file: string): string | null {
  try {
    return realpathSync(file);
  } catch {
    return null;
  }
}
