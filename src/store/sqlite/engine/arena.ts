/**
 * Packs operations for the writer thread: contents are copied once into shared memory, everything else is cloned by the
 * port. Contents that do not fit are transferred as a copy, which is made before in turns (the caller still needs its own
 * bytes for the first delivery).
 */
import { joinInSteps } from '../../../lib/join-in-turns.ts';
import { inTurns, type Turn } from '../../../lib/turns.ts';
import type { ParamsOf } from '../../shared/operation.ts';
import type { WireCall, WireMessage, WriteCall } from './protocol.ts';

type Accepted = ParamsOf<'commitAccepted'>;

export interface Arena {
  /** The memory that the writer thread reads. */
  shared: SharedArrayBuffer;
  /** Whether the contents fit; otherwise `pack` takes only a copy. */
  fits(params: Accepted): boolean;
  /** The parameters with contents that may be transferred. */
  copied(params: Accepted, turn: Turn): Promise<Accepted>;
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
    fits: (params) => sizeOf(params) <= maxBytes,
    copied,
    pack(calls) {
      const start = (packed % batches) * maxBytes;
      packed += 1;
      let used = 0;
      const transfer: ArrayBuffer[] = [];
      const place = (content: Uint8Array): WireMessage['content'] => {
        const offset = start + used;
        view.set(content, offset);
        used += content.length;
        return { offset, length: content.length };
      };
      const wire = calls.map((call): WireCall => {
        if (call.name !== 'commitAccepted') return call;
        if (sizeOf(call.params) > maxBytes) {
          transfer.push(...buffersOf(call.params));
          return call;
        }
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
  return sizeOf(call.params);
}

function sizeOf({ messages }: Accepted): number {
  return messages.reduce((sum, message) => sum + message.content.length, 0);
}

/** All contents in one array, so that one buffer is transferred. Commits do not wait for copies that others make. */
async function copied(params: Accepted, turn: Turn): Promise<Accepted> {
  const all = await inTurns(joinInSteps(params.messages.map(({ content }) => content)), turn);
  let at = 0;
  const messages = params.messages.map((message) => {
    const from = at;
    at += message.content.length;
    return { ...message, content: all.subarray(from, at) };
  });
  return { ...params, messages };
}

function buffersOf({ messages }: Accepted): Set<ArrayBuffer> {
  return new Set(messages.map(({ content }) => content.buffer as ArrayBuffer));
}
