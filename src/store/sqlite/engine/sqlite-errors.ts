/**
 * What an error of SQLite means for the caller: "cannot work now" (disk full, I/O error, read-only, locked by another
 * process, damaged), a bug, or a database file that must not be opened.
 */

import { filesUsedUp } from '../../../lib/open-files.ts';
import { whyNot } from '../../../lib/why-not.ts';
import type { Answer } from './protocol.ts';

/** Primary result codes (sqlite.org/rescode.html) after which the same call may succeed later. */
const UNAVAILABLE: Readonly<Record<number, string>> = {
  5: 'the database is locked by another program',
  7: 'out of memory',
  8: 'the database is read-only',
  10: 'the disk reports errors',
  // SQLite says the same of a page that the disk does not give.
  11: 'the database is damaged, or its disk cannot be read',
  13: 'the disk is full',
  14: 'a database file cannot be opened',
  26: 'the database is damaged',
};

/** What to do, where the text of the error does not say it. */
const FIXES: Readonly<Record<number, string>> = {
  8: 'check whether its disk is mounted read-only, and who owns the files',
  10: 'see the log of the system (journalctl -k)',
  11: 'see the log of the system for errors of the disk (journalctl -k), otherwise restore a backup',
  13: 'make room on it',
  26: 'restore a backup',
};

const CORRUPT = 11;
const NOT_A_DATABASE = 26;
const IO_ERROR = 10;
const FULL = 13;
const BUSY = 5;
const CANNOT_OPEN = 14;

/** The primary result code of an error of SQLite, or null for any other error. */
export function sqliteCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return null;
  return error.errcode & 0xff;
}

/** Why the engine cannot work now, as a text, or null if the error has another meaning. */
export function unavailableReason(error: unknown): string | null {
  const code = sqliteCode(error);
  const words = code === null ? undefined : UNAVAILABLE[code];
  if (words === undefined || !(error instanceof Error)) return null;
  const why = code === CANNOT_OPEN ? filesUsedUp() : null;
  const fix = FIXES[code ?? 0];
  return `${words} (${why ?? error.message})${fix === undefined ? '' : `; ${fix}`}`;
}

/** The answer to an operation that failed. */
export function failedAnswer(error: unknown): Answer {
  const reason = unavailableReason(error);
  return reason === null
    ? { kind: 'thrown', error }
    : { kind: 'unavailable', reason, lasting: isLasting(error), damaged: isCorruption(error) };
}

/** Whether the file itself is bad. */
export function isCorruption(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === CORRUPT || code === NOT_A_DATABASE;
}

/** Whether the same call fails again: the disk or the file is bad. */
function isLasting(error: unknown): boolean {
  return isIoError(error) || isCorruption(error);
}

/** Whether earlier writes may also be lost from the system's cache. */
export function isIoError(error: unknown): boolean {
  return sqliteCode(error) === IO_ERROR;
}

/** An error as SQLite gives it when the disk is full or fails; for the failpoint. */
export function simulatedFailure(as: 'full' | 'io'): Error {
  return as === 'full'
    ? Object.assign(new Error('database or disk is full'), { errcode: FULL })
    : Object.assign(new Error('disk I/O error'), { errcode: IO_ERROR });
}

/**
 * The error for a database of which a file is not where it was opened. What the journals contain is written into the
 * database when it is closed; the database itself is lost with the process, and its journal then stays as it is.
 */
export function movedError(path: string, isDatabase: boolean): Error {
  const fix = isDatabase
    ? `copy it there from /proc/${process.pid}/fd while this process runs (and ${path}-wal, if that is gone too), then restart`
    : 'restart: as this process stops, it writes all that it has into the database, but not if it is killed';
  return Object.assign(new Error(`${path} was removed or replaced; move it back, or ${fix}`), {
    errcode: CANNOT_OPEN,
  });
}

/** The error if it cannot be checked whether a file of the database is still the open one. */
export function outOfReachError(path: string, cause: NodeJS.ErrnoException): Error {
  const fix =
    cause.code === 'EACCES'
      ? 'give the folders above it back to the user that runs postrider (chown), or let this user enter them (chmod u+x)'
      : 'look at its folder and its disk (journalctl -k)';
  return Object.assign(new Error(`${path}: ${whyNot(cause)}; ${fix}`), { errcode: CANNOT_OPEN, cause });
}

/** The error of SQLite when another connection has the lock. */
export function busyError(what: string): Error {
  return Object.assign(new Error(what), { errcode: BUSY });
}
