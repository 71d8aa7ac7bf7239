/**
 * Reads that are asked for in one turn go to a reader thread together: a message to a thread and back costs more than a
 * read by key. With recipients claimed from a long queue, whose contents are read just before they are sent, this took a
 * tenth of all CPU. Answers come in order; one that fails does not concern the others.
 */
import { StoreUnavailable } from '../../store.ts';
import type { ReadCall, ReaderReplies, ReaderReply, ReaderRequest } from './protocol.ts';
import type { Thread } from './thread.ts';

/** Others wait for these meanwhile. */
const MOST_TOGETHER = 16;

interface Asked {
  call: ReadCall;
  answered(reply: ReaderReply): void;
  failed(error: unknown): void;
}

export interface ReadGroups {
  /** `alone`: it may take long, so nothing goes with it. Rejects with StoreUnavailable if the thread died. */
  read(call: ReadCall, alone: boolean): Promise<ReaderReply>;
  /** The next step of a read that was answered with `more`. */
  goOn(read: number): Promise<ReaderReply>;
}

export function createReadGroups(thread: Thread<ReaderRequest, ReaderReplies>): ReadGroups {
  let asked: Asked[] = [];

  return {
    read(call, alone) {
      const { promise, resolve, reject } = Promise.withResolvers<ReaderReply>();
      const one: Asked = { call, answered: resolve, failed: reject };
      if (alone) {
        // What was asked for before it does not wait for it.
        sendAsked();
        void send([one]);
      } else {
        asked.push(one);
        if (asked.length === 1) queueMicrotask(sendAsked);
        else if (asked.length === MOST_TOGETHER) sendAsked();
      }
      return promise;
    },
    async goOn(read) {
      const [reply] = await thread.ask({ kind: 'go-on', read });
      if (reply === undefined) throw new Error('a reader answered nothing');
      return reply;
    },
  };

  function sendAsked(): void {
    if (asked.length === 0) return;
    const group = asked;
    asked = [];
    void send(group);
  }

  async function send(group: readonly Asked[]): Promise<void> {
    let left = group;
    try {
      while (left.length > 0) {
        const replies = await thread.ask({ kind: 'reads', calls: left.map(({ call }) => call) });
        // Fewer than were asked, if those were large.
        for (const [i, reply] of replies.entries()) left[i]?.answered(reply);
        left = left.slice(replies.length);
      }
    } catch (error) {
      // One that cannot be posted must not fail the others.
      if (left.length > 1 && !(error instanceof StoreUnavailable)) for (const one of left) void send([one]);
      else for (const { failed } of left) failed(error);
    }
  }
}
