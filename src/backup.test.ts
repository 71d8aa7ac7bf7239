/** What a backup contains and a restore accepts; test/scenarios/backup.test.ts has the commands and a running server. */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { unpackReleased } from '../test/fakes/released-data.ts';
import { type BackupFacts, restoreBackup, wayBack, writeBackup } from './backup.ts';
import { systemClock } from './lib/clock.ts';
import { TAR_BLOCK, TAR_END, tarHeader, tarPadding } from './lib/tar.ts';
import { newestSchema, schemaOf } from './store/sqlite/copy.ts';
import { openConnection } from './store/sqlite/engine/connection.ts';
import { takeLock } from './store/sqlite/engine/lock.ts';
import { openDatabase } from './store/sqlite/engine/open-database.ts';

const quiet = () => undefined;
const HOLD = { id: 'h', at: 1, reason: 'restored', by: 'restore' } as const;
let root: string;
/** Of the server. */
let folder: string;
let database: string;
let file: string;
let made: BackupFacts;
/** Where a backup is restored: an empty folder. */
let data: string;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'backup-'));
  folder = join(root, 'server');
  mkdirSync(folder);
  database = join(folder, 'postrider.db');
  openDatabase(database).close();
  for (const name of ['secret-key', 'node-id', 'postrider.json'])
    writeFileSync(join(folder, name), `${name} of it`);
  file = join(root, 'copy');
  made = await backup(file);
});
beforeEach(() => {
  data = mkdtempSync(join(root, 'data-'));
});
afterAll(() => rmSync(root, { recursive: true }));

const backup = (to: string, more: Partial<Parameters<typeof writeBackup>[0]> = {}) =>
  writeBackup({ folder, database, file: to, clock: systemClock, progress: quiet, ...more });
const restore = (more: Partial<Parameters<typeof restoreBackup>[0]> = {}) =>
  restoreBackup({ folder: data, file, hold: null, progress: quiet, ...more });

/** A file with `bytes`, beside the backup. */
function other(bytes: Uint8Array): string {
  const path = join(mkdtempSync(join(root, 'other-')), 'copy');
  writeFileSync(path, bytes);
  return path;
}

/** A backup with this list, of files with these contents. */
function archive(list: object, contents: readonly (readonly [string, Buffer])[]): Buffer {
  const entry = (name: string, bytes: Buffer) => [
    tarHeader({ name, size: bytes.length }, 0),
    bytes,
    Buffer.alloc(tarPadding(bytes.length)),
  ];
  const first = entry('backup.json', Buffer.from(JSON.stringify(list)));
  return Buffer.concat([...first, ...contents.flatMap(([name, bytes]) => entry(name, bytes)), TAR_END]);
}

const listed = (name: string, bytes: Buffer) => ({
  name,
  size: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
});

it('contains the database and the secrets that are there, for its owner alone', async () => {
  expect(made).toMatchObject({
    schema: newestSchema(),
    bytes: statSync(file).size,
    files: ['secret-key', 'node-id', 'postrider.db'],
  });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(root).filter((name) => name.startsWith('copy'))).toEqual(['copy']);
  expect(readFileSync(file).subarray(-TAR_END.length)).toEqual(TAR_END);
  const done: number[] = [];
  expect(await restore({ progress: (n, total) => done.push(n, total ?? 0) })).toEqual({
    ...made,
    waiting: 0,
  });
  expect(done.at(-1)).toBe(done.at(-2));
  expect(readdirSync(data).sort()).toEqual(['node-id', 'postrider.db', 'postrider.db-lock', 'secret-key']);
  for (const name of ['node-id', 'secret-key']) {
    expect(readFileSync(join(data, name), 'utf8')).toBe(`${name} of it`);
    expect(statSync(join(data, name)).mode & 0o777).toBe(0o600);
  }
  expect(schemaOf(join(data, 'postrider.db'))).toBe(newestSchema());
  takeLock(join(data, 'postrider.db')).release();
});

it('is not made where it cannot be, and leaves what is there', async () => {
  await expect(backup(file)).rejects.toThrow('exists already; choose another name');
  await expect(backup(join(root, 'no', 'copy'))).rejects.toThrow(`there is no folder ${join(root, 'no')}`);
  await expect(backup(join(root, 'new'), { database: join(root, 'no.db') })).rejects.toThrow(
    'there is no postrider database at',
  );
  const place = join(folder, 'database-server');
  writeFileSync(place, '7 another 28075976 7714173566884860836 16384 00000001\n');
  await expect(backup(join(root, 'new'))).rejects.toThrow('was last used with a database of PostgreSQL');
  expect(() => wayBack(folder, database)).toThrow('was last used with a database of PostgreSQL');
  rmSync(place);
  const to = join(data, 'new');
  const lock = takeLock(`${to}.part`);
  writeFileSync(`${to}.part`, 'of the other');
  await expect(backup(to)).rejects.toThrow('another backup to');
  expect(readFileSync(`${to}.part`, 'utf8')).toBe('of the other');
  lock.release();
  const done: number[] = [];
  await backup(to, { progress: (n) => done.push(n) });
  expect(done.at(-1)).toBe(statSync(database).size);
  expect(readdirSync(data)).toEqual(['new']);
});

