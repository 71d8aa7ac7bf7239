import { spawnSync } from 'node:child_process';
import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXPECTED_SCHEMA, schemaText } from '../../../docs/generate/schema.ts';
import { RELEASED, unpackReleased } from '../../../test/fakes/released-data.ts';
import { systemClock } from '../../lib/clock.ts';
import { commitOne } from '../conformance/fixtures.ts';
import { readMigrations } from '../shared/migrations.ts';
import { openWayBack, removeOldCopies } from './before-migration.ts';
import { newestSchema, schemaOf } from './copy.ts';
import { type Connection, openConnection } from './engine/connection.ts';
import { openSqliteStore } from './open.ts';
import { temporaryFolder } from './test-support.ts';

const DAY = 86_400_000;
const HOLD = { id: 'hold-1', at: 5, reason: 'went back', by: 'rollback' } as const;

let folder: ReturnType<typeof temporaryFolder>;
let logged: { message: string; fields: Readonly<Record<string, unknown>> }[];

beforeEach(() => {
  folder = temporaryFolder();
  logged = [];
});
afterEach(() => folder.remove());

const open = (path: string) =>
  openSqliteStore({
    path,
    clock: systemClock,
    patienceMs: 1,
    log: (_level, message, fields) => logged.push({ message, fields }),
  });

/** The database of 0.1.0 and its copy after a migration. */
function old(): { path: string; copy: string } {
  const path = unpackReleased('0.1.0', folder.file('data'));
  return { path, copy: `${path}.before-${newestSchema()}` };
}

function reading<Result>(path: string, read: (db: Connection) => Result): Result {
  const db = openConnection(path, { readOnly: true, busyMs: 1000 });
  try {
    return read(db);
  } finally {
    db.close();
  }
}

const mailOf = (path: string) =>
  reading(path, (db) => ({
    deliveries: db.all<{ address: string }>(
      'SELECT id, message_seq, address, state, attempts, due_at, expires_at, last_code, last_reply FROM delivery ORDER BY id',
    ),
    messages: db.all('SELECT seq, id, from_address, subject, size FROM message ORDER BY seq'),
    contents: db.all('SELECT * FROM content ORDER BY 1'),
    events: db.all('SELECT seq, event_id, kind FROM event ORDER BY seq'),
  }));

const copyLines = () => logged.filter(({ message }) => message.includes('copied before it is migrated'));

describe('an upgrade that fails', () => {
  const breakAt = (path: string, sql: string) => {
    const db = openConnection(path, { readOnly: false, busyMs: 1000 });
    db.exec(sql);
    db.close();
  };

  it('says how to go back, which works', async () => {
    const { path, copy } = old();
    const before = schemaOf(path);
    breakAt(path, 'CREATE TABLE alert (id INTEGER)');
    const refusal = await open(path).catch((error: unknown) => error);
    expect(refusal).toMatchObject({
      name: 'StoreRefused',
      message: expect.stringMatching(
        /was not upgraded.*table alert already exists.*`postrider rollback`, which puts back/,
      ),
    });
    expect(String(refusal)).toContain(copy);
    expect(schemaOf(path)).toBeGreaterThan(before);
    // The start after it changes nothing more, and the former version does not run all the same.
    await expect(open(path)).rejects.toThrow(`\`postrider rollback\`, which puts back ${copy}`);
    const way = openWayBack(path);
    await way?.go(null);
    way?.release();
    expect(schemaOf(path)).toBe(before);
  });

  it('says that nothing was changed if the first change failed', async () => {
    const { path, copy } = old();
    await (await open(path)).close();
    rmSync(copy);
    // The next migration adds a column that is there.
    breakAt(path, `UPDATE meta SET value = 241 WHERE name = 'schema_version'`);
    await expect(open(path)).rejects.toThrow(
      /duplicate column.*It was not changed: the former version of postrider can be started again\.$/,
    );
  });
});

describe('the data of a released version', () => {
  it.each(RELEASED)(
    '$version opens in this one with all its mail, and is copied before',
    async (released) => {
      const path = unpackReleased(released.version, folder.file('data'));
      const before = mailOf(path);
      expect(before.deliveries.map(({ address }) => address.split('@')[0]).sort()).toEqual(
        'canceled captured gone later reader reader2 scheduled stopped waits'.split(' '),
      );
      await (await open(path)).close();
      expect(mailOf(path)).toEqual(before);
      expect(reading(path, schemaText)).toBe(readFileSync(EXPECTED_SCHEMA, 'utf8'));
      const copy = `${path}.before-${newestSchema()}`;
      expect(copyLines().map(({ fields }) => fields)).toEqual([
        { file: copy, from: released.schema, to: newestSchema() },
      ]);
      expect(schemaOf(copy)).toBe(released.schema);
      expect(statSync(copy).mode & 0o777).toBe(0o600);
      expect(mailOf(copy)).toEqual(before);

      await commitOne(await open(path).then(closedLater));
      expect(copyLines()).toHaveLength(1);
    },
  );
});

const toClose: { close(): Promise<void> }[] = [];
function closedLater<Store extends { close(): Promise<void> }>(store: Store): Store {
  toClose.push(store);
  return store;
}
afterEach(async () => {
  for (const store of toClose.splice(0)) await store.close();
});

/** Runs `script` in a process that kills itself; `$` in it is the folder of the modules. */
function killed(script: string): void {
  const here = fileURLToPath(new URL('./', import.meta.url));
  const file = folder.file('killed.mjs');
  writeFileSync(file, script.replaceAll('$/', here));
  const run = spawnSync(process.execPath, [file], { encoding: 'utf8', timeout: 60_000 });
  expect(run.signal, run.stderr).toBe('SIGKILL');
}

