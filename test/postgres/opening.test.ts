/**
 * Databases that cannot be used: the server does not start, says in one sentence what to do, and has written nothing. Each
 * fault is a real one: a server that is set up so, or a pooler before it.
 */

import { spawn, spawnSync } from 'node:child_process';
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { commitOne, everyEvent } from '../../src/store/conformance/fixtures.ts';
import { openLink } from '../../src/store/postgres/engine/connections.ts';
import { createStatements } from '../../src/store/postgres/engine/db.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { startCluster, type TestCluster } from '../../src/store/postgres/test-cluster.ts';
import { describePostgres } from '../../src/store/postgres/test-support.ts';
import { freePort } from '../fakes/own-postfix.ts';
import { createTestCa } from '../fakes/test-certificates.ts';
import { command } from '../scenarios/commands.ts';
import { fileScope, startInstance, temporaryFolder, until } from '../scenarios/harness.ts';
import { countOf, emptyDatabase, runSql } from './databases.ts';

const scope = fileScope();

/** What opening says; fails where it opens. */
async function refusal(url: string): Promise<string> {
  const store = await openPostgresStore({ url, clock: systemClock }).catch((error: Error) => error);
  if (!(store instanceof Error)) {
    await store.close();
    return '(opened)';
  }
  expect(store).toMatchObject({ name: 'StoreRefused' });
  // One sentence, and whether something was written, or when to try again.
  expect(store.message).toMatch(
    /^[^.]*(?:\.[^ ][^.]*)*\.(?: Nothing was written\.| Try again when that is mended\.)?$/,
  );
  return store.message;
}

const tablesIn = (url: string) => countOf(url, "pg_class WHERE relnamespace = 'public'::regnamespace");

/** Removed after the tests of this file. */
async function ownCluster(options: Parameters<typeof startCluster>[0] = {}): Promise<TestCluster> {
  const made = await startCluster(options);
  scope.defer(made.remove);
  return made;
}

