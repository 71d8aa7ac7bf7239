/**
 * How many rows the frequent operations read in a database with much finished mail, with statistics and without, as new
 * tables have none: the server counts them. A plan that reads a table whole fails here.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { commit, delivered, everyEvent, message, newId, recipient, T0 } from '../conformance/fixtures.ts';
import type { Store } from '../store.ts';
import { openPostgresStore } from './open.ts';
import { describePostgres, type TestDatabase, testDatabase } from './test-support.ts';

const QUEUES = 50;
const FINISHED = 20_000;
/** Of each queue. */
const WAITING = 100;
const EPOCH = 1;

/**
 * Names, queues, and messages with a recipient and two events each: first the finished ones, then those that wait, then a
 * hundred that are being sent.
 */
const FILL = `
  INSERT INTO node (node_id, started_at) VALUES ('n', 0);
  INSERT INTO name (text) VALUES ('example.com'), ('token');
  INSERT INTO dest_queue (lane, sender_domain, recipient_domain, route_key)
    SELECT 2, 1, 'd' || i || '.example', '' FROM generate_series(1, ${QUEUES}) i;
  INSERT INTO message (id, domain_id, token_name_id, lane, sandbox, needs_smtputf8, body_offset, size, created_at, expires_at,
      from_address, subject, lists)
    SELECT ('00000000-0000-7000-8000-' || lpad(i::text, 12, '0'))::uuid, 1, 2, 2, false, false, 0, 100, ${T0}, ${T0} + 1000000,
      'a@example.com', 'Hello', '{"from":{"name":"","address":"a@example.com"},"to":[],"cc":[],"bcc":[],"replyTo":[]}'
    FROM generate_series(1, ${FINISHED + QUEUES * WAITING + 100}) i;
  INSERT INTO delivery (message_seq, queue_id, state, epoch, attempts, due_at, expires_at, updated_at, kind, may_be_duplicate,
      address)
    SELECT m.seq, m.seq % ${QUEUES} + 1, CASE WHEN m.seq <= ${FINISHED} THEN 2 WHEN m.seq <= ${FINISHED + QUEUES * WAITING} THEN 0
      ELSE 1 END, CASE WHEN m.seq > ${FINISHED + QUEUES * WAITING} THEN ${EPOCH} ELSE 0 END, 0, ${T0} + m.seq, m.expires_at,
      ${T0}, 1, false, 'r' || m.seq || '@example.net' FROM message m;
  INSERT INTO event (event_id, domain_id, kind, at, message_seq, delivery_id)
    SELECT gen_random_uuid(), 1, k, ${T0} + d.id, d.message_seq, d.id FROM delivery d, generate_series(1, 2) k;
  INSERT INTO idempotency (owner, operation, key, fingerprint, status, body, created_at)
    SELECT 'p', 'POST /email', i::text, '', 200, '', ${T0} FROM generate_series(1, 5000) i`;

const COUNT = `SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0) AS n FROM pg_stat_user_tables`;

describePostgres('the rows that an operation reads', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase('bounded');
    await database.link.exec(FILL);
  });
  afterAll(() => database.close());

  /** A connection that ends has told what it read. */
  async function rowsRead(work: (store: Store) => Promise<unknown>): Promise<number> {
    const count = async () => {
      await database.link.exec('SELECT pg_stat_force_next_flush(); SELECT pg_stat_clear_snapshot()');
      return (await database.use((db) => db.get<{ n: number }>(COUNT)))?.n ?? 0;
    };
    const store = await openPostgresStore({ url: database.url, clock: systemClock });
    const before = await count();
    await work(store);
    await store.close();
    const others = () =>
      database.use((db) =>
        db.get('SELECT count(*) - 1 AS n FROM pg_stat_activity WHERE datname = current_database()'),
      );
    await expect.poll(others).toEqual({ n: 0 });
    return (await count()) - before;
  }

  const claim = (store: Store) =>
    store.claimDue({
      queueId: 3,
      epoch: EPOCH,
      now: T0 + 1e6 - 1,
      limit: 20,
      maxBytes: 1e9,
      eventId: newId(),
    });

  let lastSending = FINISHED + QUEUES * WAITING;
  const nextSending = () => {
    lastSending += 1;
    return lastSending;
  };

  const CASES: readonly { name: string; most: number; work(store: Store): Promise<unknown> }[] = [
    {
      name: 'an acceptance',
      most: 100,
      work: (store) => commit(store, [message({ domain: 'example.com' })], EPOCH),
    },
    {
      name: 'an acceptance of fifty recipients',
      most: 200,
      work: (store) =>
        commit(store, [message({ recipients: Array.from({ length: 50 }, () => recipient()) })], EPOCH),
    },
    { name: 'a claim of twenty', most: 300, work: claim },
    {
      name: 'an outcome',
      most: 100,
      work: (store) => store.settle({ now: T0, settlements: [delivered(nextSending(), EPOCH)] }),
    },
    {
      name: 'thirty outcomes, of which one came too late',
      most: 600,
      work: (store) =>
        store.settle({
          now: T0,
          settlements: Array.from({ length: 30 }, (_, i) => delivered(nextSending(), i === 7 ? 99 : EPOCH)),
        }),
    },
    { name: 'what is due', most: 600, work: (store) => store.dueQueues({ dueBefore: T0 + 1e6, limit: 20 }) },
    { name: 'the next due time', most: 200, work: (store) => store.nextDueAt() },
    {
      name: 'expired rows',
      most: 100,
      work: (store) => store.claimExpired({ epoch: EPOCH, now: T0, limit: 20, eventId: newId() }),
    },
    { name: 'a heartbeat', most: 100, work: (store) => store.heartbeat({ epoch: EPOCH, now: T0 }) },
    { name: 'nothing to reclaim', most: 100, work: (store) => store.reclaim({ now: T0, limit: 100 }) },
    { name: 'a content', most: 50, work: (store) => store.readContent({ messageSeq: 7 }) },
    {
      name: 'the newest events of a message',
      most: 200,
      work: (store) =>
        store.findEvents(
          everyEvent({
            messageId: '00000000-0000-7000-8000-000000000007',
            newestFirst: true,
            limit: 10,
            look: 100,
          }),
        ),
    },
    {
      name: 'ten events of many',
      most: 600,
      work: (store) =>
        store.findEvents(everyEvent({ domains: ['example.com'], newestFirst: true, limit: 10, look: 100 })),
    },
    {
      name: 'events that are followed',
      most: 200,
      work: (store) => store.findEvents(everyEvent({ afterSeq: 40_000, limit: 10, look: 20 })),
    },
    { name: 'a beginning', most: 100, work: async (store) => store.beginEpoch({ nodeId: 'a', now: T0 }) },
  ];

  for (const { name, most, work } of CASES) {
    it(`is small for ${name}, without statistics`, async () => {
      expect(await rowsRead(work)).toBeLessThan(most);
    });
  }

  it('is small with statistics too', async () => {
    await database.link.exec('ANALYZE');
    for (const { name, most, work } of CASES) expect(await rowsRead(work), name).toBeLessThan(most);
  });
});
