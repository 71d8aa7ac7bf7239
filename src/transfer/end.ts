/**
 * One of the two databases of a transfer, whatever its engine. Rows are in the forms that SQLite stores (tables.ts).
 */
import type { CopiedTable, Row, Value } from './tables.ts';

/** Why a transfer cannot begin or go on, in a sentence for the operator. */
export class TransferError extends Error {
  override readonly name = 'TransferError';
}

/** `look`: only its rows are counted, also while a server uses it. */
export type Role = 'source' | 'target' | 'look';

export type Key = readonly (string | number)[];

/** What is compared besides the number of rows. */
export interface Sums {
  /** Recipients and webhook calls by state; octets of contents. */
  [what: string]: number;
}

export interface End {
  /** For people, without a password. */
  readonly name: string;
  /** Octets of the whole database. */
  bytes(): Promise<number>;
  /** The text behind a name in `meta`, or null. */
  meta(name: string): Promise<string | null>;
  setMeta(name: string, value: string): Promise<void>;
  removeMeta(name: string): Promise<void>;
  /**
   * For a marked source: ends the work of every process on it, also of one that is paused or cut off from the network
   * for a time.
   */
  shutOut(at: number): Promise<void>;
  count(table: CopiedTable): Promise<number>;
  /** The next rows after `after`, in the order of the key; an empty list = there are no more. */
  read(table: CopiedTable, after: Key | null): Promise<Row[]>;
  /** Stores rows, and the progress of the transfer, in one transaction. */
  write(table: CopiedTable, rows: readonly Row[], progress: { name: string; value: string }): Promise<void>;
  /** The greatest number ever given in its numbered column, 0 = none. */
  lastNumber(table: CopiedTable): Promise<number>;
  /** Prepares the tables for numbers up to this one, before rows arrive. */
  prepare(largest: number): Promise<void>;
  /** Numbers up to this one are not given again. */
  setLastNumber(table: CopiedTable, last: number): Promise<void>;
  sums(): Promise<Sums>;
  /** Message numbers of the contents that are compared octet by octet, at most `limit` after `after`. */
  samples(after: number, limit: number): Promise<number[]>;
  contentHash(messageSeq: number): Promise<string | null>;
  /** Recipients that wait. */
  waiting(): Promise<number>;
  /** To be called when the transfer is over: updates the statistics of the query planner. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

/** A hold on all delivery, and the command that made it. */
export interface Hold {
  id: string;
  at: number;
  reason: string;
  by: string;
}

/** Rows of one portion; fewer if they have many octets. */
export const PORTION_ROWS = 1000;
export const PORTION_BYTES = 8 * 1024 * 1024;
/** One content in this many is compared. */
export const SAMPLE_EVERY = 1000;

/** The last entry of a portion of at most `PORTION_BYTES`, which has at least one entry. */
export function lastOfPortion<Entry extends { size: number }>(entries: readonly Entry[]): Entry | undefined {
  let bytes = 0;
  for (const [i, entry] of entries.entries()) {
    bytes += entry.size;
    if (bytes > PORTION_BYTES && i > 0) return entries[i - 1];
  }
  return entries.at(-1);
}

export function keyOf(table: CopiedTable, row: Row): Key {
  return table.key.map((column) => {
    const value: Value | undefined = row[column];
    if (typeof value !== 'string' && typeof value !== 'number')
      throw new TypeError(`${table.name}.${column} is no key`);
    return value;
  });
}