describePostgres('a database that is not fit', () => {
  it.each([
    ['synchronous_commit = off', 'set it to on'],
    ['search_path = nowhere', 'CREATE SCHEMA IF NOT EXISTS AUTHORIZATION'],
  ])('is refused: %s', async (setting, fix) => {
    const url = await emptyDatabase(scope);
    const name = new URL(url.replace('@/', '@local/')).pathname.slice(1);
    await runSql(url, `ALTER DATABASE ${name} SET ${setting}`);
    expect(await refusal(url)).toContain(fix);
    expect(await tablesIn(url)).toBe(0);
  });

  it('is refused: not UTF8', async () => {
    const url = await emptyDatabase(scope, null, "'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'");
    expect(await refusal(url)).toContain("create one with ENCODING 'UTF8'");
    expect(await tablesIn(url)).toBe(0);
  });

  it('is refused: no ICU', async () => {
    const url = await emptyDatabase(scope);
    await runSql(url, "DELETE FROM pg_collation WHERE collname = 'und-x-icu'");
    expect(await refusal(url)).toContain('install one with ICU');
  });

  it('is refused: the role may not make tables, or may not use those that are there', async () => {
    const url = await emptyDatabase(scope);
    await runSql(url, 'DROP ROLE IF EXISTS postrider_guest', 'CREATE ROLE postrider_guest LOGIN');
    scope.defer(() => runSql(url, 'DROP OWNED BY postrider_guest', 'DROP ROLE postrider_guest'));
    const guest = url.replace('postrider@', 'postrider_guest@');
    expect(await refusal(guest)).toMatch(
      /may not make tables in the database "\w+"; .*ALTER DATABASE "\w+" OWNER TO/,
    );
    expect(await tablesIn(url)).toBe(0);
    // As in a server that was upgraded from one before 15.
    await runSql(url, 'ALTER SCHEMA public OWNER TO postrider');
    expect(await refusal(guest)).toContain('ALTER SCHEMA "public" OWNER TO "postrider_guest"');
    await (await openPostgresStore({ url, clock: systemClock })).close();
    await runSql(url, 'GRANT CREATE ON SCHEMA public TO postrider_guest');
    expect(await refusal(guest)).toMatch(/permission denied for table .*make it the owner/);
    await runSql(
      url,
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = pg_catalog, public', current_database()); END $$`,
    );
    expect(await refusal(url)).toContain('its search_path pg_catalog, public; have that name the schema');
  });

  it('names the limit of the role where that leaves no connection, at the start and later', async () => {
    const url = await emptyDatabase(scope);
    await runSql(
      url,
      'DROP ROLE IF EXISTS postrider_limited',
      'CREATE ROLE postrider_limited LOGIN',
      'GRANT CREATE ON SCHEMA public TO postrider_limited',
    );
    scope.defer(() => runSql(url, 'DROP OWNED BY postrider_limited', 'DROP ROLE postrider_limited'));
    const limited = url.replace('postrider@', 'postrider_limited@');
    const store = await openPostgresStore({ url: limited, clock: systemClock });
    await runSql(
      url,
      'ALTER ROLE postrider_limited CONNECTION LIMIT 0',
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'postrider_limited'",
    );
    const said = () => commitOne(store).catch((error: Error) => error.message);
    await expect.poll(said).toMatch(/raise .*CONNECTION LIMIT of the role/);
    await store.close();
    expect(await refusal(limited)).toMatch(/for role .*needs at least 4 .*CONNECTION LIMIT of the role/);
    await runSql(url, 'ALTER ROLE postrider_limited CONNECTION LIMIT 3');
    expect(await refusal(limited)).toContain(
      'the role "postrider_limited" is 3; each process needs at least 4 and uses up to 12: ALTER ROLE',
    );
  });

  it('is refused: the login is taken and nothing is answered, as by a pooler without a free connection', async () => {
    const ok = Buffer.from('520000000800000000' + '5a0000000549', 'hex');
    const pooler = createServer((socket) => {
      socket.once('data', () => socket.write(ok));
      socket.on('error', () => {});
    });
    await new Promise<void>((resolve) => pooler.listen(0, '127.0.0.1', resolve));
    scope.defer(() => pooler.close());
    const { port } = pooler.address() as AddressInfo;
    expect(await refusal(`postgres://postrider@127.0.0.1:${port}/postrider?sslmode=disable`)).toMatch(
      /takes the login and does not answer: if a pooler .*default_pool_size/,
    );
  });

  it('is refused: another program has its tables there, or a newer postrider', async () => {
    const url = await emptyDatabase(scope);
    await runSql(url, 'CREATE TABLE customers (id int)');
    expect(await refusal(url)).toContain('give postrider an empty one of its own');
    expect(await tablesIn(url)).toBe(1);
    await runSql(url, 'DROP TABLE customers');
    await (await openPostgresStore({ url, clock: systemClock })).close();
    await runSql(
      url,
      "INSERT INTO migration VALUES (9000); UPDATE meta SET value = '9000' WHERE name = 'needed_schema'",
    );
    expect(await refusal(url)).toContain('run the newer program');
  });

  it('is refused: the role finds an empty schema, and the tables are in another', async () => {
    const url = await emptyDatabase(scope);
    await (await openPostgresStore({ url, clock: systemClock })).close();
    await runSql(url, 'CREATE SCHEMA AUTHORIZATION postrider');
    const said = await refusal(url);
    expect(said).toMatch(/are in the schema "public" .* looks for them in "postrider"/);
    expect(said).toContain('; another instance needs a database of its own.');
    const [fix = ''] = /ALTER ROLE .* SET search_path = "public"/.exec(said) ?? [];
    await runSql(url, fix);
    expect(await refusal(url)).toBe('(opened)');
    expect(await countOf(url, "pg_class WHERE relnamespace = 'postrider'::regnamespace")).toBe(0);
  });

  it('does not exist, and how it is made is said', async () => {
    const url = (await emptyDatabase(scope)).replace(/\/postrider_\w+/, '/nowhere');
    expect(await refusal(url)).toMatch(
      /^There is no database "nowhere" at .*CREATE DATABASE "nowhere" OWNER "postrider" ENCODING 'UTF8' TEMPLATE template0\.$/,
    );
  });

  it('holds keys that another secret-key sealed: a node without that key makes none of its own', async () => {
    const database = await emptyDatabase(scope);
    const first = await startInstance(scope, { settings: { database } });
    const folder = await temporaryFolder(scope);
    await expect(startInstance(scope, { settings: { database }, folder })).rejects.toThrow(
      /secret-key is missing, but keys in the database are sealed.*other nodes as POSTRIDER_SECRET_KEY/,
    );
    expect(existsSync(join(folder, 'secret-key'))).toBe(false);
    await first.stop();
  });

  it('has other nodes: the status of a folder without a server speaks of that folder alone', async () => {
    const database = await emptyDatabase(scope);
    const folder = await temporaryFolder(scope);
    await (await startInstance(scope, { settings: { database }, folder })).stop();
    const other = await temporaryFolder(scope);
    copyFileSync(join(folder, 'secret-key'), join(other, 'secret-key'));
    await startInstance(scope, { settings: { database }, folder: other });
    const { code, stdout } = await command(['status', '--data', folder], { POSTRIDER_DATABASE: database });
    expect([code, stdout]).toEqual([1, expect.stringContaining(': nothing is accepted or sent here.')]);
  });

  it('is explained by the command in one line, without the password', async () => {
    const folder = await temporaryFolder(scope);
    const port = await freePort();
    const status = () =>
      command(['status', '--data', folder], {
        POSTRIDER_DATABASE: `postgres://mail:hunter2@127.0.0.1:${port}/postrider`,
      });
    expect((await status()).stderr).toMatch(
      new RegExp(`there is no postrider data in ${folder};.* the folder was moved`),
    );
    writeFileSync(join(folder, 'node-id'), 'a1b2c3d4e5f60718\n');
    const result = await status();
    expect(result.code).not.toBe(0);
    expect(result.stdout + result.stderr).toContain(
      `Nothing listens at 127.0.0.1:${port}; start PostgreSQL there`,
    );
    expect(result.stdout + result.stderr).not.toContain('hunter2');
  });
});

