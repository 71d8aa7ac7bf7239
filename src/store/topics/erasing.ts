/**
 * A person's data removed: found page by page by reading, removed message by message; whoever is interrupted begins
 * again. Part of the Store (`../store.ts` says what all its operations promise).
 */

/** Where an event of no message stands among them. */
export interface LooseEventPlace {
  at: number;
  seq: number;
}

/** A place among the rows outside of messages and events. */
export interface ElsewherePlace {
  table: number;
  after: string | number;
}

export interface ErasingStore {
  /**
   * Messages behind `afterSeq` in which an address may stand; `limit` are looked at, or fewer where they have many recipients
   * and events. `nextSeq` null = no more. `waiting`: recipients among them that are this
   * address and queued or leased.
   */
  findMentions(params: { address: string; afterSeq: number; limit: number }): Promise<{
    seqs: readonly number[];
    waiting: readonly { messageSeq: number; deliveryId: number }[];
    nextSeq: number | null;
    /** Of the newest message, 0 where there is none. */
    lastSeq: number;
  }>;
  /**
   * Masks the address in the given messages, their recipients and events, and removes their captures and contents.
   * `pending`: messages of which something must wait, because somebody's copy is not final; their content goes then.
   * A call goes through some hundred rows: `done` of the given messages are over, and of the one behind them the events up to
   * `afterEvent`, which the next call is given beside the messages from that one on.
   */
  eraseMessages(params: { address: string; seqs: readonly number[]; afterEvent?: number }): Promise<{
    messages: number;
    events: number;
    pending: number;
    done: number;
    afterEvent: number | null;
  }>;
  /**
   * The same outside of messages and events: suppressions become a keyed hash that goes on stopping mail. `proposedKey` becomes the
   * key of this database where it has none. A call looks at about `limit` rows behind `from` (null = from the first). How many
   * suppressions changed, and where to go on; null = that was all.
   */
  eraseElsewhere(params: {
    address: string;
    proposedKey: Uint8Array;
    from: ElsewherePlace | null;
    limit: number;
  }): Promise<{ suppressions: number; next: ElsewherePlace | null }>;
  /**
   * Masks the address in events that belong to no message, oldest first: `limit` behind `after` are looked at (null = from
   * the first). How many changed; `next` null = no more.
   */
  eraseLooseEvents(params: {
    address: string;
    after: LooseEventPlace | null;
    limit: number;
  }): Promise<{ events: number; next: LooseEventPlace | null }>;
  /** Overwrites free pages, about `bytes` of them; true while there may be more. */
  scrub(params: { bytes: number }): Promise<boolean>;
}
