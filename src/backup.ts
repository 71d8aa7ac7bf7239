/**
 * Backups: one file with the database and the folder's secrets, and a data folder made from it again. The file begins
 * with a line that names it and a line of JSON that lists what follows, each with size and SHA-256; then the files one
 * after the other. It holds the key that opens everything sealed, so it is made for its owner alone (mode 0600) and is
 * as secret as the data folder. Written beside its name and renamed when it is whole; a folder is filled the same way.
 */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from './lib/clock.ts';
import { sleep } from './lib/clock.ts';
import { copyDatabase, newestSchema, prepareRestored, schemaOf } from './store/sqlite/copy.ts';

/** What a person did or has to do; its message says so. */
export class BackupError extends Error {}

export interface BackupFacts {
  createdAt: string;
  schema: number;
  bytes: number;
  files: readonly string[];
}

interface Header {
  version: 1;
  createdAt: string;
  schema: number;
  files: readonly { name: string; size: number; sha256: string }[];
}

const MAGIC = 'postrider backup\n';
const MAX_HEADER_BYTES = 65_536;
const DATABASE = 'postrider.db';
/** Small files of a data folder that belong to the database; the configuration is the machine's and stays out. */
const SECRETS = ['secret-key', 'node-id', 'admin-token'] as const;
const NAMES: ReadonlySet<string> = new Set([...SECRETS, DATABASE]);
const CHUNK = 1024 * 1024;
const LOOK_EVERY_MS = 200;

/** Writes `file` from the data folder, beside a running server or without one. Throws BackupError. */
export async function writeBackup(params: {
  folder: string;
  database: string;
  file: string;
  clock: Clock;
  progress(done: number, total: number | null): void;
}): Promise<BackupFacts> {
  const { folder, database, file, clock, progress } = params;
  if (existsSync(file)) throw new BackupError(`${file} exists already; choose another name`);
  if (!existsSync(database)) throw new BackupError(`there is no postrider database at ${database}`);
  const part = `${file}.part`;
  const copy = `${file}.db.part`;
  try {
    await makePrivate(part);
    await makePrivate(copy);
    await copied(database, copy, clock, progress);
    const sources = [
      ...SECRETS.map((name) => ({ name: name as string, path: join(folder, name) })).filter(({ path }) =>
        existsSync(path),
      ),
      { name: DATABASE, path: copy },
    ];
    const files = [];
    for (const { name, path } of sources) {
      files.push({ name, size: statSync(path).size, sha256: await digestOf(path) });
    }
    const header: Header = {
      version: 1,
      createdAt: new Date(clock.now()).toISOString(),
      schema: schemaOf(copy),
      files,
    };
    const out = await open(part, 'w', 0o600);
    try {
      await out.write(`${MAGIC}${JSON.stringify(header)}\n`);
      for (const { path } of sources)
        for await (const chunk of createReadStream(path)) await out.write(chunk);
      await out.sync();
    } finally {
      await out.close();
    }
    await rename(part, file);
    return {
      createdAt: header.createdAt,
      schema: header.schema,
      bytes: statSync(file).size,
      files: files.map(({ name }) => name),
    };
  } finally {
    for (const left of [part, copy, `${copy}-journal`]) await rm(left, { force: true });
  }
}

/** Fills an empty or missing data folder from `file`; nothing is left there where it does not work. Throws BackupError. */
export async function restoreBackup(params: {
  folder: string;
  file: string;
  /** null: what waits is sent as soon as a server starts. */
  hold: { id: string; at: number } | null;
  progress(done: number, total: number | null): void;
}): Promise<BackupFacts & { waiting: number }> {
  const { folder, file, hold, progress } = params;
  if (existsSync(folder) && (await readdir(folder)).length > 0) {
    throw new BackupError(`${folder} is not empty; restore into a new folder with --data`);
  }
  const input = await opened(file);
  try {
    const { header, start } = await readHeader(input, file);
    if (header.schema > newestSchema()) {
      throw new BackupError(
        `${file} was made by a newer postrider: its schema is number ${header.schema}, this program knows up to ${newestSchema()}. Restore it with the newer program.`,
      );
    }
    const total = header.files.reduce((sum, { size }) => sum + size, 0);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    try {
      let at = start;
      for (const { name, size, sha256 } of header.files) {
        await extract(input, { at, size, sha256, file, to: join(folder, `.${name}.restoring`) }, (done) =>
          progress(at - start + done, total),
        );
        at += size;
      }
      const database = join(folder, `.${DATABASE}.restoring`);
      const { waiting } = prepareRestored(database, hold);
      for (const { name } of header.files) {
        await rename(join(folder, `.${name}.restoring`), join(folder, name));
      }
      return {
        createdAt: header.createdAt,
        schema: header.schema,
        bytes: start + total,
        files: header.files.map(({ name }) => name),
        waiting,
      };
    } catch (cause) {
      // The folder was empty: whatever is there now came from here.
      for (const left of await readdir(folder)) await rm(join(folder, left), { force: true });
      throw cause;
    }
  } finally {
    await input.close();
  }
}

