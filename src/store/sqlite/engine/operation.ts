/**
 * How an operation of the Store is declared in this engine: its name, its options for the commit or reader, and a
 * synchronous function that the thread runs inside a transaction. Its promises are in `../../topics/`; the name gives
 * the types of parameters and result. `../operations.ts` collects all operations.
 */
import type {
  Bound,
  CommitOptions,
  Count,
  OperationName,
  ParamsOf,
  ResultOf,
} from '../../shared/operation.ts';
import type { Connection } from './connection.ts';
import type { Session } from './session.ts';

interface ReadOptions {
  /** May take long: no other read waits behind it. */
  search?: true;
}

/** A read that takes long, in steps of a few milliseconds, between which other reads are answered. */
export type Steps<Result> = Generator<void, Result, void>;

type Run<Name extends OperationName, On> = (on: On, params: ParamsOf<Name>) => ResultOf<Name>;
type RunInSteps<Name extends OperationName> = (
  on: Connection,
  params: ParamsOf<Name>,
) => Steps<ResultOf<Name>>;

/** An operation that changes something; they run in the writer thread, in order. */
export interface Write<Name extends OperationName, How extends Bound = Bound> extends Run<Name, Session> {
  operation: Name;
  kind: 'write';
  bound: How;
  options: CommitOptions<ParamsOf<Name>>;
}

/** One that only reads; it sees every write that resolved before it was called. */
export interface Read<Name extends OperationName, How extends Bound = Bound> extends Run<Name, Connection> {
  operation: Name;
  kind: 'read';
  bound: How;
  options: ReadOptions;
}

/** One that reads much. */
export interface LongRead<Name extends OperationName, How extends Bound = Bound> extends RunInSteps<Name> {
  operation: Name;
  kind: 'read';
  bound: How;
  options: ReadOptions;
}

/** Takes the name, the reason for its limit, options if needed, and the function. */
export function write<Name extends OperationName, How extends Bound>(
  operation: Name,
  bound: How,
  ...rest: [Run<Name, Session>] | [CommitOptions<ParamsOf<Name>>, Run<Name, Session>]
): Write<Name, How> {
  const [options, run] = rest.length === 1 ? [{}, rest[0]] : rest;
  return Object.assign(run, { operation, kind: 'write' as const, bound, options });
}

export function read<Name extends OperationName, How extends Bound>(
  operation: Name,
  bound: How,
  ...rest: [Run<Name, Connection>] | [ReadOptions, Run<Name, Connection>]
): Read<Name, How> {
  const [options, run] = rest.length === 1 ? [{}, rest[0]] : rest;
  return Object.assign(run, { operation, kind: 'read' as const, bound, options });
}

/** Each step is measured. */
export function readInSteps<Name extends OperationName>(
  operation: Name,
  run: RunInSteps<Name>,
): LongRead<Name, 'measured'> {
  return Object.assign(run, {
    operation,
    kind: 'read' as const,
    bound: 'measured' as const,
    options: { search: true as const },
  });
}

/** null without an option. */
export function countOf<Params>(count: Count<Params> | undefined, params: Params): number | null {
  if (count === undefined) return null;
  if (typeof count === 'function') return count(params);
  const given: unknown = params[count];
  return Array.isArray(given) ? given.length : Number(given);
}