describe('a migration that is killed', () => {
  /** Numbers of calls of `exec`: three for each migration (begin, its text, commit). */
  const last = 3 * readMigrations('sqlite').filter(({ version }) => version > 39).length;

  it.each([1, 2, 3, 4, Math.floor(last / 2), last - 1, last])(
    'after step %i continues at the next start, with the copy it began with',
    async (step) => {
      const { path, copy } = old();
      const before = mailOf(path);
      killed(`
        import { copyBeforeMigration } from '$/before-migration.ts';
        import { openConnection } from '$/engine/connection.ts';
        import { migrate } from '$/engine/migrate.ts';
        import { readMigrations } from '$/../shared/migrations.ts';
        await copyBeforeMigration(${JSON.stringify(path)});
        const db = openConnection(${JSON.stringify(path)}, { readOnly: false, busyMs: 0 });
        let step = 0;
        migrate({ ...db, exec(sql) {
          db.exec(sql);
          if (++step === ${step}) process.kill(process.pid, 'SIGKILL');
        } }, readMigrations('sqlite'));`);
      await (await open(path)).close();
      expect(mailOf(path)).toEqual(before);
      expect(schemaOf(path)).toBe(newestSchema());
      expect(schemaOf(copy)).toBe(39);
      expect(mailOf(copy)).toEqual(before);
    },
    60_000,
  );

  it('while the database is copied makes the copy again', async () => {
    const { path, copy } = old();
    killed(`
      import { writeFileSync } from 'node:fs';
      import { copyDatabase } from '$/copy.ts';
      writeFileSync(${JSON.stringify(`${copy}.part`)}, '');
      await copyDatabase(${JSON.stringify(path)}, ${JSON.stringify(`${copy}.part`)}, () => process.kill(process.pid, 'SIGKILL'));`);
    expect(existsSync(`${copy}.part`)).toBe(true);
    expect(existsSync(copy)).toBe(false);
    expect(schemaOf(path)).toBe(39);
    await (await open(path)).close();
    expect(schemaOf(copy)).toBe(39);
    expect(existsSync(`${copy}.part`)).toBe(false);
  }, 60_000);
});

describe('the copy', () => {
  it('is left out with a warning where the disk has no room', async () => {
    const { path, copy } = old();
    // Sparse: it only says that it is large. SQLite begins a journal without a valid header anew.
    writeFileSync(`${path}-wal`, '');
    truncateSync(`${path}-wal`, 2 ** 43);
    await (await open(path)).close();
    expect(existsSync(copy)).toBe(false);
    expect(logged.map(({ message }) => message)).toContain(
      'the disk has no room for a copy of the database before it is migrated',
    );
    expect(schemaOf(path)).toBe(newestSchema());
  });

  it('is removed after two weeks', async () => {
    const { path, copy } = old();
    await (await open(path)).close();
    const madeAt = statSync(copy).mtimeMs;
    await removeOldCopies(path, madeAt + 14 * DAY);
    expect(existsSync(copy)).toBe(true);
    utimesSync(copy, madeAt / 1000 - 1, madeAt / 1000 - 1);
    await removeOldCopies(path, madeAt + 14 * DAY);
    expect(existsSync(copy)).toBe(false);
    expect(schemaOf(path)).toBe(newestSchema());
  });

  it('takes the place of the database again, and the newer one is kept', async () => {
    const { path, copy } = old();
    const before = mailOf(path);
    const store = await open(path);
    await commitOne(store);
    expect(() => openWayBack(path)).toThrow('is in use by another postrider');
    await store.close();
    const upgraded = mailOf(path);

    const way = openWayBack(path);
    expect(way).toMatchObject({ file: copy, from: newestSchema(), to: 39, accepted: 1, waiting: 1 });
    await expect(open(path)).rejects.toMatchObject({ reason: 'locked' });
    const other = openConnection(copy, { readOnly: false, busyMs: 0 });
    other.exec('BEGIN IMMEDIATE');
    await expect(way?.go(HOLD)).rejects.toThrow(
      `${copy} cannot be put back: the database is locked by another program (database is locked). The database is as it was; repeat`,
    );
    other.close();
    const { newer, waiting } = (await way?.go(HOLD)) ?? { newer: '', waiting: 0 };
    way?.release();
    expect(waiting).toBe(3);
    expect(schemaOf(path)).toBe(39);
    expect(mailOf(path).deliveries).toEqual(before.deliveries);
    expect(mailOf(newer)).toEqual(upgraded);
    expect(
      reading(path, (db) => db.all('SELECT id, reason, created_by FROM hold ORDER BY created_at LIMIT 1')),
    ).toEqual([{ id: 'hold-1', reason: 'went back', created_by: 'rollback' }]);
    expect(
      reading(path, (db) => db.get('SELECT count(*) AS n FROM delivery WHERE may_be_duplicate = 1')),
    ).toEqual({ n: 3 });
    expect(readdirSync(dirname(path)).filter((name) => name.includes('before'))).toEqual([]);

    // And forward once more: with a new copy.
    await (await open(path)).close();
    const again = openWayBack(path);
    again?.release();
    expect(again).toMatchObject({ accepted: 0 });
  });

  it('is no way back where the schema did not change since', async () => {
    const { path } = old();
    expect(openWayBack(path)).toBeNull();
    await (await open(path)).close();
    await removeOldCopies(path, Date.now() + 15 * DAY);
    expect(openWayBack(path)).toBeNull();
  });
});
