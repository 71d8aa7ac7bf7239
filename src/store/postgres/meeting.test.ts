/**
 * Operations that need the same rows at the same moment. They lock them in one order, so that one waits for the other and
 * none is ended because each waits for the other: the server counts these. And what an operation has read before it waited
 * does not count any more. Each case holds rows until all of them wait, so that they meet as planned.
 *
 * The order of locks: node; person, token; quota_use (by domain, period); idempotency; cause; delivery (by id); message (by
 * seq); capture (by seq); suppression_evidence, suppression. One table before the other, and in each its rows by their numbers.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import type { EventKind } from '../../model/event.ts';
import { report as dmarcReport } from '../conformance/dmarc-reports.ts';
import {
  claimCalls,
  commit,
  commitOne,
  createWebhook,
  delivered,
  event,
  HOUR,
  idempotency,
  kindsOf,
  message,
  newId,
  nextDueAt,
  only,
  recipient,
  signal,
  T0,
  token,
} from '../conformance/fixtures.ts';
import { person, session } from '../conformance/people.ts';
import { credential } from '../conformance/smtp-credentials.ts';
import type { Store } from '../store.ts';
import type { SuppressionSignal } from '../topics/suppressions.ts';
import { openPostgresStore } from './open.ts';
import { describePostgres, type TestDatabase, testDatabase } from './test-support.ts';

/** Rows that have ended at T0. */
const POLICY = {
  ...{ domain: 'example.net', policy_id: '1', mode: 'enforce', mx: '[]', max_age: 86_400, fetched_at: T0 },
  ...{ expires_at: T0, renew_at: T0, renew_failures: 0 },
};
const PATH = {
  ...{ key: 's x', source: 's', site: 'x', blocked_until: T0, reason: '', failures: 1, asked: 1 },
  ...{ fingerprint: '', concurrency: 1, day: 1, sent: 0, sent_before: 0, updated_at: T0 },
};