describePostgres('a server of PostgreSQL', () => {
  const ca = createTestCa();
  const leaf = ca.issue({ names: ['db.example.com'] });
  let cluster: TestCluster;
  let port: number;
  const urlOf = (more = '', login = 'postrider:s3cret') =>
    `postgres://${login}@127.0.0.1:${port}/postgres${more}`;
  const authority = () => join(cluster.folder, 'ca.pem');

  beforeAll(async () => {
    port = await freePort();
    cluster = await startCluster({
      login: { port, password: 's3cret' },
      files: { 'server.pem': leaf.cert, 'server.key': leaf.key, 'ca.pem': ca.cert },
    });
  });
  afterAll(() => cluster?.remove());

  it('refuses a login, and which part of it is said', async () => {
    expect(await refusal(urlOf('', 'postrider:wrong'))).toContain(
      'refuses the password of the role "postrider"',
    );
    expect(await refusal(urlOf('', 'nobody:s3cret'))).toContain('refuses the password of the role "nobody"');
    expect(await refusal(urlOf('', 'postrider'))).toContain('set database-password or PGPASSWORD');
  });

  it('has another password since it was opened, and it is said that the process needs it', async () => {
    const store = await openPostgresStore({ url: urlOf('?sslmode=disable'), clock: systemClock });
    await runSql(
      cluster.url,
      "ALTER ROLE postrider PASSWORD 'another'",
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = current_user',
    );
    const said = () => commitOne(store).catch((error: Error) => error.message);
    await expect.poll(said).toMatch(/refuses the password: .* start this process again/);
    await runSql(cluster.url, "ALTER ROLE postrider PASSWORD 's3cret'");
    await expect.poll(said).toMatchObject({ id: expect.any(Number) });
    await store.close();
  });

  it('is not where the URL says', async () => {
    const other = await freePort();
    expect(await refusal(urlOf().replace(`:${port}`, `:${other}`))).toContain('Nothing listens at');
    expect(await refusal(urlOf().replace('127.0.0.1', 'db.invalid'))).toContain('is not found');
    expect(await refusal('postgres://u@/d?host=/nowhere')).toContain('Nothing listens at /nowhere:5432');
  });

  it('has no TLS though the URL asks for it', async () => {
    expect(await refusal(urlOf('?sslmode=require'))).toContain('add sslmode=disable to the URL');
  });

  it('has a certificate that is checked as far as the URL says', async () => {
    await cluster.stop();
    const files = {
      ssl_cert_file: join(cluster.folder, 'server.pem'),
      ssl_key_file: join(cluster.folder, 'server.key'),
    };
    await cluster.start({ ssl: 'on', ...files });
    expect(await refusal(urlOf('?sslmode=verify-full'))).toContain('sslrootcert=FILE');
    expect(await refusal(urlOf(`?sslmode=verify-full&sslrootcert=${authority()}`))).toContain(
      'is for other names',
    );
    expect(await refusal(urlOf('?sslmode=require&sslrootcert=/nowhere'))).toContain(
      'cannot be read (ENOENT)',
    );
    for (const more of [
      '?sslmode=require',
      `?sslmode=require&sslrootcert=${authority()}`,
      '?sslmode=disable',
    ])
      expect(await refusal(urlOf(more)), more).toBe('(opened)');
  });

  it('loses what it has answered: fsync is off', async () => {
    for (const setting of ['fsync', 'full_page_writes']) {
      await cluster.stop();
      await cluster.start({ [setting]: 'off' });
      expect(await refusal(urlOf())).toContain('set both to on');
      await cluster.stop();
      await cluster.start({ [setting]: 'on' });
    }
  });

  it('is a standby, unless the primary is among the hosts', async () => {
    const standby = await ownCluster();
    await standby.stop();
    standby.becomeStandby();
    await standby.start();
    expect(await refusal(standby.url)).toContain('give the address of the primary');
    await standby.remove();
  });
});

