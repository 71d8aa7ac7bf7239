/**
 * Counts of events per interval, kind and group. A background job adds the events up by hour and by day in the order of their
 * seq (`sumEvents`); an answer is made of these sums and of the events behind them, by one statement.
 */
import type { EventKind } from '../../model/event.ts';
import { eventKindCode } from '../shared/codes.ts';
import {
  BREAKDOWN_OF,
  BREAKDOWNS,
  counted,
  DAY_MS,
  GROUPS,
  HOUR_MS,
  named,
  SUMMED_UP_TO,
  spansOf,
  UNNAMED,
} from '../shared/event-sums.ts';
import { textFor } from '../shared/work.ts';
import type { StatsCount, StatsGroupBy } from '../topics/stats.ts';
import { int2s, int8s } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import { domainsIn, knownIn } from './engine/domains-in.ts';
import { firstOf } from './engine/eras.ts';
import { read } from './engine/operation.ts';
import { findNameIds } from './engine/session.ts';

/** In this engine; within braces there can be no others. */
const SUMMED_SEQ = textFor('postgres', SUMMED_UP_TO);

/** The numbers between the last event of an era and the first of the next one are of no events. */
export const countSummed = read('countSummed', async (db) => {
  const ofEra =
    'SELECT seq FROM event WHERE seq >= e.number * $1::int8 AND seq < (e.number + 1) * $1::int8 ORDER BY seq';
  const found = await db.get<{ summed: number; events: number }>(
    `SELECT coalesce(sum(greatest(0, least(s.up_to, l.seq) - f.seq + 1)), 0)::int8 AS summed,
       coalesce(sum(l.seq - f.seq + 1), 0)::int8 AS events
     FROM era e CROSS JOIN (SELECT ${SUMMED_UP_TO} AS up_to) s
     CROSS JOIN LATERAL (${ofEra} LIMIT 1) f CROSS JOIN LATERAL (${ofEra} DESC LIMIT 1) l`,
    firstOf(1),
  );
  return found ?? { summed: 0, events: 0 };
});

export const domainsWithSums = read('domainsWithSums', (db) => domainsIn(db, 'event_sum'));

/**
 * $1: domains, or null for all, $2: kinds, $3, $4: from and to, $5: interval, $6: with the sandbox, $7: groups that are named, $8: where the
 * sums by hour begin. The name of the groups that are not named is null.
 */
function countSql(groupBy: StatsGroupBy | 'none'): string {
  const { column, joins } = GROUPS[groupBy];
  const breakdown = BREAKDOWN_OF[groupBy];
  const sums = (span: number, from: string, to: string) => `SELECT s.* FROM asked g
    CROSS JOIN LATERAL (SELECT domain_id, at, kind, sandbox, name, n FROM event_sum WHERE domain_id = g.domain_id
      AND breakdown = ${BREAKDOWNS[breakdown]} AND span = ${span} AND at >= ${from} AND at < ${to} OFFSET 0) s`;
  const behind = `e.seq > ${SUMMED_SEQ} AND ($1::int8[] IS NULL OR e.domain_id = ANY ($1::int8[]))
    AND e.kind = ANY ($2::int2[]) AND e.at >= $3 AND e.at < $4`;
  return `WITH RECURSIVE ${knownIn('event_sum')},
    asked (domain_id) AS MATERIALIZED (
      SELECT unnest($1::int8[]) UNION ALL SELECT id FROM known WHERE $1::int8[] IS NULL AND id IS NOT NULL),
    counted AS MATERIALIZED (${counted(behind)}),
    grouped AS MATERIALIZED (
      SELECT s.at / $5::int8 AS bucket, s.kind, ${column} AS name, sum(s.n) AS n
      FROM (${sums(DAY_MS, '$3', '$8')} UNION ALL ${sums(HOUR_MS, '$8', '$4')} UNION ALL
        SELECT domain_id, at, kind, sandbox, name, n FROM (${named(breakdown)}) c) s ${joins}
      WHERE s.kind = ANY ($2::int2[]) AND (NOT s.sandbox OR $6) GROUP BY 1, 2, 3),
    ranked AS MATERIALIZED (
      SELECT name, row_number() OVER (ORDER BY ${groupBy === 'tag' ? `name = '${UNNAMED}', ` : ''}sum(n) DESC, name) AS place,
        ${groupBy === 'tag' ? `name <> '${UNNAMED}'` : 'true'} AS named
      FROM grouped GROUP BY name)
    SELECT CASE WHEN r.named AND r.place <= $7 THEN r.name END AS name,
      CASE WHEN r.named THEN least(r.place, $7::int8 + 1) ELSE $7::int8 + 1 END AS place, c.bucket, c.kind,
      sum(c.n)::int8 AS n, (SELECT count(*) FROM ranked) AS groups, (SELECT count(*) FROM grouped) AS counts
    FROM grouped c JOIN ranked r ON r.name = c.name GROUP BY 1, 2, 3, 4 ORDER BY 2, 3, array_position($2::int2[], c.kind)`;
}

export const stats = read('stats', { search: true }, async (db, params) => {
  const { from, to, intervalMs, includeSandbox, maxGroups } = params;
  if ((await unsummed(db, params.maxUnsummed + 1)) > params.maxUnsummed) {
    return { kind: 'too-many', of: 'unsummed' };
  }
  const asked = await findNameIds(db, params.domains);
  const firstHour = spansOf({ from, to, intervalMs }).find(({ span }) => span === HOUR_MS)?.from ?? to;
  const rows = await db.all<{
    name: string | null;
    bucket: number;
    kind: number;
    n: number;
    groups: number;
    counts: number;
  }>(
    countSql(params.groupBy ?? 'none'),
    ...[
      asked === undefined ? null : int8s(asked),
      int2s(params.kinds.map(eventKindCode.of)),
      from,
      to,
      intervalMs,
      includeSandbox,
    ],
    ...[maxGroups, firstHour],
  );
  const [first] = rows;
  // An event counts under each of its tags.
  if (first !== undefined && (first.groups > params.maxCountedGroups || first.counts > params.maxCounts)) {
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

/** Events that are not in the sums, counted up to a limit. */
async function unsummed(db: Db, limit: number): Promise<number> {
  const sql = `SELECT count(*) AS n FROM (SELECT FROM event WHERE seq > ${SUMMED_UP_TO} LIMIT $1) e`;
  return (await db.get<{ n: number }>(sql, limit))?.n ?? 0;
}
