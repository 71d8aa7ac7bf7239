/** What a backup contains and a restore accepts; test/scenarios/backup.test.ts has the commands and a running server. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { restoreBackup, writeBackup } from './backup.ts';
import { systemClock } from './lib/clock.ts';
import { openDatabase } from './store/sqlite/engine/open-database.ts';

const quiet = () => undefined;
let root: string;
let file: string;
/** Where a backup is restored: an empty folder. */
let data: string;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'backup-'));
  const database = join(root, 'postrider.db');
  openDatabase(database).close();
  file = join(root, 'copy');
  await writeBackup({ folder: root, database, file, clock: systemClock, progress: quiet });
});
beforeEach(() => {
  data = mkdtempSync(join(root, 'data-'));
});
afterAll(() => rmSync(root, { recursive: true }));

const restore = (more: Partial<Parameters<typeof restoreBackup>[0]> = {}) =>
  restoreBackup({ folder: data, file, hold: null, progress: quiet, ...more });

it('says how much room a restore needs if the disk is full, and leaves nothing there', async () => {
  for (const cause of [
    Object.assign(new Error('no space left'), { code: 'ENOSPC' }),
    new Error('not upgraded', { cause: new Error('database or disk is full') }),
  ]) {
    const full = () => {
      throw cause;
    };
    await expect(restore({ progress: full })).rejects.toThrow(
      /^the disk of .* is full: .* need \d+ MiB there.* nothing was left there$/,
    );
    expect(readdirSync(data)).toEqual([]);
  }
});