describePostgres('settings of the server, the database or the role', () => {
  it('keep no connections from a role that may use those of superusers', async () => {
    const { url } = await ownCluster({
      settings: { max_connections: '6', superuser_reserved_connections: '3', max_wal_senders: '0' },
    });
    await (await openPostgresStore({ url, clock: systemClock })).close();
  });

  it('are those of our connections from their beginning, where what they do depends on them', async () => {
    const { url } = await ownCluster();
    await runSql(
      url,
      "ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'",
      'ALTER DATABASE postgres SET standard_conforming_strings = off',
      'ALTER DATABASE postgres SET idle_session_timeout = 1000',
      'ALTER DATABASE postgres SET lock_timeout = 20',
      "ALTER DATABASE postgres SET default_tablespace = 'pg_default'",
    );
    const open = () => openLink(url, createStatements(), 'commit');
    const link = await open();
    const shown = (name: string) => link.db.get(`SHOW ${name}`);
    expect(await shown('transaction_isolation')).toEqual({ transaction_isolation: 'read committed' });
    expect(await shown('lock_timeout')).toEqual({ lock_timeout: '0' });
    expect(await shown('default_tablespace')).toEqual({ default_tablespace: '' });
    expect(await shown('idle_session_timeout')).toEqual({ idle_session_timeout: '0' });
    expect(await shown('standard_conforming_strings')).toEqual({ standard_conforming_strings: 'on' });
    await runSql(url, 'ALTER SYSTEM SET synchronous_commit = off', 'SELECT pg_reload_conf()');
    await until('new connections have it', () =>
      open().then(
        () => false,
        ({ message }: Error) => message.includes('synchronous_commit off'),
      ),
    );
    expect(await shown('synchronous_commit')).toEqual({ synchronous_commit: 'on' });
    await link.end();
  });

  it('let it go on by itself when they no longer say that the database is read-only', async () => {
    const url = await emptyDatabase(scope);
    const name = /\/(postrider_\w+)/.exec(url)?.[1];
    const set = (readOnly: string) =>
      runSql(
        url.replace(/\/postrider_\w+/, '/postgres'),
        `ALTER DATABASE ${name} SET default_transaction_read_only = ${readOnly}`,
      );
    const store = await openPostgresStore({ url, clock: systemClock });
    await set('on');
    await runSql(
      url,
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()',
    );
    const said = () => commitOne(store).catch((error: Error) => error.message);
    await expect.poll(said).toMatch(/read-only: set default_transaction_read_only to off/);
    await set('off');
    await expect.poll(said).toMatchObject({ id: expect.any(Number) });
    await store.close();
  });
});

describePostgres('two primaries among the hosts', () => {
  it('are told apart at the start, and the former one is not gone back to, nor begun with', async () => {
    const placeFile = join(await temporaryFolder(scope), 'place');
    const former = await ownCluster();
    const standby = await ownCluster({ standbyOf: former });
    const both = (first: TestCluster, second: TestCluster) =>
      first.url.replace(/host=.*/, `host=${first.folder},${second.folder}`);
    const store = await openPostgresStore({ url: both(former, standby), clock: systemClock, placeFile });
    await former.stop();
    await standby.promote();
    const isWritten = () =>
      store.purgeIdempotency({ before: 0, limit: 1 }).then(
        () => true,
        () => false,
      );
    await until('the standby has taken over', isWritten);
    await former.start();
    for (const url of [both(former, standby), both(standby, former)]) {
      const again = await openPostgresStore({ url, clock: systemClock });
      await again.beginEpoch({ nodeId: 'again', now: 1 });
      await again.close();
    }
    expect(await Promise.all([former.url, standby.url].map((url) => countOf(url, 'node')))).toEqual([0, 2]);
    // Its sessions end, and the first of its hosts answers again.
    await standby.stop();
    await until('it has lost the standby', async () => !(await isWritten()));
    await until('it says why', () => {
      const writable = store.writable();
      return !writable.ok && writable.reason.includes('is a former primary of the database');
    });
    expect(store.writable()).toMatchObject({
      reason: expect.stringContaining(
        `${former.folder}:5432: The server is a former primary of the database, and another has taken over from it; stop it, or make it a standby; ${standby.folder}`,
      ),
    });
    expect(await isWritten()).toBe(false);
    await store.close();
    for (const url of [former.url, both(former, standby)]) {
      const begun = openPostgresStore({ url, clock: systemClock, placeFile });
      await expect(begun).rejects.toThrow(`this node has used one that took over from it`);
    }
    expect(await countOf(former.url, 'node')).toBe(0);
    rmSync(placeFile);
    await (await openPostgresStore({ url: former.url, clock: systemClock, placeFile })).close();
  });
});

