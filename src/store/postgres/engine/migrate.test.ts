/** Migrations of the PostgreSQL engine, and the schema they lead to. */
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import { readMigrations, toMigration } from '../../shared/migrations.ts';
import { openPostgresStore } from '../open.ts';
import { describePostgres, type TestDatabase, testDatabase } from '../test-support.ts';
import { openLink } from './connections.ts';
import { createStatements } from './db.ts';
import { migrate } from './migrate.ts';
import { schemaText } from './schema-text.ts';

const FOLDER = join(import.meta.dirname, '..');

describePostgres('migrations of PostgreSQL', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase('migrate');
  });
  afterAll(() => database.close());
  beforeEach(() => database.link.exec('DROP SCHEMA public CASCADE; CREATE SCHEMA public').then(() => {}));

  const apply = (migrations = readMigrations('postgres')) =>
    migrate(database.link, { migrations, clock: systemClock });
  const schema = () => database.use(schemaText);

  it('are numbered upwards, each number once', () => {
    const versions = readMigrations('postgres').map(({ version }) => version);
    expect(versions[0]).toBe(1);
    expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
  });

  it('lead to exactly the expected schema', async () => {
    await apply();
    await expect(await schema()).toMatchFileSnapshot(join(FOLDER, 'expected-schema.sql'));
  });

  it('change nothing the second time, and are applied once where several nodes start at once', async () => {
    const links = await Promise.all([1, 2, 3].map(() => openLink(database.url, createStatements(), 'cold')));
    await Promise.all(
      links.map((link) => migrate(link, { migrations: readMigrations('postgres'), clock: systemClock })),
    );
    await Promise.all(links.map((link) => link.end()));
    const before = await schema();
    await apply();
    expect(await schema()).toBe(before);
  });

  it('apply each step whole or not at all, and go on from there', async () => {
    const first = { version: 1, sql: 'CREATE TABLE a (x int)' };
    await expect(
      apply([first, { version: 2, sql: 'CREATE TABLE b (x int); CREATE TABLE a (y int)' }]),
    ).rejects.toThrow('already exists');
    expect(await schema()).not.toContain('TABLE b');
    await apply([first, { version: 2, sql: 'CREATE TABLE b (x int)' }]);
    expect(await schema()).toContain('TABLE b');
  });

  it('wait for nodes that have just died, and change nothing under one that lives', async () => {
    const all = readMigrations('postgres');
    await apply();
    const before = await schema();
    const next = [...all, { version: 9999, sql: 'CREATE TABLE later (x int)' }];
    const beat = (ago: number) =>
      database.link.db.run(
        `INSERT INTO node (node_id, started_at, host, pid, heartbeat_at)
         VALUES ('one', 1, 'mx1', 42, extract(epoch FROM clock_timestamp()) * 1000 - $1::int4)`,
        ago,
      );
    await beat(0);
    await expect(
      migrate(database.link, { migrations: next, clock: systemClock, waitMs: 300 }),
    ).rejects.toMatchObject({
      reason: 'older-nodes',
      message: expect.stringMatching(/after change number 9999: mx1 \(process 42\)\. Stop them/),
    });
    expect(await schema()).toBe(before);
    await database.link.db.run('DELETE FROM node');
    await beat(14_800);
    const log = vi.fn();
    expect(await migrate(database.link, { migrations: next, clock: systemClock, waitMs: 5_000, log })).toBe(
      9999,
    );
    expect(log.mock.calls[0]).toEqual([
      'warn',
      'waits until servers of an older version have stopped, which cannot work with the new schema',
      { servers: 'mx1 (process 42)', seconds: 5 },
    ]);
    await beat(0);
    // Nothing is missing, so nobody is asked.
    await migrate(database.link, { migrations: next, clock: systemClock, waitMs: 0 });
  });

  it('take as long as they need', async () => {
    const unlimited = `DO $$ BEGIN IF current_setting('statement_timeout') <> '0' THEN RAISE 'limited'; END IF; END $$`;
    const migrations = [...readMigrations('postgres'), { version: 9999, sql: unlimited }];
    await (await openPostgresStore({ url: database.url, clock: systemClock, migrations })).close();
  });

  it.each([
    {
      // Another node, or a server that waits for its turn at the table of migrations.
      holds: 'LOCK TABLE migration IN EXCLUSIVE MODE',
      told: { message: 'waits until another process has changed the schema of the database' },
    },
    {
      holds: "SET application_name = 'pg_dump'; SELECT count(*) FROM node",
      told: {
        message: 'a change of the schema of the database waits for locks',
        reason: expect.stringMatching(/^process \d+ .+"pg_dump"/),
      },
    },
  ])('wait for who holds a lock, and say so: $holds', async ({ holds, told }) => {
    const known = readMigrations('postgres');
    await apply();
    const other = await openLink(database.url, createStatements(), 'cold');
    await other.exec(`BEGIN; ${holds}`);
    const lines: unknown[] = [];
    const waited = migrate(database.link, {
      ...{
        migrations: [...known, { version: 9999, sql: 'ALTER TABLE node ADD COLUMN x int' }],
        clock: systemClock,
      },
      log: (_level, message, fields) => lines.push({ message, ...fields }),
    });
    await vi.waitFor(() => expect(lines).toContainEqual(expect.objectContaining(told)), 5_000);
    await other.exec('ROLLBACK');
    expect(await waited).toBe(9999);
    await other.end();
    const changed = {
      message: 'the schema of the database is changed',
      from: known.at(-1)?.version,
      to: 9999,
    };
    expect(lines).toContainEqual(changed);
    expect(lines.length).toBe(2);
  });

  describe('of a newer program', () => {
    const known = readMigrations('postgres');
    const newest = known.at(-1)?.version ?? 0;
    const harmless = toMigration(9998, `-- works with programs since ${newest}\nCREATE TABLE later (x int4)`);
    const breaking = toMigration(9999, 'ALTER TABLE node RENAME COLUMN host TO machine');
    const about = { host: 'mx1', pid: 42, version: '1.0.0', roles: [], sources: [], settings: {} };
    const open = async () => {
      const lost: string[] = [];
      const store = await openPostgresStore({
        ...{ url: database.url, clock: systemClock, migrations: known },
        onLost: (reason) => lost.push(reason),
      });
      const begin = () => store.beginEpoch({ nodeId: 'one', now: systemClock.now(), about });
      return { store, lost, begin };
    };

    it('are made under nodes that go on working with them, and older ones may still join', async () => {
      const one = await open();
      const epoch = await one.begin();
      await migrate(database.link, { migrations: [...known, harmless], clock: systemClock, waitMs: 0 });
      expect(await one.store.heartbeat({ epoch, now: systemClock.now() })).toMatchObject({ kind: 'alive' });
      const another = await open();
      await another.begin();
      expect(another.lost).toEqual([]);
      await Promise.all([one.store.close(), another.store.close()]);
    });

    it('are not made under nodes that could not go on', async () => {
      const one = await open();
      await one.begin();
      await expect(
        migrate(database.link, { migrations: [...known, harmless, breaking], clock: systemClock, waitMs: 0 }),
      ).rejects.toMatchObject({
        reason: 'older-nodes',
        message: expect.stringContaining('after change number 9999: mx1 (process 42)'),
      });
      await one.store.close();
    });

    it('end a node that was paused when they were made: it begins no more, and says why', async () => {
      const one = await open();
      const epoch = await one.begin();
      await one.store.takeLeases({ epoch, names: ['upkeep'], quiet: [], now: systemClock.now() });
      await database.link.db.run('UPDATE node SET heartbeat_at = heartbeat_at - 15001');
      await migrate(database.link, {
        migrations: [...known, harmless, breaking],
        clock: systemClock,
        waitMs: 0,
      });
      expect(await one.store.heartbeat({ epoch, now: systemClock.now() })).toEqual({ kind: 'ended' });
      await expect(one.begin()).rejects.toThrow('cannot work with it');
      expect(one.lost).toEqual([expect.stringMatching(/schema is number 9999.+ cannot work with it/)]);
      await expect(open()).rejects.toMatchObject({ reason: 'newer-schema' });
      expect(await database.link.db.all('SELECT FROM node_lease')).toEqual([]);
      await one.store.close();
    });
  });

  it('say which programs go on working with them', () => {
    const undecided = readMigrations('postgres').filter(
      ({ version, sql }) => version > 206 && !sql.startsWith('-- works with programs since '),
    );
    expect(undecided.map(({ version }) => version)).toEqual([]);
  });

  it('refuse a database of a newer version, and one of another program, and leave them unchanged', async () => {
    await apply([{ version: 7, sql: 'CREATE TABLE a (x int)' }]);
    await expect(apply([{ version: 6, sql: 'CREATE TABLE b (x int)' }])).rejects.toMatchObject({
      reason: 'newer-schema',
      message: expect.stringContaining('number 7'),
    });
    expect(await schema()).not.toContain('TABLE b');
    await database.link.exec('DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE theirs (x int)');
    await expect(apply()).rejects.toMatchObject({ reason: 'foreign' });
    expect(await schema()).not.toContain('migration');
  });
});