describePostgres('operations on the same rows', () => {
  let database: TestDatabase;
  let stores: Store[];
  let one: Store;
  let two: Store;
  beforeAll(async () => {
    database = await testDatabase('meeting');
  });
  beforeEach(async () => {
    await database.empty();
    const open = () => openPostgresStore({ url: database.url, clock: systemClock });
    stores = [await open(), await open()];
    [one, two] = stores as [Store, Store];
  });
  afterEach(() => Promise.all(stores.map((store) => store.close())));
  afterAll(() => database.close());

  const waiting = () =>
    database.use(async (db) => {
      // Otherwise a transaction sees the same activity again and again.
      await db.get('SELECT pg_stat_clear_snapshot()');
      const sql = `SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      return (await db.get<{ n: number }>(sql))?.n;
    });

  /** Runs the operations one after the other into the rows that `held` locks, then lets them go on. */
  async function meet<Results extends unknown[]>(
    held: string,
    ...operations: { [N in keyof Results]: () => Promise<Results[N]> }
  ): Promise<Results> {
    await database.link.exec(`BEGIN; ${held} FOR UPDATE`);
    const running: Promise<unknown>[] = [];
    for (const operation of operations) {
      running.push(operation());
      await expect.poll(waiting).toBe(running.length);
    }
    await database.link.exec('ROLLBACK');
    return (await Promise.all(running)) as Results;
  }

  /** A session that has ended has told what happened in it. */
  async function circles(): Promise<number> {
    await Promise.all(stores.map((store) => store.close()));
    const others = () =>
      database.use((db) =>
        db.get('SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database()'),
      );
    await expect.poll(others).toEqual({ n: 1 });
    const sql = 'SELECT deadlocks AS n FROM pg_stat_database WHERE datname = current_database()';
    const row = await database.use((db) => db.get<{ n: number }>(sql));
    return row?.n ?? -1;
  }

  async function withoutCircle(work: () => Promise<void>): Promise<void> {
    const sql = 'SELECT deadlocks AS n FROM pg_stat_database WHERE datname = current_database()';
    const before = (await database.use((db) => db.get<{ n: number }>(sql)))?.n;
    await work();
    expect(await circles()).toBe(before);
  }

  it('a person who makes something while the rights of this person change', () =>
    withoutCircle(async () => {
      const maker = person();
      await one.addPerson({ person: maker, maxPeople: 10 });
      const begun = session(maker.id);
      const by = { passwordHash: maker.passwordHash ?? '', proof: null };
      await one.addSession({ session: begun, by, replaces: null, maxPerPerson: 10 });
      const [changed, added] = await meet(
        'SELECT FROM person',
        () => one.updatePerson({ id: maker.id, change: { role: 'viewer' }, keepSession: null }),
        () => two.addToken({ token: token({ createdBy: maker.id }), maxPerDomain: 9, inSession: begun.id }),
      );
      expect([changed?.role, added]).toEqual(['viewer', 'ended']);
    }));

  it('a DMARC report that two nodes receive at once', async () => {
    const name = 'example.com';
    const domain = { name, status: 'Pending', verifiedBy: null, verifyToken: name } as const;
    await one.addDomain({ ...domain, settings: {}, keys: [], now: T0 });
    const limits = { recentSince: T0, maxOfSigner: 9, maxOfAll: 9 };
    const add = (store: Store) => store.addDmarcReport({ domain: name, report: dmarcReport(), ...limits });
    const held = 'LOCK TABLE dmarc_report IN SHARE MODE; SELECT FROM domain';
    const answers = await meet(
      held,
      () => add(one),
      () => add(two),
    );
    expect(answers.sort()).toEqual(['added', 'known']);
  });

  it('a call that ends while it is asked for again', () =>
    withoutCircle(async () => {
      const webhookId = await createWebhook(one);
      await commitOne(one);
      const call = only(await claimCalls(one));
      const range = { webhookId, since: T0 - HOUR, until: T0 + HOUR, onlyFailed: false };
      const settlement = {
        ...{ callId: call.id, epoch: call.epoch, webhookId, state: 'succeeded' as const, tryNumber: 1 },
        ...{ at: T0 + 1, responseCode: 200, responseBody: '', error: '', latencyMs: 1, blocked: false },
      };
      await meet(
        'SELECT FROM webhook',
        () => two.replayCalls({ ...range, now: T0 + 500, limit: 100 }),
        () => one.settleCalls({ settlements: [settlement] }),
      );
      expect(await claimCalls(one)).toEqual([]);
    }));

  it('the same request twice, the first of which uses up the quota', () =>
    withoutCircle(async () => {
      const limits = { minute: null, hour: null, day: 2 };
      const accept = (store: Store, key: string) =>
        store.commitAccepted({
          ...{ messages: [message()], epoch: 1, idempotency: idempotency({ key }) },
          quotas: [{ domain: 'example.com', count: 1, limits, now: T0 }],
        });
      expect(await accept(one, 'before')).toMatchObject({ kind: 'committed' });
      const [first, second] = await meet(
        'SELECT FROM quota_use',
        () => accept(one, 'twice'),
        () => accept(two, 'twice'),
      );
      expect([first.kind, second.kind]).toEqual(['committed', 'replay']);
      expect(await accept(two, 'after')).toMatchObject({ kind: 'quota-exceeded' });
    }));

  it('outcomes of the same messages at two nodes', () =>
    withoutCircle(async () => {
      const recipients = () => [1, 2].map(() => recipient({ state: 'sending' }));
      const rows = await commit(
        one,
        [1, 2].map(() => message({ keepContent: false, recipients: recipients() })),
      );
      const [[first, second], [third, fourth]] = rows.map(({ deliveries }) =>
        deliveries.map(({ id }) => id),
      ) as [[number, number], [number, number]];
      // More than one statement each, as the content of each message may have to go.
      const answers = await meet(
        'SELECT FROM message',
        () => one.settle({ now: T0, settlements: [delivered(first), delivered(third)] }),
        () => two.settle({ now: T0, settlements: [delivered(fourth), delivered(second)] }),
      );
      expect(answers).toEqual([
        ['settled', 'settled'],
        ['settled', 'settled'],
      ]);
      for (const { seq } of rows) expect(await one.readContent({ messageSeq: seq })).toBeNull();
    }));

  const addresses = ['a@example.net', 'b@example.net'] as const;
  const sendTo = async (...to: string[]) => {
    const recipients = to.map((address) => recipient({ address, state: 'sending' }));
    return only(await commit(one, [message({ recipients })])).deliveries.map(({ id }) => id);
  };
  const bounced = (id: number, needs: SuppressionSignal['needs']) =>
    delivered(id, 1, { state: 'bounced', events: [event('bounced')], suppress: signal({ needs }) });
  const FEW = { days: 9, spanMs: HOUR };

  it('outcomes for the same addresses at two nodes', () =>
    withoutCircle(async () => {
      const settle = (store: Store, ids: readonly number[]) =>
        store.settle({ now: T0, settlements: ids.map((id) => bounced(id, FEW)) });
      await settle(one, await sendTo(...addresses));
      const [first, second] = [await sendTo(...addresses), await sendTo(...addresses.toReversed())];
      const answers = await meet(
        'SELECT FROM suppression_evidence',
        () => settle(one, first),
        () => settle(two, second),
      );
      expect(answers.flat()).toEqual(['settled', 'settled', 'settled', 'settled']);
    }));

  it('outcomes with the same causes at two nodes', () =>
    withoutCircle(async () => {
      const causes = ['one', 'two'].map((shape) => ({
        ...{ category: 'c', scope: 'recipient' as const, site: 's', senderDomain: '', shape, reply: '' },
      }));
      const settle = (store: Store, ids: readonly number[], now: number, of = causes) =>
        store.settle({
          now,
          settlements: ids.map((id, i) => ({
            ...bounced(id, FEW),
            ...(of[i] === undefined ? {} : { cause: of[i] }),
          })),
        });
      await settle(one, await sendTo(...addresses), T0);
      const [first, second] = [
        await sendTo('c@example.net', 'd@example.net'),
        await sendTo('e@example.net', 'f@example.net'),
      ];
      const answers = await meet(
        'SELECT FROM cause',
        () => settle(one, first, T0 + HOUR),
        () => settle(two, second, T0 + HOUR, causes.toReversed()),
      );
      expect(answers.flat()).toEqual(['settled', 'settled', 'settled', 'settled']);
    }));

  it('an outcome that suppresses an address while its suppression is removed', () =>
    withoutCircle(async () => {
      const [address] = addresses;
      const [first = 0, second = 0] = await sendTo(address, address);
      const settle = (id: number, needs: SuppressionSignal['needs']) =>
        one.settle({ now: T0, settlements: [bounced(id, needs)] });
      const entry = { address, reason: 'Bounce' as const, note: '', expiresAt: null, source: null };
      await one.addSuppressions({ domain: 'example.com', entries: [entry], now: T0 });
      await settle(first, FEW);
      const answers = await meet(
        'SELECT FROM suppression_evidence',
        () => settle(second, { days: 1, spanMs: 0 }),
        () => two.removeSuppressions({ domain: 'example.com', address, now: T0 }),
      );
      expect(answers).toEqual([['settled'], 1]);
    }));

  it('a complaint that comes while another one of the same person is withdrawn', () =>
    withoutCircle(async () => {
      const address = 'reader@example.net';
      const sent = async () => (await sendTo(address))[0] ?? 0;
      const complain = (store: Store, deliveryId: number) => {
        const suppress = signal({ reason: 'Complaint' });
        const fact = { kind: 'complaint' as const, deliveryId, event: event('complained'), suppress };
        return store.recordReturn({ fact, now: T0 });
      };
      const takeBack = (store: Store, deliveryId: number) => {
        const fact = { kind: 'not-spam' as const, deliveryId, event: event('complaint_withdrawn') };
        return store.recordReturn({ fact, now: T0 });
      };
      const [first, second, third] = [await sent(), await sent(), await sent()];
      await complain(one, first);
      const held = 'SELECT FROM suppression';
      const listed = () => one.suppressedAmong({ domain: 'example.com', addresses: [address], now: T0 });
      await meet(
        held,
        () => complain(two, second),
        () => takeBack(one, first),
      );
      expect(await listed()).toHaveLength(1);
      await meet(
        held,
        () => takeBack(one, second),
        () => complain(two, third),
      );
      expect(await listed()).toHaveLength(1);
    }));

  it('what has ended while others change it: it is left to the next time', () =>
    withoutCircle(async () => {
      const [address] = addresses;
      const entry = { address, reason: 'Manual' as const, note: '', expiresAt: T0 + 1, source: null };
      await one.addSuppressions({ domain: 'example.com', entries: [entry], now: T0 });
      await one.settle({ now: T0, settlements: [bounced((await sendTo(address))[0] ?? 0, FEW)] });
      const purge = () => two.purgeSuppressions({ now: T0 + HOUR, evidenceBefore: T0 + HOUR, limit: 10 });
      for (const table of ['suppression', 'suppression_evidence']) {
        await database.link.exec(`BEGIN; SELECT FROM ${table} FOR UPDATE`);
        expect(await purge()).toBe(table === 'suppression' ? 1 : 0);
        await database.link.exec('ROLLBACK');
        expect(await purge()).toBe(table === 'suppression' ? 1 : 0);
      }
    }));

  it('a message that is erased while its captures are deleted', () =>
    withoutCircle(async () => {
      const recipients = [recipient({ state: 'sending', sandbox: 'deliver' })];
      const { seq, deliveries } = only(await commit(one, [message({ recipients })]));
      const id = newId();
      const capture = { id, at: T0, inbox: 'main', envelopeFrom: 'a@example.com', prefix: new Uint8Array(1) };
      await one.settle({ now: T0, settlements: [delivered(only(deliveries).id, 1, { capture })] });
      const [erased] = await meet(
        'SELECT FROM message',
        () => one.eraseMessages({ seqs: [seq], address: 'reader@example.net' }),
        () => two.deleteCaptures({ ids: [id], limit: 10 }),
      );
      expect(erased).toMatchObject({ messages: 1 });
      expect(await one.getCapture({ id })).toBeNull();
    }));

  it('an old message that is deleted while its person is erased, and while it is sent again', () =>
    withoutCircle(async () => {
      const old = async () => {
        const { seq, id } = await commitOne(one, { recipients: [recipient({ state: 'sending' })] });
        await one.settle({ now: T0, settlements: [delivered(id, 1, { state: 'failed' })] });
        return { seq, id };
      };
      const purge = (seq: number) => () => one.purgeMessages({ seqs: [seq], maxRows: 100 });
      const { seq } = await old();
      const [purged, erased] = await meet('SELECT FROM message', purge(seq), () =>
        two.eraseMessages({ seqs: [seq], address: 'reader@example.net' }),
      );
      expect([purged.messages, erased.messages]).toEqual([1, 0]);
      const { seq: messageSeq, id: deliveryId } = await old();
      const again = { messageSeq, now: T0, expiresAt: T0 + HOUR };
      const recipients = [{ deliveryId, event: event('requeued') }];
      const [kept, requeued] = await meet('SELECT FROM message', purge(messageSeq), () =>
        two.requeue({ ...again, recipients }),
      );
      expect([kept.messages, requeued.kind]).toEqual([1, 'content-gone']);
    }));

  it('a change that is repeated as its connection went, while the first call goes on', () =>
    withoutCircle(async () => {
      const DATE = 'Sun, 22 Nov 2026 01:02:03 +0000';
      const params = ({ seq, id }: { seq: number; id: number }, kind: EventKind) => ({
        ...{ messageSeq: seq, now: T0, sendAt: T0 + HOUR, expiresAt: T0 + 2 * HOUR, date: DATE },
        recipients: [{ deliveryId: id, event: event(kind) }],
      });
      const twice = <Result>(ask: (store: Store) => Promise<Result>) =>
        meet<[Result, Result]>(
          'SELECT FROM delivery',
          () => ask(one),
          () => ask(two),
        );
      const waiting = await commitOne(one);
      const cancel = params(waiting, 'canceled');
      const canceled = { changed: [waiting.id], tooLate: 0 };
      expect(await twice((store) => store.cancelQueued(cancel))).toEqual([canceled, canceled]);
      const later = await commitOne(one, { sendAt: T0 + 1 });
      const move = params(later, 'scheduled');
      const moved = { kind: 'rescheduled', changed: [later.id] };
      expect(await twice((store) => store.reschedule(move))).toEqual([moved, moved]);
      const failed = await commitOne(one, { recipients: [recipient({ state: 'sending' })] });
      const failure = delivered(failed.id, 1, { state: 'failed', events: [] });
      await one.settle({ now: T0, settlements: [failure] });
      const again = params(failed, 'requeued');
      const queued = { kind: 'requeued', count: 1 };
      expect(await twice((store) => store.requeue(again))).toEqual([queued, queued]);
      expect((await kindsOf(one)).sort()).toEqual([
        ...['accepted', 'accepted', 'accepted', 'canceled', 'requeued', 'scheduled'],
      ]);
    }));

  it('two who take the last place of a list', () =>
    withoutCircle(async () => {
      const maker = person();
      await one.addPerson({ person: maker, maxPeople: 10 });
      const createdBy = maker.id;
      const held = 'SELECT FROM person';
      const issue = (store: Store) => store.addToken({ token: token({ createdBy }), maxPerDomain: 1 });
      expect(
        await meet(
          held,
          () => issue(one),
          () => issue(two),
        ),
      ).toEqual(['added', 'full']);
      const admit = (store: Store) =>
        store.addSmtpCredential({
          credential: credential({ id: newId(), username: newId(), createdBy }),
          maxPerDomain: 1,
        });
      expect(
        await meet(
          held,
          () => admit(one),
          () => admit(two),
        ),
      ).toEqual(['added', 'full']);
    }));

  it('changes of the recipients of one message, named in any order', () =>
    withoutCircle(async () => {
      const change = { now: T0, expiresAt: T0 + 2 * HOUR, sendAt: T0 + HOUR, date: '' };
      const cancel = (messageSeq: number, ids: readonly number[]) => () =>
        one.cancelQueued({
          ...{ messageSeq, now: T0 },
          recipients: ids.map((deliveryId) => ({ deliveryId, event: event('canceled') })),
        });
      const stored = async (state: 'queued' | 'sending') => {
        const recipients = [2, 1].map((n) =>
          recipient({ state, dueAt: T0 + n * HOUR, waitReason: 'path: 421 later' }),
        );
        const [sent] = await commit(one, [message({ sendAt: T0, recipients })]);
        const { seq = 0, deliveries = [] } = sent ?? {};
        return { seq, ids: deliveries.map(({ id }) => id), queueId: deliveries[0]?.queueId ?? 0 };
      };
      const held = 'SELECT FROM delivery WHERE id IN (SELECT min(id) FROM delivery GROUP BY message_seq)';
      const scheduled = await stored('queued');
      await meet(held, cancel(scheduled.seq, scheduled.ids), () =>
        two.reschedule({
          ...{ messageSeq: scheduled.seq, ...change },
          recipients: scheduled.ids.slice(1).map((deliveryId) => ({ deliveryId, event: event('scheduled') })),
        }),
      );
      const waiting = await stored('queued');
      const queues = [{ queueId: waiting.queueId }];
      await meet(held, cancel(waiting.seq, waiting.ids), () => two.hurry({ queues, now: T0 }));
      const sending = await stored('sending');
      const settlements = sending.ids.toReversed().map((id) => delivered(id));
      await meet(held, cancel(sending.seq, sending.ids), () => two.settle({ now: T0, settlements }));
      const leased = await stored('sending');
      await meet(held, cancel(leased.seq, leased.ids), () =>
        two.release({ ...{ epoch: 1, dueAt: T0, waitReason: null }, deliveryIds: leased.ids.toReversed() }),
      );
    }));

  it('mail that is put off to a later day while its path opens', () =>
    withoutCircle(async () => {
      const sendAt = T0 + 24 * HOUR;
      const waits = recipient({ dueAt: T0 + HOUR, waitReason: 'path: 421 later' });
      const [sent] = await commit(one, [message({ sendAt: T0, recipients: [waits] })]);
      const { seq = 0, deliveries = [] } = sent ?? {};
      const { id: deliveryId, queueId } = only(deliveries);
      const [moved, { hurried }] = await meet(
        'SELECT FROM delivery',
        () =>
          one.reschedule({
            ...{ messageSeq: seq, now: T0, sendAt, expiresAt: sendAt + HOUR },
            date: 'Sun, 22 Nov 2026 01:02:03 +0000',
            recipients: [{ deliveryId, event: event('scheduled') }],
          }),
        () => two.hurry({ queues: [{ queueId }], now: T0 }),
      );
      expect([moved.kind, hurried]).toEqual(['rescheduled', 0]);
      expect(await nextDueAt(one)).toBe(sendAt);
    }));

  it('what has ended while others renew it: it stays', () =>
    withoutCircle(async () => {
      await database.link.exec(`
        INSERT INTO egress_fact (kind, key, value, until) VALUES ('k', 'a', '1', ${T0});
        INSERT INTO mta_sts SELECT * FROM jsonb_populate_record(NULL::mta_sts, '${JSON.stringify(POLICY)}');
        INSERT INTO path_state SELECT * FROM jsonb_populate_record(NULL::path_state, '${JSON.stringify(PATH)}');
        INSERT INTO name (text) VALUES ('example.com');
        INSERT INTO opt_out_reader (domain_id, key, address, last_at) SELECT id, 'a@b.example', 'a@b.example', ${T0} FROM name;
        INSERT INTO idempotency (owner, operation, key, fingerprint, status, body, created_at)
          VALUES ('o', 'p', 'k', '', 200, '', ${T0})`);
      const now = T0 + HOUR;
      await database.link.exec(`BEGIN;
        UPDATE egress_fact SET until = ${now + 1};
        UPDATE mta_sts SET expires_at = ${now + 1};
        UPDATE path_state SET updated_at = ${now}, blocked_until = ${now + 1};
        UPDATE opt_out_reader SET last_at = ${now};
        UPDATE idempotency SET created_at = ${now}`);
      let over = 0;
      const purges = [
        one.purgeLimits({ now, before: now, unusedSince: now, limit: 10 }),
        one.purgeMtaSts({ now, limit: 10 }),
        two.purgeOptOuts({ before: now, limit: 10 }),
        two.purgeIdempotency({ before: now, limit: 10 }),
      ].map((purge) =>
        purge.finally(() => {
          over += 1;
        }),
      );
      await expect.poll(async () => over + ((await waiting()) ?? 0)).toBe(purges.length);
      await database.link.exec('COMMIT');
      expect(await Promise.all(purges)).toEqual([0, 0, 0, 0]);
    }));

  it('webhook calls that are prepared while searches find where they begin', async () => {
    for (let n = 0; n < 6; n += 1) await createWebhook(one);
    await commit(one, [message({ recipients: Array.from({ length: 100 }, () => recipient()) })]);
    const claimAt = (now: number) => claimCalls(one, { now, limit: 1_000 });
    const first = await claimAt(T0 + HOUR);
    await database.link.exec(`CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER held AFTER INSERT ON webhook_call DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION held()`);
    await database.link.exec('BEGIN; SELECT pg_advisory_xact_lock(7)');
    const preparing = one.prepareCalls({ limit: 1_000 });
    await expect.poll(waiting).toBe(1);
    await one.queueCounts({ now: T0 + HOUR + 10_000 });
    await database.link.exec('ROLLBACK; DROP FUNCTION held CASCADE');
    expect(await preparing).toBe(false);
    expect(await claimAt(T0 + HOUR + 20_000)).toHaveLength(600 - first.length);
  });
});
