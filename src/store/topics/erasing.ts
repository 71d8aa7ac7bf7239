/**
 * Erasing a person's data: found page by page by reading, deleted message by message; an interrupted run starts again.
 * Part of the Store (`../store.ts` has the promises of all its operations).
 */

/** The position of an event without a message. */
export interface LooseEventPlace {
  at: number;
  seq: number;
}

/** A position among the rows outside of messages and events. */
export interface ElsewherePlace {
  table: number;
  after: string | number;
}

export interface ErasingStore {
  /**
   * Messages after `afterSeq` that may mention an address; `limit` are examined, or fewer if they have many recipients
   * and events. `nextSeq` null = no more. `waiting`: recipients with this address that are queued or leased.
   */
  findMentions(params: { address: string; afterSeq: number; limit: number }): Promise<{
    seqs: readonly number[];
    waiting: readonly { messageSeq: number; deliveryId: number }[];
    nextSeq: number | null;
    /** Of the newest message, 0 where there is none. */
    lastSeq: number;
  }>;
  /**
   * Masks the address in the given messages, their recipients and events, and deletes their captures and contents.
   * `pending`: messages that must wait because some recipient is not final; their content is deleted then. A call
   * processes some hundred rows: `done` of the given messages are finished, and of the next one the events up to
   * `afterEvent`, which the next call gets together with the messages from that one on.
   */
  eraseMessages(params: { address: string; seqs: readonly number[]; afterEvent?: number }): Promise<{
    messages: number;
    events: number;
    pending: number;
    done: number;
    afterEvent: number | null;
  }>;
  /**
   * The same outside of messages and events: suppressions become a keyed hash that still stops mail. `proposedKey`
   * becomes the key of this database if it has none. A call examines about `limit` rows after `from` (null = from the
   * first). Returns how many suppressions changed, and where to continue; null = that was all.
   */
  eraseElsewhere(params: {
    address: string;
    proposedKey: Uint8Array;
    from: ElsewherePlace | null;
    limit: number;
  }): Promise<{ suppressions: number; next: ElsewherePlace | null }>;
  /**
   * Masks the address in events without a message, oldest first: `limit` after `after` are examined (null = from the
   * first). Returns how many changed; `next` null = no more.
   */
  eraseLooseEvents(params: {
    address: string;
    after: LooseEventPlace | null;
    limit: number;
  }): Promise<{ events: number; next: LooseEventPlace | null }>;
  /** Overwrites about `bytes` of free pages; true while there may be more. An engine that cannot overwrites nothing. */
  scrub(params: { bytes: number }): Promise<boolean>;
}
