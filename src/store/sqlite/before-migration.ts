/**
 * The copy of a database that is made before its schema changes, and going back to it. The copy is
 * `<database>.before-<number of the new schema>`, complete or not there. A migration that was interrupted keeps the copy
 * that it began with. Copies are removed after two weeks.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { copyFile, link, open, rename, rm, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { syncPath } from '../../lib/whole-file.ts';
import { StoreRefused } from '../shared/refusal.ts';
import { copyDatabase, type Hold, newestSchema, reclaimWaiting, schemaOf } from './copy.ts';
import { openConnection } from './engine/connection.ts';
import { takeLock } from './engine/lock.ts';
import { copyBefore } from './engine/open-database.ts';
import { unavailableReason } from './engine/sqlite-errors.ts';

const KEPT_MS = 14 * 86_400_000;
/** A server refuses mail if less than 5 % of the disk is free (src/readiness.ts). */
const FREE_SHARE = 0.05;

/** What was done about a copy. `bytes`: what the copy and the migration may need; `free`: what is there for them. */
export type CopyBefore =
  | { kind: 'made'; file: string; from: number; to: number }
  | { kind: 'no-room'; bytes: number; free: number };

/**
 * Copies the database at `path` if this program will migrate it; null = nothing to copy. Only with the lock of `path`.
 * Throws StoreRefused if the copy fails; then nothing was changed.
 */
export async function copyBeforeMigration(path: string): Promise<CopyBefore | null> {
  const [from, to] = [schemaIn(path), newestSchema()];
  if (from === 0 || from >= to) return null;
  const file = copyBefore(path, to);
  const begun = schemaIn(file);
  if (begun > 0 && begun < from) return null;
  // The migration itself may write everything once more.
  const bytes = 2 * (sizeOf(path) + sizeOf(`${path}-wal`));
  const free = await freeBytes(dirname(path));
  if (free < bytes) return { kind: 'no-room', bytes, free };
  const part = `${file}.part`;
  try {
    await rm(part, { force: true });
    await (await open(part, 'wx', 0o600)).close();
    await copyDatabase(path, part, () => {});
    await syncPath(part);
    await rename(part, file);
    await syncPath(dirname(path));
  } catch (cause) {
    await rm(part, { force: true });
    throw new StoreRefused(
      'inaccessible',
      `${path} was not migrated, because copying it to ${file} failed: ${(cause as Error).message}.`,
      { cause },
    );
  }
  return { kind: 'made', file, from, to };
}

/** Removes copies that are older than two weeks. */
export async function removeOldCopies(path: string, now: number): Promise<void> {
  for (const file of copiesOf(path)) {
    if (statSync(file).mtimeMs < now - KEPT_MS) await rm(file, { force: true });
  }
}

export interface WayBack {
  /** The copy, and when it was made. */
  readonly file: string;
  readonly madeAt: number;
  /** Numbers of the schema now and in the copy. */
  readonly from: number;
  readonly to: number;
  /** Messages accepted since the copy was made, and how many of their recipients wait. */
  readonly accepted: number;
  readonly waiting: number;
  /**
   * Puts the copy in the place of the database and keeps that beside it. What waits in the copy may have been sent since:
   * it is marked as a possible duplicate, and held with `hold`. Repeat it if it was interrupted.
   */
  go(hold: Hold | null): Promise<{ newer: string; waiting: number }>;
  release(): void;
}

/**
 * The way back to before the last migration, null if there is no copy of that time. Holds the lock of `path` until
 * `release`. Throws StoreRefused while a server uses it.
 */
export function openWayBack(path: string): WayBack | null {
  const lock = takeLock(path);
  try {
    const from = schemaIn(path);
    const file = copiesOf(path).find((copy) => {
      const before = schemaIn(copy);
      return before > 0 && before < from && from <= Number(copy.slice(copy.lastIndexOf('-') + 1));
    });
    if (file === undefined) {
      lock.release();
      return null;
    }
    const then = lastMessage(file);
    return {
      file,
      madeAt: statSync(file).mtimeMs,
      from,
      to: schemaIn(file),
      accepted: lastMessage(path) - then,
      waiting: waitingSince(path, then),
      go: (hold) => exchange(path, file, hold),
      release: () => lock.release(),
    };
  } catch (cause) {
    lock.release();
    throw cause;
  }
}

async function exchange(
  path: string,
  file: string,
  hold: Hold | null,
): Promise<{ newer: string; waiting: number }> {
  const current = openConnection(path, { readOnly: false, busyMs: 0 });
  current.get('PRAGMA wal_checkpoint(TRUNCATE)');
  current.close();
  // SQLite would apply a journal that is left to the other file.
  if (existsSync(`${path}-wal`)) {
    throw new StoreRefused(
      'locked',
      `${path} is being read by another program, perhaps a backup. Repeat the command when that has ended.`,
    );
  }
  const made = statSync(file).mtime;
  const copy = openConnection(file, { readOnly: false, busyMs: 0 });
  let waiting: number;
  try {
    waiting = reclaimWaiting(copy, hold);
  } catch (cause) {
    const reason = unavailableReason(cause);
    if (reason === null) throw cause;
    throw new StoreRefused(
      'inaccessible',
      `${file} cannot be put back: ${reason}. The database is as it was; repeat the command when that is mended.`,
      { cause },
    );
  } finally {
    copy.close();
  }
  const newer = freeName(`${path}.newer-${made.toISOString().replace(/\D/g, '').slice(0, 14)}`);
  // With a second name for the database, its own is never missing: a server started then would begin with an empty one.
  await link(path, newer).catch(() => copyFile(path, newer));
  await syncPath(file);
  await rename(file, path);
  await syncPath(dirname(path));
  return { newer, waiting };
}

/** The complete copies beside the database. */
function copiesOf(path: string): string[] {
  const start = `${basename(path)}.before-`;
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(start) && /^\d+$/.test(name.slice(start.length)))
    .map((name) => join(dirname(path), name));
}

/** 0 also for a file that is missing, empty, damaged or not ours: opening it for writing says what is wrong. */
function schemaIn(path: string): number {
  // SQLite removes the journal of an empty file.
  if (sizeOf(path) === 0) return 0;
  try {
    return schemaOf(path);
  } catch {
    return 0;
  }
}

/** The number of the last message ever stored; numbers are not used again. */
function lastMessage(path: string): number {
  return reading<number>(path, "SELECT seq AS value FROM sqlite_sequence WHERE name = 'message'");
}

function waitingSince(path: string, seq: number): number {
  return reading<number>(
    path,
    `SELECT count(*) AS value FROM delivery WHERE state IN (0, 1) AND message_seq > ${seq}`,
  );
}

function reading<Value>(path: string, sql: string): Value | 0 {
  const db = openConnection(path, { readOnly: true, busyMs: 1000 });
  try {
    return db.get<{ value: Value }>(sql)?.value ?? 0;
  } finally {
    db.close();
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Octets that may be written in `folder`; `kept`: the share of its disk that stays free. */
export async function freeBytes(folder: string, kept = FREE_SHARE): Promise<number> {
  const disk = await statfs(folder);
  return Math.floor(Math.max(0, disk.bavail - disk.blocks * kept) * disk.bsize);
}

function freeName(name: string): string {
  let found = name;
  for (let next = 2; existsSync(found); next++) found = `${name}-${next}`;
  return found;
}
