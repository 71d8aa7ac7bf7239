/**
 * Backups: one tar archive with the database and the secrets of the data folder, and restoring a data folder from it.
 * Its first file lists the others with size and SHA-256. Backups of version 0.1 (one line that names the format, one
 * line of JSON, then the files one after the other) can still be read. A backup contains the key that decrypts
 * everything, so only its owner can read it (mode 0600), and it must be kept as secret as the data folder. It is
 * written under a temporary name and renamed when complete; a folder is restored in the same way.
 */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { type FileHandle, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from './lib/clock.ts';
import { sleep } from './lib/clock.ts';
import { DATA_FILES, isBeingRestored, makeFolder, RESTORING } from './lib/data-files.ts';
import { readTarHeader, TAR_BLOCK, TAR_END, tarHeader, tarPadding } from './lib/tar.ts';
import { whyNot } from './lib/why-not.ts';
import { freeBytes, openWayBack, type WayBack } from './store/sqlite/before-migration.ts';
import {
  copyDatabase,
  type Hold,
  newestSchema,
  otherDatabase,
  prepareRestored,
  schemaOf,
  sizeOfCopy,
} from './store/sqlite/copy.ts';
import { type StoreLock, takeLock } from './store/sqlite/engine/lock.ts';
import { unavailableReason } from './store/sqlite/engine/sqlite-errors.ts';

/** A mistake of the person, or something they have to do; the message says what. */
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

/** The first file of a backup. */
const LIST = 'backup.json';
/** The beginning of a backup of version 0.1. */
const OLD_MAGIC = 'postrider backup\n';
const MAX_HEADER_BYTES = 65_536;
/**
 * Small files of a data folder that belong to the database. The configuration belongs to the machine and is left out.
 */
const SECRETS = [DATA_FILES.secretKey, DATA_FILES.nodeId, DATA_FILES.adminToken] as const;
const NAMES: ReadonlySet<string> = new Set([...SECRETS, DATA_FILES.database]);
/** The lock of the database, and its journal. */
const LOCK = `${DATA_FILES.database}-lock`;
const CHUNK = 1024 * 1024;
const LOOK_EVERY_MS = 200;

/** What a backup into `file` leaves if its process is killed. */
export function unfinished(
  file: string,
): Readonly<Record<'part' | 'copy' | 'journal' | 'lock' | 'lockJournal', string>> {
  const part = `${file}.part`;
  const copy = `${file}.db.part`;
  return {
    part,
    copy,
    journal: `${copy}-journal`,
    lock: `${part}-lock`,
    lockJournal: `${part}-lock-journal`,
  };
}

/** Writes `file` from the data folder, while a server is running or not. Throws BackupError. */
export async function writeBackup(params: {
  folder: string;
  database: string;
  file: string;
  clock: Clock;
  progress(done: number, total: number | null): void;
}): Promise<BackupFacts> {
  const { folder, database, file, clock, progress } = params;
  const requireNew = () => {
    if (existsSync(file)) throw new BackupError(`${file} exists already; choose another name`);
  };
  requireNew();
  // Made here, the folder of a mistyped path would hold the copy that nobody finds.
  if (!existsSync(dirname(file))) {
    throw new BackupError(`there is no folder ${dirname(file)}; make it, or correct the path`);
  }
  requireDatabase(database, folder);
  const left = unfinished(file);
  const { part, copy } = left;
  let lock: StoreLock | null = null;
  try {
    const total = sizeOfCopy(database);
    await requireRoom(dirname(file), total, database);
    lock = lockOf(part, file);
    requireNew();
    await (await newPrivate(copy)).close();
    await copied(database, copy, clock, (done) => progress(done, total));
    const pathOf = (name: string) => (name === DATA_FILES.database ? copy : join(folder, name));
    const files = [];
    for (const name of [...SECRETS, DATA_FILES.database].filter((one) => existsSync(pathOf(one))))
      files.push({ name, size: statSync(pathOf(name)).size, sha256: await digestOf(pathOf(name)) });
    const header: Header = {
      version: 1,
      createdAt: new Date(clock.now()).toISOString(),
      schema: schemaOf(copy),
      files,
    };
    await writeArchive(part, header, pathOf, clock.now());
    await rename(part, file);
    return factsOf(header, file);
  } catch (cause) {
    if (isDiskFull(cause))
      throw new BackupError(`the disk of ${dirname(file)} is full (df -h, df -i); nothing was left there`, {
        cause,
      });
    const reason = unavailableReason(cause);
    if (reason === null) throw cause;
    throw new BackupError(`${database} cannot be copied: ${reason}. There is no backup of it.`, { cause });
  } finally {
    // What another process has is left alone.
    if (lock !== null) for (const one of Object.values(left)) await rm(one, { force: true });
    lock?.release();
  }
}

/** The list of the files first, then each of them. */
async function writeArchive(
  part: string,
  header: Header,
  pathOf: (name: string) => string,
  now: number,
): Promise<void> {
  const out = await newPrivate(part);
  try {
    const list = Buffer.from(`${JSON.stringify(header, null, 2)}\n`);
    await out.appendFile(tarHeader({ name: LIST, size: list.length }, now));
    await out.appendFile(list);
    await out.appendFile(Buffer.alloc(tarPadding(list.length)));
    for (const entry of header.files) {
      await out.appendFile(tarHeader(entry, now));
      for await (const chunk of createReadStream(pathOf(entry.name))) await out.appendFile(chunk);
      await out.appendFile(Buffer.alloc(tarPadding(entry.size)));
    }
    await out.appendFile(TAR_END);
    await out.sync();
  } finally {
    await out.close();
  }
}

function factsOf({ createdAt, schema, files }: Header, file: string): BackupFacts {
  return { createdAt, schema, bytes: statSync(file).size, files: files.map(({ name }) => name) };
}

/** Two would write the same files, and one would remove those of the other. Throws BackupError. */
function lockOf(part: string, file: string): StoreLock {
  try {
    return takeLock(part);
  } catch (cause) {
    if ((cause as { reason?: string }).reason === 'locked')
      throw new BackupError(`another backup to ${file} is being made; wait for it, or choose another name`);
    throw new BackupError(`${file} cannot be written: ${whyNot((cause as Error).cause)}`, { cause });
  }
}

/** Fills an empty or missing data folder from `file`; if that fails, it leaves nothing there. Throws BackupError. */
export async function restoreBackup(params: {
  folder: string;
  file: string;
  /** null: waiting mail is sent as soon as a server starts. */
  hold: Hold | null;
  progress(done: number, total: number | null): void;
}): Promise<BackupFacts & { waiting: number }> {
  const { folder, file, hold, progress } = params;
  const there = existsSync(folder) ? await readdir(folder) : [];
  if (there.length > 0 && !isUnfinished(there)) {
    throw new BackupError(`${folder} is not empty; restore into a new folder with --data`);
  }
  const input = await opened(file);
  try {
    const { header, placeOf } = await readHeader(input, file);
    if (header.schema > newestSchema()) {
      throw new BackupError(
        `${file} was made by a newer postrider: its schema is number ${header.schema}, this program knows up to ${newestSchema()}. Restore it with the newer program.`,
      );
    }
    const total = header.files.reduce((sum, { size }) => sum + size, 0);
    makeFolder(folder);
    // Neither a server nor another restore begins meanwhile.
    const lock = takeLock(join(folder, DATA_FILES.database));
    try {
      // The hidden ones last: they tell that a restore is not finished.
      for (const left of there.toSorted().reverse())
        if (!left.startsWith(LOCK)) await rm(join(folder, left), { force: true });
      let restored = 0;
      for (const { name, size, sha256 } of header.files) {
        const at = placeOf.get(name) ?? 0;
        await extract(input, { at, size, sha256, file, to: hidden(folder, name) }, (done) =>
          progress(restored + done, total),
        );
        restored += size;
      }
      const database = hidden(folder, DATA_FILES.database);
      const waiting = prepareRestored(database, hold);
      for (const { name } of header.files) {
        await rename(hidden(folder, name), join(folder, name));
      }
      return { ...factsOf(header, file), waiting };
    } catch (cause) {
      // The folder was empty, so everything in it now comes from this restore.
      for (const left of await readdir(folder)) await rm(join(folder, left), { force: true });
      if (!isDiskFull(cause)) throw cause;
      throw new BackupError(
        `the disk of ${folder} is full: the restored data need ${mebibytes(total)} there, and more if an older version made the backup; nothing was left there`,
        { cause },
      );
    } finally {
      lock.release();
    }
  } finally {
    await input.close();
  }
}

function requireDatabase(database: string, folder: string): void {
  const other = otherDatabase(database, folder);
  if (other !== null) throw new BackupError(other);
  if (!existsSync(database)) throw new BackupError(`there is no postrider database at ${database}`);
}

function hidden(folder: string, name: string): string {
  return join(folder, `.${name}${RESTORING}`);
}

/** Whether all that a folder contains is of a restore that was killed: the database gets its name last. */
function isUnfinished(names: readonly string[]): boolean {
  const others = names.filter((name) => !name.startsWith(LOCK) && !isBeingRestored(name));
  const hasBegun = names.some(isBeingRestored);
  return others.every((name) => hasBegun && (SECRETS as readonly string[]).includes(name));
}

/** The way back to before the last upgrade (`openWayBack`). Throws BackupError or StoreRefused. */
export function wayBack(folder: string, database: string): WayBack {
  requireDatabase(database, folder);
  const way = openWayBack(database);
  if (way === null) {
    throw new BackupError(
      `beside ${database} there is no copy from before an upgrade. Start the older version: where the newer one did not change the database, it runs. If it refuses, restore a backup`,
    );
  }
  return way;
}

/** A backup is refused before it fills the disk, which would stop a server that works on the same one. */
async function requireRoom(folder: string, copyBytes: number, database: string): Promise<void> {
  const isServers = statSync(folder).dev === statSync(database).dev;
  const free = await freeBytes(folder, isServers ? undefined : 0);
  // The copy of the database and the archive with it are there at the same time.
  if (free >= 2 * copyBytes) return;
  const kept = isServers
    ? ', if 5 % of the disk stay free for the server, which accepts no mail with less'
    : '';
  throw new BackupError(
    `a backup needs ${mebibytes(2 * copyBytes)} in ${folder} while it is made, and there is room for ${mebibytes(free)}${kept}; choose a folder on another disk`,
  );
}

function mebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 1_048_576)} MiB`;
}

/** Also if it is the cause of what was thrown. */
function isDiskFull(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  const { code, message, cause } = thrown as NodeJS.ErrnoException;
  return (
    code === 'ENOSPC' || code === 'EDQUOT' || message === 'database or disk is full' || isDiskFull(cause)
  );
}

/** Copies the database and reports the progress by its size. */
async function copied(
  from: string,
  to: string,
  clock: Clock,
  progress: (done: number) => void,
): Promise<void> {
  let running = true;
  const copying = copyDatabase(from, to, () => {}).finally(() => {
    running = false;
  });
  while (running) {
    await Promise.race([copying, sleep(clock, LOOK_EVERY_MS)]);
    progress(statSync(to).size);
  }
  await copying;
}

async function opened(file: string): Promise<FileHandle> {
  try {
    // A folder can be opened, but not read.
    if (statSync(file).isDirectory()) throw new BackupError(`${file} is a folder: name the file of a backup`);
    return await open(file, 'r');
  } catch (cause) {
    if (cause instanceof BackupError) throw cause;
    throw new BackupError(`${file} cannot be read: ${whyNot(cause)}`);
  }
}

/** The list in a backup, and the offset of each file that it names. */
async function readHeader(
  input: FileHandle,
  file: string,
): Promise<{ header: Header; placeOf: ReadonlyMap<string, number> }> {
  const head = await readAt(input, 0, MAX_HEADER_BYTES);
  const isOld = head.toString('latin1', 0, OLD_MAGIC.length) === OLD_MAGIC;
  const first = isOld ? null : readTarHeader(head.subarray(0, TAR_BLOCK));
  if (!isOld && first?.name !== LIST)
    throw new BackupError(
      head.length < TAR_BLOCK
        ? `${file} has only ${head.length} octets: it is cut off, or not a backup of postrider`
        : `${file} is not a backup of postrider`,
    );
  const from = isOld ? OLD_MAGIC.length : TAR_BLOCK;
  const end = first === null ? head.indexOf(0x0a, from) : from + first.size;
  const header = parseHeader(head.toString('utf8', from, Math.max(from, end)));
  if (header === null) throw new BackupError(`${file} is damaged or cut off, or made by a newer postrider`);
  const placeOf = new Map<string, number>();
  let at = first === null ? end + 1 : end + tarPadding(first.size);
  for (const { name, size } of header.files) {
    if (first !== null) {
      const entry = readTarHeader(await readAt(input, at, TAR_BLOCK));
      if (entry?.name !== name || entry.size !== size)
        throw new BackupError(
          `${file} is cut off or damaged: ${name} is not where it should be. Nothing was restored.`,
        );
      at += TAR_BLOCK;
    }
    placeOf.set(name, at);
    at += size + (first === null ? 0 : tarPadding(size));
  }
  return { header, placeOf };
}

async function readAt(input: FileHandle, at: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await input.read(buffer, 0, length, at);
  return buffer.subarray(0, bytesRead);
}

/** null for anything that `writeBackup` does not write: names become paths, so only known ones are accepted. */
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
  return names.has(DATA_FILES.database) ? (header as Header) : null;
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
      await out.appendFile(chunk);
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

/**
 * Creates it empty, readable only by its owner from the start. What is there was left, or put there by somebody who may write
 * to the folder: their file, which they could read, or a link to one that root would write over.
 */
async function newPrivate(path: string): Promise<FileHandle> {
  await rm(path, { force: true });
  return open(path, 'wx', 0o600);
}
