/** docs/howto/postgresql.md as a reader follows it: its statements and commands are pasted, with the places of this machine. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { newestPrograms, startCluster } from '../../src/store/postgres/test-cluster.ts';
import { describePostgres } from '../../src/store/postgres/test-support.ts';
import { freePort } from '../fakes/own-postfix.ts';
import { command } from '../scenarios/commands.ts';
import { addDomain, fileScope, startInstance, temporaryFolder } from '../scenarios/harness.ts';
import { codeBlocks, howToPage } from '../scenarios/how-to-page.ts';
import { runSql } from './databases.ts';

const scope = fileScope();
const PASSWORD = 'a long random word';

describePostgres('the page about PostgreSQL', () => {
  it('makes a database, is followed by a server, a second one, and a backup that is put back', async () => {
    const page = await howToPage('postgresql');
    const port = await freePort();
    const cluster = await startCluster({ owner: 'postgres', login: { port, password: 'admin' } });
    scope.defer(cluster.remove);
    const [statements = ''] = codeBlocks(page, 'sql');
    const make = () =>
      runSql(cluster.url, ...statements.split('\n').filter((line) => line.startsWith('CREATE')));
    await make();

    const [json = ''] = codeBlocks(page, 'json');
    const database = (JSON.parse(json) as { database: string }).database;
    const here = database.replace('db.example.com', `127.0.0.1:${port}`);
    const folder = await temporaryFolder(scope);
    await writeFile(join(folder, 'postrider.json'), json.replace(database, here));
    const first = await startInstance(scope, {
      folder,
      settings: { 'database-password': PASSWORD, database: here },
    });
    const token = await addDomain(first, 'example.com');
    const id = await first.send({}, { token });
    await first.settled(id);

    const second = await startInstance(scope, {
      settings: {
        ...{ database: here, 'database-password': PASSWORD },
        'secret-key': (await readFile(join(folder, 'secret-key'), 'utf8')).trim(),
        'rate-limit': '7',
      },
    });
    expect((await second.settled(id)).Status).toBe('Delivered');
    const nodes = (await second.call('GET', '/nodes')).json.Items as unknown[];
    expect(nodes).toMatchObject([
      { Self: true, DiffersIn: [] },
      { Self: false, DiffersIn: ['rate-limit'] },
    ]);
    const { Instance } = (await first.call('GET', '/doctor?Part=server')).json;
    expect(Instance).toContainEqual(
      expect.objectContaining({ Name: 'nodes', Message: expect.stringContaining('rate-limit') }),
    );
    await second.stop();
    await first.call('POST', '/queue/hold', { body: { All: true, Reason: 'so that it waits' } });
    const waiting = await first.send({}, { token });

    const backups = join(folder, 'backups');
    await mkdir(backups);
    const paste = (block: string) => {
      const text = block
        .replaceAll(database, here)
        .replaceAll('/var/backups', backups)
        .replaceAll('/var/lib/postrider', folder);
      const env = { PATH: `${newestPrograms()}:${process.env.PATH}`, PGPASSWORD: PASSWORD };
      return promisify(execFile)('sh', ['-euc', text.replaceAll(/^\.\/bin\/postrider .*$/gm, '')], { env });
    };
    const [backup = '', restore = ''] = codeBlocks(page, 'sh');
    await paste(backup);
    await first.stop();
    await runSql(cluster.url, 'DROP DATABASE postrider', 'DROP ROLE postrider');
    await make();
    await paste(restore);
    const [held = ''] = restore.split('\n').filter((line) => line.includes('queue hold'));
    expect(held).toContain('queue hold --all --reason "restored from a backup"');
    const environment = { POSTRIDER_DATABASE: here, PGPASSWORD: PASSWORD };
    // As on a new machine, whose folder holds the saved key alone.
    const anew = await temporaryFolder(scope);
    await copyFile(join(backups, 'secret-key'), join(anew, 'secret-key'));
    const args = ['queue', 'hold', '--all', '--reason', 'restored from a backup', '--data', anew];
    expect((await command(args, environment)).code).toBe(0);
    const again = await startInstance(scope, {
      folder: anew,
      settings: { database: here, 'database-password': PASSWORD },
    });
    expect((await again.settled(id)).Status).toBe('Delivered');
    expect(await again.statusOf(waiting)).toBe('Held');
    await again.stop();
  });

  it('names no parameter of the URL that is not known', async () => {
    const page = await howToPage('postgresql');
    for (const name of ['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'])
      expect(page).toContain(`${name}=`);
  });

  it('says what the commands for SQLite say here', async () => {
    const folder = await temporaryFolder(scope);
    const environment = { POSTRIDER_DATABASE: 'postgres://u@localhost/d' };
    for (const args of [
      ['backup', join(folder, 'x')],
      ['rollback', '--yes'],
      ['restore', join(folder, 'x')],
    ]) {
      const { code, stderr } = await command([...args, '--data', folder], environment);
      expect(code).toBe(1);
      expect(stderr).toContain('save it by pg_dump, and the file secret-key with it');
    }
  });
});
