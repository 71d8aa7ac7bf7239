/** The operations that both engines have in common (`../shared/operations`), as operations of this engine. */
import type { SharedRead, SharedWrite } from '../shared/operation.ts';
import { SHARED } from '../shared/operations/all.ts';
import { resultOf } from '../shared/work.ts';
import type { Connection } from './engine/connection.ts';
import type { Read, Write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';
import { sharedDb } from './engine/shared-db.ts';
import { sharedSession } from './shared-session.ts';

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
