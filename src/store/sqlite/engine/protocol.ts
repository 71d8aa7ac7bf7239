/**
 * Messages between the main thread and the store's threads. Every request gets exactly one reply, in order, so requests
 * need no number. Contents of accepted messages are not part of a request: the main thread copies them once into shared
 * memory (measured against a structured clone of the bytes: 2 µs less of the writer for a message of 10 KB), which it
 * may reuse after the reply.
 */

import type { ParamsOf, ResultOf } from '../../shared/operation.ts';
import type { RefusalReason } from '../../shared/refusal.ts';
import type { KeyHeld, NewMessage } from '../../topics/acceptance.ts';
import type { CaptureView } from '../../topics/captures.ts';
import type { SuppressionChange } from '../../topics/suppressions.ts';
import type { ReadName, WriteName } from '../operations.ts';

/** The position of a content in the shared memory. */
export interface Slice {
  offset: number;
  length: number;
}

/** A message for the writer; a content too large for the shared memory is sent as its own bytes. */
export type WireMessage = Omit<NewMessage, 'content'> & { content: Slice | Uint8Array };
export type WireAccepted = Omit<ParamsOf<'commitAccepted'>, 'messages'> & {
  messages: readonly WireMessage[];
};

/** One operation as the caller gave it. */
export type WriteCall = { [Name in WriteName]: { name: Name; params: ParamsOf<Name> } }[WriteName];
export type ReadCall = { [Name in ReadName]: { name: Name; params: ParamsOf<Name> } }[ReadName];

/** One operation in the form that is sent. */
export type WireCall =
  | Exclude<WriteCall, { name: 'commitAccepted' }>
  | { name: 'commitAccepted'; params: WireAccepted };

/** The result of one operation. */
export type Answer =
  | {
      kind: 'value';
      value: ResultOf<WriteName | ReadName>;
      captured?: readonly CaptureView[];
      suppressed?: readonly SuppressionChange[];
    }
  /** Its idempotency key is taken; nothing was done. */
  | { kind: 'held'; held: KeyHeld }
  /** The engine cannot work now. `lasting`: the same read would fail again. `damaged`: as far as SQLite can tell. */
  | { kind: 'unavailable'; reason: string; lasting: boolean; damaged: boolean }
  /** A bug, or a constraint of the database that the caller violated. */
  | { kind: 'thrown'; error: unknown };

export type WriterRequest =
  /** `synced`: the commit is on disk before the reply. */
  | { kind: 'batch'; calls: readonly WireCall[]; synced: boolean }
  /** Tests whether the disk can be written. */
  | { kind: 'probe' }
  | { kind: 'close' };

/** One answer per call, one for a probe; a close is answered by the end of the thread. */
export type WriterReply = readonly Answer[];

/** `go-on`: the next step of a read that was answered with `more`. */
export type ReaderRequest =
  | { kind: 'reads'; calls: readonly ReadCall[] }
  | { kind: 'go-on'; read: number }
  | { kind: 'close' };
export type ReaderReply = Answer | { kind: 'more'; read: number };

/** One for each call, in order, at least one; fewer if these are large: the others are to be asked for again. */
export type ReaderReplies = readonly ReaderReply[];

/** The first message of a thread: it works, or why it never will. */
export type ThreadStart = { kind: 'ready' } | { kind: 'refused'; reason: RefusalReason; message: string };

export interface WriterData {
  path: string;
  arena: SharedArrayBuffer;
  failStoreWrites: FailStoreWrites | null;
  maxPages: number | null;
  sharing: Sharing;
}

/** Whether other processes have the database open too, or may. */
export type Sharing =
  | 'none'
  /** No other process has it open while the writer opens it; others may follow. */
  | 'first'
  /** Others have it open: it must already have the schema of this program. */
  | 'joined';

export interface ReaderData {
  path: string;
}

/**
 * Failpoint `store-write`: transactions number `from` (1 = the first) to `from + count - 1` fail. Failpoint
 * `store-death`: the thread dies after batch number `from` was committed and before it is answered.
 */
export interface FailStoreWrites {
  from: number;
  count: number;
  /** As with a full disk (default), as with a faulty disk, or the thread dies. */
  as?: 'full' | 'io' | 'death';
}
