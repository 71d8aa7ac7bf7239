/**
 * Why a server or a command could not start, in a sentence that names the fix: a port in use, a port or a data folder
 * without permission. Takes the error and the configuration; returns an Error to print. Unknown errors are returned
 * unchanged.
 */
import { existsSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../config/table.ts';
import { pidOfServer } from '../lib/data-files.ts';

const LISTENERS = ['http', 'submission', 'submission-tls', 'returns'] as const;
const WHY: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOENT: 'it cannot be made there',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'part of the path is a file, not a folder',
  EEXIST: 'it is a file',
  EISDIR: 'it is a folder',
};

/** What to do about a data folder that cannot be used. */
function adviceOn(code: string | undefined, path: string, folder: string): string {
  if (code === 'EROFS')
    return 'Let the system write there (mounted read-write; ReadWritePaths= in a systemd unit)';
  const isDenied = code === 'EACCES' || code === 'EPERM';
  if (isDenied && existsSync(folder))
    return `Give ${path === folder ? 'it' : 'all in it'} to the user that runs postrider (chown), or run the command as that user`;
  return 'Make the folder, owned by the user that runs postrider';
}

type StartError = NodeJS.ErrnoException & { port?: number; reason?: string };

/** Another process has the database. */
export function isLocked({ name, reason }: Error & { reason?: string }): boolean {
  return name === 'StoreRefused' && reason === 'locked';
}

/** Whether no further file can be made on the disk of a folder, which the system calls a full disk too. */
function hasNoFilesLeft(folder: string): boolean {
  if (!existsSync(folder) && dirname(folder) !== folder) return hasNoFilesLeft(dirname(folder));
  try {
    const { files, ffree, bavail } = statfsSync(folder);
    return files > 0 && ffree === 0 && bavail > 0;
  } catch {
    return false;
  }
}

/** `cause` as an Error whose message a person can act on. `noFilesLeft`: what the disk says of a folder. */
export function explainStart(cause: unknown, config: Config, noFilesLeft = hasNoFilesLeft): Error {
  const error = cause as StartError;
  const text = explanationOf(error, config, noFilesLeft);
  return text === null ? error : new Error(text);
}

function explanationOf(
  error: StartError,
  config: Config,
  noFilesLeft: (folder: string) => boolean,
): string | null {
  const pid = isLocked(error) ? pidOfServer(config.data) : null;
  if (pid !== null)
    return `the server with pid ${pid} uses the data folder ${config.data}. Stop that one first; if it is stopping already, wait until it has ended.`;
  const name = LISTENERS.find((each) => config[each] !== null && config[each].port === error.port) ?? 'http';
  const at = `${config[name]?.host}:${config[name]?.port}`;
  if (error.code === 'EADDRINUSE') {
    // A fixed port: a service must be found at the same one after each start.
    const other = `${config[name]?.host}:${((config[name]?.port ?? 0) % 65_535) + 1}`;
    return `${at} is already in use; stop the program that uses it, or choose another, for example with --${name} ${other}`;
  }
  if (error.code === 'EADDRNOTAVAIL') {
    return `${at} is not an address of this machine; choose another with --${name}`;
  }
  if (error.code === 'EACCES' && error.syscall === 'listen') {
    return `${at}: permission denied. Ports below 1024 need the capability CAP_NET_BIND_SERVICE; or choose another with --${name}`;
  }
  // The second is what SQLite says.
  if (error.code === 'ENOSPC' || /\bdisk is full\b/.test(error.message)) {
    return noFilesLeft(config.data)
      ? `the disk of the data folder ${config.data} has space, but no inodes for further files (df -i); remove files that nobody needs, then start again`
      : `the disk of the data folder ${config.data} is full; free some space, then start again`;
  }
  if (error.name === 'StoreUnavailable') return error.message;
  const why = WHY[error.code ?? ''];
  if (why !== undefined && error.path?.startsWith(config.data)) {
    return (
      `the data folder ${config.data} cannot be used: ${why} (${error.syscall} ${error.path}). ` +
      `${adviceOn(error.code, error.path, config.data)}, or choose another with --data`
    );
  }
  return null;
}
