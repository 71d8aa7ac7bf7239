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
 * The name of the group of a sum `s`, and the joins for it. `position`: the function that finds a text in another one. Of a
 * provider the facts that delivery keeps say, as JSON: the provider, a blank and a day.
 */
export function groupColumns(
  position: 'instr' | 'strpos',
): Readonly<Record<StatsGroupBy | 'none', { column: string; joins: string }>> {
  const stored = { column: 's.name', joins: '' };
  return {
    none: { column: "''", joins: '' },
    domain: { column: 'n.text', joins: 'JOIN name n ON n.id = s.domain_id' },
    'recipient-domain': stored,
    provider: {
      column: `coalesce(substr(f.value, 2, ${position}(f.value, ' ') - 2), s.name)`,
      joins: `LEFT JOIN egress_fact f ON f.kind = 'provider' AND f.key = s.name AND f.value LIKE '"_% %'`,
    },
    tag: stored,
    'delivery-time': stored,
  };
}

/** Within which time a message `m` was delivered by its event `e`; null for other events. */
export const TOOK = `CASE WHEN e.kind <> ${eventKindCode.of('delivered')} THEN NULL ${DELIVERY_TIMES_MS.map(
  (ms) => `WHEN e.at - coalesce(m.send_at, m.created_at) <= ${ms} THEN '${ms}'`,
).join(' ')} ELSE '' END`;
