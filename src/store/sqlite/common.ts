/** The operations that both engines have in common (`../shared/operations`), as operations of this engine. */
import type { Db, SharedRead, Session as SharedSession, SharedWrite } from '../shared/operation.ts';
import { SHARED } from '../shared/operations/all.ts';
import { done, resultOf } from '../shared/work.ts';
import { beginResume } from './call-portions.ts';
import type { Connection } from './engine/connection.ts';
import { createSharedFilter } from './engine/filter.ts';
import { mergedRows } from './engine/merged.ts';
import type { Read, Write } from './engine/operation.ts';
import { findNameIds, type Session } from './engine/session.ts';
import { appendEvent } from './events.ts';

/** A connection as shared work needs it. */
export function sharedDb(db: Connection): Db {
  return {
    engine: 'sqlite',
    get: <Found>(sql: string, ...values: Values) => done(db.get<Found>(sql, ...values)),
    all: <Found>(sql: string, ...values: Values) => done(db.all<Found>(sql, ...values)),
    run: (sql, ...values) => done(db.run(sql, ...values).changes),
    insert: (table, row, conflict) => done(db.insert(table, row, conflict).changes),
    insertId: (table, _, row) => done(db.insert(table, row).lastId),
    put: (table, key, row) => done(db.put(table, key, row).changes),
    filter: createSharedFilter,
    nameIds: (texts) => done(findNameIds(db, texts)),
    merged<Found>({ select, column, places, filter, order }: Ranges, limit: number) {
      const sql = `${select} WHERE ${places === undefined ? 'true' : `${column} = ?`}${filter.and()}`;
      const each =
        places === undefined ? [[]] : [...new Set<string | number>(places)].map((place) => [place]);
      const values = each.map((place) => [...place, ...filter.values()]);
      return done(mergedRows<Found>(db, { sql, values, order }, limit));
    },
  };
}

type Values = Parameters<Db['run']> extends [string, ...infer Rest] ? Rest : never;
type Ranges = Parameters<Db['merged']>[0];

function sharedSession(session: Session): SharedSession {
  const isLiving = (epoch: number) => done(!session.hasEnded(epoch));
  return {
    db: sharedDb(session.db),
    nameId: (text) => done(session.nameId(text)),
    appendEvent: (event, subject) => done(appendEvent(session, event, subject)),
    isLiving,
    staysLiving: isLiving,
    hooksChanged: session.hooksChanged,
    beginResume: (resume) => done(beginResume(session.db, resume)),
  };
}

type Own<One> =
  One extends SharedWrite<infer Name, infer How>
    ? Write<Name, How>
    : One extends SharedRead<infer Name, infer How>
      ? Read<Name, How>
      : never;

/** By name. */
export const COMMON = Object.fromEntries(
  Object.entries(SHARED).map(([name, one]) => [name, own(one as SharedWrite<never> | SharedRead<never>)]),
) as object as { readonly [Name in keyof typeof SHARED]: Own<(typeof SHARED)[Name]> };

function own(shared: SharedWrite<never> | SharedRead<never>) {
  const run =
    shared.kind === 'write'
      ? (session: Session, params: never) => resultOf(shared(sharedSession(session), params))
      : (db: Connection, params: never) => resultOf(shared(sharedDb(db), params));
  const { operation, kind, bound, options } = shared;
  return Object.assign(run, { operation, kind, bound, options });
}
