/** What operations that both engines have in common work on (`../../shared/operation.ts`), over a connection. */
import type { Db, Ranges } from '../../shared/operation.ts';
import type { ColumnValue } from '../../shared/record.ts';
import { done } from '../../shared/work.ts';
import type { Connection } from './connection.ts';
import { createSharedFilter } from './filter.ts';
import { mergedRows } from './merged.ts';
import { domainIdsIn, findNameIds, idBytes } from './session.ts';

/** A connection as shared work needs it. */
export function sharedDb(db: Connection): Db {
  return {
    engine: 'sqlite',
    get: <Found>(sql: string, ...values: ColumnValue[]) => done(db.get<Found>(sql, ...values)),
    all: <Found>(sql: string, ...values: ColumnValue[]) => done(db.all<Found>(sql, ...values)),
    run: (sql, ...values) => done(db.run(sql, ...values).changes),
    insert: (table, row, conflict) => done(db.insert(table, row, conflict).changes),
    insertId: (table, _, row) => done(db.insert(table, row).lastId),
    put: (table, key, row) => done(db.put(table, key, row).changes),
    storedId: idBytes,
    safeEventSeq: () => done(Number.MAX_SAFE_INTEGER),
    safeCaptureSeq: () => done(Number.MAX_SAFE_INTEGER),
    filter: createSharedFilter,
    rows(name, columns) {
      const lists = Object.values(columns).flatMap((column) => Object.values<readonly unknown[]>(column));
      const names = Object.keys(columns).map((column, i) => `value ->> ${i} AS ${column}`);
      return {
        from: `(SELECT key AS place, ${names.join(', ')} FROM json_each(?)) ${name}`,
        values: [JSON.stringify(lists[0]?.map((_, row) => lists.map((list) => storable(list[row]))))],
      };
    },
    nameIds: (texts) => done(findNameIds(db, texts)),
    domainIdsIn: (table) => done(domainIdsIn(db, table)),
    merged<Found>({ select, column, places, filter, order, along }: Ranges, limit: number, offset?: number) {
      const part = along?.fixed.map(({ column, value }) => ` AND ${column} = ${value}`).join('');
      const between = along === undefined ? '' : `${part} AND ${along.number} > ? AND ${along.number} < ?`;
      const sql = `${select} WHERE ${places === undefined ? 'true' : `${column} = ?`}${between}${filter.and()}`;
      const bound =
        along === undefined ? [] : [...along.fixed.map((one) => one.bound), along.above, along.below];
      const each =
        places === undefined ? [[]] : [...new Set<string | number>(places)].map((place) => [place]);
      const values = each.map((place) => [...place, ...bound, ...filter.values()]);
      return done(mergedRows<Found>(db, { sql, values, order }, limit, offset));
    },
  };
}

/** In JSON a text would end at NUL, and a lone surrogate is none. As in PostgreSQL, both are replaced. */
function storable(value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\uFFFD') : value;
}
