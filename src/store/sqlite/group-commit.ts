/**
 * Group commit without a timer. While one batch is being committed everything that arrives forms the next one, so a
 * single caller waits for one commit and a hundred callers share one. Given operations with their weight, calls
 * `commit` with one batch at a time and settles each operation with its own answer.
 * Patient operations (outcomes, events) do not start a batch themselves: they ride with the next impatient one, or
 * go after `patienceMs` or once `patienceRows` rows of them wait. Order of arrival is kept.
 */
import type { Clock, Timer } from '../../lib/clock.ts';

/** One operation on its way. */
export interface Operation<Call, Result> {
  call: Call;
  /** Bytes that count against a batch's size. */
  bytes: number;
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
  let impatient = 0;
  let patientRows = 0;
  let overdue = false;
  let timer: Timer | null = null;
  let committing = false;
  let scheduled = false;
  const idle: (() => void)[] = [];

  function isDue(): boolean {
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
    for (const operation of queue) {
      if (count > 0 && (count >= limits.maxOperations || bytes + operation.bytes > limits.maxBytes)) break;
      count += 1;
      bytes += operation.bytes;
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
    if (queue.length === 0 && !committing) {
      for (const resolve of idle.splice(0)) resolve();
    }
  }

  return {
    add(operation) {
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
      if (queue.length === 0 && !committing) return;
      await new Promise<void>((resolve) => {
        idle.push(resolve);
      });
    },
  };
}
