/** The sums of events by which statistics are answered: adding them up in the order of their seq, and removing old ones. */
import {
  BREAKDOWNS,
  type Breakdown,
  COUNTED_SQL,
  DAY_MS,
  HOUR_MS,
  named,
  SUMMED,
  SUMMED_UP_TO,
} from '../event-sums.ts';
import { write } from '../operation.ts';

const ADD_SQL = `WITH counted AS MATERIALIZED (${COUNTED_SQL})
  INSERT INTO event_sum (domain_id, breakdown, span, at, kind, sandbox, name, n)
  SELECT c.domain_id, c.breakdown, s.span, c.at - c.at % s.span, c.kind, c.sandbox, c.name, sum(c.n)
  FROM (${(Object.keys(BREAKDOWNS) as Breakdown[]).map(named).join(' UNION ALL ')}) c
    CROSS JOIN (SELECT ${HOUR_MS}{|::int8} AS span UNION ALL SELECT ${DAY_MS}) s
  WHERE true GROUP BY 1, 2, 3, 4, 5, 6, 7
  ON CONFLICT (domain_id, breakdown, span, at, kind, sandbox, name) DO UPDATE SET n = event_sum.n + excluded.n`;

export const sumEvents = write(
  'sumEvents',
  'measured',
  { portion: true, serial: 'sums' },
  function* ({ db }, { upTo, limit }) {
    const next = yield* db.get<{ after: number; seq: number | null; n: number }>(
      `SELECT ${SUMMED_UP_TO} AS after, max(seq) AS seq, count(*) AS n FROM (
         SELECT seq FROM event WHERE seq > ${SUMMED_UP_TO} AND seq <= ? ORDER BY seq LIMIT ?) e`,
      upTo,
      limit,
    );
    if (next === undefined || next.seq === null) return false;
    yield* db.run(ADD_SQL, next.after, next.seq);
    yield* db.put('meta', 'name', { name: SUMMED, value: next.seq });
    return next.n === limit;
  },
);

const KEY = ['domain_id', 'breakdown', 'span', 'at', 'kind', 'sandbox', 'name'];
const of = (table: string) => KEY.map((column) => `${table}.${column}`).join(', ');

/** By breakdown and span, each a range of the sums. */
const PURGE_SQL = `WITH old AS MATERIALIZED (${Object.values(BREAKDOWNS)
  .flatMap((breakdown) =>
    [HOUR_MS, DAY_MS].map(
      (span) => `SELECT * FROM (SELECT ${KEY.join(', ')} FROM event_sum
        WHERE domain_id = ?1 AND breakdown = ${breakdown} AND span = ${span} AND at <= ?2{|::int8} - ${span}
        ORDER BY at, kind, sandbox, name LIMIT ?3) o`,
    ),
  )
  .join(' UNION ALL ')} LIMIT ?3)
  DELETE FROM event_sum {WHERE (${KEY.join(', ')}) IN (SELECT * FROM old)|AS s USING old WHERE (${of('s')}) = (${of('old')})}`;

export const purgeSums = write('purgeSums', 'as asked', { portion: true }, function* ({ db }, params) {
  const [domainId] = (yield* db.nameIds([params.domain])) ?? [];
  return domainId === undefined ? 0 : yield* db.run(PURGE_SQL, domainId, params.before, params.limit);
});
