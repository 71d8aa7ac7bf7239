/**
 * Counts of events per interval, kind and group, read from the event log itself: one range of the (domain, kind, at)
 * index per sender domain and kind. Given a range of time; leaves counts, or says that the range holds more events than
 * it may read, which it finds out by the index alone before it reads anything.
 */
import type { EventKind } from '../../model/event.ts';
import type { StatsCount, StatsGroupBy } from '../topics/events.ts';
import { eventKindCode } from './codes.ts';
import type { Connection } from './engine/connection.ts';
import type { ParamsOf } from './engine/operation.ts';
import { read } from './engine/operation.ts';
import { findNameIds } from './engine/session.ts';
import { everyDomain } from './events.ts';

/** What names the group of an event, and the joins it takes; `d` is the recipient's row. */
const GROUPS: Readonly<Record<StatsGroupBy | 'none', { column: string; joins: string }>> = {
  none: { column: "''", joins: '' },
  domain: { column: 'n.text', joins: 'CROSS JOIN name n ON n.id = e.domain_id' },
  'recipient-domain': {
    column: 'q.recipient_domain',
    joins: 'CROSS JOIN dest_queue q ON q.id = d.queue_id',
  },
  // A message without tags counts under the empty tag, so that the groups add up to everything.
  tag: {
    column: 't.value',
    joins: `CROSS JOIN message m ON m.seq = e.message_seq CROSS JOIN json_each(coalesce(m.tags, '[""]')) t`,
  },
};

const RANGE =
  'FROM event e INDEXED BY event_kind WHERE e.domain_id = ? AND e.kind = ? AND e.at >= ? AND e.at < ?';

/** The statement that counts one range. Tests hold its plan to the index. */
export function countRangeSql(groupBy: StatsGroupBy | 'none'): string {
  const { column, joins } = GROUPS[groupBy];
  return `SELECT e.at / CAST(? AS INTEGER) AS bucket, ${column} AS name, count(*) AS n
    FROM event e INDEXED BY event_kind CROSS JOIN delivery d ON d.id = e.delivery_id ${joins}
    WHERE e.domain_id = ? AND e.kind = ? AND e.at >= ? AND e.at < ? AND (d.sandbox IS NULL OR ?)
    GROUP BY bucket, name`;
}

interface Group {
  total: number;
  counts: StatsCount[];
}

export const stats = read('stats', 'grows', { search: true }, (db, params) => {
  const domainIds = findNameIds(db, params.domains) ?? everyDomain(db, Number.MAX_SAFE_INTEGER);
  if (holdsMore(db, params, domainIds)) return { kind: 'too-many' };
  const sql = countRangeSql(params.groupBy ?? 'none');
  const groups = new Map<string, Group>();
  const rest: Group = { total: 0, counts: [] };
  for (const domainId of domainIds) {
    for (const kind of params.kinds) {
      const rows = db.all<{ bucket: number; name: string; n: number }>(
        sql,
        params.intervalMs,
        domainId,
        eventKindCode.of(kind),
        params.from,
        params.to,
        params.includeSandbox ? 1 : 0,
      );
      for (const row of rows) add(groupOf(row.name), row.bucket * params.intervalMs, kind, row.n);
    }
  }
  const sorted = [...groups].sort(([a, x], [b, y]) => y.total - x.total || (a < b ? -1 : 1));
  for (const [, group] of sorted.slice(params.maxGroups)) {
    for (const { at, kind, n } of group.counts) add(rest, at, kind, n);
  }
  return {
    kind: 'counted',
    groups: sorted.slice(0, params.maxGroups).map(([name, { counts }]) => ({ name, counts: merged(counts) })),
    rest: rest.total === 0 ? null : merged(rest.counts),
  };

  function groupOf(name: string): Group {
    let group = groups.get(name);
    if (group === undefined) {
      group = { total: 0, counts: [] };
      groups.set(name, group);
    }
    return group;
  }
});

function add(group: Group, at: number, kind: EventKind, n: number): void {
  group.total += n;
  group.counts.push({ at, kind, n });
}

/** One count per interval and kind, by time: several domains, or groups, may bring their own. */
function merged(counts: readonly StatsCount[]): StatsCount[] {
  const sums = new Map<string, StatsCount>();
  for (const count of counts) {
    const key = `${count.at} ${count.kind}`;
    const known = sums.get(key);
    if (known === undefined) sums.set(key, { ...count });
    else known.n += count.n;
  }
  return [...sums.values()].sort((a, b) => a.at - b.at);
}

function holdsMore(db: Connection, params: ParamsOf<'stats'>, domainIds: readonly number[]): boolean {
  let left = params.maxEvents;
  for (const domainId of domainIds) {
    for (const kind of params.kinds) {
      const row = db.get<{ n: number }>(
        `SELECT count(*) AS n FROM (SELECT 1 ${RANGE} LIMIT ?)`,
        domainId,
        eventKindCode.of(kind),
        params.from,
        params.to,
        left + 1,
      );
      left -= row?.n ?? 0;
      if (left < 0) return true;
    }
  }
  return false;
}
