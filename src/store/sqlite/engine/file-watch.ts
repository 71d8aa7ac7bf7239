/**
 * Notices that the files of an open database were removed or replaced: SQLite goes on writing to the ones that it has open,
 * so that all that is committed from then on would be lost with the process.
 */
import { statSync } from 'node:fs';
import { movedError } from './sqlite-errors.ts';

/** To be called before each transaction; throws an error that means "cannot work now". The database is open. */
export function createFileWatch(path: string): () => void {
  const files = [path, `${path}-wal`].map((file) => ({ file, inode: inodeOf(file) }));
  return () => {
    for (const one of files) {
      const inode = inodeOf(one.file);
      // The journal is made by the first transaction.
      one.inode ??= inode;
      if (inode !== one.inode) throw movedError(one.file);
    }
  };
}

function inodeOf(file: string): bigint | null {
  return statSync(file, { bigint: true, throwIfNoEntry: false })?.ino ?? null;
}
