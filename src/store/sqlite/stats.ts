/**
 * Counts of events per interval, kind and group, read from the event log: one range of the (domain, kind, at) index per
 * sender domain and kind, in pieces, so that other reads are answered in between. If the range contains more events
 * than it may read, it says so; it finds that out from the index before it reads anything.
 */
import type { EventKind } from '../../model/event.ts';
import { eventKindCode } from '../shared/codes.ts';
import { DELIVERY_TIMES_MS, type EventPlace, type StatsCount, type StatsGroupBy } from '../topics/events.ts';
import type { Connection } from './engine/connection.ts';
import { type ParamsOf, readInSteps, type Steps } from './engine/operation.ts';
import { findNameIds } from './engine/session.ts';
import { everyDomain } from './events.ts';

/** The column that names the group of an event, and the joins for it; `d` is the recipient's row. */
const GROUPS: Readonly<Record<StatsGroupBy | 'none', { column: string; joins: string }>> = {
  none: { column: "''", joins: '' },
  domain: { column: 'n.text', joins: 'CROSS JOIN name n ON n.id = e.domain_id' },
  'recipient-domain': {
    column: 'q.recipient_domain',
    joins: 'CROSS JOIN dest_queue q ON q.id = d.queue_id',
  },
  // Of the facts that delivery keeps, as JSON: the provider, a blank and a day.
  provider: {
    column: `coalesce(substr(f.value, 2, instr(f.value, ' ') - 2), q.recipient_domain)`,
    joins: `CROSS JOIN dest_queue q ON q.id = d.queue_id
      LEFT JOIN egress_fact f ON f.kind = 'provider' AND f.key = q.recipient_domain AND f.value LIKE '"_% %'`,
  },
  // A message without tags counts under the empty tag, so that the groups add up to the total.
  tag: {
    column: 't.value',
    joins: `CROSS JOIN message m ON m.seq = e.message_seq CROSS JOIN json_each(coalesce(m.tags, '[""]')) t`,
  },
  'delivery-time': {
    column: `CASE ${DELIVERY_TIMES_MS.map((ms) => `WHEN e.at - coalesce(m.send_at, m.created_at) <= ${ms} THEN '${ms}'`).join(' ')} ELSE '' END`,
    joins: 'CROSS JOIN message m ON m.seq = e.message_seq',
  },
};

/** Events read in one step; grouped by tag this takes some 10 ms. */
const EVENTS_PER_STEP = 5_000;
/** Events skipped in the index in one step, and ranges of it that are started. */
const PLACES_PER_STEP = 20_000;
const RANGES_PER_STEP = 500;
/** Groups examined in one step when the largest are chosen. */
const GROUPS_PER_STEP = 20_000;

const BEHIND = `FROM event e INDEXED BY event_kind
  WHERE e.domain_id = ? AND e.kind = ? AND (e.at, e.seq) > (?, ?) AND e.at < ?`;

/** The statement that counts one piece: from one position to another. Tests check that its plan uses the index. */
export function countPieceSql(groupBy: StatsGroupBy | 'none'): string {
  const { column, joins } = GROUPS[groupBy];
  return `SELECT e.at / CAST(? AS INTEGER) AS bucket, ${column} AS name, count(*) AS n
    FROM event e INDEXED BY event_kind CROSS JOIN delivery d ON d.id = e.delivery_id ${joins}
    WHERE e.domain_id = ? AND e.kind = ? AND (e.at, e.seq) > (?, ?) AND (e.at, e.seq) <= (?, ?)
      AND (d.sandbox IS NULL OR ?)
    GROUP BY bucket, name`;
}

/** Events of one domain and kind between two positions of the index, `n` of them. */
interface Piece {
  domainId: number;
  kind: EventKind;
  after: EventPlace;
  last: EventPlace;
  n: number;
}

interface Group {
  name: string;
  total: number;
  counts: StatsCount[];
}

