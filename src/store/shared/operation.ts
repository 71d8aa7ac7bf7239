/**
 * How an operation of the Store is declared that is the same in both engines: rows that are found by a key, one statement
 * after the other. Each engine gives it a `Session` of its own, and takes the options that are its own. Operations that
 * differ, in batches, plans or locks, are written in each engine.
 */
import type { Lane } from '../../model/message.ts';
import type { Store } from '../store.ts';
import type { CaptureView } from '../topics/captures.ts';
import type { NewEvent } from '../topics/events.ts';
import type { SuppressionChange } from '../topics/suppressions.ts';
import type { Filter } from './filter.ts';
import type { ColumnValue } from './record.ts';
import type { EventSubject } from './rows/events.ts';
import type { Fact } from './rows/notices.ts';
import type { Tables } from './tables.ts';
import type { Work } from './work.ts';

/** Every method of the Store that is an operation of an engine. */
export type OperationName = Exclude<keyof Store, 'writable' | 'hearsHints' | 'close' | `on${string}`>;
export type ParamsOf<Name extends OperationName> = Parameters<Store[Name]>[0];
export type ResultOf<Name extends OperationName> = Awaited<ReturnType<Store[Name]>>;

/** Values by column. Columns that no migration makes do not compile (tables.ts is generated). */
type Row<Table extends keyof Tables> = Readonly<Partial<Record<Tables[Table], ColumnValue>>>;

/**
 * SQL in both engines. A `?` stands for the next value, `?1` for the first one; what the engines spell differently stands in
 * braces (`textFor` in work.ts).
 */
export interface Db {
  engine: 'sqlite' | 'postgres';
  /** The first row, or undefined. */
  get<Found>(sql: string, ...values: ColumnValue[]): Work<Found | undefined>;
  /** Every row. */
  all<Found>(sql: string, ...values: ColumnValue[]): Work<Found[]>;
  /** How many rows it changed. */
  run(sql: string, ...values: ColumnValue[]): Work<number>;
  /** Inserts one row, its values by column; how many rows changed. `conflict`: the clause for an existing row. */
  insert<Table extends keyof Tables>(
    table: Table,
    row: Row<Table>,
    conflict?: 'ON CONFLICT DO NOTHING',
  ): Work<number>;
  /** Inserts a row and returns the column that the database numbers. */
  insertId<Table extends keyof Tables>(table: Table, column: 'id' | 'seq', row: Row<Table>): Work<number>;
  /** Inserts a row, or updates the one with the same key (columns, separated by commas). */
  put<Table extends keyof Tables>(table: Table, key: string, row: Row<Table>): Work<number>;
  /** How the id of a message or event is stored that a client gave; null: it can be none. */
  storedId(id: string): ColumnValue;
  /** No event up to this number appears any more. */
  safeEventSeq(): Work<number>;
  /** The same of captures. */
  safeCaptureSeq(): Work<number>;
  filter(): Filter<ColumnValue>;
  /** Given rows as a table: its text, whose values are bound where it stands. It also has `place`, the order of the rows. */
  rows(name: string, columns: GivenColumns): { from: string; values: ColumnValue[] };
  /** Numbers of those names that exist; undefined in = undefined out (no filter). */
  nameIds(texts: readonly string[] | undefined): Work<number[] | undefined>;
  /** Which sender domains have rows in a table. */
  domainIdsIn(table: 'suppression' | 'suppression_evidence' | 'capture'): Work<number[]>;
  /** The first rows of several ranges of one index, after `offset`. */
  merged<Found>(ranges: Ranges, limit: number, offset?: number): Work<Found[]>;
}

/** By name: the type of a column, and its values in the order of the rows. */
type GivenColumns = Readonly<
  Record<string, { int8: Given<number> } | { int2: Given<number> } | { text: Given<string> }>
>;

type Given<Value> = readonly (Value | null)[];

export interface Ranges {
  /** Without conditions. */
  select: string;
  /** Each value of this column is a range. undefined: all rows are one. */
  column: string;
  places: readonly number[] | readonly string[] | undefined;
  filter: Filter<ColumnValue>;
  /** `ORDER BY` of columns that are selected; undefined: any order. */
  order?: string;
  /** The part of an index that each range is in, which has these columns behind `column`. */
  along?: IndexPart;
}

interface IndexPart {
  /** Columns with one value, as SQL in which a `?` stands for what is bound. */
  fixed: readonly { column: string; value: string; bound: ColumnValue }[];
  /** The number behind them, which is between two. */
  number: string;
  above: number;
  below: number;
}

/** A destination queue by what makes it one. */
export interface QueueKey {
  lane: Lane;
  sandbox: boolean;
  senderDomainId: number;
  recipientDomain: string;
  routeKey: string;
}

