/**
 * How an operation of the Store is written down in this engine: its name, what it asks of a commit or a reader, and a
 * synchronous function that the thread runs inside a transaction. What it promises stands in `../../topics/`; parameters
 * and result are typed by the name. `../operations.ts` gathers all of them.
 */
import type { Store } from '../../store.ts';
import type { Connection } from './connection.ts';
import type { Session } from './session.ts';

/** Every method of the Store that runs on a thread. */
export type OperationName = Exclude<keyof Store, 'writable' | 'close' | `on${string}`>;
export type ParamsOf<Name extends OperationName> = Parameters<Store[Name]>[0];
export type ResultOf<Name extends OperationName> = Awaited<ReturnType<Store[Name]>>;

/**
 * Why the work of an operation does not grow with what is stored: `by key`, rows that the caller names, or that hang on one
 * it names and have a limit of their own; `as asked`, at most as many as its parameters say, along an index; `small`, a
 * table that only the operator and the number of paths, processes and policies fill; `measured`, by a case in
 * bounded.test.ts, each step of a read in steps.
 */
export type Bound = 'by key' | 'as asked' | 'small' | 'measured';

/** A parameter, which is a number or a list, or a figure made of all of them. */
type Count<Params> = (keyof Params & string) | ((params: Params) => number | null);

/** What a write asks of the commit it is part of. */
interface WriteOptions<Params> {
  /** Answered only after a sync: what a client or a later send relies on. The rest survives the process, not the power. */
  synced?: true;
  /** A portion of longer work, bounded by itself: a commit takes one of them behind everything else. */
  portion?: true;
  /** How many rows it writes, about: a commit is kept short by their sum. Left out: as many as `patient` says, or one. */
  rows?: Count<Params>;
  /** Rows of one that may wait for company; null = not this time. Left out: it is committed at once. */
  patient?: Count<Params>;
}

interface ReadOptions {
  /** May run long: no other read waits behind it. */
  search?: true;
}

/** A read that takes long, in steps of a few milliseconds: between two of them others are answered. */
export type Steps<Result> = Generator<void, Result, void>;

type Run<Name extends OperationName, On> = (on: On, params: ParamsOf<Name>) => ResultOf<Name>;
type RunInSteps<Name extends OperationName> = (
  on: Connection,
  params: ParamsOf<Name>,
) => Steps<ResultOf<Name>>;

/** An operation that changes something; they run in the writer thread, in the order given. */
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

/** Takes a name, why its work is bounded, what it asks of a commit where that is anything, and what it does. */
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

/** null where there is none. */
export function countOf<Params>(count: Count<Params> | undefined, params: Params): number | null {
  if (count === undefined) return null;
  if (typeof count === 'function') return count(params);
  const given: unknown = params[count];
  return Array.isArray(given) ? given.length : Number(given);
}
