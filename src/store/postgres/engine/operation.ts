/**
 * How an operation of the Store is declared in this engine: its name, its options, and a function over a connection. A
 * write runs in one transaction, a read runs statement by statement. Its promises are in `../../topics/`; the name gives
 * the types of parameters and result. `../operations.ts` collects all operations.
 */
import type { OperationName, ParamsOf, ResultOf, TransactionOptions } from '../../shared/operation.ts';
import type { Lane } from './connections.ts';
import type { Db } from './db.ts';
import type { Session, Shared } from './session.ts';

interface WriteOptions extends TransactionOptions {
  /** Default: `cold`. */
  lane?: Lane;
}

interface ReadOptions {
  /** A list, or what may take long: it has a separate lane, in which sender domains take turns. */
  search?: true;
  /** Counts for acceptance, which may be long. */
  lane?: 'count';
}

export interface Write<Name extends OperationName> {
  (session: Session, params: ParamsOf<Name>): Promise<ResultOf<Name>>;
  operation: Name;
  kind: 'write';
  options: WriteOptions;
}

/** It sees every write that resolved before it was called. */
export interface Read<Name extends OperationName> {
  (db: Db, params: ParamsOf<Name>, shared: Shared): Promise<ResultOf<Name>>;
  operation: Name;
  kind: 'read';
  options: ReadOptions;
}

type RunWrite<Name extends OperationName> = (
  session: Session,
  params: ParamsOf<Name>,
) => Promise<ResultOf<Name>>;
type RunRead<Name extends OperationName> = (
  db: Db,
  params: ParamsOf<Name>,
  shared: Shared,
) => Promise<ResultOf<Name>>;

/** Takes the name, options if needed, and the function. */
export function write<Name extends OperationName>(
  operation: Name,
  ...rest: [RunWrite<Name>] | [WriteOptions, RunWrite<Name>]
): Write<Name> {
  const [options, run] = rest.length === 1 ? [{}, rest[0]] : rest;
  return Object.assign(run, { operation, kind: 'write' as const, options });
}

export function read<Name extends OperationName>(
  operation: Name,
  ...rest: [RunRead<Name>] | [ReadOptions, RunRead<Name>]
): Read<Name> {
  const [options, run] = rest.length === 1 ? [{}, rest[0]] : rest;
  return Object.assign(run, { operation, kind: 'read' as const, options });
}
