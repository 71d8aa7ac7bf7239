/** Eras: partitions made ahead, and mail that goes on from one era to the next. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import {
  claim,
  commit,
  commitOne,
  committed,
  delivered,
  everyEvent,
  idempotency,
  kindsOf,
  message,
  only,
  recipient,
} from '../../conformance/fixtures.ts';
import { openPostgresStore } from '../open.ts';
import { describePostgres, type TestDatabase, testDatabase } from '../test-support.ts';
import { openLink } from './connections.ts';
import { createStatements } from './db.ts';
import { firstOf, keepEras } from './eras.ts';

/** One recipient fills an era. */
const AT_ONCE = [{ recipients: 1, ms: 0 }];

describePostgres('eras', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase('eras');
  });
  beforeEach(async () => {
    await database.link.exec('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    await (await open()).close();
  });
  afterAll(() => database.close());

  const open = () => openPostgresStore({ url: database.url, clock: systemClock });
  const next = () => keepEras(database.link, systemClock, AT_ONCE);

  it('end with many recipients, or with few after a time, and never without any', async () => {
    const store = await open();
    const era = await keepEras(database.link, systemClock);
    const { id } = await commitOne(store);
    await store.close();
    const isOver = (recipients: number, ms: number) =>
      keepEras(database.link, systemClock, [{ recipients, ms }]).then((now) => now > era);
    const begun = id - firstOf(era);
    expect(await isOver(begun + 1, 0)).toBe(false);
    expect(await isOver(begun, 60_000)).toBe(false);
    expect(await isOver(begun, 0)).toBe(true);
    expect(await keepEras(database.link, systemClock, AT_ONCE)).toBe(era + 1);
  });

  it('are begun once by nodes that try at the same time', async () => {
    const store = await open();
    await commitOne(store);
    await store.close();
    const links = await Promise.all([1, 2, 3].map(() => openLink(database.url, createStatements(), 'cold')));
    const eras = await Promise.all(links.map((link) => keepEras(link, systemClock, AT_ONCE)));
    await Promise.all(links.map((link) => link.end()));
    expect(new Set(eras).size).toBe(1);
  });

  it('change nothing for mail: it is claimed, settled, found and followed over their border', async () => {
    const store = await open();
    const sending = () => message({ recipients: [recipient({ state: 'sending' })] });
    const before = await commitOne(store, sending());
    const waiting = await commitOne(store);
    const era = await next();
    const after = await commitOne(store, sending());
    expect(after.id).toBeGreaterThan(firstOf(era));
    const later = await commitOne(store);
    expect(await store.settle({ now: 1, settlements: [delivered(before.id), delivered(after.id)] })).toEqual([
      'settled',
      'settled',
    ]);
    expect((await claim(store, waiting.queueId)).map(({ id }) => id)).toEqual([waiting.id, later.id]);
    const { events } = await store.findEvents(everyEvent({ afterSeq: 0 }));
    expect(events.map(({ deliveryId }) => deliveryId)).toEqual([
      ...[before.id, waiting.id, after.id, later.id, before.id, after.id],
    ]);
    expect(await store.lastEventSeq()).toBe(events.at(-1)?.seq);
    expect(await kindsOf(store, { newestFirst: true })).toHaveLength(6);
    expect(await store.readContent({ messageSeq: before.seq })).not.toBeNull();
    await store.close();
  });

  it('are not counted as events between those of two of them', async () => {
    const store = await open();
    for (let i = 0; i < 3; i++) await commitOne(store);
    await store.sumEvents({ upTo: await store.lastEventSeq(), limit: 2 });
    expect(await store.countSummed()).toEqual({ summed: 2, events: 3 });
    await next();
    for (let i = 0; i < 2; i++) await commitOne(store);
    expect(await store.countSummed()).toEqual({ summed: 2, events: 5 });
    await store.sumEvents({ upTo: await store.lastEventSeq(), limit: 2 });
    expect(await store.countSummed()).toEqual({ summed: 4, events: 5 });
    await store.close();
  });

  it('do not hide a message that was accepted in the last one', async () => {
    const store = await open();
    const given = { messages: [message()], epoch: 1, idempotency: idempotency() };
    const first = committed(await store.commitAccepted(given));
    await next();
    expect(committed(await store.commitAccepted(given))).toEqual(first);
    expect(only(await commit(store, [message()])).seq).toBeGreaterThan(only(first).seq);
    await store.close();
  });

  it('are kept by an open store', async () => {
    const rows = await database.use((db) => db.all('SELECT FROM era WHERE begun_at IS NULL'));
    expect(rows).toHaveLength(1);
  });
});
