/**
 * What a client has sent and the session has not read yet: chunks divided anywhere, and the beginning of a line from
 * earlier ones. Memory: the chunks, and of an unfinished line as much as the longest one that is allowed; the rest of it
 * is counted and dropped. Only LF ends a line here; what stands before it is judged by the session.
 */
import type { Clock } from '../lib/clock.ts';
import { MAX_AUTH_BYTES } from './server-commands.ts';
import type { DataReader } from './server-data.ts';

export interface ServerInput {
  push(chunk: Uint8Array): void;
  /** Something was received and not read. */
  hasMore(): boolean;
  /** The next octet, if it begins a line. */
  lineStart(): number | undefined;
  /** Reads the rest of a line: the line with its end, cut if it is longer than allowed; null: more is needed. */
  readLine(): Uint8Array | null;
  /** Octets of the line that was read last, whole or not, before any cut. */
  lineBytes(): number;
  /** Since when a line is unfinished (monotonic); null: none is. */
  unfinishedSinceMs(): number | null;
  /** Lets the reader of a message read on; returns whether that is at its end. */
  readData(data: DataReader): boolean;
  clear(): void;
}

const LF = 10;
const HELD_BYTES = MAX_AUTH_BYTES + 2;
const EMPTY = Buffer.alloc(0);

export function createServerInput(clock: Pick<Clock, 'monotonicMs'>): ServerInput {
  let pending: Uint8Array[] = [];
  /** Where the first of them is read on. */
  let at = 0;
  let held: Uint8Array = EMPTY;
  let lineBytes = 0;
  let isUnfinished = false;
  let startedMs = 0;

  return {
    push: (chunk) => void pending.push(chunk),
    hasMore: () => pending.length > 0,
    lineStart: () => (isUnfinished ? undefined : pending[0]?.[at]),
    readLine() {
      const [chunk] = pending;
      if (chunk === undefined) return null;
      if (!isUnfinished) {
        startedMs = clock.monotonicMs();
        lineBytes = 0;
      }
      const lf = chunk.indexOf(LF, at);
      const end = lf === -1 ? chunk.length : lf + 1;
      lineBytes += end - at;
      let line = held;
      if (lf !== -1 && !isUnfinished) line = chunk.subarray(at, end);
      else {
        const room = HELD_BYTES - held.length;
        // A copy: a few octets must not keep a whole chunk in memory.
        if (room > 0) line = Buffer.concat([held, chunk.subarray(at, Math.min(end, at + room))]);
      }
      readTo(end, chunk);
      isUnfinished = lf === -1;
      held = isUnfinished ? line : EMPTY;
      return isUnfinished ? null : line;
    },
    lineBytes: () => lineBytes,
    unfinishedSinceMs: () => (isUnfinished ? startedMs : null),
    readData(data) {
      const [chunk] = pending;
      if (chunk === undefined) return false;
      const end = data.read(chunk, at);
      readTo(end === -1 ? chunk.length : end, chunk);
      return end !== -1;
    },
    clear() {
      pending = [];
      at = 0;
      held = EMPTY;
      isUnfinished = false;
    },
  };

  function readTo(end: number, chunk: Uint8Array): void {
    at = end;
    if (at < chunk.length) return;
    pending.shift();
    at = 0;
  }
}
