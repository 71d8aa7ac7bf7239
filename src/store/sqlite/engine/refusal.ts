/** Why a database file was not opened, with a sentence that a person can act on. */
import type { RefusalReason } from './protocol.ts';

/** Thrown by `openSqliteStore`. The file was not changed. */
export class StoreRefused extends Error {
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'StoreRefused';
    this.reason = reason;
  }
}
