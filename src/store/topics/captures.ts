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
}

/** One inbox of one sender domain. */
export interface InboxView {
  domain: string;
  inbox: string;
  count: number;
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

export interface CaptureFilter {
  domains?: readonly string[];
  /** In lower case. */
  inbox?: string;
  to?: string;
  from?: string;
  subject?: string;
  tag?: string;
  since?: number;
  until?: number;
  beforeId?: string;
  limit: number;
}

export interface CaptureStore {
  /** Newest first. */
  listCaptures(filter: CaptureFilter): Promise<readonly CaptureView[]>;
  /**
   * What was captured after `afterSeq` and matches, oldest first, at most `limit`, and up to which seq that is known:
   * the next call goes on from there. With fewer than `limit` matches that is the newest capture of all.
   */
  capturesSince(
    params: Omit<CaptureFilter, 'beforeId'> & { afterSeq: number },
  ): Promise<{ captures: readonly CaptureView[]; lastSeq: number }>;
  getCapture(params: { id: string; domains?: readonly string[] }): Promise<CaptureView | null>;
  /** Facts of a message with captures; null where it is gone. */
  releaseFacts(params: { messageSeq: number }): Promise<ReleaseFacts | null>;
  /** Inboxes that hold something, by name and then domain, behind `after`; at most `limit`. */
  listInboxes(params: {
    domains?: readonly string[];
    after?: { inbox: string; domain: string };
    limit: number;
  }): Promise<readonly InboxView[]>;
  /** Those that match every given condition; with none, all. How many. */
  deleteCaptures(params: {
    ids?: readonly string[];
    inbox?: string;
    domains?: readonly string[];
  }): Promise<number>;
}