/** What a write works with: one transaction. */
export interface Session {
  db: Db;
  /** Number of a sender domain or token id, created if new. */
  nameId(text: string): Work<number>;
  /** Stores one event and the webhook calls it causes; its seq. */
  appendEvent(event: NewEvent, subject: EventSubject): Work<number>;
  /** The same for several, in their order. */
  appendEvents(events: readonly { event: NewEvent; subject: EventSubject }[]): Work<unknown>;
  /** Whether an epoch has not ended. */
  isLiving(epoch: number): Work<boolean>;
  /** The same; it cannot end before the transaction does. */
  staysLiving(epoch: number): Work<boolean>;
  /** To be called whenever an epoch ended. */
  epochsChanged(): void;
  /** To be called after a webhook row changed. */
  hooksChanged(): void;
  /** Deletes the content of a message, also one that is needed, and what is indexed of it; its captures are deleted before. */
  deleteContent(message: { seq: number; domainId: number }): Work<unknown>;
  /** The same of one that is no longer needed; if the transaction has deleted its maximum, a later step does it. */
  dropOrLeaveContent(messageSeq: number): Work<unknown>;
  /** Replaces the Date of a content, if it is ours, by another of the same length. */
  rewriteDate(messageSeq: number, date: string): Work<unknown>;
  /** Starts to process the calls that waited while a webhook was off, with the first portion. */
  beginResume(resume: { id: number; since: number; now: number }): Work<void>;
  /** Whether the event is already stored, because the write is repeated after a lost answer. */
  isStored(domainId: number, event: Pick<NewEvent, 'id' | 'kind' | 'at'>): Work<boolean>;
  /** Ids of those of the events that are already stored, and perhaps of others. */
  storedAmong(
    domainId: number,
    events: readonly Pick<NewEvent, 'id' | 'kind' | 'at'>[],
  ): Work<ReadonlySet<string>>;
  /** Stores a fact to report, if the sender requested its kind. */
  noteFact(fact: Fact): Work<void>;
  /** Captures, reported after the commit. */
  captured: CaptureView[];
  /** Changes of suppressions, reported after the commit: mail that waits in memory was checked before them. */
  suppressed: SuppressionChange[];
  /** To be called before a domain gets its first row in a table. */
  suppressing(domainId: number, table: 'entries' | 'evidence'): void;
  /** Ids of destination queues in the given order, created if new. */
  queueIds(keys: readonly QueueKey[]): Work<number[]>;
  /** Forgets the contents of messages that are being deleted, and what was indexed of them; their captures are deleted. */
  forgetContents(messages: readonly { seq: number; domainId: number }[]): Work<unknown>;
  /** Deletes captures, what was indexed of messages without other ones, and contents that were kept only for them. */
  dropCaptures(seqs: readonly number[]): Work<unknown>;
  /** Deletes the content of a message that is no longer needed; returns its octets. */
  dropUnkeptContent(messageSeq: number): Work<number>;
}

/**
 * Why the work of an operation does not grow with the stored data: `by key`: rows that the caller names, or that belong
 * to one and have a limit of their own; `as asked`: at most as many as its parameters say, along an index; `small`: a
 * table that only grows with the operator's settings and the number of paths, processes and policies; `measured`: by a
 * case in sqlite/bounded.test.ts, for each step of a read in steps.
 */
export type Bound = 'by key' | 'as asked' | 'small' | 'measured';

/** The name of a parameter, which is a number or a list, or a function of all parameters. */
export type Count<Params> = (keyof Params & string) | ((params: Params) => number | null);

/** Of SQLite. */
export interface CommitOptions<Params> {
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

/** Of PostgreSQL. */
export interface TransactionOptions {
  /**
   * Topic of which only one write runs at a time, on all nodes: for rare operations that decide by what they have
   * read.
   */
  serial?: string;
  /** One statement, which is a transaction by itself and saves a round trip. */
  whole?: true;
  /** A power failure may undo it. */
  unsynced?: true;
  /** Its rows have ids given by the caller: if the answer is lost, it can be repeated. */
  repeatable?: true;
}

interface ReadOptions {
  /**
   * A list, or what may take long: no other read waits behind it, and sender domains take turns. Hundreds of short ones at once
   * take as long as a long one.
   */
  search?: true;
}

type RunWrite<Name extends OperationName> = (on: Session, params: ParamsOf<Name>) => Work<ResultOf<Name>>;
type RunRead<Name extends OperationName> = (db: Db, params: ParamsOf<Name>) => Work<ResultOf<Name>>;

export interface SharedWrite<Name extends OperationName, How extends Bound = Bound> extends RunWrite<Name> {
  operation: Name;
  kind: 'write';
  bound: How;
  options: CommitOptions<ParamsOf<Name>> & TransactionOptions;
}

export interface SharedRead<Name extends OperationName, How extends Bound = Bound> extends RunRead<Name> {
  operation: Name;
  kind: 'read';
  bound: How;
  options: ReadOptions;
}

/** Takes the name, the reason for its limit, the options of both engines, and the work. */
export function write<Name extends OperationName, How extends Bound>(
  operation: Name,
  bound: How,
  options: SharedWrite<Name>['options'],
  run: RunWrite<Name>,
): SharedWrite<Name, How> {
  return Object.assign(run, { operation, kind: 'write' as const, bound, options });
}

export function read<Name extends OperationName, How extends Bound>(
  operation: Name,
  bound: How,
  options: ReadOptions,
  run: RunRead<Name>,
): SharedRead<Name, How> {
  return Object.assign(run, { operation, kind: 'read' as const, bound, options });
}

/** The number that a statement selects as `n`. */
export function* count(db: Db, sql: string, ...values: ColumnValue[]): Work<number> {
  return (yield* db.get<{ n: number }>(sql, ...values))?.n ?? 0;
}

/** A filter of one condition: `column` is one of the values; undefined = any. */
export function anyOf(db: Db, column: string, values: Parameters<Filter<ColumnValue>['oneOf']>[1]) {
  const filter = db.filter();
  filter.oneOf(column, values);
  return filter;
}
