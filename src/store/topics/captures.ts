/** What the sandbox captured. Part of the Store (`../store.ts` has the promises of all its operations). */
import type { AddressLists, MessageId } from '../../model/message.ts';

export interface NewCapture {
  id: string;
  at: number;
  envelopeFrom: string;
  /** null: named after the token or SMTP credential that sent the message. Stored in lower case. */
  inbox: string | null;
  /** Header lines that delivery put before the content (signature, trace). */
  prefix: Uint8Array;
  /** The texts in the token slots of this copy, in order; absent = it has none. */
  fill?: readonly string[];
  /** The copy's octets after `prefix`, if they are in memory, for listeners of the capture. Must not be changed. */
  content?: Uint8Array;
}

export interface CaptureView {
  /** Order of capturing, at which a stream continues. */
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
  /** When it was last really sent, and as which message; null = never. */
  released: { at: number; messageId: string } | null;
  /** When somebody marked it as seen; null = not yet. */
  seenAt: number | null;
  /** Only if `onCaptured` reports it and it was given: see NewCapture. */
  content?: Uint8Array;
}

/** One inbox of one sender domain. */
export interface InboxView {
  domain: string;
  inbox: string;
  count: number;
  /** Those that nobody has seen. */
  unseen: number;
  /** Its newest capture. */
  latest: { id: string; at: number; subject: string };
}

/** The parts of a captured message that a new message with its content needs. */
export interface ReleaseFacts {
  keepContent: boolean;
  bodyOffset: number;
  needsSmtpUtf8: boolean;
  eightBit: boolean;
  dateOffset: number | null;
}

/** Conditions on stored columns of a capture. */
export interface CaptureFilter {
  domains?: readonly string[];
  /** In lower case. */
  inbox?: string;
  /** Address of the envelope, in any case. */
  to?: string;
  from?: string;
  /** A part of the subject, folded (model/search-text.ts). */
  subject?: string;
  tag?: string;
  since?: number;
  until?: number;
  seen?: boolean;
}

/** The same, and conditions on messages whose text was indexed. */
export interface CaptureQuestion extends CaptureFilter {
  /** A part of the subject or the text, folded. */
  text?: string;
  hasFiles?: boolean;
  /** Only captures before this seq. */
  beforeSeq?: number;
  limit: number;
  /** The most captures that are examined. */
  look: number;
}

export interface CapturePage {
  /** Newest first. */
  captures: readonly CaptureView[];
  /**
   * Seqs of those whose message was not indexed yet: `text` and `hasFiles` are unknown for them, the other conditions
   * match.
   */
  unread: readonly number[];
  /** `beforeSeq` of the next page; null = there is none. */
  nextSeq: number | null;
}

/** The searchable text of a captured message. */
export interface CaptureText {
  messageSeq: number;
  hasFiles: boolean;
  /** Folded. */
  text: string;
}

/** A captured message that was not indexed yet. */
export interface UnreadCapture {
  /** Of its sender domain; 0 = not known. */
  domainId: number;
  messageSeq: number;
}

export interface CaptureStore {
  /** One page of matches. It may be empty and still have a next page, if `look` was reached first. */
  findCaptures(question: CaptureQuestion): Promise<CapturePage>;
  /**
   * Calls the listener with captures of this process after their commit, in order of capturing, before the call that
   * captured them resolves. Returns the function that ends this. Not reported: captures of other processes, and those
   * whose commit's answer was lost; `capturesSince` finds both. The listener must neither throw nor block.
   */
  onCaptured(listener: (captures: readonly CaptureView[]) => void): () => void;
  /**
   * Captured messages that were not indexed yet, by sender domain: at most `limit` domains in the order of their ids, after
   * `afterDomain`, and of each at most `limit` messages, newest first.
   */
  unreadCaptures(params: { afterDomain?: number; limit: number }): Promise<readonly UnreadCapture[]>;
  /** Stores their texts, only for messages that have captures. May wait for other operations. */
  putCaptureTexts(params: { texts: readonly CaptureText[] }): Promise<void>;
  /**
   * Matching captures after `afterSeq`, oldest first, at most `limit`, and the seq from which the next call continues;
   * at most `look` are examined. Without `more`, that is the newest capture of all.
   */
  capturesSince(
    params: CaptureFilter & { afterSeq: number; limit: number; look: number },
  ): Promise<{ captures: readonly CaptureView[]; lastSeq: number; more: boolean }>;
  getCapture(params: { id: string; domains?: readonly string[] }): Promise<CaptureView | null>;
  /** Facts of a captured message; null if it was deleted. */
  releaseFacts(params: { messageSeq: number }): Promise<ReleaseFacts | null>;
  /** Inboxes that contain something, by name and then domain, after `after`; at most `limit`. */
  listInboxes(params: {
    domains?: readonly string[];
    after?: { inbox: string; domain: string };
    limit: number;
  }): Promise<readonly InboxView[]>;
  /**
   * Marks as seen (`seenAt` null: as not seen) those that match every given condition, as for `deleteCaptures`.
   * `changed` counts those whose mark changed; an existing time of seeing stays.
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
   * Deletes those that match every given condition (without any, all), newest first, at most `limit`. `next` is
   * `beforeSeq` of the next portion, null = there is none.
   */
  deleteCaptures(params: {
    ids?: readonly string[];
    inbox?: string;
    domains?: readonly string[];
    beforeSeq?: number;
    limit: number;
  }): Promise<{ deleted: number; next: number | null }>;
}
