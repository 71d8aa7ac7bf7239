/**
Forgetting by age and size, in small steps. What may go is found by reading, beside the writer; each step then looks
again at what it was given and removes only that, so a crash between two steps leaves nothing half done.
Part of the Store (`../store.ts` says what all its operations promise).
 */

/** A page of candidates; `nextSeq` is where the search goes on, null = there is nothing more. */
export interface ExpiredPage {
  seqs: readonly number[];
  nextSeq: number | null;
}

/** What a sender domain has. */
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
  Messages of a domain behind `afterSeq`, oldest first, accepted before `before`, whose recipients are all final:
  with `contents` those whose content is kept and that no capture shows, with `messages` all. At most `limit` are
  looked at.
   */
  findExpired(params: {
    what: 'contents' | 'messages';
    domain: string;
    before: number;
    afterSeq: number;
    limit: number;
  }): Promise<ExpiredPage>;
  /** Octets of all contents that are kept. */
  contentBytes(): Promise<number>;
  /**
  Octets that each of the domains has stored: contents that wait or are kept, and heads of captured copies. One item a
  domain, in the order given.
   */
  domainUse(params: { domains: readonly string[] }): Promise<readonly DomainUse[]>;
  /** The oldest contents of all domains behind `afterSeq` that may go, of `atLeastBytes` together; at most `limit` looked at. */
  findOldestContents(params: {
    afterSeq: number;
    atLeastBytes: number;
    limit: number;
  }): Promise<ExpiredPage & { bytes: number }>;
  /**
  Removes the contents of those given whose recipients are all final and that no capture shows, in the order given, until
  `maxBytes` are gone. `done`: how many of the given were dealt with, `removed`: how many contents went.
   */
  purgeContents(params: {
    seqs: readonly number[];
    maxBytes: number;
  }): Promise<{ done: number; removed: number }>;
  /**
  Removes messages with recipients, events, finished calls and captures, in the order given, until `maxRows` rows are
  gone; what their unsubscribe links mean stays. Left alone: those with a recipient that is not final, or a call that
  an enabled webhook still waits for. `done`: how many of the given were dealt with; the one behind them may have lost
  some hundred of its oldest events and calls, where it has more, and goes on losing them at the next call.
   */
  purgeMessages(params: {
    seqs: readonly number[];
    maxRows: number;
  }): Promise<{ done: number; messages: number }>;
  /**
  Removes at most `limit` captures made before `before`, oldest first, fewer where contents that were kept for them alone
  and go with them are large; 0 = there is none.
   */
  purgeCaptures(params: { before: number; limit: number }): Promise<number>;
  /**
  Removes calls that ended before `before`, and as old ones of webhooks that are off or gone, among the `limit`
  oldest behind `afterId`. `nextId`: where to go on, null = the rest is younger.
   */
  purgeCalls(params: {
    before: number;
    afterId: number;
    limit: number;
  }): Promise<{ removed: number; nextId: number | null }>;
  /**
  Removes what is kept of unsubscribe links whose messages were accepted before `before` and are gone, oldest first; how
  many rows.
   */
  purgeOptOuts(params: { before: number; limit: number }): Promise<number>;
  /** Removes about `limit` rows of webhooks, templates and sandbox rules that are gone; true while there are more. */
  purgeLeftovers(params: { limit: number }): Promise<boolean>;
  /** Removes events that belong to no message and happened before `before`. */
  purgeLooseEvents(params: { before: number; limit: number }): Promise<number>;
}
