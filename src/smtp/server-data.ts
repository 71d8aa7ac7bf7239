/**
 * Reads the octets between 354 and the end of a message, as a byte state machine (RFC 5321 §4.1.1.4, §4.5.2).
 *
 *   line start ─'.'─► dot ─CR─► dot CR ─LF─► END          anything else after the dot: the dot was stuffing and is
 * removed
 *   text ─CR─► cr ─LF─► line start                        CR without LF, LF without CR: a fault, never a line end
 *
 * Only CRLF.CRLF ends the data. Takes bytes divided anywhere; returns the message without stuffing, or why it is
 * refused; a refused message is read to its end, but not kept. Memory: at most twice the message, never more than the
 * limit, taken from a share of the memory that all connections have.
 */
import type { ByteShare } from '../lib/byte-budget.ts';

export type DataFault = 'bare-line-end' | 'nul' | 'long-line' | 'too-large' | 'no-room';

const UNLIMITED: ByteShare = { take: () => true, end: () => undefined };

interface DataLimits {
  maxBytes: number;
  maxLineBytes: number;
}

export interface DataReader {
  /** Reads from `at`; returns the offset after the final CRLF, or -1 when the chunk is used up. */
  read(chunk: Uint8Array, at: number): number;
  /** The most serious fault so far, or null. Independent of how the octets were divided. */
  fault(): DataFault | null;
  /** The message; empty if there is a fault. */
  bytes(): Uint8Array;
  /** Returns the shared memory when `bytes` is no longer needed. May be called twice. */
  release(): void;
  isEightBit(): boolean;
  /** Octets read so far, whether kept or not. */
  received(): number;
}

const GRAVEST_FIRST: readonly DataFault[] = ['too-large', 'bare-line-end', 'nul', 'long-line', 'no-room'];

const LINE_START = 0;
const DOT = 1;
const DOT_CR = 2;
const TEXT = 3;
const CR = 4;
const END = 5;

const MIN_BUFFER = 16 * 1024;
/** The announced size is used for the first buffer only up to this. */
const MAX_FIRST_BUFFER = 1024 * 1024;
/** Larger ones grow where they are: moving 16 MiB to a larger buffer would hold up everybody else for up to 80 ms. */
const MAX_MOVED = 4 * 1024 * 1024;
/** Copied octet by octet. */
const SHORT = 64;
const EMPTY = Buffer.alloc(0);

/** A reader for one message. `sizeHint`: the SIZE that was announced, 0 = none. */
export function createDataReader(
  limits: DataLimits,
  sizeHint: number,
  memory: ByteShare = UNLIMITED,
): DataReader {
  const { maxBytes, maxLineBytes } = limits;
  let state = LINE_START;
  const faults = new Set<DataFault>();
  let buffer: Buffer = EMPTY;
  let taken = 0;
  let length = 0;
  /** As `length`, but also counts octets that are no longer kept. */
  let total = 0;
  let lineBytes = 0;
  let eightBit = false;
  let received = 0;

  function refuse(what: DataFault): void {
    faults.add(what);
    length = 0;
    release();
  }

  function release(): void {
    buffer = EMPTY;
    memory.end();
  }

  /** Makes room for `needed` octets; false if the shared memory is used up, or the system has no more. */
  function grow(needed: number): boolean {
    const first = Math.min(Math.max(MIN_BUFFER, sizeHint), MAX_FIRST_BUFFER);
    const size = Math.min(maxBytes, Math.max(needed, buffer.length === 0 ? first : buffer.length * 2));
    if (!memory.take(size - taken)) return false;
    taken = size;
    try {
      buffer = withRoomFor(size);
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
    return true;
  }

  function withRoomFor(size: number): Buffer {
    const { buffer: octets } = buffer;
    if (octets instanceof ArrayBuffer && octets.resizable) {
      octets.resize(size);
      return Buffer.from(octets, 0, size);
    }
    const larger =
      size > MAX_MOVED
        ? Buffer.from(new ArrayBuffer(size, { maxByteLength: maxBytes }), 0, size)
        : Buffer.allocUnsafeSlow(size);
    buffer.copy(larger, 0, 0, length);
    return larger;
  }

  function keep(chunk: Uint8Array, from: number, to: number): void {
    if (from >= to) return;
    total += to - from;
    if (total > maxBytes) refuse('too-large');
    if (faults.size > 0) return;
    const needed = length + to - from;
    if (needed > buffer.length && !grow(needed)) {
      refuse('no-room');
      return;
    }
    // Lines that begin with a dot are kept one by one, and for a short one `set` is mostly overhead.
    if (to - from < SHORT) for (let i = from, at = length; i < to; i++, at++) buffer[at] = chunk[i] as number;
    else buffer.set(chunk.subarray(from, to), length);
    length = needed;
  }

  /** The offset of the next CR, LF or NUL; most octets are read here. */
  function endOfText(chunk: Uint8Array, from: number): number {
    let seen = 0;
    let i = from;
    for (; i < chunk.length; i += 1) {
      const octet = chunk[i] as number;
      if (octet <= 13 && (octet === 13 || octet === 10 || octet === 0)) break;
      seen |= octet;
    }
    if (seen > 127) eightBit = true;
    return i;
  }

  return {
    read(chunk, at) {
      // `from`: first octet that is to be kept and is not yet.
      let from = at;
      let i = at;
      for (; i < chunk.length && state !== END; i += 1) {
        if (state === TEXT) {
          const end = endOfText(chunk, i);
          lineBytes += end - i;
          i = end;
          if (i === chunk.length) break;
        }
        const octet = chunk[i] as number;
        switch (state) {
          case LINE_START:
            lineBytes = 0;
            if (octet === 46) {
              keep(chunk, from, i);
              from = i + 1;
              state = DOT;
              continue;
            }
            break;
          case DOT:
            if (octet === 13) {
              // Not kept yet: if the LF follows, it is not part of the message.
              from = i + 1;
              state = DOT_CR;
              continue;
            }
            break;
          case DOT_CR:
            if (octet === 10) {
              from = i + 1;
              state = END;
              continue;
            }
            refuse('bare-line-end');
            break;
          case CR:
            if (octet === 10) {
              if (lineBytes > maxLineBytes) refuse('long-line');
              state = LINE_START;
              continue;
            }
            refuse('bare-line-end');
            break;
        }
        // An octet of a line, whatever came before it.
        if (octet === 13) state = CR;
        else {
          state = TEXT;
          lineBytes += 1;
          if (octet === 10) refuse('bare-line-end');
          else if (octet === 0) refuse('nul');
          else if (octet > 127) eightBit = true;
        }
      }
      if (state !== END) keep(chunk, from, chunk.length);
      received += i - at;
      return state === END ? i : -1;
    },
    fault: () => GRAVEST_FIRST.find((each) => faults.has(each)) ?? null,
    bytes: () => buffer.subarray(0, length),
    release,
    isEightBit: () => eightBit,
    received: () => received,
  };
}
