/** What operations that both engines have in common work on (`../../shared/operation.ts`), over a connection. */
import type { Ranges, Db as SharedDb } from '../../shared/operation.ts';
import type { ColumnValue } from '../../shared/record.ts';
import { awaited } from '../../shared/work.ts';
import { int2s, int8s, texts } from './arrays.ts';
import type { Db, Value } from './db.ts';
import { domainIdsIn } from './domains-in.ts';
import { createSharedFilter } from './filter.ts';
import { alongIndex, mergedRows } from './merged.ts';
import { findNameIds, isId, type Shared } from './session.ts';

/** A connection as shared work needs it. */
export function sharedDb(db: Db, { horizon, captureHorizon }: Horizons): SharedDb {
  return {
    engine: 'postgres',
    get: <Found>(sql: string, ...values: ColumnValue[]) => awaited(db.get<Found>(sql, ...values)),
    all: <Found>(sql: string, ...values: ColumnValue[]) => awaited(db.all<Found>(sql, ...values)),
    run: (sql, ...values) => awaited(db.run(sql, ...values)),
    insert: (table, row, conflict) => awaited(db.insert(table, valuesOf(row), conflict)),
    insertId: (table, column, row) => awaited(db.insertId(table, column, valuesOf(row))),
    put: (table, key, row) => awaited(db.put(table, key, valuesOf(row))),
    storedId: (id) => (isId(id) ? id : null),
    safeEventSeq: () => awaited(horizon.safe()),
    safeCaptureSeq: () => awaited(captureHorizon.safe()),
    filter: createSharedFilter,
    rows(name, columns) {
      const given = Object.values(columns);
      const arrays = given.map((column) => `?::${Object.keys(column)[0]}[]`).join(', ');
      const names = [...Object.keys(columns), 'place'].join(', ');
      return {
        from: `unnest(${arrays}) WITH ORDINALITY ${name} (${names})`,
        values: given.map((column) =>
          'text' in column ? texts(column.text) : 'int2' in column ? int2s(column.int2) : int8s(column.int8),
        ),
      };
    },
    nameIds: (texts) => awaited(findNameIds(db, texts)),
    domainIdsIn: (table) => awaited(domainIdsIn(db, table)),
    merged<Found>({ select, column, places, filter, order, along }: Ranges, limit: number, offset?: number) {
      const range = { values: filter.values(), places, order };
      if (along === undefined) {
        const sql = `${select} WHERE ${places === undefined ? 'true' : `${column} = g.place`}${filter.and()}`;
        return awaited(mergedRows<Found>(db, { ...range, sql }, limit, offset));
      }
      const { fixed, number, above, below } = along;
      const columns = fixed.map((one) => [one.column, one.value] as const);
      const index = alongIndex(
        [...(places === undefined ? [] : [[column, 'g.place'] as const]), ...columns],
        number,
      );
      const sql = `${select} WHERE ${index.condition}${filter.and()}`;
      const bound = fixed.map((one) => one.bound);
      const values = [...bound, above, ...bound, below, ...range.values];
      const orderWithin = index.order(order?.endsWith('DESC') === true ? 'DESC' : 'ASC');
      return awaited(mergedRows<Found>(db, { ...range, sql, values, orderWithin }, limit, offset));
    },
  };
}

type Horizons = Pick<Shared, 'horizon' | 'captureHorizon'>;

const valuesOf = (row: object) => row as Readonly<Record<string, Value>>;
