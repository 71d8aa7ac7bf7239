/** What the sandbox captured. Part of the Store (`../store.ts` says what all its operations promise). */
import type { AddressLists, MessageId } from '../../model/message.ts';

export interface NewCapture {
  id: string;
  at: number;
  envelopeFrom: string;
  inbox: string;
  /** Header lines that delivery put in front of the content (signature, trace). */
  prefix: Uint8Array;
  /** What stood in the places of this copy, in order; absent = it has none. */
  fill?: readonly string[];
}

export interface CaptureView {
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
}

export interface CaptureFilter {
  domains?: readonly string[];
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
  /** Those that match both conditions; with neither, all. How many. */
  deleteCaptures(params: { ids?: readonly string[]; domains?: readonly string[] }): Promise<number>;
}
