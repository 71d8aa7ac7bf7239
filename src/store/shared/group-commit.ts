/**
 * Group commit without a timer. While one batch is being committed, everything that arrives forms the next one, so a
 * single caller waits for one commit and a hundred callers share one. Takes operations with their size; calls `commit`
 * with one batch at a time, or a second one if the engine takes it ahead, and answers each operation separately. Patient operations (outcomes, events) do not start a
 * batch themselves: they are added to the next impatient one, or are committed after `patienceMs` or when
 * `patienceRows` rows of them wait. Order of arrival is kept. Portions of longer work (deleting, retention, imports)
 * wait separately: each batch takes one of them after everything else, so nobody waits for more than one, however many
 * there are.
 */
import type { Clock, Timer } from '../../lib/clock.ts';

/** One operation in the queue. */
export interface Operation<Call, Result> {
  call: Call;
  /** Bytes that count towards the batch's limit. */
  bytes: number;
  /** Approximate rows that it writes, which count towards the batch's limit. */
  rows: number;
  /** A portion of longer work. */
  portion: boolean;
  /** Its commit must be on disk before it is answered. */
  synced: boolean;
  /** Rows of a patient operation; null = impatient. */
  patientRows: number | null;
  settle(result: Result): void;
}

export interface GroupCommitLimits {
  /** Operations in a batch. */
  maxOperations: number;
  /** Content bytes in a batch; a larger operation gets its own batch. */
  maxBytes: number;
  /** Rows in a batch without those of its portion; a larger operation gets its own batch. */
  maxRows: number;
  patienceMs: number;
  patienceRows: number;
  /**
   * The engine takes a batch while another is being committed, and begins it when that one ends. Such a batch is formed
   * early, so only if it is not much smaller than the running one.
   */
  ahead?: boolean;
}

export interface GroupCommit<Call, Result> {
  add(operation: Operation<Call, Result>): void;
  /** Resolves when everything added so far is answered; patient operations no longer wait. */
  drain(): Promise<void>;
}

/** A batch that is formed while another is being committed has at least so many operations, and this share of the other's. */
const LEAST_AHEAD = 8;
const SHARE_AHEAD = 0.75;
/** With more rows in the running batch, which take milliseconds, urgent operations wait for that one only. */
const MOST_ROWS_BEFORE = 100;

/** `commit` must resolve with one result per operation, batches in their order, and never reject. */
export function createGroupCommit<Call, Result>(
  deps: {
    clock: Clock;
    commit: (batch: readonly Operation<Call, Result>[]) => Promise<readonly Result[]>;
  },
  limits: GroupCommitLimits,
): GroupCommit<Call, Result> {
  let queue: Operation<Call, Result>[] = [];
  const portions: Operation<Call, Result>[] = [];
  let impatient = 0;
  let patientRows = 0;
  let overdue = false;
  let timer: Timer | null = null;
  /** The batches that are with the engine, oldest first. */
  const running: { operations: number; rows: number }[] = [];
  let scheduled = false;
  const idle: (() => void)[] = [];

  function isEmpty(): boolean {
    return queue.length === 0 && portions.length === 0;
  }

  function isDue(): boolean {
    if (portions.length > 0) return true;
    return queue.length > 0 && (impatient > 0 || overdue || patientRows >= limits.patienceRows);
  }

  function mayCommit(): boolean {
    if (!isDue()) return false;
    const [first] = running;
    if (first === undefined) return true;
    if (limits.ahead !== true || running.length > 1) return false;
    if (portions.length > 0 || first.rows > MOST_ROWS_BEFORE) return false;
    return queue.length >= Math.max(LEAST_AHEAD, first.operations * SHARE_AHEAD);
  }

  /** Checks again after the callers of the current turn have added theirs. */
  function schedule(): void {
    if (scheduled || !mayCommit()) return;
    scheduled = true;
    queueMicrotask(() => {
      scheduled = false;
      if (mayCommit()) void commitNext();
    });
  }

  function take(): Operation<Call, Result>[] {
    let count = 0;
    let bytes = 0;
    let rows = 0;
    for (const operation of queue) {
      const isFull =
        count >= limits.maxOperations ||
        bytes + operation.bytes > limits.maxBytes ||
        rows + operation.rows > limits.maxRows;
      if (count > 0 && isFull) break;
      count += 1;
      bytes += operation.bytes;
      rows += operation.rows;
      if (operation.patientRows === null) impatient -= 1;
      else patientRows -= operation.patientRows;
    }
    const batch = queue.slice(0, count);
    queue = queue.slice(count);
    if (queue.length === 0) {
      overdue = false;
      timer?.cancel();
      timer = null;
    }
    const portion = portions.shift();
    if (portion !== undefined) batch.push(portion);
    return batch;
  }

  async function commitNext(): Promise<void> {
    const batch = take();
    running.push({ operations: batch.length, rows: batch.reduce((sum, { rows }) => sum + rows, 0) });
    const committed = deps.commit(batch);
    schedule();
    const results = await committed;
    running.shift();
    // The writer gets its next batch before the callers are answered: they run while it commits.
    if (mayCommit()) void commitNext();
    batch.forEach(({ settle }, i) => {
      settle(results[i] as Result);
    });
    if (isEmpty() && running.length === 0) {
      for (const resolve of idle.splice(0)) resolve();
    }
  }

  return {
    add(operation) {
      if (operation.portion) {
        portions.push(operation);
        schedule();
        return;
      }
      queue.push(operation);
      if (operation.patientRows === null) {
        impatient += 1;
      } else {
        patientRows += operation.patientRows;
        timer ??= deps.clock.setTimer(limits.patienceMs, () => {
          timer = null;
          overdue = true;
          schedule();
        });
      }
      schedule();
    },
    async drain() {
      overdue = true;
      schedule();
      if (isEmpty() && running.length === 0) return;
      await new Promise<void>((resolve) => {
        idle.push(resolve);
      });
    },
  };
}
