/** Reads files that the user names; `-` is standard input. */
import { readFile } from 'node:fs/promises';
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
  return file === undefined ? undefined : (await readBytes(file)).toString('utf8');
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
