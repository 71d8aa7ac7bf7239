/**
 * A few worker threads for the parts of requests that may take long: reading and composing large messages, rendering
 * large templates, parsing captured mail.
 *
 * No tenant can block others. Jobs of one tenant are done in order, those of several in turn; one tenant uses at most
 * `maxWorkers` threads, and one more thread is kept for tenants that use none. A job that takes longer than
 * `deadlineMs` is ended with its thread and answered with `request-too-complex`; the start of the thread, and time in which
 * the worker waits for our answer, do not count. If the queue is full, a job is refused with 503, because every waiting body uses megabytes.
 * Threads start with the first job and end with `close()`; a thread that dies only loses its own job.
 */
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { PersonalOptions } from '../../model/personal.ts';
import type { PersonalFacts } from '../../pipeline/accept/personal-rules.ts';
import type {
  JobKind,
  JobOf,
  PersonalQuestion,
  PersonalReply,
  ResultOf,
  WorkerAnswer,
  WorkerReady,
} from './worker-messages.ts';

/** The settings of a message's domain. */
export type PersonalLookUp = (facts: PersonalFacts) => Promise<PersonalOptions | null>;

export interface WorkerPool {
  /**
   * Does a job for a tenant of these names (`sharersOf`); its bytes are transferred. `deadlineMs` in place of the pool's own. Throws AppError unavailable (queue full, closing),
   * request-too-complex (deadline) or internal (the worker failed).
   */
  run<Kind extends JobKind>(
    tenant: readonly string[],
    kind: Kind,
    job: JobOf<Kind>,
    more?: { personal?: PersonalLookUp; deadlineMs?: number },
  ): Promise<ResultOf<Kind>>;
  close(): Promise<void>;
}

export interface WorkerPoolOptions {
  /** Threads that one tenant may use; there is one more. */
  maxWorkers: number;
  /** Waiting jobs of all tenants; one tenant may have three quarters of them. */
  maxQueue: number;
  /** For one job on its thread. */
  deadlineMs: number;
  entry?: URL;
}

interface Waiting {
  tenant: readonly string[];
  kind: JobKind;
  job: JobOf<JobKind>;
  personal: PersonalLookUp | null;
  deadlineMs: number;
  /** Why the look-up failed: then the result is useless. */
  lookUpFailed: unknown;
  resolve(result: unknown): void;
  reject(error: AppError): void;
}

interface Seat {
  worker: Worker;
  current: Waiting | null;
  /** Whether the thread has loaded what it needs. */
  isReady: boolean;
  deadline: Timer | null;
}

