/** The operations that both engines have in common (`../shared/operations`), as operations of this engine. */
import type {
  Db as SharedDb,
  SharedRead,
  Session as SharedSession,
  SharedWrite,
} from '../shared/operation.ts';
import { SHARED } from '../shared/operations/all.ts';
import { awaited, finished } from '../shared/work.ts';
import { beginResume } from './call-portions.ts';
import type { Db, Value } from './engine/db.ts';
import { createSharedFilter } from './engine/filter.ts';
import { mergedRows } from './engine/merged.ts';
import type { Read, Write } from './engine/operation.ts';
import { findNameIds, type Session } from './engine/session.ts';
import { appendEvent } from './events.ts';
import { isLiving, staysLiving } from './nodes.ts';

/** A connection as shared work needs it. */
export function sharedDb(db: Db): SharedDb {
  return {
    engine: 'postgres',
    get: <Found>(sql: string, ...values: Values) => awaited(db.get<Found>(sql, ...values)),
    all: <Found>(sql: string, ...values: Values) => awaited(db.all<Found>(sql, ...values)),
    run: (sql, ...values) => awaited(db.run(sql, ...values)),
    insert: (table, row, conflict) => awaited(db.insert(table, valuesOf(row), conflict)),
    insertId: (table, column, row) => awaited(db.insertId(table, column, valuesOf(row))),
    put: (table, key, row) => awaited(db.put(table, key, valuesOf(row))),
    filter: createSharedFilter,
    nameIds: (texts) => awaited(findNameIds(db, texts)),
    merged<Found>({ select, column, places, filter, order }: Ranges, limit: number) {
      const sql = `${select} WHERE ${places === undefined ? 'true' : `${column} = g.place`}${filter.and()}`;
      return awaited(mergedRows<Found>(db, { sql, values: filter.values(), places, order }, limit));
    },
  };
}

type Values = Parameters<SharedDb['run']> extends [string, ...infer Rest] ? Rest : never;
type Ranges = Parameters<SharedDb['merged']>[0];

const valuesOf = (row: object) => row as Readonly<Record<string, Value>>;

function sharedSession(session: Session): SharedSession {
  const { db } = session;
  return {
    db: sharedDb(db),
    nameId: (text) => awaited(session.nameId(text)),
    appendEvent: (event, subject) => awaited(appendEvent(session, event, subject)),
    isLiving: (epoch) => awaited(isLiving(db, epoch)),
    staysLiving: (epoch) => awaited(staysLiving(db, epoch)),
    hooksChanged() {},
    beginResume: (resume) => awaited(beginResume(db, resume)),
  };
}

type Own<One> =
  One extends SharedWrite<infer Name> ? Write<Name> : One extends SharedRead<infer Name> ? Read<Name> : never;

/** By name. */
export const COMMON = Object.fromEntries(
  Object.entries(SHARED).map(([name, one]) => [name, own(one as SharedWrite<never> | SharedRead<never>)]),
) as object as { readonly [Name in keyof typeof SHARED]: Own<(typeof SHARED)[Name]> };

function own(shared: SharedWrite<never> | SharedRead<never>) {
  const run =
    shared.kind === 'write'
      ? (session: Session, params: never) => finished(shared(sharedSession(session), params))
      : (db: Db, params: never) => finished(shared(sharedDb(db), params));
  const { operation, kind, options } = shared;
  return Object.assign(run, { operation, kind, options });
}
