import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { event, HOUR, message, newId, recipient, T0 } from '../conformance/fixtures.ts';
import { COUNTED_SQL } from '../shared/event-sums.ts';
import { MEMBERS_SQL } from '../shared/rows/causes.ts';
import { DUE_FACTS_SQL } from '../shared/rows/notices.ts';
import { REFILE_SQL } from '../shared/rows/refile.ts';
import {
  KEPT_CONTENTS_SQL,
  OLD_CALLS_SQL,
  OLD_MESSAGES_SQL,
  OLDEST_CONTENTS_SQL,
} from '../shared/rows/retention.ts';
import { commitAccepted } from './acceptance.ts';
import { WAITING_CALLS_SQL } from './call-portions.ts';
import { DUE_HOOKS_SQL, REPLAYED_SQL } from './calls.ts';
import { reclaimWaiting } from './copy.ts';
import type { Connection } from './engine/connection.ts';
import type { Session } from './engine/session.ts';
import { countEvents, findEvents, lastEventSeq } from './events.ts';
import { FROM_METADATA, HAS_CAUSE, indexRecipients, listMessages } from './messages.ts';
import { CLAIM_DUE_SQL, CLAIM_EXPIRED_SQL, claimDue, DUE_QUEUES_SQL, dueQueues, LATER_SQL } from './queue.ts';
import { filledDatabase, temporaryFolder } from './test-support.ts';
import { WAITING_ROWS_SQL, waitingQueuesSql } from './waiting.ts';

const ROWS = 20_000;
const QUEUES = 200;