it('of an older version is migrated, and what waits is held if it should be', async () => {
  const released = unpackReleased('0.1.0', join(root, 'released'));
  const old = join(root, 'old');
  expect(await backup(old, { folder: join(root, 'released'), database: released })).toMatchObject({
    schema: 39,
  });
  for (const [hold, ids] of [
    [null, []],
    [HOLD, ['h']],
  ] as const) {
    const to = join(data, `${ids.length}`);
    expect(await restore({ folder: to, file: old, hold })).toMatchObject({ schema: 39, waiting: 3 });
    expect(schemaOf(join(to, 'postrider.db'))).toBe(newestSchema());
    const db = openConnection(join(to, 'postrider.db'), { readOnly: true, busyMs: 0 });
    expect(db.all("SELECT id FROM hold WHERE created_by = 'restore'")).toEqual(ids.map((id) => ({ id })));
    db.close();
  }
});

it('is not restored into a folder in use, or one with other files', async () => {
  writeFileSync(join(data, 'notes'), 'mine');
  await expect(restore()).rejects.toThrow('is not empty; restore into a new folder');
  writeFileSync(join(data, '.postrider.db.restoring'), 'half');
  await expect(restore()).rejects.toThrow('is not empty');
  expect(readFileSync(join(data, 'notes'), 'utf8')).toBe('mine');
  rmSync(join(data, 'notes'));
  const lock = takeLock(join(data, 'postrider.db'));
  await expect(restore()).rejects.toThrow('is in use');
  expect(readFileSync(join(data, '.postrider.db.restoring'), 'utf8')).toBe('half');
  lock.release();
  await restore();
  // A secret alone is of no restore.
  rmSync(data, { recursive: true });
  mkdirSync(data);
  writeFileSync(join(data, 'secret-key'), 'mine');
  await expect(restore()).rejects.toThrow('is not empty');
});

it('is refused when damaged, cut off or foreign, and nothing is left in the folder', async () => {
  const whole = readFileSync(file);
  const altered = Buffer.from(whole);
  // In the last page of the database, behind which are padding and the end of the archive.
  const at = whole.length - TAR_END.length - 2 * TAR_BLOCK;
  altered[at] = ~(altered[at] ?? 0) & 0xff;
  const refusals = [
    [altered, 'a checksum does not match'],
    [whole.subarray(0, whole.length - 8192), 'is cut off'],
    [whole.subarray(0, 4 * TAR_BLOCK), 'is not where it should be'],
    [Buffer.alloc(0), 'has only 0 octets: it is cut off, or not a backup of postrider'],
    [Buffer.alloc(TAR_BLOCK, 'hello'), 'is not a backup of postrider'],
    [archive({}, []), 'is damaged or cut off, or made by a newer postrider'],
  ] as const;
  for (const [bytes, why] of refusals) {
    await expect(restore({ file: other(bytes) })).rejects.toThrow(why);
    expect(readdirSync(data)).toEqual([]);
  }
  await expect(restore({ file: folder })).rejects.toThrow('is a folder');
  await expect(restore({ file: join(root, 'no') })).rejects.toThrow('cannot be read: there is no such file');
});

it('is refused if its list names what no backup contains', async () => {
  const db = readFileSync(database);
  const [good, key] = [listed('postrider.db', db), listed('secret-key', Buffer.from('k'))];
  const list = { version: 1, createdAt: '2026-01-01T00:00:00Z', schema: newestSchema(), files: [good] };
  for (const wrong of [
    { version: 2 },
    { schema: '1' },
    { createdAt: 1 },
    { files: 1 },
    { files: [key] },
    { files: [good, good] },
    { files: [good, { ...key, name: '../secret-key' }] },
    { files: [good, { ...key, name: 'postrider.json' }] },
    { files: [good, { ...key, size: -1 }] },
    { files: [good, { ...key, size: 0.5 }] },
    { files: [good, { ...key, sha256: null }] },
  ])
    await expect(
      restore({ file: other(archive({ ...list, ...wrong }, [['postrider.db', db]])) }),
    ).rejects.toThrow('is damaged or cut off, or made by a newer postrider');
  const newer = { ...list, schema: newestSchema() + 1 };
  await expect(restore({ file: other(archive(newer, [['postrider.db', db]])) })).rejects.toThrow(
    'was made by a newer postrider',
  );
  for (const [name, bytes] of [
    ['secret-key', db],
    ['postrider.db', db.subarray(1)],
  ] as const)
    await expect(restore({ file: other(archive(list, [[name, bytes]])) })).rejects.toThrow(
      'postrider.db is not where it should be',
    );
  // As version 0.1 wrote it.
  const old = Buffer.concat([Buffer.from(`postrider backup\n${JSON.stringify(list)}\n`), db]);
  expect(await restore({ file: other(old) })).toMatchObject({ files: ['postrider.db'] });
});

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

it('is a way back only where there is a database, and a copy of it', () => {
  expect(() => wayBack(data, join(data, 'postrider.db'))).toThrow('there is no postrider database at');
  expect(() => wayBack(folder, database)).toThrow('there is no copy from before an upgrade');
});
