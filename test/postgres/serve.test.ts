/** A whole server over a database of PostgreSQL: what its clients see is what they see with SQLite. */
import { expect, it } from 'vitest';
import { describePostgres } from '../../src/store/postgres/test-support.ts';
import { fileScope, startInstance } from '../scenarios/harness.ts';
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
    }
    await instance.stop();
  });
});
