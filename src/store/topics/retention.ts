/**
 * Deleting data by age and size, in small steps. Candidates are found by reading, outside the writer; each step then
 * checks the given ones again and deletes only those, so a crash between two steps leaves nothing half done. Part of
 * the Store (`../store.ts` has the promises of all its operations).
 */

/** A page of candidates; `nextSeq` is where the search continues, null = there is nothing more. */
export interface ExpiredPage {
  seqs: readonly number[];
  nextSeq: number | null;
}

/** What a sender domain uses. */
export interface DomainUse {
  domain: string;
  /** Of contents and captured copies. */
  bytes: number;
  /** That wait or are being sent. */
  recipients: number;
}

export interface RetentionStore {
  /** Sender domains that have messages. */
  domainsWithMail(): Promise<readonly string[]>;
  /**
   * Messages of a domain after `afterSeq`, oldest first, accepted before `before`, whose recipients are all final: with
   * `contents` those whose content is stored and shown by no capture, with `messages` all. At most `limit` are
   * examined. What is younger than `now`, because the clock was ahead then, is passed over, here and below.
   */
  findExpired(params: {
    what: 'contents' | 'messages';
    domain: string;
    before: number;
    now: number;
    afterSeq: number;
    limit: number;
  }): Promise<ExpiredPage>;
  /** Octets of all contents that are kept. */
  contentBytes(): Promise<number>;
  /**
   * Octets stored by each of the domains: contents, and headers of captured copies. One item per domain, in the given
   * order.
   */
  domainUse(params: { domains: readonly string[] }): Promise<readonly DomainUse[]>;
  /**
   * The oldest contents of all domains after `afterSeq` that may be deleted, of `atLeastBytes` together; at most
   * `limit` are examined.
   */
  findOldestContents(params: {
    afterSeq: number;
    atLeastBytes: number;
    limit: number;
  }): Promise<ExpiredPage & { bytes: number }>;
  /**
   * Deletes the contents of the given messages whose recipients are all final and that no capture shows, in the given
   * order, up to `maxBytes`. `done`: how many of the given were processed, `removed`: how many contents were deleted.
   */
  purgeContents(params: {
    seqs: readonly number[];
    maxBytes: number;
  }): Promise<{ done: number; removed: number }>;
  /**
   * Deletes messages with recipients, events, finished calls and captures, in the given order, up to `maxRows` rows;
   * the meaning of their unsubscribe links stays. Not deleted: those with a recipient that is not final, or a call that
   * an enabled webhook still needs. `done`: how many of the given were processed; the next one may have lost some
   * hundred of its oldest events and calls, if it has more, and continues with the next call.
   */
  purgeMessages(params: {
    seqs: readonly number[];
    maxRows: number;
  }): Promise<{ done: number; messages: number }>;
  /**
   * Deletes at most `limit` captures made before `before`, oldest first, fewer if the contents kept only for them are
   * large; 0 = there is none.
   */
  purgeCaptures(params: { before: number; now: number; limit: number }): Promise<number>;
  /**
   * Deletes calls that ended before `before`, and equally old ones of webhooks that are off or deleted, among the
   * `limit` oldest after `afterId`. `nextId`: where to continue, null = the rest is younger.
   */
  purgeCalls(params: {
    before: number;
    now: number;
    afterId: number;
    limit: number;
  }): Promise<{ removed: number; nextId: number | null }>;
  /**
   * Deletes what is stored of unsubscribe links whose messages were accepted before `before` and are deleted, oldest
   * first; returns how many rows.
   */
  purgeOptOuts(params: { before: number; limit: number }): Promise<number>;
  /**
   * Deletes about `limit` rows of webhooks, templates and sandbox rules that were removed; true while there are more.
   */
  purgeLeftovers(params: { limit: number }): Promise<boolean>;
  /** Deletes events without a message that happened before `before`. */
  purgeLooseEvents(params: { before: number; limit: number }): Promise<number>;
}
