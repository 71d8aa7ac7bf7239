/**
 * How many rows the frequent operations and the searches read in a database with much finished mail in many eras, with
 * statistics and without, as new tables have none, and how many indexes they look into: the server counts both. A plan that
 * reads a table whole, or looks into every era, fails here.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { EVENT_KINDS } from '../../model/event.ts';
import {
  commit,
  delivered,
  event,
  everyEvent,
  HOUR,
  message,
  newId,
  recipient,
  signal,
  T0,
} from '../conformance/fixtures.ts';
import { eventKindCode } from '../shared/codes.ts';
import type { Session } from '../shared/operation.ts';
import { useSandboxRule } from '../shared/operations/sandbox-rules.ts';
import { done, resultOf } from '../shared/work.ts';
import type { Store } from '../store.ts';
import { openLink } from './engine/connections.ts';
import { createStatements, type Db } from './engine/db.ts';
import { firstOf, keepEras, NUMBER_BITS } from './engine/eras.ts';
import { createSharedFilter } from './engine/filter.ts';
import { NO_FLOOR, type Shared } from './engine/session.ts';
import { openPostgresStore } from './open.ts';
import { floorFor } from './queue.ts';
import { describePostgres, type TestDatabase, testDatabase } from './test-support.ts';

const QUEUES = 50;
const FINISHED = 20_000;
/** Of each queue. */
const WAITING = 100;
const EPOCH = 1;
const CAUSE = 1;
const ERAS = 12;
const LAST_ERA = ERAS - 1;
/** The number of the nth message, recipient, or event where there is one for each: finished ones are of all eras. */
const numberOf = (n: number) =>
  firstOf(n > FINISHED ? LAST_ERA : Math.floor(((n - 1) * ERAS) / FINISHED)) + n;
const NUMBER = `((CASE WHEN i > ${FINISHED} THEN ${LAST_ERA} ELSE (i - 1) * ${ERAS} / ${FINISHED} END)::int8 << ${NUMBER_BITS}) + i`;

/**
 * Names, queues, a webhook, and messages with a recipient and two events each, and a call for some: first the finished ones, then those that wait, then a
 * hundred that are being sent.
 */
const FILL = `
  INSERT INTO node (node_id, started_at) VALUES ('n', 0);
  INSERT INTO name (text) VALUES ('example.com'), ('token');
  INSERT INTO dest_queue (lane, sender_domain, recipient_domain, route_key)
    SELECT 2, 1, 'd' || i || '.example', '' FROM generate_series(1, ${QUEUES}) i;
  INSERT INTO message (seq, id, domain_id, token_name_id, lane, sandbox, needs_smtputf8, body_offset, size, created_at, expires_at,
      from_address, subject, lists)
    SELECT ${NUMBER}, ('00000000-0000-7000-8000-' || lpad(i::text, 12, '0'))::uuid, 1, 2, 2, false, false, 0, 100, ${T0}, ${T0} + 1000000,
      'a@example.com', 'Hello', '{"from":{"name":"","address":"a@example.com"},"to":[],"cc":[],"bcc":[],"replyTo":[]}'
    FROM generate_series(1, ${FINISHED + QUEUES * WAITING + 100}) i;
  INSERT INTO content (message_seq, domain_id, size, bytes) SELECT seq, 1, 4, 'abcd' FROM message WHERE seq % 10 = 0;
  INSERT INTO delivery (id, message_seq, queue_id, state, epoch, attempts, due_at, expires_at, updated_at, kind, may_be_duplicate,
      address)
    SELECT m.seq, m.seq, i % ${QUEUES} + 1, CASE WHEN i <= ${FINISHED} THEN 2 WHEN i <= ${FINISHED + QUEUES * WAITING} THEN 0
      ELSE 1 END, CASE WHEN i > ${FINISHED + QUEUES * WAITING} THEN ${EPOCH} ELSE 0 END, 0, ${T0} + i, m.expires_at,
      ${T0}, 1, false, 'r' || i || '@example.net'
    FROM message m CROSS JOIN LATERAL (SELECT m.seq & ${2 ** NUMBER_BITS - 1} AS i) n;
  UPDATE delivery SET cause_id = ${CAUSE} WHERE state = 0;
  INSERT INTO event (seq, event_id, domain_id, kind, at, message_seq, delivery_id)
    SELECT (d.id >> ${NUMBER_BITS} << ${NUMBER_BITS}) + 2 * i + k, gen_random_uuid(), 1, k, ${T0} + i, d.message_seq, d.id
    FROM delivery d CROSS JOIN LATERAL (SELECT d.id & ${2 ** NUMBER_BITS - 1} AS i) n CROSS JOIN generate_series(1, 2) k;
  INSERT INTO event (seq, event_id, domain_id, kind, at, message_seq, delivery_id)
    SELECT e.seq + 1000000, e.event_id, 1, ${eventKindCode.of('complained')}, e.at, e.message_seq, e.delivery_id
    FROM event e WHERE e.kind = 1 AND e.delivery_id % 4 = 0;
  SELECT setval('message_seq_seq', (SELECT max(seq) FROM message)), setval('delivery_id_seq', (SELECT max(id) FROM delivery)),
    setval('event_seq_seq', (SELECT max(seq) FROM event));
  INSERT INTO meta (name, value) SELECT 'events_summed', e.seq::text FROM event e ORDER BY e.seq DESC OFFSET 1000 LIMIT 1;
  INSERT INTO domain (name, status, verify_token, settings, created_at, updated_at)
    VALUES ('example.com', 'Failing', '', '{}', ${T0}, ${T0});
  INSERT INTO suppression (domain_id, key, reason, address, note, created_at)
    SELECT 1, 's' || i || '@example.net', 1, 's' || i || '@example.net', '', ${T0} FROM generate_series(1, 5000) i;
  INSERT INTO idempotency (owner, operation, key, fingerprint, status, body, created_at)
    SELECT 'p', 'POST /email', i::text, '', 200, '', ${T0} FROM generate_series(1, 5000) i`;

