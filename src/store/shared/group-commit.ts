/**
 * Group commit without a timer. While one batch is being committed everything that arrives forms the next one, so a
 * single caller waits for one commit and a hundred callers share one. Given operations with their weight, calls
 * `commit` with one batch at a time and settles each operation with its own answer.
 * Patient operations (outcomes, events) do not start a batch themselves: they ride with the next impatient one, or
 * go after `patienceMs` or once `patienceRows` rows of them wait. Order of arrival is kept.
 * Portions of longer work (deleting, retention, imports) wait apart: each batch takes one of them behind everything else,
 * so that however many portions wait, nobody waits for more than one.
 */
import type { Clock, Timer } from '../../lib/clock.ts';

/** One operation on its way. */
export interface Operation<Call, Result> {
  call: Call;
  /** Bytes that count against a batch's size. */
  bytes: number;
  /** Rows it writes, about: they count against a batch's length. */
  rows: number;
  /** A portion of longer work. */
  portion: boolean;
  /** Its commit must reach the disk before it is answered. */
  synced: boolean;
  /** Rows it brings, where it may wait for company; null = impatient. */
  patientRows: number | null;
  settle(result: Result): void;
}

export interface GroupCommitLimits {
  /** Operations in a batch. */
  maxOperations: number;
  /** Content bytes in a batch; a single larger operation goes alone. */
  maxBytes: number;
  /** Rows in a batch, apart from those of its portion; a single larger operation goes alone. */
  maxRows: number;
  patienceMs: number;
  patienceRows: number;
}

export interface GroupCommit<Call, Result> {
  add(operation: Operation<Call, Result>): void;
  /** Resolves when everything added so far is answered; nothing waits for company any more. */
  drain(): Promise<void>;
}

/** `commit` must resolve with one result per operation, in order, and never reject. */
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
  let committing = false;
  let scheduled = false;
  const idle: (() => void)[] = [];

  function isEmpty(): boolean {
    return queue.length === 0 && portions.length === 0;
  }

  function isDue(): boolean {
    if (portions.length > 0) return true;
    return queue.length > 0 && (impatient > 0 || overdue || patientRows >= limits.patienceRows);
  }

  /** Looks again after the current turn's callers have all added theirs. */
  function schedule(): void {
    if (committing || scheduled || !isDue()) return;
    scheduled = true;
    queueMicrotask(() => {
      scheduled = false;
      if (!committing && isDue()) void commitNext();
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
    committing = true;
    const batch = take();
    const results = await deps.commit(batch);
    committing = false;
    // The writer gets its next batch before the callers hear of this one: they are prepared while it commits.
    if (isDue()) void commitNext();
    for (const [i, operation] of batch.entries()) operation.settle(results[i] as Result);
    if (isEmpty() && !committing) {
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
      if (isEmpty() && !committing) return;
      await new Promise<void>((resolve) => {
        idle.push(resolve);
      });
    },
  };
}
