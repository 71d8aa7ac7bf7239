/** How many files and connections this process may have open at once; Infinity where the system does not say (not Linux). */
import { readdirSync, readFileSync } from 'node:fs';

/** The server itself has some 50 open, 128 at most. The others are for clients and for connections to far ends. */
const LEAST = 192;
const NEAR = 8;

export const ALLOW_MORE_FILES =
  'Allow it 65536: LimitNOFILE=65536 in the systemd unit, --ulimit nofile=65536 for a container, or nofile in /etc/security/limits.conf';

/** Why a server cannot work with so few files; null: it can. */
export function tooFewFiles(limit = openFileLimit()): string | null {
  if (limit >= LEAST) return null;
  return `this process may open only ${limit} files (ulimit -n), and a server needs ${LEAST} at least. ${ALLOW_MORE_FILES}.`;
}

/** What to do if few more files can be opened, for errors that do not say it, as those of SQLite; null: that is not why. */
export function filesUsedUp(limit = openFileLimit()): string | null {
  try {
    // What could not be opened may have closed its others since.
    return readdirSync('/proc/self/fd').length + NEAR > limit ? explainFiles('EMFILE') : null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EMFILE' || code === 'ENFILE' ? explainFiles(code) : null;
  }
}

export function explainFiles(code: 'EMFILE' | 'ENFILE'): string {
  return code === 'EMFILE'
    ? `this process may open no more files (EMFILE). ${ALLOW_MORE_FILES}`
    : 'this machine may open no more files (ENFILE): raise fs.file-max (sysctl)';
}

export function openFileLimit(): number {
  try {
    return readOpenFileLimit(readFileSync('/proc/self/limits', 'latin1'));
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** From the text of `/proc/<pid>/limits` (proc(5)): the limit that applies, which is the first number of its line. */
export function readOpenFileLimit(text: string): number {
  const [, limit] = /^Max open files +(\d{1,15})\b/m.exec(text) ?? [];
  return limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
}
