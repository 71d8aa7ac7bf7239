/**
 * The sums of events by which statistics are answered: each event counts once under each breakdown, in its hour and in its
 * day. A tag that contains an address is not kept as a name, because sums stay when a person is erased.
 */
import { DELIVERY_TIMES_MS, type StatsGroupBy } from '../topics/stats.ts';
import { eventKindCode } from './codes.ts';

/** `event_sum.breakdown`. */
export const BREAKDOWNS = { none: 0, 'recipient-domain': 1, tag: 2, 'delivery-time': 3 } as const;

export type Breakdown = keyof typeof BREAKDOWNS;

/** The sums that answer for a way to group. */
export const BREAKDOWN_OF: Readonly<Record<StatsGroupBy | 'none', Breakdown>> = {
  none: 'none',
  domain: 'none',
  'recipient-domain': 'recipient-domain',
  provider: 'recipient-domain',
  tag: 'tag',
  'delivery-time': 'delivery-time',
};

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** The name of all tags with an address; they are counted, but never a group. It looks like one itself, so no other tag has it. */
export const UNNAMED = '?@?';

/** The row of `meta` with the seq of the last event that is in the sums. */
export const SUMMED = 'events_summed';

/** The whole days of a range, and the hours after them; by hour there are only hours. */
export function spansOf(range: { from: number; to: number; intervalMs: number }): {
  span: number;
  from: number;
  to: number;
}[] {
  const { from, to, intervalMs } = range;
  const days = intervalMs === DAY_MS ? Math.max(from, to - (to % DAY_MS)) : from;
  return [
    { span: DAY_MS, from, to: days },
    { span: HOUR_MS, from: days, to },
  ].filter((part) => part.from < part.to);
}

/**
 * The name of the group of a sum `s`, and the joins for it. Of a provider the facts that delivery keeps say, as JSON: the
 * provider, a blank and a day.
 */
export const GROUPS: Readonly<Record<StatsGroupBy | 'none', { column: string; joins: string }>> = {
  none: { column: "''", joins: '' },
  domain: { column: 'n.text', joins: 'JOIN name n ON n.id = s.domain_id' },
  'recipient-domain': { column: 's.name', joins: '' },
  provider: {
    column: "coalesce(substr(f.value, 2, {instr|strpos}(f.value, ' ') - 2), s.name)",
    joins: `LEFT JOIN egress_fact f ON f.kind = 'provider' AND f.key = s.name AND f.value LIKE '"_% %'`,
  },
  tag: { column: 's.name', joins: '' },
  'delivery-time': { column: 's.name', joins: '' },
};

/** Within which time a message `m` was delivered by its event `e`; null for other events. */
const TOOK = `CASE WHEN e.kind <> ${eventKindCode.of('delivered')} THEN NULL ${DELIVERY_TIMES_MS.map(
  (ms) => `WHEN e.at - coalesce(m.send_at, m.created_at) <= ${ms} THEN '${ms}'`,
).join(' ')} ELSE '' END`;

/**
 * Events `e` that the conditions find, counted by everything that a breakdown may need. `took`: of those that were delivered,
 * within which time. In PostgreSQL each is looked up: a plan that joins may read whole tables for a few events.
 */
export const counted = (conditions: string) => `SELECT e.domain_id, e.at - e.at % ${HOUR_MS} AS at, e.kind,
    d.sandbox IS NOT NULL AS sandbox, d.queue_id, m.tags, ${TOOK} AS took, count(*) AS n
  FROM {event e NOT INDEXED CROSS JOIN delivery d ON d.id = e.delivery_id CROSS JOIN message m ON m.seq = e.message_seq
    WHERE ${conditions}|(SELECT domain_id, kind, at, message_seq, delivery_id FROM event e WHERE ${conditions} OFFSET 0) e
    CROSS JOIN LATERAL (SELECT sandbox, queue_id FROM delivery WHERE id = e.delivery_id OFFSET 0) d
    CROSS JOIN LATERAL (SELECT tags, send_at, created_at FROM message WHERE seq = e.message_seq OFFSET 0) m}
  GROUP BY 1, 2, 3, 4, 5, 6, 7`;

/** Between two seqs (?1, ?2). Tests check that its plan reads no others. */
export const COUNTED_SQL = counted('e.seq > ?1 AND e.seq <= ?2');

/** The name under which what was counted is found, and the joins for it. */
const NAMES: Readonly<Record<Breakdown, { column: string; joins: string }>> = {
  none: { column: "''", joins: '' },
  'recipient-domain': {
    column: 'q.recipient_domain',
    joins: '{CROSS|} JOIN dest_queue q ON q.id = c.queue_id',
  },
  // A message without tags counts under the empty tag, so that the groups add up to the total.
  tag: {
    column: `CASE WHEN t.value {GLOB '*[^ ]@[^ ]*'|~ '[^ ]@[^ ]'} THEN '${UNNAMED}' ELSE t.value END`,
    joins: `CROSS JOIN {json_each(coalesce(c.tags, '[""]')) t|LATERAL unnest(coalesce(c.tags, ARRAY[''])) t (value)}`,
  },
  'delivery-time': { column: 'c.took', joins: 'WHERE c.took IS NOT NULL' },
};

/** What is in `counted`, by the name that a breakdown gives it. */
export function named(breakdown: Breakdown): string {
  const { column, joins } = NAMES[breakdown];
  return `SELECT {|CAST(}${BREAKDOWNS[breakdown]}{| AS int2)} AS breakdown, c.domain_id, c.at, c.kind, c.sandbox, ${column} AS name, c.n
    FROM counted c ${joins}`;
}

/** The seq of the last event that is in the sums. */
export const SUMMED_UP_TO = `coalesce((SELECT value{|::int8} FROM meta WHERE name = '${SUMMED}'), 0)`;
