/**
 * Packs operations for the writer thread: contents are copied once into shared memory, everything else is cloned by the
 * port. Contents that do not fit are transferred as copies (the caller still needs its own bytes for the first
 * delivery).
 */
import type { WireCall, WireMessage, WriteCall } from './protocol.ts';

export interface Arena {
  /** The memory that the writer thread reads. */
  shared: SharedArrayBuffer;
  /** The calls in the form that is sent, and the buffers to transfer with them. */
  pack(calls: readonly WriteCall[]): { calls: WireCall[]; transfer: ArrayBuffer[] };
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
    pack(calls) {
      const start = (packed % batches) * maxBytes;
      packed += 1;
      let used = 0;
      const transfer: ArrayBuffer[] = [];
      const place = (content: Uint8Array): WireMessage['content'] => {
        if (used + content.length <= maxBytes) {
          const offset = start + used;
          view.set(content, offset);
          used += content.length;
          return { offset, length: content.length };
        }
        const copy = new Uint8Array(content);
        transfer.push(copy.buffer);
        return copy;
      };
      const wire = calls.map((call): WireCall => {
        if (call.name !== 'commitAccepted') return call;
        const messages = call.params.messages.map((message) => ({
          ...message,
          content: place(message.content),
        }));
        return { name: call.name, params: { ...call.params, messages } };
      });
      return { calls: wire, transfer };
    },
  };
}

/** Content bytes of an operation. */
export function contentBytes(call: WriteCall): number {
  if (call.name !== 'commitAccepted') return 0;
  return call.params.messages.reduce((sum, message) => sum + message.content.length, 0);
}
