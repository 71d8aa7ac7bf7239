/** Writes a file completely or not at all: a crash must not leave half a secret or half a configuration. */
import { chmod, open, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Replaces the content of `path`. It is on disk when this resolves; if it rejects, the old file is as it was. */
export async function writeWhole(path: string, text: string, mode: number): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.new`);
  try {
    await writeFile(temporary, text, { mode, flush: true });
    await chmod(temporary, mode);
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
