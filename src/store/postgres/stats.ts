/**
 * Counts of events per interval, kind and group, read from the event log: one range of the (domain, kind, at) index per
 * sender domain and kind. If the range contains more events than it may read, it says so; it finds that out from the
 * index before it reads anything.
 */
import type { EventKind } from '../../model/event.ts';
import { eventKindCode } from '../shared/codes.ts';
import { DELIVERY_TIMES_MS, type StatsCount, type StatsGroupBy } from '../topics/events.ts';
import { int2s, int8s } from './engine/arrays.ts';
import { domainIdsIn } from './engine/domains-in.ts';
import { read } from './engine/operation.ts';
import { findNameIds } from './engine/session.ts';

/** Looked up: a plan that joins may read the whole table for a few events. */
const ITS_MESSAGE =
  'CROSS JOIN LATERAL (SELECT tags, send_at, created_at FROM message WHERE seq = e.message_seq OFFSET 0) m';

/** The column that names the group of an event, and the joins for it; `d` is the recipient's row. */
const GROUPS: Readonly<Record<StatsGroupBy | 'none', { column: string; joins: string }>> = {
  none: { column: "''", joins: '' },
  domain: { column: 'n.text', joins: 'JOIN name n ON n.id = e.domain_id' },
  'recipient-domain': {
    column: 'q.recipient_domain',
    joins: 'JOIN dest_queue q ON q.id = d.queue_id',
  },
  // Of the facts that delivery keeps, as JSON: the provider, a blank and a day.
  provider: {
    column: `coalesce(substr(f.value, 2, strpos(f.value, ' ') - 2), q.recipient_domain)`,
    joins: `JOIN dest_queue q ON q.id = d.queue_id
      LEFT JOIN egress_fact f ON f.kind = 'provider' AND f.key = q.recipient_domain AND f.value LIKE '"_% %'`,
  },
  // A message without tags counts under the empty tag, so that the groups add up to the total.
  tag: {
    column: 't.value',
    joins: `${ITS_MESSAGE} CROSS JOIN LATERAL unnest(coalesce(m.tags, '{""}')) t (value)`,
  },
  'delivery-time': {
    column: `CASE ${DELIVERY_TIMES_MS.map((ms) => `WHEN e.at - coalesce(m.send_at, m.created_at) <= ${ms} THEN '${ms}'`).join(' ')} ELSE '' END`,
    joins: ITS_MESSAGE,
  },
};

/** $1: domains, $2: kinds, $3, $4: from and to. */
const EVENTS = `unnest($1::int8[]) g (domain_id) CROSS JOIN unnest($2::int2[]) k (kind)
  CROSS JOIN LATERAL (SELECT domain_id, e.kind, at, message_seq, delivery_id FROM event e
    WHERE e.domain_id = g.domain_id AND e.kind = k.kind AND e.at >= $3 AND e.at < $4 OFFSET 0) e`;

/** $5: interval, $6: with the sandbox, $7: groups that are named; the name of the others is null. */
function countSql(groupBy: StatsGroupBy | 'none'): string {
  const { column, joins } = GROUPS[groupBy];
  return `WITH counted AS MATERIALIZED (
      SELECT e.at / $5::int8 AS bucket, e.kind, ${column} AS name, count(*) AS n
      FROM ${EVENTS}
        CROSS JOIN LATERAL (SELECT sandbox, queue_id FROM delivery WHERE id = e.delivery_id OFFSET 0) d ${joins}
      WHERE d.sandbox IS NULL OR $6 GROUP BY 1, 2, 3),
    ranked AS MATERIALIZED (
      SELECT name, row_number() OVER (ORDER BY sum(n) DESC, name) AS place FROM counted GROUP BY name)
    SELECT CASE WHEN r.place <= $7 THEN r.name END AS name, least(r.place, $7::int8 + 1) AS place, c.bucket, c.kind,
      sum(c.n) AS n, (SELECT count(*) FROM ranked) AS groups, (SELECT count(*) FROM counted) AS counts
    FROM counted c JOIN ranked r ON r.name = c.name GROUP BY 1, 2, 3, 4 ORDER BY 2, 3, array_position($2::int2[], c.kind)`;
}

export const stats = read('stats', { lane: 'search' }, async (db, params) => {
  const { from, to, intervalMs, includeSandbox, maxEvents, maxGroups, maxCountedGroups } = params;
  const domainIds = (await findNameIds(db, params.domains)) ?? (await domainIdsIn(db, 'event'));
  const range = [int8s(domainIds), int2s(params.kinds.map(eventKindCode.of)), from, to] as const;
  const sql = `SELECT count(*) AS n FROM (SELECT FROM ${EVENTS} LIMIT $5) e`;
  const events = await db.get<{ n: number }>(sql, ...range, maxEvents + 1);
  if ((events?.n ?? 0) > maxEvents) return { kind: 'too-many', of: 'events' };
  const rows = await db.all<{
    name: string | null;
    bucket: number;
    kind: number;
    n: number;
    groups: number;
    counts: number;
  }>(countSql(params.groupBy ?? 'none'), ...range, intervalMs, includeSandbox, maxGroups);
  const [first] = rows;
  // An event counts under each of its tags.
  if (first !== undefined && (first.groups > maxCountedGroups || first.counts > maxEvents)) {
    return { kind: 'too-many', of: 'groups' };
  }
  const groups = new Map<string | null, StatsCount[]>();
  for (const { name, bucket, kind, n } of rows) {
    const counts = groups.get(name) ?? [];
    counts.push({ at: bucket * intervalMs, kind: eventKindCode.word(kind) satisfies EventKind, n });
    groups.set(name, counts);
  }
  const rest = groups.get(null) ?? null;
  groups.delete(null);
  return {
    kind: 'counted',
    groups: [...groups].map(([name, counts]) => ({ name: name ?? '', counts })),
    rest,
  };
});
