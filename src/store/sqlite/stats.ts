/**
 * Counts of events per interval, kind and group. A background job adds the events up by hour and by day in the order of their
 * seq (`sumEvents`); an answer is made of these sums and of the events behind them. A long range is read in steps, so that
 * other reads are answered in between. Each step sees a later state, so what may be added to meanwhile is read by the last
 * one: the hours of the newest event and of the first one that is not in the sums, those after them, and the events that are
 * not in the sums.
 */
import { eventKindCode } from '../shared/codes.ts';
import {
  BREAKDOWN_OF,
  BREAKDOWNS,
  COUNTED_SQL,
  GROUPS,
  HOUR_MS,
  named,
  SUMMED_UP_TO,
  spansOf,
  UNNAMED,
} from '../shared/event-sums.ts';
import type { ParamsOf } from '../shared/operation.ts';
import type { StatsCount } from '../topics/stats.ts';
import type { Connection } from './engine/connection.ts';
import { namesIn } from './engine/names-in.ts';
import { read, readInSteps, type Steps } from './engine/operation.ts';
import { domainIdsIn, findNameIds } from './engine/session.ts';

/** Sums read in one step. */
const ROWS_PER_STEP = 5_000;
/** Ranges of the sums that one step starts. */
const RANGES_PER_STEP = 500;
/** Groups examined in one step when the largest are chosen. */
const GROUPS_PER_STEP = 20_000;

export const countSummed = read('countSummed', 'by key', (db) => {
  const { first, last } = db.get<{ first: number | null; last: number | null }>(
    'SELECT (SELECT min(seq) FROM event) AS first, (SELECT max(seq) FROM event) AS last',
  ) ?? { first: null, last: null };
  if (first === null || last === null) return { summed: 0, events: 0 };
  return { summed: Math.max(0, summedUpTo(db) - first + 1), events: last - first + 1 };
});

function summedUpTo(db: Connection): number {
  return db.get<{ seq: number }>(`SELECT ${SUMMED_UP_TO} AS seq`)?.seq ?? 0;
}

export const domainsWithSums = readInSteps('domainsWithSums', (db) => namesIn(db, 'event_sum'));

interface SumRow {
  bucket: number;
  kind: number;
  name: string;
  n: number;
}

/** A position within a range of the sums. */
interface SumPlace {
  at: number;
  kind: number;
  sandbox: number;
  stored: string;
}

/** How many events, by interval and kind in one number: several domains may have the same. */
type Counts = Map<number, number>;

const KINDS_AT_MOST = 256;

interface Group {
  name: string;
  total: number;
  counts: Counts;
}

export const stats = readInSteps('stats', function* (db, params) {
  const { from, to, intervalMs } = params;
  const groupBy = params.groupBy ?? 'none';
  const behind = unsummed(db, params.maxUnsummed + 1);
  if (behind.n > params.maxUnsummed) return { kind: 'too-many', of: 'unsummed' };
  const asked = findNameIds(db, params.domains);
  const groups = new Map<string, Group>();
  const all: Counts = new Map();
  /** Counts of groups; an event counts under each of its tags. */
  let held = 0;
  const isTooMany = () => groups.size > params.maxCountedGroups || held > params.maxCounts;
  const readSums = sumReader(db, params);
  const settled = Math.min(to, Math.max(from, settledBefore(db, behind.from)));
  let read = 0;
  for (const domainId of asked ?? domainIdsIn(db, 'event_sum')) {
    for (const part of spansOf({ from, to: settled, intervalMs })) {
      for (const rows of readSums(domainId, part)) {
        rows.forEach(add);
        if (isTooMany()) return { kind: 'too-many', of: 'groups' };
        read += rows.length + ROWS_PER_STEP / RANGES_PER_STEP;
        if (read < ROWS_PER_STEP) continue;
        read = 0;
        yield;
      }
    }
  }
  for (const domainId of asked ?? domainIdsIn(db, 'event_sum')) {
    for (const rows of readSums(domainId, { span: HOUR_MS, from: settled, to })) rows.forEach(add);
  }
  readUnsummed(db, params, asked).forEach(add);
  if (isTooMany()) return { kind: 'too-many', of: 'groups' };
  if (groupBy === 'tag') groups.delete(UNNAMED);
  const largest = yield* largestOf(groups, params.maxGroups);
  for (const { counts } of largest) for (const [place, n] of counts) addTo(all, place, -n);
  const rest = inTime(all, intervalMs);
  return {
    kind: 'counted',
    groups: largest.map(({ name, counts }) => ({ name, counts: inTime(counts, intervalMs) })),
    rest: rest.length === 0 ? null : rest,
  };

  function add({ bucket, kind, name, n }: SumRow): void {
    const place = bucket * KINDS_AT_MOST + kind;
    addTo(all, place, n);
    let group = groups.get(name);
    if (group === undefined) {
      group = { name, total: 0, counts: new Map() };
      groups.set(name, group);
    }
    group.total += n;
    held -= group.counts.size;
    addTo(group.counts, place, n);
    held += group.counts.size;
  }
});