/** Copies the database and tells how far the copy is, by its size. */
async function copied(
  from: string,
  to: string,
  clock: Clock,
  progress: (done: number, total: number | null) => void,
): Promise<void> {
  let total: number | null = null;
  let running = true;
  const copying = copyDatabase(from, to, (bytes) => {
    total = bytes;
  }).finally(() => {
    running = false;
  });
  while (running) {
    await Promise.race([copying, sleep(clock, LOOK_EVERY_MS)]);
    progress(statSync(to).size, total);
  }
  await copying;
}

async function opened(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'r');
  } catch (cause) {
    throw new BackupError(`${file} cannot be read: ${(cause as Error).message}`);
  }
}

async function readHeader(input: FileHandle, file: string): Promise<{ header: Header; start: number }> {
  const buffer = Buffer.alloc(MAX_HEADER_BYTES);
  const { bytesRead } = await input.read(buffer, 0, MAX_HEADER_BYTES, 0);
  const head = buffer.subarray(0, bytesRead);
  const end = head.indexOf(0x0a, MAGIC.length);
  if (head.subarray(0, MAGIC.length).toString('latin1') !== MAGIC || end < 0) {
    throw new BackupError(`${file} is not a backup of postrider`);
  }
  const header = parseHeader(head.subarray(MAGIC.length, end).toString('utf8'));
  if (header === null) throw new BackupError(`${file} is damaged, or made by a newer postrider`);
  return { header, start: end + 1 };
}

/** null for anything but what `writeBackup` writes: names become paths, so only the known ones are taken. */
function parseHeader(text: string): Header | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const header = value as Partial<Header> | null;
  if (header?.version !== 1 || typeof header.schema !== 'number' || typeof header.createdAt !== 'string') {
    return null;
  }
  if (!Array.isArray(header.files)) return null;
  const names = new Set<string>();
  for (const each of header.files as readonly Partial<Header['files'][number]>[]) {
    if (typeof each?.name !== 'string' || !NAMES.has(each.name) || names.has(each.name)) return null;
    if (!Number.isSafeInteger(each.size) || (each.size ?? -1) < 0 || typeof each.sha256 !== 'string')
      return null;
    names.add(each.name);
  }
  return names.has(DATABASE) ? (header as Header) : null;
}

async function extract(
  input: FileHandle,
  from: { at: number; size: number; sha256: string; file: string; to: string },
  progress: (done: number) => void,
): Promise<void> {
  const out = await open(from.to, 'wx', 0o600);
  const hash = createHash('sha256');
  const buffer = Buffer.alloc(CHUNK);
  try {
    for (let done = 0; done < from.size; ) {
      const { bytesRead } = await input.read(buffer, 0, Math.min(CHUNK, from.size - done), from.at + done);
      if (bytesRead === 0) throw new BackupError(`${from.file} is cut off; it cannot be restored`);
      const chunk = buffer.subarray(0, bytesRead);
      hash.update(chunk);
      await out.write(chunk);
      done += bytesRead;
      progress(done);
    }
    await out.sync();
  } finally {
    await out.close();
  }
  if (hash.digest('hex') !== from.sha256) {
    throw new BackupError(`${from.file} is damaged: a checksum does not match. Nothing was restored.`);
  }
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
  return hash.digest('hex');
}

/** Empty, and its owner's alone from the beginning. */
async function makePrivate(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await (await open(path, 'w', 0o600)).close();
  await chmod(path, 0o600);
}
