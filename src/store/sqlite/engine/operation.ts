/**
 * How an operation of the Store is declared in this engine: its name, its options for the commit or reader, and a
 * synchronous function that the thread runs inside a transaction. Its promises are in `../../topics/`; the name gives
 * the types of parameters and result. `../operations.ts` collects all operations.
 */
import type { Store } from '../../store.ts';
import type { Connection } from './connection.ts';
import type { Session } from './session.ts';

/** Every method of the Store that runs on a thread. */
export type OperationName = Exclude<keyof Store, 'writable' | 'hearsHints' | 'close' | `on${string}`>;
export type ParamsOf<Name extends OperationName> = Parameters<Store[Name]>[0];
export type ResultOf<Name extends OperationName> = Awaited<ReturnType<Store[Name]>>;

/**
 * Why the work of an operation does not grow with the stored data: `by key`: rows that the caller names, or that belong
 * to one and have a limit of their own; `as asked`: at most as many as its parameters say, along an index; `small`: a
 * table that only grows with the operator's settings and the number of paths, processes and policies; `measured`: by a
 * case in bounded.test.ts, for each step of a read in steps.
 */
export type Bound = 'by key' | 'as asked' | 'small' | 'measured';

/** The name of a parameter, which is a number or a list, or a function of all parameters. */
type Count<Params> = (keyof Params & string) | ((params: Params) => number | null);

/** The options of a write. */
interface WriteOptions<Params> {
  /**
   * Answered only after a sync: a client or a later send relies on it. Other writes survive the process, but not a
   * power failure.
   */
  synced?: true;
  /** A portion of longer work with its own limit: a commit takes one of them after everything else. */
  portion?: true;
  /** Approximate rows that it writes, whose sum limits a commit. Default: the number of `patient`, or one. */
  rows?: Count<Params>;
  /** Rows of one that may wait for other operations; null = not this time. Default: committed at once. */
  patient?: Count<Params>;
}

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
  options: WriteOptions<ParamsOf<Name>>;
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
  ...rest: [Run<Name, Session>] | [WriteOptions<ParamsOf<Name>>, Run<Name, Session>]
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
