/**
 * At most a few worker threads for large requests, and a short queue in front of them.
 * Given a body, it resolves with what the worker found. Beyond the queue's length it refuses with 503, because every
 * waiting body holds megabytes. Threads start with the first large request and end with `close()`; a thread that
 * dies takes only its own job with it and is replaced by the next one.
 */
import { Worker } from 'node:worker_threads';
import { AppError } from '../../lib/errors.ts';
import type { PersonalOptions } from '../../model/personal.ts';
import type { PersonalSubject } from '../../pipeline/accept/personal-rules.ts';
import type { CapturedAnswer } from './captured-wish.ts';
import type {
  CapturedJob,
  EmailJob,
  PersonalQuestion,
  PersonalReply,
  PreparedEmail,
  SplitBatch,
  SplitJob,
  WorkerJob,
  WorkerResult,
} from './email-worker-messages.ts';

/** What the domain of a message wants in its mail. */
export type PersonalLookUp = (subject: PersonalSubject) => Promise<PersonalOptions | null>;

export interface EmailWorkerPool {
  /** Takes the bytes over. Throws AppError unavailable (queue full, closing) or internal (the worker failed). */
  prepare(job: Omit<EmailJob, 'id' | 'kind'>, personal: PersonalLookUp): Promise<PreparedEmail>;
  /** Takes the bytes of a batch over; refusals as above. */
  split(job: Omit<SplitJob, 'id' | 'kind'>): Promise<SplitBatch>;
  /** Takes the bytes of a captured message over; refusals as above. */
  readCaptured(job: Omit<CapturedJob, 'id' | 'kind'>): Promise<CapturedAnswer>;
  close(): Promise<void>;
}

interface Waiting {
  job: WorkerJob;
  /** null for a job that asks nothing. */
  personal: PersonalLookUp | null;
  /** Why the look-up failed: then the result is worth nothing. */
  lookUpFailed: unknown;
  resolve(answer: WorkerResult): void;
  reject(error: AppError): void;
}

interface Seat {
  worker: Worker;
  current: Waiting | null;
}

/** `entry`: the worker's file. */
export function createEmailWorkerPool(options: {
  maxWorkers: number;
  maxQueue: number;
  entry?: URL;
}): EmailWorkerPool {
  const entry = options.entry ?? new URL('./email-worker.ts', import.meta.url);
  const seats = new Set<Seat>();
  const queue: Waiting[] = [];
  let nextId = 1;
  let closed = false;

  return {
    async prepare(job, personal) {
      const answer = await run({ ...job, kind: 'email', id: nextId++ }, personal);
      if (answer.kind === 'email') return answer.result;
      throw unexpected(answer);
    },
    async split(job) {
      const answer = await run({ ...job, kind: 'split', id: nextId++ }, null);
      if (answer.kind === 'split') return answer.result;
      throw unexpected(answer);
    },
    async readCaptured(job) {
      const answer = await run({ ...job, kind: 'captured', id: nextId++ }, null);
      if (answer.kind === 'captured') return answer.result;
      throw unexpected(answer);
    },
    async close() {
      closed = true;
      for (const waiting of queue.splice(0)) waiting.reject(new AppError('unavailable'));
      await Promise.all([...seats].map((seat) => seat.worker.terminate()));
    },
  };

  function run(job: WorkerJob, personal: PersonalLookUp | null): Promise<WorkerResult> {
    if (closed) return Promise.reject(new AppError('unavailable', { retryAfterSeconds: 5 }));
    if (queue.length >= options.maxQueue) {
      const message = 'Too many large requests are waiting';
      return Promise.reject(new AppError('unavailable', { message, retryAfterSeconds: 1 }));
    }
    return new Promise((resolve, reject) => {
      queue.push({ job, personal, lookUpFailed: null, resolve, reject });
      dispatch();
    });
  }

  function dispatch(): void {
    while (queue.length > 0) {
      const seat = [...seats].find((s) => s.current === null) ?? hire();
      if (seat === null) return;
      const next = queue.shift();
      if (next === undefined) return;
      seat.current = next;
      seat.worker.ref();
      // Moving the buffer instead of copying it needs bytes that are alone in it.
      const body = soleOwner(next.job.body);
      seat.worker.postMessage({ ...next.job, body }, [body.buffer]);
    }
  }

  function hire(): Seat | null {
    if (seats.size >= options.maxWorkers) return null;
    const seat: Seat = { worker: new Worker(entry), current: null };
    seats.add(seat);
    seat.worker.unref();
    seat.worker.on('message', (answer: WorkerResult | PersonalQuestion) => {
      const done = seat.current;
      if ('asks' in answer) {
        if (done !== null) void answerTo(seat, done, answer);
        return;
      }
      seat.current = null;
      seat.worker.unref();
      if (done !== null && done.lookUpFailed !== null) {
        done.reject(new AppError('unavailable', { cause: done.lookUpFailed }));
      } else done?.resolve(answer);
      dispatch();
    });
    seat.worker.on('error', (cause) => lose(seat, cause));
    seat.worker.on('exit', () => lose(seat, new Error('the worker thread ended')));
    return seat;
  }

  async function answerTo(seat: Seat, asking: Waiting, { id, asks }: PersonalQuestion): Promise<void> {
    let personal: PersonalOptions | null = null;
    try {
      personal = (await asking.personal?.(asks)) ?? null;
    } catch (cause) {
      asking.lookUpFailed = cause;
    }
    seat.worker.postMessage({ id, personal } satisfies PersonalReply);
  }

  function lose(seat: Seat, cause: unknown): void {
    if (!seats.delete(seat)) return;
    seat.current?.reject(closed ? new AppError('unavailable') : new AppError('internal', { cause }));
    seat.current = null;
    if (!closed) dispatch();
  }
}

function unexpected(answer: WorkerResult): AppError {
  const cause = new Error(
    answer.kind === 'failed' ? answer.failed : `an answer of another kind: ${answer.kind}`,
  );
  return new AppError('internal', { cause });
}

function soleOwner(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const alone =
    buffer instanceof ArrayBuffer && bytes.byteOffset === 0 && bytes.byteLength === buffer.byteLength;
  return alone ? new Uint8Array(buffer) : new Uint8Array(bytes);
}
