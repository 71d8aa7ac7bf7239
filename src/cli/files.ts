/**
 * Files that the user names: reads them, where `-` is standard input, and writes them without replacing what the user did
 * not mean. Throws CommandError with the file and the reason.
 */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { whyNot } from '../lib/why-not.ts';
import { CommandError } from './terminal.ts';

/** The bytes of a file. Throws CommandError with the reason if it cannot be read. */
export async function readBytes(file: string, stdin: NodeJS.ReadStream = process.stdin): Promise<Buffer> {
  try {
    return file === '-' ? await buffer(stdin) : await readFile(file);
  } catch (cause) {
    throw new CommandError(`${file} cannot be read: ${whyNot(cause)}`);
  }
}

/** The text of a file; undefined if none was named. */
export async function readText(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return (await readBytes(file)).toString('utf8');
  } catch (cause) {
    // Who gives the text itself reads first what was expected.
    throw new CommandError(
      `${(cause as Error).message}. Give the name of a file, or - to read standard input`,
    );
  }
}

/** The JSON object in a file; undefined if none was named. Throws CommandError if it contains anything else. */
export async function readObject(file: string | undefined): Promise<object | undefined> {
  const text = await readText(file);
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new CommandError(`${file} is not JSON: ${(cause as Error).message}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new CommandError(`${file} must hold a JSON object, like {"name": "Ann"}`);
}

/** The option of a command that writes a file. */
export const FORCE = ['--force', 'replace the file if it exists'] as const;

/**
 * Throws CommandError if `file` has a content that would be lost, unless `force` is true. Empty files, pipes and devices can
 * be written. `other`: what else the user can do.
 */
export async function refuseExisting(
  file: string,
  force = false,
  other = 'replace it with --force',
): Promise<void> {
  const there = force ? null : await stat(file).catch(() => null);
  if (there?.isFile() === true && there.size > 0) {
    throw new CommandError(`${file} exists already; choose another name, or ${other}`);
  }
}

/** Writes a whole file, or appends to it. */
export async function writeText(file: string, text: string, flag: 'a' | 'w' = 'w'): Promise<void> {
  try {
    await writeFile(file, text, { flag });
  } catch (cause) {
    throw new CommandError(`${file} cannot be written: ${whyNot(cause)}`);
  }
}