/** No thread runs yet. */
export function createWorkerPool(
  { clock }: { clock: Pick<Clock, 'setTimer'> },
  options: WorkerPoolOptions,
): WorkerPool {
  const entry = options.entry ?? new URL('./worker.ts', import.meta.url);
  const seats = new Set<Seat>();
  /** Waiting jobs by the names of their tenant; the one served longest ago comes first. */
  const queues = new Map<string, Waiting[]>();
  const maxOfOne = Math.max(1, Math.ceil((options.maxQueue * 3) / 4));
  let closed = false;

  return {
    run(tenant, kind, job, { personal = null, deadlineMs = options.deadlineMs } = {}) {
      if (closed) return Promise.reject(new AppError('unavailable', { retryAfterSeconds: 5 }));
      const own = most(tenant, [...queues.values()].flat());
      if (waitingJobs() >= options.maxQueue || own >= maxOfOne) {
        const message = 'Too many large requests are waiting';
        return Promise.reject(new AppError('unavailable', { message, retryAfterSeconds: 1 }));
      }
      return new Promise((resolve, reject) => {
        const waiting: Waiting = {
          tenant,
          kind,
          job,
          personal,
          deadlineMs,
          lookUpFailed: null,
          resolve: resolve as (result: unknown) => void,
          reject,
        };
        const queue = queues.get(tenant.join('\n'));
        if (queue === undefined) queues.set(tenant.join('\n'), [waiting]);
        else queue.push(waiting);
        dispatch();
      });
    },
    async close() {
      closed = true;
      for (const queue of queues.values())
        for (const { reject } of queue) reject(new AppError('unavailable'));
      queues.clear();
      await Promise.all([...seats].map((seat) => seat.worker.terminate()));
    },
  };

  function waitingJobs(): number {
    let sum = 0;
    for (const queue of queues.values()) sum += queue.length;
    return sum;
  }

  function dispatch(): void {
    for (;;) {
      const tenant = nextTenant();
      const seat = tenant === null ? null : freeSeat();
      if (tenant === null || seat === null) return;
      const queue = queues.get(tenant) ?? [];
      const next = queue.shift();
      // A served tenant goes to the end.
      queues.delete(tenant);
      if (queue.length > 0) queues.set(tenant, queue);
      if (next !== undefined) give(seat, next);
    }
  }

  /** The next tenant that may have a thread. */
  function nextTenant(): string | null {
    for (const [tenant, [first]] of queues) {
      const busy = [...seats].flatMap(({ current }) => current ?? []);
      const held = most(first?.tenant ?? [], busy);
      const free = options.maxWorkers + 1 - busy.length;
      if (free > 0 && held < options.maxWorkers && (free > 1 || held === 0)) return tenant;
    }
    return null;
  }

  function freeSeat(): Seat | null {
    return [...seats].find(({ current }) => current === null) ?? hire();
  }

  function give(seat: Seat, waiting: Waiting): void {
    seat.current = waiting;
    seat.worker.ref();
    if (seat.isReady) restartDeadline(seat, waiting);
    const { kind } = waiting;
    const { body } = waiting.job as { body?: Uint8Array };
    // Only bytes that fill their buffer can be transferred instead of copied.
    const own = body === undefined ? null : soleOwner(body);
    const job = own === null ? waiting.job : { ...waiting.job, body: own };
    seat.worker.postMessage({ kind, job }, own === null ? [] : [own.buffer]);
  }

  function hire(): Seat | null {
    if (seats.size > options.maxWorkers) return null;
    const seat: Seat = { worker: new Worker(entry), current: null, isReady: false, deadline: null };
    seats.add(seat);
    seat.worker.unref();
    seat.worker.on('message', (answer: WorkerReady | WorkerAnswer | PersonalQuestion) => {
      const done = seat.current;
      if ('ready' in answer) {
        seat.isReady = true;
        if (done !== null) restartDeadline(seat, done);
        return;
      }
      if ('asks' in answer) {
        if (done !== null) void answerTo(seat, done, answer);
        return;
      }
      leave(seat);
      if (done !== null) finish(done, answer);
      dispatch();
    });
    seat.worker.on('error', (cause) => lose(seat, new AppError('internal', { cause })));
    seat.worker.on('exit', () =>
      lose(seat, new AppError('internal', { cause: new Error('the worker thread ended') })),
    );
    return seat;
  }

  function finish(done: Waiting, answer: WorkerAnswer): void {
    if (done.lookUpFailed !== null) done.reject(new AppError('unavailable', { cause: done.lookUpFailed }));
    else if (answer.ok) done.resolve(answer.result);
    else done.reject(new AppError('internal', { cause: new Error(answer.failed) }));
  }

  function leave(seat: Seat): void {
    seat.current = null;
    seat.deadline?.cancel();
    seat.deadline = null;
    seat.worker.unref();
  }

  function restartDeadline(seat: Seat, { deadlineMs }: Waiting): void {
    seat.deadline?.cancel();
    seat.deadline = clock.setTimer(deadlineMs, () => {
      lose(seat, new AppError('request-too-complex'));
      void seat.worker.terminate();
    });
  }

  async function answerTo(seat: Seat, asking: Waiting, { asks }: PersonalQuestion): Promise<void> {
    seat.deadline?.cancel();
    let personal: PersonalOptions | null = null;
    try {
      personal = (await asking.personal?.(asks)) ?? null;
    } catch (cause) {
      asking.lookUpFailed = cause;
    }
    if (seat.current !== asking) return;
    restartDeadline(seat, asking);
    seat.worker.postMessage({ personal } satisfies PersonalReply);
  }

  function lose(seat: Seat, error: AppError): void {
    if (!seats.delete(seat)) return;
    const lost = seat.current;
    leave(seat);
    lost?.reject(closed ? new AppError('unavailable') : error);
    if (!closed) dispatch();
  }
}

/** How many jobs a tenant has under the name that has most. */
function most(tenant: readonly string[], jobs: readonly Waiting[]): number {
  return Math.max(0, ...tenant.map((name) => jobs.filter((job) => job.tenant.includes(name)).length));
}

function soleOwner(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const alone =
    buffer instanceof ArrayBuffer && bytes.byteOffset === 0 && bytes.byteLength === buffer.byteLength;
  return alone ? new Uint8Array(buffer) : new Uint8Array(bytes);
}
