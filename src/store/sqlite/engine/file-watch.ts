/**
 * Notices that files of an open database were removed or replaced: SQLite goes on with the ones that it has open. What
 * is committed from then on would be lost with the process; other programs, which have files of their own then, would
 * read while pages change (`-shm`), and a second server would start (`-lock`).
 */
import { statSync } from 'node:fs';
import { movedError, outOfReachError } from './sqlite-errors.ts';

/** To be called before each transaction; throws an error that means "cannot work now". The database is open. */
export function createFileWatch(path: string): () => void {
  const files = ['', '-wal', '-shm', '-lock'].map((end) => ({
    file: `${path}${end}`,
    inode: inodeOf(`${path}${end}`),
  }));
  return () => {
    for (const one of files) {
      const inode = inodeOf(one.file);
      // The journal is made by the first transaction.
      one.inode ??= inode;
      if (inode !== one.inode) throw movedError(one.file, one.file === path);
    }
  };
}

function inodeOf(file: string): bigint | null {
  try {
    return statSync(file, { bigint: true, throwIfNoEntry: false })?.ino ?? null;
  } catch (cause) {
    throw outOfReachError(file, cause as NodeJS.ErrnoException);
  }
}
