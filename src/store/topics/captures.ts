/** What the sandbox captured. Part of the Store (`../store.ts` says what all its operations promise). */
import type { AddressLists, MessageId } from '../../model/message.ts';

export interface NewCapture {
  id: string;
  at: number;
  envelopeFrom: string;
  /** null: named after the token or SMTP credential that sent the message. Stored in lower case. */
  inbox: string | null;
  /** Header lines that delivery put in front of the content (signature, trace). */
  prefix: Uint8Array;
  /** What stood in the places of this copy, in order; absent = it has none. */
  fill?: readonly string[];
  /** The copy's octets behind `prefix`, where they are in memory: for whoever is told of the capture. Nobody changes them. */
  content?: Uint8Array;
}

export interface CaptureView {
  /** Order of capturing: where a stream goes on. */
  seq: number;
  id: string;
  messageId: MessageId;
  messageSeq: number;
  domain: string;
  inbox: string;
  at: number;
  envelopeFrom: string;
  envelopeTo: string;
  lists: AddressLists;
  subject: string;
  size: number;
  tags: readonly string[];
  prefix: Uint8Array;
  /** null: the copy is its message's content as it is. */
  fill: readonly string[] | null;
  /** When it was last sent for real, and as which message; null = never. */
  released: { at: number; messageId: string } | null;
  /** When somebody marked it as seen; null = not yet. */
  seenAt: number | null;
  /** Only where `onCaptured` tells it, and it was given: see NewCapture. */
  content?: Uint8Array;
}

/** One inbox of one sender domain. */
export interface InboxView {
  domain: string;
  inbox: string;
  count: number;
  /** Of those nobody has seen. */
  unseen: number;
  /** Its newest capture. */
  latest: { id: string; at: number; subject: string };
}

/** What a new message with a captured one's content has to know of it. */
export interface ReleaseFacts {
  keepContent: boolean;
  bodyOffset: number;
  needsSmtpUtf8: boolean;
  eightBit: boolean;
  dateOffset: number | null;
}

/** What the store itself can tell of a capture. */
export interface CaptureFilter {
  domains?: readonly string[];
  /** In lower case. */
  inbox?: string;
  to?: string;
  from?: string;
  /** Held by the subject, folded (model/search-text.ts). */
  subject?: string;
  tag?: string;
  since?: number;
  until?: number;
  seen?: boolean;
}

/** The same, and what only those messages can tell that were read. */
export interface CaptureQuestion extends CaptureFilter {
  /** Held by the subject or the text, folded. */
  text?: string;
  hasFiles?: boolean;
  /** Only what was captured before that seq. */
  beforeSeq?: number;
  limit: number;
  /** Captures that are looked at, at the most. */
  look: number;
}

export interface CapturePage {
  /** Newest first. */
  captures: readonly CaptureView[];
  /** Seqs of those among them whose message was not read yet: they match but for `text` and `hasFiles`, of which nobody knows. */
  unread: readonly number[];
  /** `beforeSeq` of the next page; null = there is none. */
  nextSeq: number | null;
}

/** What can be read in a captured message. */
export interface CaptureText {
  messageSeq: number;
  hasFiles: boolean;
  /** Folded. */
  text: string;
}

export interface CaptureStore {
  /** One page of what matches. It may hold nothing and still have a next one, where `look` came first. */
  findCaptures(question: CaptureQuestion): Promise<CapturePage>;
  /**
   * Tells what this process captures, once it is committed, in order of capturing, before the call that captured it resolves.
   * Gives back how to end it. Not told: what another process captures, and what was committed while the answer was lost;
   * `capturesSince` knows both. The listener must neither throw nor block.
   */
  onCaptured(listener: (captures: readonly CaptureView[]) => void): () => void;
  /** Messages with captures that nobody has read yet, newest first. */
  unreadCaptures(params: { limit: number }): Promise<readonly number[]>;
  /** What was read in them; nothing is kept of messages without captures. May wait for company. */
  putCaptureTexts(params: { texts: readonly CaptureText[] }): Promise<void>;
  /**
   * What was captured after `afterSeq` and matches, oldest first, at most `limit`, and up to which seq that is known:
   * the next call goes on from there; `look` are looked at. Where there is no `more` that is the newest capture of all.
   */
  capturesSince(
    params: CaptureFilter & { afterSeq: number; limit: number; look: number },
  ): Promise<{ captures: readonly CaptureView[]; lastSeq: number; more: boolean }>;
  getCapture(params: { id: string; domains?: readonly string[] }): Promise<CaptureView | null>;
  /** Facts of a message with captures; null where it is gone. */
  releaseFacts(params: { messageSeq: number }): Promise<ReleaseFacts | null>;
  /** Inboxes that hold something, by name and then domain, behind `after`; at most `limit`. */
  listInboxes(params: {
    domains?: readonly string[];
    after?: { inbox: string; domain: string };
    limit: number;
  }): Promise<readonly InboxView[]>;
  /**
   * Marks as seen (`seenAt` null: as not seen) those that match every given condition, as `deleteCaptures` takes them.
   * `changed` counts those whose mark was another; the time of the first look stays.
   */
  markCaptures(params: {
    ids?: readonly string[];
    inbox?: string;
    domains?: readonly string[];
    seenAt: number | null;
    beforeSeq?: number;
    limit: number;
  }): Promise<{ changed: number; next: number | null }>;
  /**
   * Those that match every given condition (with none, all), the newest first, at most `limit` of them. `next`
   * is `beforeSeq` of the next portion, null = there is none.
   */
  deleteCaptures(params: {
    ids?: readonly string[];
    inbox?: string;
    domains?: readonly string[];
    beforeSeq?: number;
    limit: number;
  }): Promise<{ deleted: number; next: number | null }>;
}
