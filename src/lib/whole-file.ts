/** Writes a file completely or not at all: a crash must not leave half a secret or half a configuration. */
import { open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/**
 * Replaces the content of `path`, which keeps its owner where root writes. It is on disk when this resolves; if it rejects,
 * the old file is as it was.
 */
export async function writeWhole(path: string, text: string, mode: number): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.new`);
  try {
    await rm(temporary, { force: true });
    // Whoever may write to the folder could put a link there, and root would write through it: `wx` opens only a new file.
    const file = await open(temporary, 'wx', mode);
    try {
      const old = process.getuid?.() === 0 ? await stat(path).catch(() => null) : null;
      if (old !== null) await file.chown(old.uid, old.gid);
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
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
