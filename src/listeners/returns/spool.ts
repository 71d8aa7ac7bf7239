/**
 * The spool of returned mail: a message is in a file and the file on the disk before the peer is told so. Given an
 * envelope and octets, leaves `<id>.eml` whose first line is the envelope as JSON; what a person has to see is moved to
 * a folder beside it with the reason in `<id>.txt`. Bounded in files and octets, each folder by itself: what no longer fits is
 * refused, never dropped. A full folder is counted again, because people take files out of it. A write that ends half-way leaves a hidden file, removed at the next start.
 */
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import type { ReturnTarget } from '../../pipeline/events/return-target.ts';

export interface SpooledMail {
  targets: readonly ReturnTarget[];
  /** null: the null sender. */
  from: string | null;
  ip: string;
  receivedAt: number;
  bytes: Uint8Array;
}

export type KeptFolder = 'operator' | 'reports' | 'unattributed' | 'quarantine';

export interface Spool {
  /** Whether there is room for a message; `kept`: where it will stay for a person, null = it will not. */
  hasRoom(kept: KeptFolder | null): boolean;
  /** Writes and syncs the file and the folder. Rejects where the disk refuses. */
  put(id: string, mail: SpooledMail): Promise<void>;
  /** Ids that wait, oldest first. */
  waiting(): readonly string[];
  /** What was put; null where the file is damaged. Rejects where it cannot be read. */
  read(id: string): Promise<SpooledMail | null>;
  /** It was dealt with. */
  remove(id: string): Promise<void>;
  /** Moves it out of the way, for a person. Rejects where there is no room: then it stays. */
  keep(id: string, folder: KeptFolder, why: string): Promise<void>;
}

export interface SpoolLimits {
  maxFiles: number;
  maxBytes: number;
  /** Of each folder of kept mail. */
  maxKeptFiles: number;
  maxKeptBytes: number;
}

export const SPOOL_LIMITS: SpoolLimits = {
  maxFiles: 5_000,
  maxBytes: 256 * 1024 * 1024,
  maxKeptFiles: 1_250,
  maxKeptBytes: 64 * 1024 * 1024,
};

/** A full folder is looked at again after this. */
const RECOUNT_MS = 60_000;

const FOLDERS: readonly KeptFolder[] = ['operator', 'reports', 'unattributed', 'quarantine'];
const NAME = /^[0-9a-f-]{36}\.eml$/;
const LF = 10;

/** Opens the spool below `path`, taking up what is there. Rejects where the folder cannot be used. */
export async function openSpool(
  path: string,
  clock: Pick<Clock, 'monotonicMs'>,
  limits: SpoolLimits = SPOOL_LIMITS,
): Promise<Spool> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const sizes = new Map<string, number>();
  let bytes = 0;
  const kept = {} as Record<KeptFolder, { files: number; bytes: number; countedAtMs: number }>;
  let counting: Promise<void> | null = null;
  for (const name of (await readdir(path)).sort()) {
    if (name.startsWith('.')) await rm(join(path, name), { force: true });
    else if (NAME.test(name)) add(name.slice(0, -4), (await stat(join(path, name))).size);
  }
  for (const folder of FOLDERS) {
    await mkdir(join(path, folder), { recursive: true, mode: 0o700 });
    await count(folder);
  }

  return {
    hasRoom(folder) {
      if (sizes.size >= limits.maxFiles || bytes >= limits.maxBytes) return false;
      if (folder === null || !isFull(folder)) return true;
      void countAgain(folder);
      return false;
    },
    async put(id, mail) {
      const { bytes: message, ...envelope } = mail;
      const content = Buffer.concat([Buffer.from(`${JSON.stringify(envelope)}\n`), message]);
      const temporary = join(path, `.${id}.new`);
      try {
        await writeFile(temporary, content, { mode: 0o600, flush: true });
        await rename(temporary, join(path, `${id}.eml`));
        await syncFolder(path);
      } catch (cause) {
        await rm(temporary, { force: true }).catch(() => undefined);
        // Renamed and not known to be on the disk: the peer is told no, and sends it again.
        await rm(join(path, `${id}.eml`), { force: true }).catch(() => undefined);
        throw cause;
      }
      add(id, content.length);
    },
    waiting: () => [...sizes.keys()],
    async read(id) {
      return parseSpooled(await readFile(join(path, `${id}.eml`)));
    },
    async remove(id) {
      await rm(join(path, `${id}.eml`), { force: true });
      forget(id);
    },
    async keep(id, folder, why) {
      if (isFull(folder)) await countAgain(folder);
      if (isFull(folder)) {
        throw new Error(`there is no room for more kept mail in ${path}`);
      }
      await writeFile(join(path, folder, `${id}.txt`), `${why}\n`, { mode: 0o600 });
      await rename(join(path, `${id}.eml`), join(path, folder, `${id}.eml`));
      kept[folder].files += 1;
      kept[folder].bytes += sizes.get(id) ?? 0;
      forget(id);
    },
  };

  function isFull(folder: KeptFolder): boolean {
    return kept[folder].files >= limits.maxKeptFiles || kept[folder].bytes >= limits.maxKeptBytes;
  }

  /** Not more often than once a minute: a stranger's every try would read the folder. */
  async function countAgain(folder: KeptFolder): Promise<void> {
    if (clock.monotonicMs() - kept[folder].countedAtMs < RECOUNT_MS) return;
    // A folder that cannot be read stays full.
    counting ??= count(folder)
      .catch(() => undefined)
      .finally(() => {
        counting = null;
      });
    await counting;
  }

  async function count(folder: KeptFolder): Promise<void> {
    let files = 0;
    let size = 0;
    for (const name of await readdir(join(path, folder))) {
      if (!NAME.test(name)) continue;
      // Taken away meanwhile: not counted.
      const found = await stat(join(path, folder, name)).catch(() => null);
      if (found === null) continue;
      files += 1;
      size += found.size;
    }
    kept[folder] = { files, bytes: size, countedAtMs: clock.monotonicMs() };
  }

  function add(id: string, size: number): void {
    sizes.set(id, size);
    bytes += size;
  }

  function forget(id: string): void {
    bytes -= sizes.get(id) ?? 0;
    sizes.delete(id);
  }
}

function parseSpooled(content: Buffer): SpooledMail | null {
  const lf = content.indexOf(LF);
  if (lf === -1) return null;
  try {
    const envelope = JSON.parse(content.toString('utf8', 0, lf)) as Omit<SpooledMail, 'bytes'>;
    if (!Array.isArray(envelope.targets) || typeof envelope.receivedAt !== 'number') return null;
    return { ...envelope, bytes: new Uint8Array(content.subarray(lf + 1)) };
  } catch {
    return null;
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
