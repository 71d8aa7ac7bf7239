/**
 * The data folder: secrets created at the first start, the administrator's token, and a file that tells the command
 * line where the running server listens. Files with secrets have mode 0600, the folder 0700.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from './lib/clock.ts';
import { DATA_FILES, isBeingRestored, makeFolder, noteOfThisProcess, RESTORING } from './lib/data-files.ts';
import type { Logger } from './lib/log.ts';
import { createQuietLog } from './lib/quiet-log.ts';
import type { Random } from './lib/random.ts';
import { createRounds } from './lib/rounds.ts';
import { writeWhole } from './lib/whole-file.ts';
import { StoreRefused } from './store/shared/refusal.ts';

export interface DataFolder {
  readonly path: string;
  /**
   * `configured`: hexadecimal keys, or null for the folder's own, which is made where there is none and nothing was sealed
   * yet. The first one encrypts; all can decrypt.
   */
  secrets(
    configured: string | null,
    isAnySealed: () => Promise<boolean>,
  ): Promise<{ id: string; secret: Uint8Array }[]>;
  /** Stable name of this node. */
  readonly nodeId: string;
  /** Keeps the token in `admin-token`: `choose` gets the stored token or null, and returns the one to store. */
  adminToken(choose: (existing: string | null) => Promise<string>): Promise<string>;
  /**
   * Writes to `server.json` where the server listens. Until `withdraw`, files of this folder that go missing are written
   * again: without them commands do not find the server, and without `secret-key` it never starts again.
   */
  announce(url: string): Promise<void>;
  withdraw(): Promise<void>;
}

const LOOK_EVERY_MS = 10_000;

export async function openDataFolder(
  path: string,
  random: Random,
  { clock, log }: { clock: Clock; log: Logger },
): Promise<DataFolder> {
  makeFolder(path);
  if ((await readdir(path)).some((name) => isBeingRestored(name)))
    throw new StoreRefused(
      'unfit',
      `A restore into ${path} is not finished. If it was cut off, run it again; to start with nothing, remove the hidden files with ${RESTORING} in their names there.`,
    );
  const { ino } = await stat(path);
  /** The files that this process needs, with what is in them. */
  const own = new Map<string, string>();
  const quiet = createQuietLog(log, clock, () => true);
  const rounds = createRounds({
    ...{ clock, everyMs: LOOK_EVERY_MS, firstAfterMs: LOOK_EVERY_MS, work: putBack },
    failed: (err) => quiet.warn({ err, folder: path }, 'the files of the data folder could not be looked at'),
  });
  const nodeId = await kept(DATA_FILES.nodeId, () => Buffer.from(random.bytes(8)).toString('hex'));
  return {
    path,
    async secrets(configured, isAnySealed) {
      if (configured === null) await refuseLostSecret(isAnySealed);
      const hexKeys =
        configured ?? (await kept(DATA_FILES.secretKey, () => Buffer.from(random.bytes(32)).toString('hex')));
      return hexKeys.split(',').map((hex) => {
        const secret = Buffer.from(hex.trim(), 'hex');
        if (secret.length !== 32)
          throw new StoreRefused(
            'unfit',
            `${join(path, DATA_FILES.secretKey)} does not hold 64 hexadecimal digits. Put it back from a backup: a new one could not decrypt what is in the database.`,
          );
        return { id: keyId(secret), secret };
      });
    },
    nodeId,
    async adminToken(choose) {
      const existing = await readText(DATA_FILES.adminToken);
      const token = await choose(existing);
      if (token !== existing) await writePrivate(DATA_FILES.adminToken, `${token}\n`);
      own.set(DATA_FILES.adminToken, `${token}\n`);
      return token;
    },
    async announce(url) {
      await writePrivate(DATA_FILES.server, `${JSON.stringify(noteOfThisProcess(url))}\n`);
      await rounds.start();
    },
    async withdraw() {
      await rounds.stop();
      await rm(join(path, DATA_FILES.server), { force: true });
    },
  };

  async function putBack(): Promise<void> {
    const now = await stat(path).catch(() => null);
    // It was moved away; what is there now is another folder.
    if (now?.ino !== ino) return;
    for (const [name, text] of own) {
      const size = await stat(join(path, name)).then((found) => found.size, sizeIfGone);
      if (size > 0) continue;
      await writePrivate(name, text);
      log.warn(
        { file: join(path, name) },
        'a file of the data folder was gone or empty, and was written again',
      );
    }
  }

  /** If there are sealed keys and no secret, the secret was lost, or is that of other nodes; a new one could decrypt nothing. */
  async function refuseLostSecret(isAnySealed: () => Promise<boolean>): Promise<void> {
    if (((await readText(DATA_FILES.secretKey)) ?? '') !== '' || !(await isAnySealed())) return;
    throw new StoreRefused(
      'unfit',
      `${join(path, DATA_FILES.secretKey)} is missing, but keys in the database are sealed with one. Put it back from a backup, or give the one of the other nodes as POSTRIDER_SECRET_KEY.`,
    );
  }

  async function kept(name: string, make: () => string): Promise<string> {
    const existing = await readText(name);
    if (existing !== null && existing !== '') {
      own.set(name, `${existing}\n`);
      return existing;
    }
    const made = make();
    await writePrivate(name, `${made}\n`);
    return made;
  }

  async function readText(name: string): Promise<string | null> {
    try {
      return (await readFile(join(path, name), 'utf8')).trim();
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw cause;
    }
  }

  async function writePrivate(name: string, text: string): Promise<void> {
    await writeWhole(join(path, name), text, 0o600);
    own.set(name, text);
  }
}

function sizeIfGone(cause: NodeJS.ErrnoException): number {
  if (cause.code === 'ENOENT') return 0;
  throw cause;
}

/** The public name of a key: a part of its hash, so it can be stored with the data that the key encrypted. */
function keyId(secret: Uint8Array): string {
  return createHash('sha256').update('postrider key id').update(secret).digest('hex').slice(0, 8);
}