describePostgres('a database whose files were replaced by older ones', () => {
  it('is refused by who has used later ones, and gives no number again', async () => {
    const placeFile = join(await temporaryFolder(scope), 'place');
    const cluster = await ownCluster();
    const { url, folder } = cluster;
    const open = () => openPostgresStore({ url, clock: systemClock, placeFile });
    const copy = (from: string, to: string) => spawnSync('cp', ['-a', join(folder, from), join(folder, to)]);
    await (await open()).close();
    await cluster.stop();
    copy('data', 'copied');
    await cluster.start();
    const store = await open();
    const { id } = await commitOne(store);
    await (await open()).close();
    await cluster.stop();
    rmSync(join(folder, 'data'), { recursive: true });
    copy('copied', 'data');
    await cluster.start();
    const said = /^The database was put back to an earlier state/;
    await until('an open store says it', async () => {
      await store.purgeIdempotency({ before: 0, limit: 1 }).catch(() => undefined);
      const writable = store.writable();
      return !writable.ok && said.test(writable.reason);
    });
    await store.close();
    await expect(open()).rejects.toThrow(said);
    rmSync(placeFile);
    const again = await open();
    expect((await commitOne(again)).id - id).toBeGreaterThan(2 ** 37);
    await again.close();
    await (await open()).close();
    expect(await countOf(url, 'era WHERE begun_at IS NOT NULL')).toBe(2);
  });
});

