/**
 * A worker thread that answers each request once, in order. It is started when first needed and again after it died;
 * requests that were unanswered then are rejected with StoreUnavailable, because it is unknown whether they were done.
 */
import { Worker } from 'node:worker_threads';
import { explainFiles } from '../../../lib/open-files.ts';
import { StoreRefused } from '../../shared/refusal.ts';
import { StoreUnavailable } from '../../store.ts';
import type { ThreadStart } from './protocol.ts';

export interface Thread<Request, Reply> {
  /** Starts the thread unless it is running; resolves when it works, rejects with StoreRefused if it never will. */
  start(): Promise<void>;
  /** Posts a request; resolves with its reply. Rejects with StoreUnavailable if the thread died. */
  ask(request: Request, transfer?: readonly ArrayBuffer[]): Promise<Reply>;
  /** Asks a running thread to close with `request` and waits for its end; afterwards `ask` rejects. */
  close(request: Request): Promise<void>;
}

interface Waiting<Reply> {
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

/** A thread that is not started yet; the system shows its name. `died` is called when a working one ends unexpectedly. */
export function createThread<Request, Reply>(
  name: string,
  file: URL,
  workerData: object,
  died: (reason: string) => void = () => {},
): Thread<Request, Reply> {
  let running: {
    worker: Worker;
    ready: Promise<void>;
    waiting: Waiting<Reply>[];
    ended: Promise<void>;
  } | null = null;
  let closed = false;
  let newest: Promise<void> = Promise.resolve();

  function spawn() {
    // Objects in these threads live only for one batch: a small young generation is enough.
    const resourceLimits = { maxYoungGenerationSizeMb: 8 };
    // Of this process's flags only the one that suppresses the warning about node:sqlite.
    const execArgv = process.execArgv.filter((flag) => flag === '--disable-warning=ExperimentalWarning');
    const worker = new Worker(file, { name, workerData, execArgv, resourceLimits });
    const waiting: Waiting<Reply>[] = [];
    let cause: unknown;
    let worked = false;
    const ready = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    // If a request started the thread, its answer reports the refusal.
    ready.promise.catch(() => {});
    worker.once('message', (start: ThreadStart) => {
      if (start.kind === 'refused') {
        cause = new StoreRefused(start.reason, start.message);
        ready.reject(cause);
        void worker.terminate();
        return;
      }
      worker.on('message', (reply: Reply) => waiting.shift()?.resolve(reply));
      worked = true;
      ready.resolve();
    });
    worker.on('error', (error) => {
      cause = error;
    });
    worker.on('exit', () => {
      if (running?.worker === worker) running = null;
      const why = cause instanceof Error ? whyOf(cause) : 'it ended unexpectedly';
      const error = new StoreUnavailable(`The store's thread is gone: ${why}`, { cause });
      ready.reject(cause instanceof StoreRefused ? cause : error);
      // Before the unanswered requests are rejected: their callers must already know it.
      if (worked && !closed) died(why);
      for (const one of waiting.splice(0)) one.reject(error);
      ended.resolve();
    });
    return { worker, ready: ready.promise, waiting, ended: ended.promise };
  }

  return {
    start() {
      running ??= spawn();
      return running.ready;
    },
    ask(request, transfer) {
      if (closed) return Promise.reject(new StoreUnavailable('The store is closed'));
      running ??= spawn();
      const { worker, waiting } = running;
      const { promise, resolve, reject } = Promise.withResolvers<Reply>();
      const ahead = newest;
      // Without its result, which may be a large content and would stay in memory until the next request.
      newest = promise.then(ignore, ignore);
      waiting.push({ resolve, reject });
      try {
        worker.postMessage(request, transfer as ArrayBuffer[] | undefined);
      } catch (error) {
        waiting.pop();
        // In order, too: who gets an answer may use the memory again that the requests before it are read from.
        const fail = () => reject(error instanceof Error ? error : new Error(String(error)));
        ahead.then(fail, fail);
      }
      return promise;
    },
    async close(request) {
      closed = true;
      if (running === null) return;
      const { worker, ended } = running;
      worker.postMessage(request);
      await ended;
    },
  };
}

/** A thread needs files to start; where there is none left, it says so in words of Node. */
function whyOf({ message }: Error): string {
  return /\bEMFILE\b|too many open files/.test(message) ? explainFiles('EMFILE') : message;
}

function ignore(): void {}
