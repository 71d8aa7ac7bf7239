/**
 * Files that the user names: reads them, where `-` is standard input, and writes them without replacing what the user did
 * not mean. And the files of a data folder, which stay with the account of its server. Throws CommandError with the file and
 * the reason.
 */
import { execFile } from 'node:child_process';
import { existsSync, lchownSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { isJsonObject } from '../lib/json-object.ts';
import { whyNot } from '../lib/why-not.ts';
import { CommandError } from './terminal.ts';

const run = promisify(execFile);

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
  if (isJsonObject(value)) return value;
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

/** null: this machine has no such account. */
export async function idsOf(user: string): Promise<{ uid: number; gid: number } | null> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', user]), run('id', ['-g', user])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return null;
  }
}

/**
 * If root runs this, gives the data folder with its new files to the account of the server, or to the folder's owner: a server
 * with its own account could not open files that belong to root.
 */
export async function giveToOwner(data: string, user: string | null = null): Promise<void> {
  if (process.getuid?.() !== 0 || !existsSync(data)) return;
  const account = user === null ? null : await idsOf(user);
  const before = process.cwd();
  try {
    process.chdir(data);
    const { uid, gid } = account ?? statSync('.');
    if (uid !== 0) giveHere({ uid, gid }, data);
  } catch (cause) {
    const why = cause instanceof CommandError ? cause.message : whyNot(cause);
    throw new CommandError(`${data} cannot be given to the account of the server: ${why}`);
  } finally {
    process.chdir(before);
  }
}

/**
 * Gives the working folder, which `path` names, with all in it. Root must give away nothing outside, whatever the account puts
 * there meanwhile: names are looked up in the working folder alone, no link is followed, and a file with a second name may be
 * one of somebody else. No file is opened: closing it would end the locks of a store that this process has open.
 */
function giveHere(account: { uid: number; gid: number }, path: string): void {
  const { uid, gid } = account;
  const here = folderHere();
  giveOne('.', account);
  for (const name of readdirSync('.')) {
    const found = lstatSync(name, { throwIfNoEntry: false });
    if (found === undefined) continue;
    if (found.isDirectory()) {
      const inside = folderHere(name);
      process.chdir(name);
      if (folderHere() !== inside) throw new CommandError(`${join(path, name)} was replaced meanwhile`);
      giveHere(account, join(path, name));
      process.chdir('..');
      if (folderHere() !== here) throw new CommandError(`${join(path, name)} was moved meanwhile`);
    } else if (found.uid !== uid || found.gid !== gid) {
      if (found.nlink > 1)
        throw new CommandError(
          `${join(path, name)} has another name elsewhere (a hard link); give it away with chown if it is yours, or remove it`,
        );
      giveOne(name, account);
    }
  }
}

function folderHere(name = '.'): string {
  const { dev, ino } = lstatSync(name, { bigint: true });
  return `${dev}:${ino}`;
}

/** A running server may remove some of its files meanwhile. */
function giveOne(name: string, { uid, gid }: { uid: number; gid: number }): void {
  try {
    lchownSync(name, uid, gid);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
  }
}