/** Events that are not in the sums, up to a limit: how many, and when the first of them happened. */
function unsummed(db: Connection, limit: number): { n: number; from: number | null } {
  const sql =
    'SELECT count(*) AS n, min(at) AS "from" FROM (SELECT at FROM event WHERE seq > ? ORDER BY seq LIMIT ?)';
  return db.get<{ n: number; from: number | null }>(sql, summedUpTo(db), limit) ?? { n: 0, from: null };
}

/** Hours that ended before this are added to no more, while events are stored within an hour. */
function settledBefore(db: Connection, firstUnsummed: number | null): number {
  const last = db.get<{ at: number }>('SELECT at FROM event ORDER BY seq DESC LIMIT 1')?.at ?? 0;
  const at = Math.min(last - HOUR_MS, firstUnsummed ?? last);
  return at - (at % HOUR_MS);
}

/** Reads a range of the sums of one domain, some thousand at once. */
function sumReader(db: Connection, params: ParamsOf<'stats'>) {
  const groupBy = params.groupBy ?? 'none';
  const { column, joins } = GROUPS[groupBy];
  const sql = `SELECT s.at / CAST(? AS INTEGER) AS bucket, s.at, s.kind, s.sandbox, s.name AS stored, ${column} AS name, s.n
    FROM event_sum s ${joins}
    WHERE s.domain_id = ? AND s.breakdown = ${BREAKDOWNS[BREAKDOWN_OF[groupBy]]} AND s.span = ?
      AND (s.at, s.kind, s.sandbox, s.name) > (?, ?, ?, ?) AND s.at < ? ${MATCHING}
    ORDER BY s.at, s.kind, s.sandbox, s.name LIMIT ${ROWS_PER_STEP}`;
  return function* (domainId: number, { span, from, to }: ReturnType<typeof spansOf>[number]) {
    let place: SumPlace | undefined = { at: from, kind: -1, sandbox: -1, stored: '' };
    while (place !== undefined) {
      const { at, kind, sandbox, stored }: SumPlace = place;
      const rows: (SumRow & SumPlace)[] = db.all(
        sql,
        ...[params.intervalMs, domainId, span, at, kind, sandbox, stored, to],
        ...matchingValues(params),
      );
      yield rows;
      place = rows.length < ROWS_PER_STEP ? undefined : rows.at(-1);
    }
  };
}

function readUnsummed(
  db: Connection,
  params: ParamsOf<'stats'>,
  domainIds: readonly number[] | undefined,
): SumRow[] {
  const groupBy = params.groupBy ?? 'none';
  const { column, joins } = GROUPS[groupBy];
  return db.all<SumRow>(
    `WITH counted AS MATERIALIZED (${COUNTED_SQL})
     SELECT s.at / CAST(? AS INTEGER) AS bucket, s.kind, ${column} AS name, s.n
     FROM (${named(BREAKDOWN_OF[groupBy])}) s ${joins}
     WHERE s.at >= ? AND s.at < ? ${MATCHING}
       ${domainIds === undefined ? '' : 'AND s.domain_id IN (SELECT value FROM json_each(?))'}
     ORDER BY s.at`,
    ...[summedUpTo(db), Number.MAX_SAFE_INTEGER, params.intervalMs, params.from, params.to],
    ...matchingValues(params),
    ...(domainIds === undefined ? [] : [JSON.stringify(domainIds)]),
  );
}

/** Of the kinds and the sandbox that are asked for. */
const MATCHING = 'AND s.kind IN (SELECT value FROM json_each(?)) AND s.sandbox <= ?';

function matchingValues({ kinds, includeSandbox }: ParamsOf<'stats'>): [string, number] {
  return [JSON.stringify(kinds.map(eventKindCode.of)), includeSandbox ? 1 : 0];
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

function addTo(counts: Counts, place: number, n: number): void {
  counts.set(place, (counts.get(place) ?? 0) + n);
}

function inTime(counts: Counts, intervalMs: number): StatsCount[] {
  return [...counts]
    .filter(([, n]) => n > 0)
    .sort(([a], [b]) => a - b)
    .map(([place, n]) => ({
      at: Math.floor(place / KINDS_AT_MOST) * intervalMs,
      kind: eventKindCode.word(place % KINDS_AT_MOST),
      n,
    }));
}
