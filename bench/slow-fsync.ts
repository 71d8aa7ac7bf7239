// Builds the preloaded library of slow-fsync.c for one delay, with the machine's gcc, into the given folder.
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './peers/settings.ts';

/** Compiles the library for `delayMs`; resolves with its path. Rejects with the compiler's words. */
export async function buildSlowFsync(delayMs: number, dir: string): Promise<string> {
  const library = join(dir, 'slow-fsync.so');
  const source = join(import.meta.dirname, 'slow-fsync.c');
  const micros = Math.round(delayMs * 1000);
  await run('gcc', ['-shared', '-fPIC', '-O2', `-DSLOW_FSYNC_US=${micros}`, '-o', library, source, '-ldl']);
  chmodSync(library, 0o755);
  return library;
}