describePostgres('numbers of recipients and events', () => {
  it('are not given again after a standby that lacks the last ones has taken over, and their number is reported', async () => {
    const placeFile = join(await temporaryFolder(scope), 'place');
    const primary = await ownCluster();
    const standby = await ownCluster({ standbyOf: primary });
    const url = primary.url.replace(/host=.*/, `host=${primary.folder},${standby.folder}`);
    const open = () => openPostgresStore({ url, clock: systemClock, placeFile });
    const store = await open();
    await store.instanceId({ proposedId: 'instance' });
    await commitOne(store);
    await until('the standby has it', async () => {
      const sql = 'SELECT replay_lsn >= pg_current_wal_flush_lsn() AS same FROM pg_stat_replication';
      const [row] = await runSql(primary.url, sql);
      return (row as { same: string } | undefined)?.same === 't';
    });
    await standby.stop();
    const lost = [];
    for (let i = 0; i < 70; i += 1) lost.push(await commitOne(store));
    const lastEvent = await store.lastEventSeq();
    await (await open()).close();
    await primary.stop('immediate');
    await standby.start();
    const isTaken = () => commitOne(store).then(Boolean, () => false);
    await until('it says what is the matter with each host', async () => {
      const taken = await isTaken();
      const writable = store.writable();
      return (
        !taken &&
        !writable.ok &&
        writable.reason.includes(`${primary.folder}:5432: the database cannot be reached`) &&
        writable.reason.includes(`${standby.folder}:5432: The database is a standby`)
      );
    });
    await standby.promote();
    await until('the standby has taken over', isTaken);
    const first = await commitOne(store);
    expect(first.id).toBeGreaterThan(Math.max(...lost.map(({ id }) => id)));
    expect(first.seq).toBeGreaterThan(Math.max(...lost.map(({ seq }) => seq)));
    const { events } = await store.findEvents(everyEvent({ afterSeq: lastEvent }));
    expect(events.map(({ deliveryId }) => deliveryId)).toContain(first.id);
    const lacks = { ok: true, loss: expect.stringContaining('lacks about 70 of the last events') };
    expect(store.writable()).toMatchObject(lacks);
    await store.close();
    const again = await open();
    expect(again.writable()).toMatchObject(lacks);
    await again.close();
  });

  it('begin anew in a database that was put back to a time before it was used', async () => {
    const placeFile = join(await temporaryFolder(scope), 'place');
    const url = await emptyDatabase(scope);
    const open = () => openPostgresStore({ url, clock: systemClock, placeFile });
    await (await open()).close();
    const [, system, oid] = readFileSync(placeFile, 'utf8').trim().split(' ').slice(-4);
    await runSql(url, 'DROP SCHEMA public CASCADE', 'CREATE SCHEMA public');
    writeFileSync(placeFile, `5 instance ${Number.MAX_SAFE_INTEGER} ${system} ${oid} 00000000\n`);
    await (await open()).close();
  });

  it('are not given again in a copy of the database, which nodes that have used a later state refuse', async () => {
    const placeFile = join(await temporaryFolder(scope), 'place');
    const url = await emptyDatabase(scope);
    const open = (one: string) => openPostgresStore({ url: one, clock: systemClock, placeFile });
    const store = await open(url);
    await store.instanceId({ proposedId: 'instance' });
    let { id } = await commitOne(store);
    await store.close();
    const copy = await emptyDatabase(scope);
    const nameOf = (one: string) => /\/(postrider_\w+)/.exec(one)?.[1];
    await runSql(
      url.replace(/\/postrider_\w+/, '/postgres'),
      `DROP DATABASE ${nameOf(copy)}`,
      `CREATE DATABASE ${nameOf(copy)} TEMPLATE ${nameOf(url)}`,
    );
    const later = await open(url);
    await commitOne(later);
    await later.close();
    // Back to the copy, then to the first database, which lacks what the copy has received since.
    for (const one of [copy, url]) {
      await expect(open(one)).rejects.toThrow(/^The database was put back to an earlier state/);
      rmSync(placeFile);
      const restored = await open(one);
      const given = await commitOne(restored);
      expect(given.id - id).toBeGreaterThan(2 ** 37);
      ({ id } = given);
      await restored.close();
      await (await open(one)).close();
    }
    const running = await open(url);
    const beat = () => running.heartbeat({ epoch: 1, now: 1 });
    await beat();
    writeFileSync(placeFile, `${3 * 2 ** 38} instance 0 system 1 00000001\n`);
    await expect(running.lastEventSeq()).rejects.toThrow('was put back');
    await expect(beat()).rejects.toThrow('was put back');
    await running.close();
  });
});

describe.skipIf(spawnSync('pgbouncer', ['--version']).status !== 0)('a pooler', () => {
  describePostgres('before the database', () => {
    it('is refused where it changes connections between transactions, and taken where it does not', async () => {
      const database = await emptyDatabase(scope);
      const { host, name } = {
        host: new URL(database.replace('@/', '@local/')).searchParams.get('host') ?? '',
        name: /\/(postrider_\w+)/.exec(database)?.[1],
      };
      for (const [mode, expected] of [
        ['transaction', 'use pool_mode = session'],
        ['statement', 'use pool_mode = session'],
        ['session', '(opened)'],
      ] as const) {
        const folder = mkdtempSync('/tmp/postrider-pooler-');
        scope.defer(() => rmSync(folder, { recursive: true, force: true }));
        const port = await freePort();
        const file = join(folder, 'pgbouncer.ini');
        writeFileSync(
          file,
          `[databases]\n${name} = host=${host} port=5432 dbname=${name} user=postrider\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = any\npool_mode = ${mode}\n`,
        );
        const owner = process.getuid?.() === 0 ? statSync(host) : null;
        if (owner !== null) for (const path of [folder, file]) chownSync(path, owner.uid, owner.gid);
        const pooler = spawn('pgbouncer', [file], {
          stdio: 'ignore',
          ...(owner === null ? {} : { uid: owner.uid, gid: owner.gid }),
        });
        const ended = new Promise((resolve) => pooler.once('exit', resolve));
        const url = `postgres://postrider@127.0.0.1:${port}/${name}`;
        const said = await until('the pooler answers', async () => {
          const text = await refusal(url);
          return text.includes('Nothing listens') ? null : text;
        });
        expect(said, mode).toContain(expected);
        pooler.kill('SIGKILL');
        await ended;
      }
    });
  });
});
