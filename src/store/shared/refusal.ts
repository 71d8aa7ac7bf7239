/** Why a database was not opened, with a sentence that a person can act on. */

/**
 * `unfit`: the server does not keep what it answers, or cannot store what is stored here. `transferred`: what was in it is in
 * another database, or is still arriving from one.
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
export class StoreRefused extends Error {
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'StoreRefused';
    this.reason = reason;
  }
}
