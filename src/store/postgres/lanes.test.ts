/** What waits for nothing that others search for or change. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { commitOne, everyEvent, T0 } from '../conformance/fixtures.ts';
import type { Store } from '../store.ts';
import { openPostgresStore } from './open.ts';
import { describePostgres, type TestDatabase, testDatabase } from './test-support.ts';

describePostgres('while a search takes long', () => {
  let database: TestDatabase;
  let store: Store;
  beforeAll(async () => {
    database = await testDatabase('lanes');
    store = await openPostgresStore({ url: database.url, clock: systemClock });
  });
  afterAll(async () => {
    await store.close();
    await database.close();
  });

  it('are found what others ask for, though much is counted for some', async () => {
    await database.link.exec('BEGIN; LOCK TABLE domain, webhook, capture IN ACCESS EXCLUSIVE MODE');
    const counts = [1, 2].flatMap(() => [
      store.failingDomains({ limit: 1 }),
      store.failingWebhooks({ limit: 1 }),
      store.listInboxes({ limit: 1 }),
    ]);
    try {
      expect(await store.getSmtpCredential({ username: 'nobody' })).toBeNull();
    } finally {
      await database.link.exec('ROLLBACK');
    }
    expect((await Promise.all(counts)).flat()).toEqual([]);
  });

  it('is said what acceptance asks for, and mail is accepted', async () => {
    await commitOne(store);
    await database.link.exec('BEGIN; LOCK TABLE audit IN ACCESS EXCLUSIVE MODE');
    const searches = [1, 2, 3].map(() => store.listAudit({ limit: 1, look: 1 }));
    try {
      expect(await store.domainUse({ domains: ['example.com'] })).toMatchObject([{ recipients: 1 }]);
      expect(await store.queueCounts({ now: T0 })).toMatchObject({ queued: 1 });
      await commitOne(store);
    } finally {
      await database.link.exec('ROLLBACK');
    }
    await Promise.all(searches);
    expect((await store.findEvents(everyEvent())).events).toHaveLength(2);
  });

  it('is told how many old versions of rows are kept, however many rows of other tables have none', async () => {
    const { link } = database;
    await link.exec(`CREATE TABLE written_once AS SELECT FROM generate_series(1, 5000);
      CREATE TABLE changed AS SELECT n FROM generate_series(1, 100) n`);
    try {
      await link.exec('UPDATE changed SET n = n + 1; SELECT pg_stat_force_next_flush()');
      const { oldRows = 0, rows = 0 } = (await store.databaseUpkeep({ heldMs: 0 })) ?? {};
      expect(oldRows).toBeGreaterThanOrEqual(100);
      expect(rows).toBeLessThan(5000);
      await link.exec('BEGIN; DELETE FROM written_once');
      await link.exec("SELECT pg_create_physical_replication_slot('forgotten', true)");
      const upkeep = await store.databaseUpkeep({ heldMs: 0 });
      await link.exec("SELECT pg_drop_replication_slot('forgotten')");
      expect(upkeep).toMatchObject({ logKeptBy: 'forgotten', logKeptBytes: expect.any(Number) });
      const { keptBy, eventsHeldBy } = upkeep ?? {};
      const early = await store.databaseUpkeep({ heldMs: 60_000 });
      await link.exec('ROLLBACK');
      const it = `the process ${await link.pid()} (postrider cold)`;
      expect([keptBy, eventsHeldBy, early?.eventsHeldBy]).toEqual([it, it, null]);
      expect((await store.databaseUpkeep({ heldMs: 0 }))?.eventsHeldBy).toBeNull();
    } finally {
      await link.exec('DROP TABLE written_once, changed');
    }
  });
});
