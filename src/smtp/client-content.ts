/**
 * Sends the content of one message after 354: dots doubled, the final dot behind it. A small message is one write; a
 * larger one goes in slices, each after the system has taken the one before, so that a server that refuses in the middle
 * is heard.
 */
import { afterInput } from '../lib/turns.ts';
import type { Channel } from './client-channel.ts';
import type { Transaction } from './client-types.ts';
import { createDotStuffer } from './dot-stuffing.ts';

/**
 * A message up to this size is written at once with its final dot; a larger one in slices, each after the one before
 * was taken.
 */
const ONE_WRITE_BYTES = 128 * 1024;
const SLICE_BYTES = 64 * 1024;

interface ContentSteps {
  /** false: its transaction has ended meanwhile. */
  goesOn(): boolean;
  /** The next slice is about to be written. */
  slice(): void;
  /** Writes the end of the data, the final dot and what may follow it. */
  end(chunks: readonly Uint8Array[], terminator: string): void;
}

export function sendContent(
  { data, size }: Transaction,
  channel: Pick<Channel, 'writeParts'>,
  steps: ContentSteps,
): void {
  const stuffer = createDotStuffer();
  if (size <= ONE_WRITE_BYTES) {
    const chunks = data.map((chunk) => stuffer.feed(chunk));
    steps.end(chunks, stuffer.terminator());
    return;
  }
  let chunkNo = 0;
  let offset = 0;
  const step = (): void => {
    if (!steps.goesOn()) return;
    while (chunkNo < data.length && offset >= (data[chunkNo]?.length ?? 0)) {
      chunkNo += 1;
      offset = 0;
    }
    const slice = data[chunkNo]?.subarray(offset, offset + SLICE_BYTES);
    if (slice === undefined) {
      steps.end([], stuffer.terminator());
      return;
    }
    offset += slice.length;
    steps.slice();
    // The reply of a server that refuses is read before the next slice is sent.
    channel.writeParts([stuffer.feed(slice)], '', () => afterInput(step));
  };
  step();
}