/** A queue of 20,000 recipients, 40 % of them of one receiver and oldest: cost must follow what is asked for. */
describe('query plans over a long queue', () => {
  const folder = temporaryFolder();
  let db: Connection;
  let session: Session;

  beforeAll(() => {
    const messages = Array.from({ length: ROWS / 20 }, (_, i) => {
      const blocked = i < ROWS / 20 / 2.5;
      const recipients = Array.from({ length: 20 }, (_, j) =>
        recipient({
          domain: blocked ? 'blocked.example' : `d${(i * 20 + j) % QUEUES}.example`,
          dueAt: T0 + (blocked ? 0 : i),
        }),
      );
      return message({ recipients });
    });
    ({ db, session } = filledDatabase(folder.file('store.db'), messages));
  });

  afterAll(() => {
    db.close();
    folder.remove();
  });

  const planOf = (sql: string, ...values: number[]) =>
    db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values).map((row) => row.detail);

  it('claims through the due index, in its order, without sorting or scanning', () => {
    const plan = planOf(CLAIM_DUE_SQL, 1, T0, T0, 20);
    expect(plan[0]).toBe('SEARCH d USING INDEX delivery_due (queue_id=? AND due_at<?)');
    expect(plan.slice(1).every((step) => step.includes('USING INTEGER PRIMARY KEY'))).toBe(true);
  });

  it('hurries through the due index, from a position on', () => {
    expect(planOf(LATER_SQL, 1, T0, 1, 20)).toEqual([
      'SEARCH delivery USING INDEX delivery_due (queue_id=? AND due_at>?)',
    ]);
  });

  it('finds expired rows through the expiry index', () => {
    const plan = planOf(CLAIM_EXPIRED_SQL, T0, 20);
    expect(plan[0]).toBe('SEARCH d USING INDEX delivery_expiry (expires_at<?)');
    expect(plan.slice(1).every((step) => step.includes('USING INTEGER PRIMARY KEY'))).toBe(true);
  });

  it('looks at what waits through the due index, in its order', () => {
    const plan = planOf(WAITING_ROWS_SQL, 1, 20);
    expect(plan[0]).toBe('SEARCH d USING INDEX delivery_due (queue_id=?)');
    expect(plan.slice(1).every((step) => step.includes('USING INTEGER PRIMARY KEY'))).toBe(true);
  });

  it('finds events to replay along the index of their kind, without sorting', () => {
    expect(planOf(REPLAYED_SQL, 1, 1, 0, 5, 0, 0, 10)).toEqual([
      'SEARCH e USING COVERING INDEX event_kind (domain_id=? AND kind=? AND at>? AND at<?)',
    ]);
  });

  it('finds what retention may remove along an index, oldest first, without sorting', () => {
    const first = (sql: string, ...values: number[]) => planOf(sql, ...values)[0];
    expect(first(KEPT_CONTENTS_SQL, 1, 0, 20)).toBe(
      'SEARCH k USING PRIMARY KEY (domain_id=? AND message_seq>?)',
    );
    expect(first(OLD_MESSAGES_SQL, 1, 0, 20)).toBe(
      'SEARCH m USING INDEX message_domain (domain_id=? AND rowid>?)',
    );
    expect(first(OLDEST_CONTENTS_SQL, 0, 20)).toBe('SEARCH k USING INTEGER PRIMARY KEY (rowid>?)');
    expect(first(OLD_CALLS_SQL, 0, 20)).toBe('SEARCH c USING INTEGER PRIMARY KEY (rowid>?)');
    for (const sql of [KEPT_CONTENTS_SQL, OLD_MESSAGES_SQL]) {
      const steps = planOf(sql, 1, 0, 20);
      expect(steps.some((step) => step.startsWith('SCAN') || step.includes('TEMP B-TREE'))).toBe(false);
    }
  });

  it('finds the members of a cause along its index, in the order of their ids', () => {
    const steps = planOf(MEMBERS_SQL, 1, 0, 20).filter((step) => step.startsWith('SEARCH'));
    const range = 'SEARCH delivery USING INDEX delivery_cause (cause_id=? AND state=? AND rowid>?)';
    expect(steps.slice(0, 3)).toEqual([range, range, range]);
    expect(steps.slice(3).every((step) => step.includes('USING INTEGER PRIMARY KEY'))).toBe(true);
  });

  it('finds the cause of a message by the message, not by all members of the cause', () => {
    const plan = planOf(`SELECT m.seq FROM message m NOT INDEXED WHERE ${HAS_CAUSE}`, 1);
    expect(plan[1]).toContain('SEARCH delivery');
    expect(plan[1]).toContain('INDEX delivery_message (message_seq=?)');
  });

  it('puts what waits into other queues along the due index', () => {
    const steps = planOf(REFILE_SQL, 1, T0, 5, 20);
    expect(steps[0]).toBe('SEARCH d USING INDEX delivery_due ((queue_id,due_at)>(?,?))');
    expect(steps.some((step) => step.includes('TEMP B-TREE'))).toBe(false);
  });

  it('finds facts that senders are to be told along their index, in its order', () => {
    expect(planOf(DUE_FACTS_SQL, T0, 20)).toEqual([
      'SEARCH notice_due USING INDEX notice_due_from (due_from<?)',
    ]);
  });

  it('finds queues with rows that wait along the index of their due times', () => {
    expect(planOf(DUE_QUEUES_SQL, 0, 0, 20)).toEqual([
      'SEARCH w USING COVERING INDEX waiting_queue_due (due_at>?)',
      'SEARCH q USING INTEGER PRIMARY KEY (rowid=?)',
      'SEARCH n USING INTEGER PRIMARY KEY (rowid=?)',
    ]);
    const inOrder = (sql: string) => `${sql} ORDER BY dueAt, id LIMIT 5`;
    expect(planOf(inOrder(waitingQueuesSql(false)), 0, 0)[0]).toContain('waiting_queue_due (due_at>?)');
    expect(planOf(inOrder(waitingQueuesSql(true)), 1, 0, 0)[0]).toContain(
      'waiting_queue_domain (sender_domain=? AND due_at>?)',
    );
    const hints = dueQueues(db, { dueBefore: T0 + HOUR, limit: 1000 });
    expect(hints).toHaveLength(QUEUES + 1);
    expect(hints[0]).toMatchObject({ recipientDomain: 'blocked.example', nextDueAt: T0 });
    const after = hints[99];
    expect(dueQueues(db, { dueBefore: T0 + HOUR, limit: 3, ...(after && { after }) })).toEqual(
      hints.slice(100, 103),
    );
  });

  it('finds webhooks with calls that are due along an index', () => {
    const plan = db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${DUE_HOOKS_SQL}`, T0, '[]', '[]', 5);
    expect(plan[0]?.detail).toContain('waiting_hook_due (due_at<?)');
    expect(plan.some(({ detail }) => detail.includes('ORDER BY'))).toBe(false);
  });

  it('finds calls to resume, and messages by metadata, along an index, without sorting', () => {
    expect(planOf(WAITING_CALLS_SQL)).toEqual([
      'SEARCH webhook_call USING INDEX webhook_call_due (webhook_id=? AND due_at>?)',
    ]);
    expect(planOf(`SELECT x.message_seq ${FROM_METADATA} ORDER BY x.message_seq DESC`)).toEqual([
      'SEARCH x USING PRIMARY KEY (domain_id=? AND name=? AND value=?)',
      'SEARCH m USING INTEGER PRIMARY KEY (rowid=?)',
    ]);
  });

  it('claims from a queue behind a blocked one', () => {
    const free = dueQueues(db, { dueBefore: T0 + HOUR, limit: 2 })[1];
    const claimed = claimDue(session, {
      queueId: free?.queueId ?? 0,
      epoch: 1,
      now: T0 + HOUR / 2,
      limit: 50,
      maxBytes: 1e9,
      eventId: newId(),
    });
    expect(claimed).toHaveLength(50);
    expect(new Set(claimed.map((row) => row.recipientDomain))).toEqual(new Set([free?.recipientDomain]));
  });

  it('counts events along the primary key', () => {
    const [first, ...others] = planOf(COUNTED_SQL, 1, 2);
    expect(first).toBe('SEARCH e USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)');
    const steps = others.filter((step) => !step.includes('GROUP BY'));
    expect(steps.every((step) => /USING (INTEGER )?PRIMARY KEY/.test(step))).toBe(true);
  });

  it('follows a seq through the primary key, also for one domain', () => {
    const before = lastEventSeq(db, undefined) - 5;
    const filter = { afterSeq: before, look: 1000, limit: 3, newestFirst: false };
    const page = findEvents(db, { ...filter, domains: ['example.com'] });
    expect(page.events.map((event) => event.seq)).toEqual([before + 1, before + 2, before + 3]);
    const plan = planOf(
      `SELECT e.seq FROM event e NOT INDEXED
       WHERE e.domain_id IN (SELECT value FROM json_each('[1]')) AND e.seq > ? ORDER BY e.seq LIMIT 3`,
      1,
    );
    expect(plan[0]).toBe('SEARCH e USING INTEGER PRIMARY KEY (rowid>?)');
    expect(plan.some((step) => step.includes('TEMP B-TREE'))).toBe(false);
  });

  it('merges event ranges in index order instead of sorting', () => {
    const range =
      'SELECT e.at AS at, e.seq AS seq FROM event e INDEXED BY event_kind WHERE e.domain_id = 1 AND e.kind =';
    const plan = planOf(
      `${range} 1 UNION ALL ${range} 3 UNION ALL ${range} 4 ORDER BY at DESC, seq DESC LIMIT 10`,
    );
    expect(plan.some((step) => step.includes('TEMP B-TREE'))).toBe(false);
    const page = findEvents(db, { look: 1000, limit: 3, newestFirst: true });
    expect(countEvents(db, { look: 20_000, upTo: 10_000, newestFirst: true }).count).toBe(10_000);
    expect(page.events.map((event) => event.seq)).toEqual([ROWS, ROWS - 1, ROWS - 2]);
  });

  it('finds mail to an address across the gap in the numbers of a restored copy', () => {
    const send = () => {
      const messages = [message({ recipients: [recipient({ address: 'ann@example.net' })] })];
      commitAccepted(session, { messages, epoch: 1, idempotency: null });
    };
    send();
    reclaimWaiting(db, null);
    send();
    while (indexRecipients(session, { limit: 1 }));
    const asked = { to: 'ann@example.net', limit: 10, look: 10 };
    const beforeSeq = listMessages(db, asked).nextSeq ?? 0;
    const { messages } = listMessages(db, { ...asked, beforeSeq });
    expect(messages.map(({ seq }) => seq)).toEqual([2 ** 34 + ROWS / 20 + 2, ROWS / 20 + 1]);
  });

  it('keeps the order of events to an address from page to page, also where its messages become many', () => {
    const to = (address: string, at: number, domain = 'example.com') => {
      const events = [{ ...event('suppressed'), at }];
      return message({ domain, recipients: [recipient({ address, state: 'suppressed', events })] });
    };
    const send = (messages: ReturnType<typeof to>[]) =>
      commitAccepted(session, { messages, epoch: 1, idempotency: null });
    send(Array.from({ length: 200 }, (_, n) => to('other@example.net', 1, `d${n}.example`)));
    send([3, 2, 1].map((at) => to('bea@example.net', at)));
    const asked = { recipient: 'bea@example.net', newestFirst: true, look: 20_000 } as const;
    const page = findEvents(db, { ...asked, limit: 1 });
    send(Array.from({ length: 1_000 }, () => to('bea@example.net', 4)));
    const rest = findEvents(db, { ...asked, limit: 9, from: page.next ?? { at: 0, seq: 0 } });
    expect([...page.events, ...rest.events].map(({ at }) => at).toSorted()).toEqual([1, 2, 3]);
  });

  it('reads of an event range what one look may read, not the rest of the domain', () => {
    const read: { sql: string; values: readonly unknown[] }[] = [];
    const seen: Connection = Object.create(db, {
      all: {
        value: (sql: string, ...values: number[]) => {
          read.push({ sql, values });
          return db.all(sql, ...values);
        },
      },
    });
    const spread = [1, 2, 3, 4].map((hours) => {
      const events = [{ ...event('accepted'), at: T0 + hours * HOUR }];
      return message({ domain: 'spread.example', recipients: [recipient({ events })] });
    });
    commitAccepted(session, { messages: spread, epoch: 1, idempotency: null });
    const asked = { domains: ['spread.example'], kinds: ['accepted' as const], tag: 'none', limit: 5 };
    for (const [newestFirst, bounds] of [
      [true, [T0 + 3 * HOUR, Number.MAX_SAFE_INTEGER - 1]],
      [false, [0, T0 + 2 * HOUR]],
    ] as const) {
      read.length = 0;
      expect(findEvents(seen, { ...asked, newestFirst, look: 2 }).events).toEqual([]);
      const { sql = '', values = [] } = read.at(-1) ?? {};
      expect(sql.match(/ AND e\.at [<>]= \?/g)).toEqual([' AND e.at >= ?', ' AND e.at <= ?']);
      expect(values.slice(2, 4)).toEqual(bounds);
      expect(planOf(sql, ...(values as number[]))[0]).toBe(
        'SEARCH e USING INDEX event_kind (domain_id=? AND kind=? AND at>? AND at<?)',
      );
    }
  });
});