export const stats = readInSteps('stats', function* (db, params) {
  const domainIds = findNameIds(db, params.domains) ?? everyDomain(db, Number.MAX_SAFE_INTEGER);
  const pieces = yield* piecesOf(db, params, domainIds);
  if (pieces === null) return { kind: 'too-many', of: 'events' };
  const groups = new Map<string, Group>();
  const all = new Map<string, StatsCount>();
  const sql = countPieceSql(params.groupBy ?? 'none');
  let read = 0;
  /** Counts of groups; an event counts under each of its tags. */
  let held = 0;
  for (const { domainId, kind, after, last, n } of pieces) {
    if (read > 0 && read + n > EVENTS_PER_STEP) {
      yield;
      read = 0;
    }
    read += n;
    const rows = db.all<{ bucket: number; name: string; n: number }>(
      sql,
      params.intervalMs,
      domainId,
      eventKindCode.of(kind),
      after.at,
      after.seq,
      last.at,
      last.seq,
      params.includeSandbox ? 1 : 0,
    );
    for (const row of rows) add(groupOf(row.name), { at: row.bucket * params.intervalMs, kind, n: row.n });
    if (groups.size > params.maxCountedGroups || held > params.maxEvents)
      return { kind: 'too-many', of: 'groups' };
  }
  const largest = yield* largestOf(groups, params.maxGroups);
  const named = largest.map(({ name, counts }) => ({ name, counts: merged(counts) }));
  for (const { counts } of named) for (const count of counts) addTo(all, { ...count, n: -count.n });
  const rest = inTime([...all.values()].filter(({ n }) => n > 0));
  return { kind: 'counted', groups: named, rest: rest.length === 0 ? null : rest };

  function groupOf(name: string): Group {
    let group = groups.get(name);
    if (group === undefined) {
      group = { name, total: 0, counts: [] };
      groups.set(name, group);
    }
    return group;
  }

  function add(group: Group, count: StatsCount): void {
    addTo(all, count);
    group.total += count.n;
    const before = group.counts.at(-1);
    // The next piece of the same range often continues in the same interval.
    if (before?.at === count.at && before.kind === count.kind) before.n += count.n;
    else {
      group.counts.push(count);
      held += 1;
    }
  }
});

/** The range cut into pieces that one step can read; null if it contains too many events. Uses only the index. */
function* piecesOf(
  db: Connection,
  params: ParamsOf<'stats'>,
  domainIds: readonly number[],
): Steps<Piece[] | null> {
  const pieces: Piece[] = [];
  let left = params.maxEvents;
  let passed = 0;
  for (const domainId of domainIds) {
    for (const kind of params.kinds) {
      let after: EventPlace | null = { at: params.from, seq: 0 };
      while (after !== null) {
        const piece = nextPiece(db, { domainId, kind, after }, params.to);
        if (piece !== null) pieces.push(piece);
        after = piece?.n === EVENTS_PER_STEP ? piece.last : null;
        left -= piece?.n ?? 0;
        if (left < 0) return null;
        passed += (piece?.n ?? 0) + PLACES_PER_STEP / RANGES_PER_STEP;
        if (passed < PLACES_PER_STEP) continue;
        passed = 0;
        yield;
      }
    }
  }
  return pieces;
}

function nextPiece(db: Connection, from: Omit<Piece, 'last' | 'n'>, to: number): Piece | null {
  const range = [from.domainId, eventKindCode.of(from.kind), from.after.at, from.after.seq, to];
  const place = `SELECT e.at AS at, e.seq AS seq ${BEHIND} ORDER BY`;
  const full = db.get<EventPlace>(`${place} e.at, e.seq LIMIT 1 OFFSET ?`, ...range, EVENTS_PER_STEP - 1);
  if (full !== undefined) return { ...from, last: full, n: EVENTS_PER_STEP };
  const last = db.get<EventPlace>(`${place} e.at DESC, e.seq DESC LIMIT 1`, ...range);
  if (last === undefined) return null;
  const n = db.get<{ n: number }>(`SELECT count(*) AS n ${BEHIND}`, ...range)?.n ?? 0;
  return { ...from, last, n };
}

/** The groups with the most events, largest first. */
function* largestOf(groups: ReadonlyMap<string, Group>, limit: number): Steps<Group[]> {
  const order = (a: Group, b: Group) => b.total - a.total || (a.name < b.name ? -1 : 1);
  let largest: Group[] = [];
  let looked = 0;
  for (const group of groups.values()) {
    largest.push(group);
    looked += 1;
    if (largest.length >= 20 * limit + 20) largest = largest.sort(order).slice(0, limit);
    if (looked % GROUPS_PER_STEP === 0) yield;
  }
  return largest.sort(order).slice(0, limit);
}

function addTo(sums: Map<string, StatsCount>, count: StatsCount): void {
  const key = `${count.at} ${count.kind}`;
  const known = sums.get(key);
  if (known === undefined) sums.set(key, { ...count });
  else known.n += count.n;
}

/** One count per interval and kind, by time: several domains may have their own. */
function merged(counts: readonly StatsCount[]): StatsCount[] {
  const sums = new Map<string, StatsCount>();
  for (const count of counts) addTo(sums, count);
  return inTime([...sums.values()]);
}

function inTime(counts: StatsCount[]): StatsCount[] {
  return counts.sort((a, b) => a.at - b.at);
}
