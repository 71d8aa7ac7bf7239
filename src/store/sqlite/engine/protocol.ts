/**
 * What crosses between the main thread and the store's threads. Every request gets exactly one reply, in order, so
 * no request needs a number. Contents of accepted messages do not travel inside a request: the main thread copies
 * them once into memory that both threads see (measured against a structured clone of the bytes: 2 µs less of the
 * writer for a message of 10 KB), which it may fill again after the reply.
 */

import type { KeyHeld, NewMessage } from '../../topics/acceptance.ts';
import type { CaptureView } from '../../topics/captures.ts';
import type { SuppressionChange } from '../../topics/suppressions.ts';
import type { ReadName, WriteName } from '../operations.ts';
import type { ParamsOf, ResultOf } from './operation.ts';

/** Where a content lies in the shared memory. */
export interface Slice {
  offset: number;
  length: number;
}

/** A message on its way to the writer; a content too large for the shared memory travels as its own bytes. */
export type WireMessage = Omit<NewMessage, 'content'> & { content: Slice | Uint8Array };
export type WireAccepted = Omit<ParamsOf<'commitAccepted'>, 'messages'> & {
  messages: readonly WireMessage[];
};

/** One operation as the caller gave it. */
export type WriteCall = { [Name in WriteName]: { name: Name; params: ParamsOf<Name> } }[WriteName];
export type ReadCall = { [Name in ReadName]: { name: Name; params: ParamsOf<Name> } }[ReadName];

/** One operation as it crosses. */
export type WireCall =
  | Exclude<WriteCall, { name: 'commitAccepted' }>
  | { name: 'commitAccepted'; params: WireAccepted };

/** How one operation ended. */
export type Answer =
  | {
      kind: 'value';
      value: ResultOf<WriteName | ReadName>;
      captured?: readonly CaptureView[];
      suppressed?: readonly SuppressionChange[];
    }
  /** The idempotency key that came with it is taken; nothing was done. */
  | { kind: 'held'; held: KeyHeld }
  /** The engine cannot work now. */
  | { kind: 'unavailable'; reason: string }
  /** A bug, or a rule of the database broken by the caller. */
  | { kind: 'thrown'; error: unknown };

export type WriterRequest =
  /** `synced`: the commit reaches the disk before the reply. */
  | { kind: 'batch'; calls: readonly WireCall[]; synced: boolean }
  /** Tries whether the disk takes data. */
  | { kind: 'probe' }
  | { kind: 'close' };

/** One answer per call, one for a probe; a close is answered by the end of the thread. */
export type WriterReply = readonly Answer[];

/** `go-on`: the next step of a read that was answered with `more`. */
export type ReaderRequest =
  | { kind: 'read'; call: ReadCall }
  | { kind: 'go-on'; read: number }
  | { kind: 'close' };
export type ReaderReply = Answer | { kind: 'more'; read: number };

/** The first message of a thread: it works, or why it never will. */
export type ThreadStart = { kind: 'ready' } | { kind: 'refused'; reason: RefusalReason; message: string };

/** Why a database is not opened. */
export type RefusalReason = 'locked' | 'corrupt' | 'newer-schema' | 'foreign' | 'inaccessible';

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
  /** Nobody else has it open while the writer opens it; others may come afterwards. */
  | 'first'
  /** Others have it open: the schema must be the one of this program already. */
  | 'joined';

export interface ReaderData {
  path: string;
}

/**
 * Failpoint `store-write`: transactions number `from` (1 = the first) to `from + count - 1` fail. Failpoint
 * `store-death`: the thread breaks after batch number `from` is committed and before it is answered.
 */
export interface FailStoreWrites {
  from: number;
  count: number;
  /** As on a full disk (default), as on a disk with errors, or by a thread that breaks. */
  as?: 'full' | 'io' | 'death';
}
