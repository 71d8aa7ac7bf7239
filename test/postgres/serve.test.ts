/** A whole server over a database of PostgreSQL: what its clients see is what they see with SQLite. */
import { expect, it } from 'vitest';
import { describePostgres } from '../../src/store/postgres/test-support.ts';
import { email, fileScope, startInstance } from '../scenarios/harness.ts';
import { emptyDatabase, runSql } from './databases.ts';

const scope = fileScope();

describePostgres('a server on PostgreSQL', () => {
  it('accepts, delivers and tells, and finds everything again after a restart', async () => {
    const settings = { database: await emptyDatabase(scope) };
    const first = await startInstance(scope, { settings });
    const added = await first.call('POST', '/domains', { body: { Domain: 'example.com', Verified: true } });
    expect(added.status).toBe(201);
    const id = await first.send();
    expect((await first.settled(id)).Status).toBe('Delivered');
    await first.stop();
    const second = await startInstance(scope, { settings, folder: first.folder });
    expect((await second.settled(id)).Recipients).toMatchObject([{ Status: 'Delivered' }]);
    await second.stop();
    expect(second.logs.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('finds mail by addresses in any case, also where the database has Turkish letters', async () => {
    const database = await emptyDatabase(scope, null, "'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR'");
    const instance = await startInstance(scope, { settings: { database } });
    const domain = { Domain: 'example.com', Verified: true };
    await instance.call('POST', '/domains', { body: domain });
    const id = await instance.send({
      From: { email: 'Info@example.com' },
      To: [{ email: 'Iris@example.net' }],
    });
    for (const asked of ['To=IRIS@example.net', 'To=iris@example.net', 'From=INFO@example.com']) {
      const { Items } = (await instance.call('GET', `/email?${asked}`)).json;
      expect(Items, asked).toMatchObject([{ MessageID: id }]);
    }
    await instance.stop();
  });

  it('accepts and delivers with fewer connections than it uses', async () => {
    const url = await emptyDatabase(scope);
    const name = new URL(url.replace('@/', '@local/')).pathname.slice(1);
    await runSql(
      url,
      'DROP ROLE IF EXISTS postrider_few',
      'CREATE ROLE postrider_few LOGIN CONNECTION LIMIT 4',
      `ALTER DATABASE ${name} OWNER TO postrider_few`,
    );
    const settings = { database: url.replace('postrider@', 'postrider_few@') };
    const instance = await startInstance(scope, { settings });
    await instance.call('POST', '/domains', { body: { Domain: 'example.com', Verified: true } });
    for (let i = 0; i < 5; i += 1) {
      const id = await instance.send();
      expect((await instance.settled(id)).Status).toBe('Delivered');
      // More at a time than there are connections: they take turns.
      const asked = ['/domains', '/queue', `/email/${id}`, '/events', '/suppressions'];
      const answers = await Promise.all(
        [...asked, ...asked].map(async (path) => (await instance.call('GET', path)).status),
      );
      expect(answers).toEqual(answers.map(() => 200));
    }
    await instance.stop();
  });

  it('is not ready where its probe can write and mail cannot, and says why', async () => {
    const url = await emptyDatabase(scope);
    const instance = await startInstance(scope, { settings: { database: url } });
    await instance.call('POST', '/domains', { body: { Domain: 'example.com', Verified: true } });
    const checkOf = async () => {
      const answer = await fetch(`${instance.server.localUrl}/readyz`);
      const { Checks } = (await answer.json()) as { Checks: { Name: string; Detail: string }[] };
      return `${answer.status} ${Checks.find(({ Name }) => Name === 'store')?.Detail}`;
    };
    const accept = async () => (await instance.call('POST', '/email', { body: email() })).status;

    // As the server says it; its disk is not full.
    const full = `BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END`;
    await runSql(
      url,
      `CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ ${full} $$`,
      'CREATE TRIGGER no_room BEFORE INSERT ON message FOR EACH STATEMENT EXECUTE FUNCTION no_room()',
    );
    expect(await accept()).toBe(503);
    await expect.poll(checkOf).toMatch(/^503 the disk of the database is full .No space left on device.$/);
    await runSql(url, 'DROP TRIGGER no_room ON message');
    expect(await accept()).toBe(200);
    expect(await checkOf()).toBe('200 ');

    const bystanding = runSql(
      url,
      'BEGIN',
      "INSERT INTO meta (name, value) VALUES ('of another program', '')",
      'SELECT pg_sleep(601)',
    );
    const standsBy = `FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(601)' AND datname = current_database()`;
    await expect.poll(() => runSql(url, `SELECT pid ${standsBy}`)).toHaveLength(1);
    await runSql(url, 'BEGIN', 'LOCK TABLE content IN SHARE MODE', "PREPARE TRANSACTION 'left behind'");
    expect(await accept()).toBe(503);
    await expect
      .poll(checkOf)
      .toMatch(/^503 .*took too long.*the prepared transaction "left behind" .*holds locks/);
    await runSql(url, "ROLLBACK PREPARED 'left behind'");
    expect(await accept()).toBe(200);

    const locking = runSql(url, 'BEGIN', 'LOCK TABLE content IN EXCLUSIVE MODE', 'SELECT pg_sleep(600)');
    const holders = `FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)' AND datname = current_database()`;
    await expect.poll(() => runSql(url, `SELECT pid ${holders}`)).toHaveLength(1);
    expect(await accept()).toBe(503);
    const [holder] = (await runSql(url, `SELECT pid ${holders}`)) as { pid: string }[];
    const named = `process ${holder?.pid} of PostgreSQL (role `;
    await expect.poll(checkOf).toMatch(/^503 .*took too long.*process \d+ of PostgreSQL .*holds locks/);
    expect(await checkOf()).toContain(named);
    const bystander = expect(bystanding).rejects.toThrow('terminating connection');
    await runSql(url, `SELECT pg_terminate_backend(pid) ${standsBy}`);
    await bystander;
    const ended = expect(locking).rejects.toThrow('terminating connection');
    await runSql(url, `SELECT pg_terminate_backend(pid) ${holders}`);
    await ended;
    expect(await accept()).toBe(200);
    expect(await checkOf()).toBe('200 ');
    await instance.stop();
  });

  it('says that the database is slow, also where no mail is stored', async () => {
    const url = await emptyDatabase(scope);
    const instance = await startInstance(scope, { settings: { database: url } });
    await runSql(
      url,
      'CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1.1); RETURN NEW; END $$',
      'CREATE TRIGGER slowly BEFORE UPDATE ON node FOR EACH ROW EXECUTE FUNCTION slowly()',
    );
    const slow = async () => {
      const answer = await fetch(`${instance.server.localUrl}/readyz`);
      const { Checks } = (await answer.json()) as { Checks: { Name: string; Detail: string }[] };
      return `${answer.status} ${Checks.find(({ Name }) => Name === 'store-speed')?.Detail}`;
    };
    expect(await slow()).toBe('200 ');
    await expect
      .poll(slow, { timeout: 60_000 })
      .toMatch(/^200 the last 5 heartbeats in the database took a second or longer each, up to \d+\.\d s$/);
    expect((await instance.call('GET', '/attention')).json.Items).toContainEqual(
      expect.objectContaining({ Subject: 'store-speed', Fix: expect.stringContaining('what else uses it') }),
    );
    await instance.stop();
  });
});
