/**
 * Writes a file completely or not at all: a crash must not leave half a secret or half a configuration. Reads a file that
 * somebody may have replaced by anything while the server runs.
 */
import { constants } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

const MOST_READ_BYTES = 4 * 1024 * 1024;

/**
 * The text of a file of at most 4 MiB; rejects for anything else, with a clause. It does not wait for the other end of a pipe:
 * whoever does keeps a thread, which signatures, passwords and the end of the process then lack.
 */
export async function readWhole(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const facts = await file.stat();
    if (facts.isDirectory()) throw new Error('it is a folder');
    if (!facts.isFile()) throw new Error('it is not a file but a pipe or a device');
    if (facts.size > MOST_READ_BYTES) throw new Error('it is larger than 4 MiB');
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/**
 * Replaces the content of `path`. If root writes, the file keeps its owner, and a new file gets the owner of its folder. It is on
 * disk when this resolves; if it rejects, the old file is as it was.
 */
export async function writeWhole(path: string, text: string, mode: number): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.new`);
  try {
    await rm(temporary, { force: true });
    // Whoever may write to the folder could put a link there, and root would write through it: `wx` opens only a new file.
    const file = await open(temporary, 'wx', mode);
    try {
      if (process.getuid?.() === 0) {
        const { uid, gid } = await stat(path).catch(() => stat(dirname(path)));
        await file.chown(uid, gid);
      }
      await file.chmod(mode);
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw cause;
  }
  await syncPath(dirname(path));
}

/** Resolves when what was written to the file is on disk; for a folder, its entries. */
export async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
