/**
 * Runs a store thread's work on the caller's own thread, with the same interface: for a command, which starts sooner so,
 * and for tests on a virtual clock, in which a reply must not take real time. The same code runs over the same file.
 * Replies come in the order of the requests, each in its own microtask, so that nobody is answered before `ask` has
 * returned.
 */
import { StoreUnavailable } from '../../store.ts';
import type { Thread } from './thread.ts';
import type { Work } from './writer-work.ts';

/** Opens its work at `start` or with the first request; `start` throws what `open` throws. */
export function createInProcess<Request extends { kind: string }, Reply>(
  open: () => Work<Exclude<Request, { kind: 'close' }>, Reply>,
): Thread<Request, Reply> {
  let work: ReturnType<typeof open> | null = null;
  let closed = false;

  return {
    async start() {
      work ??= open();
    },
    async ask(request) {
      if (closed) throw new StoreUnavailable('The store is closed');
      await Promise.resolve();
      work ??= open();
      return work.answer(request as Exclude<Request, { kind: 'close' }>);
    },
    async close() {
      closed = true;
      // Earlier requests are answered first.
      await Promise.resolve();
      await Promise.resolve();
      work?.close();
      work = null;
    },
  };
}
