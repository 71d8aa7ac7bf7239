/** Which transactions keep events back. */
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import { commitOne, everyEvent } from '../../conformance/fixtures.ts';
import type { Store } from '../../store.ts';
import { openPostgresStore } from '../open.ts';
import { describePostgres, type TestDatabase, testDatabase } from '../test-support.ts';
import { type Link, openLink } from './connections.ts';
import { createStatements } from './db.ts';

describePostgres('the horizon of events', () => {
  let database: TestDatabase;
  let other: Link;
  let own: Link;
  let store: Store;
  beforeAll(async () => {
    database = await testDatabase('horizon');
    const server = inject('postgres');
    const open = (url: string) => openLink(url, createStatements(), 'cold');
    [own, other] = await Promise.all([open(database.url), open('url' in server ? server.url : '')]);
    store = await openPostgresStore({ url: database.url, clock: systemClock });
  });
  afterAll(async () => {
    await Promise.all([own.end(), other.end(), store.close()]);
    await database.close();
  });

  const found = async () =>
    (await store.findEvents(everyEvent({ afterSeq: 0 }))).events.map(({ deliveryId }) => deliveryId);
  // One answer may be behind: a transaction of another test that ends just then counts as one of this database.
  const isFound = (id: number) => expect.poll(found).toContain(id);
  const BEGUN = 'BEGIN; SELECT pg_current_xact_id()';

  it('waits for a transaction of this database', async () => {
    await own.exec(BEGUN);
    const { id } = await commitOne(store);
    expect(await found()).not.toContain(id);
    await own.exec('COMMIT');
    await isFound(id);
  });

  it('does not wait for one of another database of the server', async () => {
    await other.exec(BEGUN);
    const { id } = await commitOne(store);
    await isFound(id);
    await other.exec('COMMIT');
  });

  it('does not wait for one that was prepared in another database, and nobody ends', async ({ skip }) => {
    const setting = await other.db.get<{ most: number }>(
      "SELECT current_setting('max_prepared_transactions')::int4 AS most",
    );
    if (setting?.most === 0) skip('the server has no prepared transactions');
    await other.exec(`${BEGUN}; PREPARE TRANSACTION 'left'`);
    const { id } = await commitOne(store);
    await isFound(id);
    await other.exec("ROLLBACK PREPARED 'left'");
  });
});
