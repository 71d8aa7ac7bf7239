/**
 * The mark in `meta` of a database that a transfer (src/transfer) moves to another one, or fills: no server may start on
 * it until the transfer is over, and never again on the one that was left.
 */

import { dayOf } from '../../lib/instant.ts';
import { StoreRefused } from './refusal.ts';

export const TRANSFER_MARK = 'transfer';

export interface TransferMark {
  /** The same in both databases. */
  id: string;
  role: 'source' | 'target';
  /** The other database, without a password. */
  other: string;
  at: number;
  isFinished: boolean;
  /** Of a target: the table that is being filled, the key of its last row, and the rows that have arrived. */
  table: string | null;
  after: readonly (string | number)[] | null;
  rows: number;
}

export function readMark(text: string | null): TransferMark | null {
  return text === null ? null : (JSON.parse(text) as TransferMark);
}

/** Throws StoreRefused where no server may start on the database with this text in `meta`. */
export function refuseTransferred(text: string | null): void {
  const mark = readMark(text);
  if (mark === null) return;
  const { role, other, isFinished, at } = mark;
  if (role === 'target') {
    if (isFinished) return;
    throw new StoreRefused(
      'transferred',
      `The transfer from ${other} into this database is not finished; repeat the command "postrider transfer".`,
    );
  }
  throw new StoreRefused(
    'transferred',
    isFinished
      ? `What was in this database was transferred to ${other} on ${dayOf(at)}; set the key database to that.`
      : `A transfer of this database to ${other} has begun; repeat the command "postrider transfer", or give it up with its flag --cancel.`,
  );
}
