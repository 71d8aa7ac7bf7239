/** Why a database file is not opened: thrown while opening, with a sentence that a person can act on. */
import type { RefusalReason } from './protocol.ts';

/** Thrown by `openSqliteStore`. Nothing was changed in the file. */
export class StoreRefused extends Error {
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'StoreRefused';
    this.reason = reason;
  }
}
