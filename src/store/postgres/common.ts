/** The operations that both engines have in common (`../shared/operations`), as operations of this engine. */
import type { SharedRead, SharedWrite } from '../shared/operation.ts';
import { SHARED } from '../shared/operations/all.ts';
import { finished } from '../shared/work.ts';
import type { Db } from './engine/db.ts';
import type { Read, Write } from './engine/operation.ts';
import type { Session, Shared } from './engine/session.ts';
import { sharedDb } from './engine/shared-db.ts';
import { sharedSession } from './shared-session.ts';

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
      : (db: Db, params: never, store: Shared) => finished(shared(sharedDb(db, store), params));
  const { operation, kind, options } = shared;
  return Object.assign(run, { operation, kind, options });
}
