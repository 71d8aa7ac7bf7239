/**
 * A transfer between SQLite and PostgreSQL: every table and column arrives, back again everything is as it was; one that is
 * cut off goes on; and no server starts on a database that was left or is not full yet.
 */
import { chown, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { withPassword } from '../../src/lib/postgres-url.ts';
import { EVENT_KINDS } from '../../src/model/event.ts';
import { commit, message } from '../../src/store/conformance/fixtures.ts';
import { openLink } from '../../src/store/postgres/engine/connections.ts';
import { createStatements, type Db } from '../../src/store/postgres/engine/db.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { describePostgres } from '../../src/store/postgres/test-support.ts';
import type { Tables } from '../../src/store/shared/tables.ts';
import { type Connection, openConnection } from '../../src/store/sqlite/engine/connection.ts';
import { openDatabase } from '../../src/store/sqlite/engine/open-database.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { openEnd } from '../../src/transfer/open-end.ts';
import {
  COPIED,
  COPIED_META,
  LEFT_OUT,
  POSTGRES_ONLY,
  type Row,
  type Value,
} from '../../src/transfer/tables.ts';
import { cancelTransfer, plan, transfer } from '../../src/transfer/transfer.ts';
import { command } from '../scenarios/commands.ts';
import { fileScope, startInstance, temporaryFolder } from '../scenarios/harness.ts';
import { countOf, emptyDatabase } from './databases.ts';

const scope = fileScope();
/** Scenarios here have a database of PostgreSQL otherwise. */
const SQLITE = { database: 'sqlite:' };
const HERE = { POSTRIDER_DATABASE: SQLITE.database };
const ROWS = 3;
/** Beyond the numbers of the first two eras. */
const LATER_ERA = 2 ** 39 + 7;

type Columns = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** Types by column by table. */
async function columnsOf(url: string): Promise<Columns> {
  return usingDb(url, async (db) => {
    const rows = await db.all<{ name: string; column: string; type: string }>(
      `SELECT c.relname AS name, a.attname AS "column", format_type(a.atttypid, a.atttypmod) AS type
       FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
       WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       ORDER BY c.relname, a.attnum`,
    );
    const tables = new Map<string, Map<string, string>>();
    for (const { name, column, type } of rows)
      tables.set(name, (tables.get(name) ?? new Map<string, string>()).set(column, type));
    return tables;
  });
}

async function usingDb<Result>(url: string, work: (db: Db) => Promise<Result>): Promise<Result> {
  const link = await openLink(url, createStatements(), 'cold');
  try {
    return await work(link.db);
  } finally {
    await link.end();
  }
}

async function migrated(url: string): Promise<void> {
  await (await openPostgresStore({ url, clock: systemClock })).close();
}

/** A value of each type that differs from row to row and uses what is special of it. */
function sampleOf(table: string, column: string, type: string, n: number): Value {
  // What SQLite's triggers look at.
  if (`${table}.${column}` === 'delivery.queue_id') return n;
  if (`${table}.${column}` === 'delivery.state') return n - 1;
  if (`${table}.${column}` === 'webhook_call.webhook_id') return n;
  if (`${table}.${column}` === 'webhook_call.state') return 0;
  if (`${table}.${column}` === 'override.value') return n === 1 ? 12.5 : `"${n}"`;
  if (column === 'webhooks') return JSON.stringify(Array(n).fill(n));
  if (column === 'domains') return JSON.stringify([`d${n}.example`]);
  if (column === 'settings') return JSON.stringify({ returnPathHost: `r${n}.example` });
  if (column === 'coding') return 0;
  switch (type) {
    case 'boolean':
      return n % 2;
    case 'uuid':
      return new Uint8Array(16).fill(n);
    case 'bytea':
      return Uint8Array.from({ length: 40 * n }, (_, i) => (i * n) % 256);
    case 'text[]':
      return JSON.stringify([`a,"b" \\${n}`, '{NULL}', 'ü']);
    case 'double precision':
      return n + 0.1;
    case 'smallint':
    case 'integer':
      return n;
    case 'bigint':
      return ['seq', 'id'].includes(column) &&
        n === ROWS &&
        !['name', 'dest_queue', 'webhook', 'message'].includes(table)
        ? LATER_ERA
        : n;
    default:
      return `${column} "${n}" \\ ü 👍 ${'x'.repeat(n)}`;
  }
}

/** A database with rows in every table. */
function fill(path: string, columns: Columns): Connection {
  const db = openDatabase(path);
  db.exec('BEGIN');
  for (const table of COPIED) {
    const types = columns.get(table.name) ?? new Map<string, string>();
    const names = [...types.keys()].filter((name) => !POSTGRES_ONLY[table.name]?.includes(name));
    for (let n = 1; n <= (table.name === 'meta' ? 0 : ROWS); n += 1) {
      const row = Object.fromEntries(
        names.map((name) => [name, sampleOf(table.name, name, types.get(name) ?? '', n)]),
      );
      db.insert(table.name as keyof Tables, row);
      if (table.name === 'content') db.insert('kept_content', { domain_id: n, message_seq: n, size: 40 * n });
    }
  }
  db.run('UPDATE webhook_call SET state = webhook_id - 1');
  db.run("INSERT INTO meta VALUES ('instance_id', 'one'), ('erasing_key', x'00ff10'), ('events_summed', 7)");
  // Given once, and removed since: never given again.
  db.run("UPDATE sqlite_sequence SET seq = seq + 5 WHERE name IN ('event', 'delivery', 'webhook')");
  db.exec('COMMIT');
  return db;
}

/** Everything in a SQLite database but what belongs to it alone. */
function contentsOf(db: Connection): Record<string, readonly Row[]> {
  const names = db.all<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_stat%' ORDER BY name",
  );
  const contents: Record<string, readonly Row[]> = {};
  for (const { name } of names) {
    if (['node', 'node_lease', 'probe'].includes(name)) continue;
    const rows = db.all<Row>(`SELECT * FROM "${name}"`);
    const kept = rows.filter(
      (row) => name !== 'meta' || (COPIED_META as readonly string[]).includes(String(row.name)),
    );
    contents[name] = kept
      .filter((row) => name !== 'sqlite_sequence' || row.name !== 'node')
      .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
  return contents;
}

/** `failsAtEnd`: the target cannot store that the transfer is over. */
async function move(from: string, to: string, copied?: (table: string) => void, failsAtEnd = false) {
  const source = await openEnd(from, 'source', systemClock);
  try {
    const target = await openEnd(to, 'target', systemClock);
    try {
      return await transfer({
        ...{ source, clock: systemClock, id: 'the-transfer', hold: null },
        target: {
          ...target,
          async write(table, rows, progress) {
            if (failsAtEnd && progress.value.includes('"isFinished":true'))
              throw new Error('cut off at its end');
            await target.write(table, rows, progress);
          },
        },
        progress: () => undefined,
        ...(copied === undefined ? {} : { copied }),
      });
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

describePostgres('a transfer', () => {
  it('knows every table and column of both engines', async () => {
    const url = await emptyDatabase(scope);
    await migrated(url);
    const folder = await temporaryFolder(scope);
    const db = openDatabase(join(folder, 'postrider.db'));
    const postgres = await columnsOf(url);
    const sqlite = new Map(
      db
        .all<{ name: string; column: string }>(
          `SELECT t.name, c.name AS "column" FROM sqlite_schema t, pragma_table_info(t.name) c
           WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`,
        )
        .reduce(
          (all, { name, column }) => all.set(name, [...(all.get(name) ?? []), column]),
          new Map<string, string[]>(),
        ),
    );
    db.close();
    const copied = COPIED.map(({ name }) => name);
    for (const name of new Set([...postgres.keys(), ...sqlite.keys()]))
      expect([...copied, ...Object.keys(LEFT_OUT)], `is ${name} copied?`).toContain(name);
    for (const name of copied) {
      const only = POSTGRES_ONLY[name] ?? [];
      const there = [...(postgres.get(name)?.keys() ?? [])].filter((column) => !only.includes(column));
      expect(there.sort(), name).toEqual([...(sqlite.get(name) ?? [])].sort());
    }
  });

  it('brings everything to PostgreSQL and back, and what was being sent waits again', async () => {
    const url = await emptyDatabase(scope);
    await migrated(url);
    const folder = await temporaryFolder(scope);
    const path = join(folder, 'postrider.db');
    const first = fill(path, await columnsOf(url));
    const before = contentsOf(first);
    first.close();
    const rows = Object.values(before).flat().length;
    expect(rows).toBeGreaterThan(ROWS * 45);

    const there = await move(`sqlite:${path}`, url);
    expect(there).toMatchObject({ compared: 2, waiting: 2 });
    const largest = await usingDb(url, (db) => db.get('SELECT last_value AS n FROM event_seq_seq'));
    expect(largest).toEqual({ n: LATER_ERA + 5 });
    // Its statistics are those of the rows that came, not of the empty tables.
    const analyzed = "SELECT reltuples::int4 AS n FROM pg_class WHERE oid = 'name'::regclass";
    expect(await usingDb(url, (db) => db.get(analyzed))).toEqual({ n: before.name?.length });

    const back = join(folder, 'back.db');
    await move(url, `sqlite:${back}`);
    const second = openConnection(back, { readOnly: true, busyMs: 0 });
    const after = contentsOf(second);
    second.close();

    // What was leased waits, and what is counted of that, too.
    const source = openDatabase(path);
    source.run('UPDATE delivery SET state = 0, epoch = 0, may_be_duplicate = 1 WHERE state = 1');
    source.run('UPDATE webhook_call SET state = 0, epoch = 0 WHERE state = 1');
    const expected = contentsOf(source);
    source.close();
    for (const name of Object.keys(expected)) expect(after[name], name).toEqual(expected[name]);
    expect(before.delivery).not.toEqual(expected.delivery);
  });

  it('goes on where it was cut off, after every portion', async () => {
    const url = await emptyDatabase(scope);
    const other = await emptyDatabase(scope);
    await migrated(other);
    const folder = await temporaryFolder(scope);
    const path = join(folder, 'postrider.db');
    fill(path, await columnsOf(other)).close();
    await move(`sqlite:${path.replace('postrider.db', 'unused.db')}`, url).then(
      () => expect.unreachable(),
      (error: Error) => expect(error.message).toContain('There is no database at'),
    );
    const seen: string[] = [];
    for (;;) {
      const done = await move(`sqlite:${path}`, url, (table) => {
        seen.push(table);
        throw new Error('cut off');
      }).catch((error: Error) => {
        expect(error.message).toBe('cut off');
        return null;
      });
      if (done !== null) break;
    }
    expect(seen).toEqual(COPIED.map(({ name }) => name));
    await expect(openPostgresStore({ url, clock: systemClock }).then((store) => store.close())).resolves.toBe(
      undefined,
    );
  });

  it('lets no server start on what is left or not yet full', async () => {
    const url = await emptyDatabase(scope);
    await migrated(url);
    const folder = await temporaryFolder(scope);
    const path = join(folder, 'postrider.db');
    fill(path, await columnsOf(url)).close();
    const openBoth = () =>
      Promise.allSettled([
        openSqliteStore({ path, clock: systemClock }),
        openPostgresStore({ url, clock: systemClock }),
      ]);
    await expect(
      move(`sqlite:${path}`, url, (table) => {
        if (table === 'message') throw new Error('cut off');
      }),
    ).rejects.toThrow('cut off');
    expect(await openBoth()).toMatchObject([
      { reason: { name: 'StoreRefused', message: expect.stringContaining('has begun; repeat the command') } },
      { reason: { name: 'StoreRefused', message: expect.stringContaining('is not finished') } },
    ]);
    const another = await emptyDatabase(scope);
    await expect(move(`sqlite:${path}`, another)).rejects.toThrow('go on with that one');
    const full = Object.assign(new Error('database or disk is full'), { errcode: 13 });
    await expect(
      move(`sqlite:${path}`, url, () => {
        throw full;
      }),
    ).rejects.toThrow(/^The transfer was cut off: the disk is full .*Repeat the command/);
    // Between the ends of both: the last write of the target fails.
    await expect(move(`sqlite:${path}`, url, undefined, true)).rejects.toThrow('cut off at its end');
    expect(await openBoth()).toMatchObject([
      { reason: { message: expect.stringContaining('was transferred to') } },
      { reason: { message: expect.stringContaining('is not finished') } },
    ]);
    const left = await openEnd(`sqlite:${path}`, 'source', systemClock);
    await expect(cancelTransfer(left)).rejects.toThrow('is finished');
    await left.close();
    await move(`sqlite:${path}`, url);
    expect((await openBoth())[0]).toMatchObject({
      reason: { message: expect.stringMatching(/was transferred to postgres:.* on 20\d\d-/) },
    });
    await expect(move(`sqlite:${path}`, url)).rejects.toThrow('was already transferred');
  });
});

describePostgres('a server that was paused while its database was transferred', () => {
  it('stores nothing there any more, until the transfer is given up', async () => {
    const url = await emptyDatabase(scope);
    const store = await openPostgresStore({ url, clock: systemClock });
    scope.defer(() => store.close());
    const silent = systemClock.now() - 60_000;
    const epoch = await store.beginEpoch({ nodeId: 'paused', now: silent });
    const path = `sqlite:${join(await temporaryFolder(scope), 'new.db')}`;
    await store.instanceId({ proposedId: 'one' });
    await commit(store, [message()], epoch);
    const cutOff = () =>
      move(url, path, () => {
        throw new Error('cut off');
      });
    const accept = () => store.commitAccepted({ messages: [message()], epoch, idempotency: null });
    const why = () => accept().then(String, (error: Error) => error.message);
    await expect(cutOff()).rejects.toThrow('cut off');
    // The first call of each connection finds that it has ended.
    await expect(accept()).rejects.toThrow(StoreUnavailable);
    await expect.poll(why).toContain('has begun; repeat the command');
    for (const ask of [
      () => store.heartbeat({ epoch, now: systemClock.now() }),
      () => store.beginEpoch({ nodeId: 'paused', now: systemClock.now() }),
      () => store.addSuppressions({ domain: 'example.com', entries: [], now: systemClock.now() }),
    ])
      await expect(ask()).rejects.toThrow('has begun; repeat the command');
    expect(store.writable()).toMatchObject({ ok: false, reason: expect.stringContaining('has begun') });

    const source = await openEnd(url, 'source', systemClock);
    await cancelTransfer(source);
    await source.close();
    await expect.poll(() => store.writable()).toEqual({ ok: true });
    expect(await store.heartbeat({ epoch, now: systemClock.now() })).toEqual({ kind: 'ended' });

    const another = `sqlite:${join(await temporaryFolder(scope), 'new.db')}`;
    expect(await move(url, another)).toMatchObject({ waiting: 1 });
    await expect.poll(why).toContain('was transferred to sqlite:');
    expect(await countOf(url, 'message')).toBe(1);
    const looked = await openEnd(url, 'look', systemClock);
    expect((await plan(looked)).map(({ table }) => table)).toContain('meta');
    await looked.close();
  });

  it('cannot have begun while the transfer did', async () => {
    const url = await emptyDatabase(scope);
    await migrated(url);
    const starting = await openLink(url, createStatements(), 'cold');
    const source = await openEnd(url, 'source', systemClock);
    await starting.exec('BEGIN');
    // It has found no mark, and waits for the table that the transfer has locked.
    const node = {
      epoch: 1,
      node_id: 'a',
      started_at: 1,
      heartbeat_at: 1,
      host: '',
      pid: 0,
      roles: '[]',
      sources: '[]',
    };
    const begun = starting.db.insert('node', node).then(() => starting.exec('COMMIT'));
    const waits = "pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    await expect.poll(() => countOf(url, waits)).toBe(1);
    await source.setMeta('transfer', '{}');
    const [, how] = await Promise.allSettled([source.shutOut(systemClock.now()), begun]);
    expect(how).toMatchObject({ status: 'rejected' });
    expect(await countOf(url, 'node WHERE ended_at IS NULL')).toBe(0);
    await source.close();
    await starting.end();
  });

  it('does not begin beside a server that lives, however the clock of this machine goes', async () => {
    const url = await emptyDatabase(scope);
    const store = await openPostgresStore({ url, clock: systemClock });
    const epoch = await store.beginEpoch({ nodeId: 'a', now: systemClock.now() });
    for (const minutes of [-10, 0, 10]) {
      const clock = { ...systemClock, now: () => systemClock.now() + minutes * 60_000 };
      await expect(openEnd(url, 'source', clock)).rejects.toThrow('A server works on');
    }
    await store.endEpoch({ epoch, now: systemClock.now() });
    await store.close();
    await (await openEnd(url, 'source', systemClock)).close();
  });

  it('has no limit of time on what counts whole tables', async () => {
    const url = await emptyDatabase(scope);
    const link = await openLink(url, createStatements(), 'transfer');
    expect(await link.db.get("SELECT current_setting('statement_timeout') AS ms")).toEqual({ ms: '0' });
    await link.end();
  });
});

describePostgres('a database that is not empty', () => {
  it('is refused before anything is marked, also where only a server was started', async () => {
    const url = await emptyDatabase(scope);
    const store = await openPostgresStore({ url, clock: systemClock });
    await store.instanceId({ proposedId: 'one' });
    await store.close();
    const path = join(await temporaryFolder(scope), 'postrider.db');
    openDatabase(path).close();
    await expect(move(`sqlite:${path}`, url)).rejects.toThrow('is not empty (a server was started on it)');
    await (await openSqliteStore({ path, clock: systemClock })).close();
  });
});

describePostgres('a PostgreSQL end', () => {
  it('stores texts that PostgreSQL cannot hold with a replacement', async () => {
    const target = await openEnd(await emptyDatabase(scope), 'target', systemClock);
    const table = { name: 'name', key: ['id'] } as const;
    await target.write(table, [{ id: 1, text: 'a\0b\ud800' }], { name: 'transfer', value: '{}' });
    expect(await target.read(table, null)).toEqual([{ id: 1, text: 'a\ufffdb\ufffd' }]);
    await target.close();
  });

  it('is no source with another schema than that of this program', async () => {
    const url = await emptyDatabase(scope);
    await expect(openEnd(url, 'source', systemClock)).rejects.toThrow('holds nothing of postrider');
    await migrated(url);
    const number = (by: number) =>
      usingDb(url, (db) =>
        db.run(
          'UPDATE migration SET version = version + $1 WHERE version = (SELECT max(version) FROM migration)',
          by,
        ),
      );
    await number(1);
    await expect(openEnd(url, 'source', systemClock)).rejects.toThrow('was made by a newer postrider');
    await number(-1);
    await usingDb(url, (db) =>
      db.run('DELETE FROM migration WHERE version = (SELECT max(version) FROM migration)'),
    );
    await expect(openEnd(url, 'source', systemClock)).rejects.toThrow('is of an older postrider');
  });

  it('is used by one transfer at a time', async () => {
    const url = await emptyDatabase(scope);
    const one = await openEnd(url, 'target', systemClock);
    await expect(openEnd(url, 'target', systemClock)).rejects.toThrow('Another transfer works on');
    await one.close();
  });
});

describePostgres('postrider transfer', () => {
  it('moves a server: what waits is held there, and delivered when it is released', async () => {
    const database = await emptyDatabase(scope);
    const first = await startInstance(scope, { settings: SQLITE });
    const run = (...args: string[]) => command(['transfer', ...args, '--data', first.folder], HERE);
    await first.call('POST', '/domains', { body: { Domain: 'example.com', Verified: true } });
    const sent = await first.send();
    await first.settled(sent);
    await first.call('POST', '/queue/hold', { body: { SenderDomain: 'example.com', Reason: 'to be moved' } });
    const waiting = await first.send();
    expect((await run('--to', database)).stderr).toContain(
      'is in use by another postrider. Stop that one first',
    );
    const planned = await run('--to', database, '--dry-run');
    expect(planned.stdout).toMatch(/message +2/);
    await first.stop();
    // Sums stay when the events are removed.
    const left = openDatabase(join(first.folder, 'postrider.db'));
    left.run("INSERT INTO meta (name, value) SELECT 'events_summed', max(seq) FROM event");
    left.run(
      `INSERT INTO event_sum (domain_id, breakdown, span, at, kind, sandbox, name, n)
       SELECT id, 0, 3600000, ?, ?, 0, '', 5 FROM name WHERE text = 'example.com'`,
      Math.floor(Date.now() / 3_600_000 - 5) * 3_600_000,
      EVENT_KINDS.opened.id,
    );
    left.close();

    expect((await run()).stderr).toContain('name the new database with --to');
    expect((await run('--to', 'sqlite:/tmp/x.db')).stderr).toContain('both are SQLite');
    expect((await run('--to', 'mysql://x')).stderr).toContain('--to: give sqlite:PATH or postgres://');
    const done = await run('--to', database);
    expect(done.stderr).toBe('');
    const released =
      /1 recipients wait\. All mail is held until you run: .*queue release (?<hold>[0-9a-f-]+) /.exec(
        done.stdout,
      );

    const second = await startInstance(scope, { folder: first.folder, settings: { database } });
    expect((await second.settled(sent)).Recipients).toMatchObject([{ Status: 'Delivered' }]);
    expect((await second.call('GET', '/stats?Interval=hour')).json.Items).toMatchObject([
      { Counts: { Opened: 5 } },
    ]);
    const here = { POSTRIDER_DATABASE: database };
    // The hold that a person made before the transfer is another one.
    for (const which of [[released?.groups?.hold ?? ''], ['--from', 'example.com']]) {
      const { stdout } = await command(['queue', 'release', ...which, '--data', first.folder], here);
      expect(stdout).toBe('Released 1 hold.\n');
    }
    expect((await second.settled(waiting)).Recipients).toMatchObject([{ Status: 'Delivered' }]);
    const busy = await run('--from', database, '--to', `sqlite:${join(first.folder, 'back.db')}`);
    expect(busy.stderr).toMatch(/A server works on postgres:.*Stop it first/);
    await second.stop();
  });

  it('says of a new database what is wrong with it before the server is stopped', async () => {
    const { folder } = await startInstance(scope, { settings: SQLITE });
    const database = await emptyDatabase(scope);
    const run = (...args: string[]) => command(['transfer', ...args, '--data', folder], HERE);
    const dryRun = async (to: string) => (await run('--to', to, '--dry-run')).stderr;
    expect(await dryRun(database)).toBe('');
    expect(await dryRun(database.replace(/\/postrider_/, '/missing_'))).toContain('There is no database');
    expect(await dryRun('postgres://u:p@127.0.0.1:1/d')).toContain('Nothing listens at 127.0.0.1:1');
    const store = await openPostgresStore({ url: database, clock: systemClock });
    await store.instanceId({ proposedId: 'one' });
    await store.close();
    expect(await dryRun(database)).toContain('is not empty (a server was started on it)');
  });

  it('takes a file for SQLite only where it can write one, and changes no other', async () => {
    const database = await emptyDatabase(scope);
    const store = await openPostgresStore({ url: database, clock: systemClock });
    await store.instanceId({ proposedId: 'one' });
    await store.close();
    const folder = await temporaryFolder(scope);
    const run = (...args: string[]) =>
      command(['transfer', '--from', database, ...args, '--data', folder], HERE);
    expect((await run('--to', 'sqlite:/nowhere/at/all.db')).stderr).toContain(
      '/nowhere/at/all.db cannot be written: there is no such file or folder',
    );
    const page = join(folder, 'page.md');
    await writeFile(page, '# Not a database\n');
    expect((await run('--to', `sqlite:${page}`)).stderr).toContain('page.md is no database; name a file');
    expect(await readdir(folder)).toEqual(['page.md']);
    const asRoot = process.getuid?.() === 0;
    const account = asRoot ? 65_534 : process.getuid?.();
    if (asRoot) await chown(folder, 65_534, 65_534);
    expect((await run('--to', `sqlite:${join(folder, 'new.db')}`)).stderr).toBe('');
    expect((await stat(join(folder, 'new.db'))).uid).toBe(account);
  });

  it('names the new database as it is written into the configuration: without its password', async () => {
    const database = await emptyDatabase(scope);
    const first = await startInstance(scope, { settings: SQLITE });
    await first.stop();
    const to = withPassword(database, 'a:long@word');
    const done = await command(['transfer', '--to', to, '--data', first.folder], HERE);
    expect(done.stderr).toBe('');
    expect(done.stdout).toContain(`Set the key database to ${database}, with the same password, and start`);
  });

  it('can be given up', async () => {
    const database = await emptyDatabase(scope);
    const first = await startInstance(scope, { settings: SQLITE });
    await first.stop();
    const run = (...args: string[]) => command(['transfer', ...args, '--data', first.folder], HERE);
    expect((await run('--cancel')).stderr).toContain('No transfer of');
    expect((await run('--from', 'mysql://x', '--cancel')).stderr).toContain('--from: give sqlite:PATH');
    const source = await openEnd(`sqlite:${join(first.folder, 'postrider.db')}`, 'source', systemClock);
    const target = await openEnd(database, 'target', systemClock);
    const cut = transfer({
      ...{ source, target, clock: systemClock, id: 'x', hold: null, progress: () => undefined },
      copied: () => {
        throw new Error('cut off');
      },
    });
    await expect(cut).rejects.toThrow('cut off');
    await Promise.all([source.close(), target.close()]);
    expect((await run('--cancel')).stdout).toContain('a server may be started on');
    await (await startInstance(scope, { folder: first.folder, settings: SQLITE })).stop();
  });
});

describe('without PostgreSQL', () => {
  it('says what is wrong with the databases before anything is opened', async () => {
    const result = await command(['transfer', '--to', 'postgres://x', '--data', '/nowhere/at/all']);
    expect(result.stderr).toContain('use postgres://user:password@host:port/database');
  });
});