/** A queue with a row due every 100 ms. */
const SLOW_QUEUE = 1_000_000;
const SLOWLY_DUE = `
  INSERT INTO dest_queue (id, lane, sender_domain, recipient_domain, route_key) VALUES (${SLOW_QUEUE}, 2, 1, 'slow.example', '');
  INSERT INTO delivery (message_seq, queue_id, state, epoch, attempts, due_at, expires_at, updated_at, kind, may_be_duplicate,
      address)
    SELECT ${numberOf(FINISHED + 1)}, ${SLOW_QUEUE}, 0, 0, 0, ${T0} + 100 * i, ${T0} + 2000000, ${T0}, 1, false, 's@slow.example'
    FROM generate_series(1, 1200) i`;
const CALLS = `
  INSERT INTO webhook (id, domain_id, event, url, description, enabled, created_at, updated_at, last_response_code, last_response_body,
      last_response_try, last_error, failed_tries, blocked_tries, secret_sealed)
    VALUES (1000, 1, 'all', 'https://example.com/', '', true, 0, 0, 0, '', 0, '', 0, 0, '');
  INSERT INTO webhook_call (webhook_id, event_seq, state, epoch, due_at, tries, response_code, error, created_at, updated_at)
    SELECT 1000, seq, 0, 0, ${T0} + i, 0, 0, '', ${T0}, ${T0}
    FROM (SELECT seq, row_number() OVER (ORDER BY seq) AS i FROM event LIMIT 1200) e`;
const ENTRIES = `SELECT coalesce(sum(idx_tup_read), 0) AS n FROM pg_stat_user_indexes WHERE indexrelname LIKE ANY ($1::text[])`;

/** For later connections, which must not depend on it. */
const PLANNER_OFF = `DO $$ DECLARE one text; BEGIN
  FOREACH one IN ARRAY '{enable_nestloop,enable_indexscan,enable_sort}'::text[] LOOP
    EXECUTE format('ALTER DATABASE %I SET %I = off', current_database(), one);
  END LOOP; END $$`;

const COUNT = `SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0) AS rows,
  coalesce(sum(seq_scan + coalesce(idx_scan, 0)), 0) AS looks FROM pg_stat_user_tables`;
interface Effort {
  rows: number;
  /** Into indexes or tables. */
  looks: number;
}

