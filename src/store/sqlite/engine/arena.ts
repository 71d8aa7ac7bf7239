/**
 * Packs operations for the writer thread: contents are copied once into shared memory, everything else is cloned by the
 * port. Contents that do not fit are transferred as a copy, which is made in turns (the caller still needs its own bytes for the
 * first delivery).
 */
import { joinInTurns } from '../../../lib/join-in-turns.ts';
import type { Turn } from '../../../lib/turns.ts';
import type { WireCall, WireMessage, WriteCall } from './protocol.ts';

export interface Arena {
  /** The memory that the writer thread reads. */
  shared: SharedArrayBuffer;
  /** A batch; an operation whose contents do not fit is alone in it. */
  pack(calls: readonly WriteCall[], turn: Turn): Packed | Promise<Packed>;
}

/** The calls in the form that is sent, and the buffers to transfer with them. */
export interface Packed {
  calls: readonly WireCall[];
  transfer: readonly ArrayBuffer[];
}

/**
 * An arena of `maxBytes` for each of `batches` that are on their way at once; they are answered in order. The system
 * provides memory only as far as it is used.
 */
export function createArena(maxBytes: number, batches: number): Arena {
  const shared = new SharedArrayBuffer(maxBytes * batches);
  const view = new Uint8Array(shared);
  let packed = 0;
  return {
    shared,
    pack(calls, turn) {
      const start = (packed % batches) * maxBytes;
      packed += 1;
      const large = calls.find((call) => contentBytes(call) > maxBytes);
      if (large !== undefined) return packLarge(calls, large, turn);
      let used = 0;
      const place = (content: Uint8Array): WireMessage['content'] => {
        const offset = start + used;
        view.set(content, offset);
        used += content.length;
        return { offset, length: content.length };
      };
      const wire = calls.map((call): WireCall => {
        if (call.name !== 'commitAccepted') return call;
        const messages = call.params.messages.map((message) => ({
          ...message,
          content: place(message.content),
        }));
        return { name: call.name, params: { ...call.params, messages } };
      });
      return { calls: wire, transfer: [] };
    },
  };
}

/** Content bytes of an operation. */
export function contentBytes(call: WriteCall): number {
  if (call.name !== 'commitAccepted') return 0;
  return call.params.messages.reduce((sum, message) => sum + message.content.length, 0);
}

/** All contents in one array, so that one buffer is transferred. */
async function packLarge(calls: readonly WriteCall[], large: WriteCall, turn: Turn): Promise<Packed> {
  if (large.name !== 'commitAccepted') return { calls, transfer: [] };
  const { messages } = large.params;
  const all = await joinInTurns(
    messages.map(({ content }) => content),
    turn,
  );
  let at = 0;
  const copied = messages.map((message) => {
    const from = at;
    at += message.content.length;
    return { ...message, content: all.subarray(from, at) };
  });
  const copy: WireCall = { name: large.name, params: { ...large.params, messages: copied } };
  return { calls: calls.map((call) => (call === large ? copy : call)), transfer: [all.buffer] };
}
