/** Why a database was not opened, with a sentence that a person can act on. */
import { StartRefused } from '../../lib/errors.ts';

/**
 * `unfit`: the database server may lose commits, lacks what is needed here, or cannot be reached with these settings.
 * `transferred`: the data was transferred to another database, or a transfer into this one is not finished.
 */
export type RefusalReason =
  | 'locked'
  | 'corrupt'
  | 'newer-schema'
  | 'older-nodes'
  | 'foreign'
  | 'inaccessible'
  | 'unfit'
  | 'transferred';

/** Thrown when a store is opened. Nothing was changed. */
export class StoreRefused extends StartRefused {
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'StoreRefused';
    this.reason = reason;
  }
}