describePostgres('the rows that an operation reads', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase('bounded');
    const next = () => keepEras(database.link, systemClock, [{ recipients: Number.MIN_SAFE_INTEGER, ms: 0 }]);
    while ((await next()) < LAST_ERA);
    await database.link.exec(FILL);
    await database.link.exec(PLANNER_OFF);
  });
  afterAll(() => database.close());

  /** A connection that ends has told what it read. */
  async function effortOf(work: (store: Store) => Promise<unknown>, connections = 1): Promise<Effort> {
    const count = async () => {
      await database.link.exec('SELECT pg_stat_force_next_flush(); SELECT pg_stat_clear_snapshot()');
      return (await database.use((db) => db.get<Effort>(COUNT))) ?? { rows: 0, looks: 0 };
    };
    const store = await openPostgresStore({ url: database.url, clock: systemClock });
    const before = await count();
    await work(store);
    await store.close();
    const others = () =>
      database.use((db) =>
        db.get('SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database()'),
      );
    await expect.poll(others).toEqual({ n: connections });
    const after = await count();
    return { rows: after.rows - before.rows, looks: after.looks - before.looks };
  }

  const claim = (store: Store, queueId = 3) =>
    store.claimDue({
      queueId,
      epoch: EPOCH,
      now: T0 + 1e6 - 1,
      limit: 20,
      maxBytes: 1e9,
      eventId: newId(),
    });

  let purged = 0;
  let withdrawn = 10_000;
  let lastSending = FINISHED + QUEUES * WAITING;
  const nextSending = () => {
    lastSending += 1;
    return numberOf(lastSending);
  };

  const CASES: readonly {
    name: string;
    most: number;
    looks?: number;
    work(store: Store): Promise<unknown>;
  }[] = [
    {
      name: 'an acceptance',
      most: 100,
      looks: 20,
      work: (store) => commit(store, [message({ domain: 'example.com' })], EPOCH),
    },
    {
      name: 'an acceptance of fifty recipients',
      most: 200,
      work: (store) =>
        commit(store, [message({ recipients: Array.from({ length: 50 }, () => recipient()) })], EPOCH),
    },
    { name: 'a claim of twenty', most: 300, work: (store) => claim(store) },
    {
      name: 'an outcome',
      most: 20,
      looks: 20,
      work: (store) => store.settle({ now: T0, settlements: [delivered(nextSending(), EPOCH)] }),
    },
    {
      name: 'thirty outcomes, of which one came too late',
      most: 200,
      looks: 200,
      work: (store) =>
        store.settle({
          now: T0,
          settlements: Array.from({ length: 30 }, (_, i) => delivered(nextSending(), i === 7 ? 99 : EPOCH)),
        }),
    },
    { name: 'what is due', most: 600, work: (store) => store.dueQueues({ dueBefore: T0 + 1e6, limit: 20 }) },
    {
      name: 'expired rows',
      most: 100,
      work: (store) => store.claimExpired({ epoch: EPOCH, now: T0, limit: 20, eventId: newId() }),
    },
    { name: 'a heartbeat', most: 100, work: (store) => store.heartbeat({ epoch: EPOCH, now: T0 }) },
    { name: 'nothing to reclaim', most: 100, work: (store) => store.reclaim({ now: T0, limit: 100 }) },
    { name: 'a content', most: 50, work: (store) => store.readContent({ messageSeq: numberOf(10) }) },
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
      name: 'events of messages with a tag',
      most: 7_000,
      work: (store) => {
        const newest = { newestFirst: true, limit: 10, look: 1_000 };
        return store.findEvents(everyEvent({ domains: ['example.com'], tag: 'spring', ...newest }));
      },
    },
    {
      name: 'deliveries that may be duplicates',
      most: 100,
      work: (store) =>
        store.findEvents(everyEvent({ possibleDuplicate: true, newestFirst: true, limit: 10, look: 1_000 })),
    },
    {
      name: 'events that are followed',
      most: 200,
      work: (store) =>
        store.findEvents(everyEvent({ afterSeq: numberOf(FINISHED) + FINISHED, limit: 10, look: 20 })),
    },
    {
      name: 'ten facts, of which one is stored',
      most: 100,
      looks: 300,
      work: async (store) => {
        const facts = Array.from({ length: 10 }, (_, i) => ({
          ...event('opened', T0 + i),
          domain: 'example.com',
          deliveryId: numberOf(100 + i),
        }));
        await store.appendEvents({ events: facts.slice(0, 1) });
        await store.appendEvents({ events: facts });
      },
    },
    {
      name: 'rows that are given back',
      most: 20,
      looks: 100,
      work: (store) =>
        store.release({
          ...{ deliveryIds: [nextSending(), nextSending()], epoch: EPOCH, dueAt: T0 + 1e6, waitReason: null },
        }),
    },
    {
      name: 'a message',
      most: 20,
      work: (store) => store.getMessage({ id: '00000000-0000-7000-8000-000000000007' }),
    },
    { name: 'the newest messages', most: 400, work: (store) => store.listMessages({ limit: 10, look: 100 }) },
    {
      name: 'the newest messages of a domain',
      most: 400,
      work: (store) => store.listMessages({ domains: ['example.com'], limit: 10, look: 100 }),
    },
    {
      name: 'the newest messages of which a recipient waits and was tried',
      most: 1_000,
      work: (store) => store.listMessages({ states: ['queued'], waiting: 'tried', limit: 10, look: 100 }),
    },
    {
      name: 'the newest messages of one cause',
      most: 1_000,
      work: (store) => store.listMessages({ cause: CAUSE, limit: 10, look: 100 }),
    },
    {
      name: 'a look for a subject that few have',
      most: 1_000,
      work: (store) => store.listMessages({ subject: 'nobody wrote this', limit: 10, look: 100 }),
    },
    {
      name: 'a look for a recipient that nobody has',
      most: 2 * 10 * 100 + 500,
      looks: 200,
      work: (store) => store.listMessages({ to: 'nobody@example.net', limit: 10, look: 100 }),
    },
    {
      name: 'counts by tag, with a thousand events that are not added up',
      most: 4 * 1_000 + 1_000,
      work: async (store) => {
        const from = T0 - (T0 % HOUR);
        const counted = await store.stats({
          ...{ kinds: ['accepted'], from, to: from + HOUR, intervalMs: HOUR, includeSandbox: false },
          ...{ groupBy: 'tag', maxUnsummed: 10_000, maxCounts: 10_000, maxGroups: 10, maxCountedGroups: 100 },
        });
        expect(counted).toMatchObject({ kind: 'counted', groups: [{ name: '' }] });
      },
    },
    {
      name: 'counts of all domains, of what never happened',
      most: 2_000,
      looks: 20,
      work: (store) =>
        store.stats({
          ...{ kinds: ['opened'], from: 0, to: HOUR, intervalMs: HOUR, includeSandbox: false, groupBy: null },
          ...{ maxUnsummed: 10_000, maxCounts: 10_000, maxGroups: 10, maxCountedGroups: 100 },
        }),
    },
    {
      name: 'two hundred events that are added up',
      most: 4 * 200 * 3 + 1_000,
      work: async (store) => {
        expect(await store.sumEvents({ upTo: await store.lastEventSeq(), limit: 200 })).toBe(true);
      },
    },
    {
      name: 'expired contents',
      most: 500,
      work: (store) =>
        store.findExpired({
          ...{
            what: 'contents',
            domain: 'example.com',
            before: T0 + 1,
            now: T0 + 1,
            afterSeq: numberOf(5_000),
            limit: 100,
          },
        }),
    },
    {
      name: 'expired messages',
      most: 500,
      work: (store) =>
        store.findExpired({
          ...{
            what: 'messages',
            domain: 'example.com',
            before: T0 + 1,
            now: T0 + 1,
            afterSeq: numberOf(5_000),
            limit: 100,
          },
        }),
    },
    {
      name: 'the oldest contents',
      most: 500,
      work: (store) => store.findOldestContents({ afterSeq: 0, atLeastBytes: 1e9, limit: 100 }),
    },
    {
      name: 'messages that are deleted',
      most: 1_000,
      work: (store) => {
        purged += 10;
        const seqs = Array.from({ length: 10 }, (_, i) => numberOf(1_000 + purged + i));
        return store.purgeMessages({ seqs, maxRows: 1_000 });
      },
    },
    {
      name: 'a complaint that is withdrawn, among many',
      most: 2_500,
      looks: 1_200,
      work: async (store) => {
        withdrawn += 1;
        const deliveryId = numberOf(withdrawn);
        const suppress = signal({ reason: 'Complaint' });
        const complaint = { kind: 'complaint' as const, deliveryId, event: event('complained'), suppress };
        await store.recordReturn({ fact: complaint, now: T0 });
        const fact = { kind: 'not-spam' as const, deliveryId, event: event('complaint_withdrawn') };
        expect(await store.recordReturn({ fact, now: T0 })).toBe('recorded');
      },
    },
    {
      name: 'the domains that fail, with what waits of them',
      most: 2 * QUEUES * WAITING,
      work: async (store) => {
        const [found] = await store.failingDomains({ limit: 10 });
        expect(found?.unfinished).toBeGreaterThanOrEqual(QUEUES * WAITING);
      },
    },
    { name: 'a beginning', most: 100, work: async (store) => store.beginEpoch({ nodeId: 'a', now: T0 }) },
  ];

  for (const { name, most, looks, work } of CASES) {
    it(`is small for ${name}, without statistics`, async () => {
      const effort = await effortOf(work);
      expect(effort.rows).toBeLessThan(most);
      if (looks !== undefined) expect(effort.looks).toBeLessThan(looks);
    });
  }

  it('is small for claims and for searches of what waits while somebody reads an old state, as a copy does', async () => {
    await database.link.exec(SLOWLY_DUE);
    const reader = await openLink(database.url, createStatements(), 'cold');
    await reader.exec(
      'SET idle_in_transaction_session_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM dest_queue',
    );
    const entries = (of = '{delivery%queue_id%,webhook_call%due_at%}') =>
      database.use(async (db) => (await db.get<{ n: number }>(ENTRIES, of))?.n ?? Number.NaN);
    const before = await entries();
    await effortOf(async (store) => {
      const now = T0 + 1e6 - 1;
      for (let i = 0; i < 50; i += 1) {
        expect(await claim(store, SLOW_QUEUE)).toHaveLength(20);
        expect(await store.dueAmong({ queueIds: [SLOW_QUEUE], now, dueBefore: now })).toHaveLength(1);
      }
    }, 2);
    const claimed = await entries();
    expect(claimed - before).toBeLessThan(8_000);
    await effortOf(async (store) => {
      const now = T0 + 1e6;
      const ages = { rowsPerQueue: 1, ageLimitsMs: [] };
      for (let i = 0; i < 20; i += 1) {
        expect(await store.dueQueues({ dueBefore: now, limit: 1000 })).not.toEqual([]);
        await store.dueQueues({ limit: 1000 });
        await store.waitingQueues({ now, limit: 1000, ...ages });
      }
    }, 2);
    const searched = await entries();
    expect(searched - claimed).toBeLessThan(15_000);
    await database.link.exec(CALLS);
    await effortOf(async (store) => {
      const calls = { epoch: EPOCH, limit: 20, excludeWebhooks: [] };
      for (let i = 0; i < 50; i += 1) {
        expect(await store.claimCalls({ ...calls, now: T0 + 1e6 + i * 5_000 })).toHaveLength(20);
        expect(await store.nextCallDueAt()).toBeGreaterThan(T0);
      }
    }, 2);
    expect((await entries()) - searched).toBeLessThan(8_000);
    let busy = 0;
    await effortOf(async (store) => {
      busy = await store.beginEpoch({ nodeId: 'busy', now: T0 });
    }, 2);
    await database.link.exec(`UPDATE delivery SET state = 1, epoch = ${busy} WHERE id IN (SELECT id FROM delivery WHERE state = 2 LIMIT 1000);
      UPDATE delivery SET state = 2, epoch = 0 WHERE state = 1 AND epoch = ${busy}`);
    await database.link.exec('SELECT pg_stat_force_next_flush()');
    const leased = await entries('{delivery%epoch%}');
    await effortOf(async (store) => {
      for (let i = 0; i < 10; i += 1) expect(await store.reclaim({ now: T0, limit: 100 })).toBe(0);
    }, 2);
    expect((await entries('{delivery%epoch%}')) - leased).toBeLessThan(100);
    await reader.exec('ROLLBACK');
    await reader.end();
  });

  it('are looked for again after a search that failed before the clock was set back', async () => {
    const shared = { waitingFloors: { delivery: { ...NO_FLOOR }, webhook_call: { ...NO_FLOOR } } } as Shared;
    let searches = 0;
    const db = { all: () => Promise.reject(new Error(`search ${++searches}`)) } as object as Db;
    for (const now of [T0, T0 + 24 * HOUR, T0])
      await expect(floorFor(db, shared, 'delivery', now)).rejects.toThrow();
    expect(searches).toBe(3);
  });

  it('does not take longer for each domain for which tokens are listed', async () => {
    await database.link.exec(`INSERT INTO token (id, name, owner, domains, scopes, sandbox, ip_allow_list, created_at)
      SELECT 't' || i, '', '', '["d' || i || '.example"]', '[]', false, '[]', 0 FROM generate_series(1, 2000) i`);
    const domains = Array.from({ length: 4000 }, (_, i) => `other${i}.example`);
    await effortOf(async (store) => {
      const startedMs = performance.now();
      const { tokens } = await store.listTokens({ domains, limit: 100, look: 2000 });
      expect(tokens).toEqual([]);
      expect(performance.now() - startedMs).toBeLessThan(200);
    });
  });

  it('is the same for one sandbox rule and for many that are used up', () => {
    let asked = 0;
    const answer = (rows?: []) => () => {
      asked += 1;
      return done(rows);
    };
    const db = { get: answer(), all: answer([]), filter: createSharedFilter };
    const ids = Array.from({ length: 100 }, (_, i) => `rule${i}`);
    const used = useSandboxRule({ db } as object as Session, { deliveryId: 1, ids, now: T0 });
    expect(resultOf(used)).toBeNull();
    expect(asked).toBe(2);
  });

  it('grows with the leases that nodes share out, not with their square', async () => {
    const effort = await effortOf(async (store) => {
      const epochs: number[] = [];
      for (const nodeId of ['a', 'b', 'c']) epochs.push(await store.beginEpoch({ nodeId, now: T0 }));
      const own = epochs.map((_, n) => Array.from({ length: 200 }, (__, i) => `send nat ${n}.${i}`));
      const take = (n: number, names: readonly string[]) =>
        store.takeLeases({ epoch: epochs[n] ?? 0, names, quiet: [], now: T0 });
      for (const [n, names] of own.entries()) expect(await take(n, names)).toEqual(names);
      for (const n of own.keys()) expect(await take(n, own.flat())).toEqual(own[n]);
      for (const epoch of epochs) await store.endEpoch({ epoch, now: T0 });
    });
    expect(effort.rows).toBeLessThan(30_000);
  });

  it('is small with statistics too', async () => {
    await database.link.exec('ANALYZE');
    for (const { name, most, work } of CASES)
      expect.soft((await effortOf(work)).rows, name).toBeLessThan(most);
  });

  it('does not grow with the domains whose mail and events are searched', async () => {
    await database.link.exec(`INSERT INTO name (id, text) SELECT 1000 + i, 'many' || i || '.example' FROM generate_series(1, 40) i;
      INSERT INTO message (seq, id, domain_id, token_name_id, lane, sandbox, needs_smtputf8, body_offset, size, created_at, expires_at,
          from_address, subject, lists)
        SELECT ${firstOf(LAST_ERA)} + 1000000 + i, gen_random_uuid(), 1001 + i % 40, 2, 2, false, false, 0, 100, ${T0}, ${T0},
          'a@example.com', 'Hello', '{"from":{"name":"","address":""},"to":[],"cc":[],"bcc":[],"replyTo":[]}'
        FROM generate_series(1, 8000) i;
      INSERT INTO event (seq, event_id, domain_id, kind, at, message_seq)
        SELECT seq + 2000000, id, domain_id, 1, ${T0} + 1000 * (seq & 65535), seq FROM message WHERE domain_id > 1000`);
    const domains = Array.from({ length: 40 }, (_, i) => `many${i + 1}.example`);
    const search = { limit: 10, look: 200 };
    for (const [name, work] of [
      [
        'messages',
        (store: Store) => store.listMessages({ ...search, domains, subject: 'nobody wrote this' }),
      ],
      [
        'events',
        (store: Store) =>
          store.findEvents(everyEvent({ ...search, domains, tag: 'none', newestFirst: true })),
      ],
      ['oldest events', (store: Store) => store.findEvents(everyEvent({ ...search, domains, tag: 'none' }))],
    ] as const)
      expect.soft((await effortOf(work)).rows, name).toBeLessThan(3_500);
  });

  it('is small for kinds of events that have none', async () => {
    const search = { limit: 10, look: 100, domains: ['example.com'], tag: 'none', newestFirst: true };
    const { looks } = await effortOf((store) => store.findEvents(everyEvent(search)));
    // Of each of all kinds one step in every era, and afterwards only of those few that have events.
    expect(looks).toBeLessThan(2 * Object.keys(EVENT_KINDS).length * ERAS);
  });

  it('is that of the domain whose mail is searched, with statistics and plans for any domain', async () => {
    await database.link.exec(`INSERT INTO name (id, text) VALUES (2000, 'few.example');
      INSERT INTO message (seq, id, domain_id, token_name_id, lane, sandbox, needs_smtputf8, body_offset, size, created_at, expires_at,
          from_address, subject, lists)
        SELECT ${firstOf(LAST_ERA)} + 3000000 + i, gen_random_uuid(), CASE WHEN i % 125 = 0 THEN 2000 ELSE 1 END, 2, 2, false, false,
          0, 100, ${T0}, ${T0}, 'a@example.com', 'Hello', '{"from":{"name":"","address":""},"to":[],"cc":[],"bcc":[],"replyTo":[]}'
        FROM generate_series(1, 25000) i;
      INSERT INTO message_metadata (domain_id, name, value, message_seq)
        SELECT domain_id, 'kind', 'news', seq FROM message WHERE seq > ${firstOf(LAST_ERA)} + 3000000;
      ANALYZE message, message_metadata`);
    const few = { domains: ['few.example'], lane: 'bulk', since: T0, limit: 10, look: 100 } as const;
    for (const metadata of [undefined, [['kind', 'news']] as const]) {
      const { rows } = await effortOf(async (store) => {
        for (let i = 0; i < 12; i += 1)
          await store.listMessages({ ...few, ...(metadata && { metadata }), subject: 'nobody wrote this' });
      });
      expect.soft(rows, String(metadata)).toBeLessThan(12 * 500);
    }
    await database.link.exec(`INSERT INTO capture (id, domain_id, message_seq, delivery_id, at, inbox, envelope_from, envelope_to,
          prefix, subject)
        SELECT 'few' || i, CASE WHEN i % 125 = 0 THEN 2000 WHEN i % 2 = 0 THEN 3000 + i % 1000 ELSE 1 END, i, i, ${T0}, 'in' || i % 2, '', 'u' || i % 2, '', 'Hello'
        FROM generate_series(1, 25000) i;
      ANALYZE capture`);
    const wanted = { domains: ['few.example'], subject: 'nobody wrote this', limit: 10, look: 50 };
    const nobody = { domains: ['example.com'], to: 'nobody@example.net' };
    for (const place of [
      ...[{}, { inbox: 'in0' }, { to: 'u0' }, { from: 'b@example.com' }],
      ...[nobody, { ...nobody, text: 'nobody wrote this' }],
    ]) {
      const read = await effortOf(async (store) => {
        for (let i = 0; i < 12; i += 1) {
          await store.findCaptures({ ...wanted, ...place });
          await store.capturesSince({ ...wanted, ...place, afterSeq: 0 });
        }
      });
      expect.soft(read.rows, JSON.stringify(place)).toBeLessThan(24 * 150);
    }
  });

  it('grows with the eras in which a domain has complaints, not with their square', async () => {
    for (const [kind, each] of [
      ['delivered', 40],
      ['complaint_withdrawn', 400],
    ] as const)
      await database.link.exec(`INSERT INTO event (seq, event_id, domain_id, kind, at, message_seq, delivery_id)
        SELECT e.seq + 2000000 + ${each}, e.event_id, 1, ${eventKindCode.of(kind)}, e.at, e.message_seq, e.delivery_id
        FROM event e WHERE e.kind = 1 AND e.delivery_id % ${each} = 0`);
    const rates = { domain: 'example.com', window: 500 };
    const effort = await effortOf(async (store) =>
      expect(await store.outcomeRates(rates)).toMatchObject({ outcomes: 500 }),
    );
    expect(effort.looks).toBeLessThan(150);
  });
});
