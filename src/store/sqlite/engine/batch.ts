/**
 * Runs a batch of operations as one transaction. Returns one answer per call after the commit. If an operation throws,
 * everything is rolled back and each operation runs in its own transaction, so that only the faulty one fails; if the
 * engine cannot write, all fail in the same way.
 */

import type { ParamsOf, ResultOf } from '../../shared/operation.ts';
import { WRITES, type WriteName } from '../operations.ts';
import { runKeyed } from './keyed.ts';
import type { Answer, FailStoreWrites, WriteCall } from './protocol.ts';
import type { Session } from './session.ts';
import { busyError, failedAnswer, isIoError, simulatedFailure } from './sqlite-errors.ts';

const PROBE_BYTES = 65_536;

export interface BatchRunner {
  run(calls: readonly WriteCall[], synced: boolean): Answer[];
  /** Writes and deletes some data, synced. */
  probe(): Answer;
}

/**
 * A runner over one session. `failStoreWrites` makes chosen transactions fail as with a full disk; `othersWrite`: other
 * processes change the database too, so the session's cache is checked before every transaction; `requireFiles` throws
 * where what is committed would be lost with the process.
 */
export function createBatchRunner(
  session: Session,
  {
    failStoreWrites,
    othersWrite,
    requireFiles = () => {},
  }: { failStoreWrites: FailStoreWrites | null; othersWrite: boolean; requireFiles?: () => void },
): BatchRunner {
  const { db } = session;
  let syncedNow: boolean | null = null;
  let transactions = 0;
  // After an I/O error the system may have dropped pages that were not on disk, including unsynced commits. A later
  // commit would succeed although the log has a gap before it. Copying the log into the database first closes the gap.
  let logSuspect = false;
  let seenVersion: number | null = null;

  function begin(synced: boolean): void {
    transactions += 1;
    if (
      failStoreWrites !== null &&
      failStoreWrites.as !== 'death' &&
      transactions >= failStoreWrites.from &&
      transactions < failStoreWrites.from + failStoreWrites.count
    ) {
      throw simulatedFailure(failStoreWrites.as ?? 'full');
    }
    requireFiles();
    if (logSuspect) {
      const done = db.get<{ busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)');
      if (done?.busy !== 0) {
        throw busyError('the log is still being read');
      }
      logSuspect = false;
    }
    if (synced !== syncedNow) {
      db.exec(synced ? 'PRAGMA synchronous = FULL' : 'PRAGMA synchronous = NORMAL');
      syncedNow = synced;
    }
    db.exec('BEGIN IMMEDIATE');
    session.calls.clear();
    session.dropped = 0;
    if (othersWrite) lookForOthers();
  }

  /** Inside the transaction, so that nothing can change between the check and what follows. */
  function lookForOthers(): void {
    const version = db.get<{ data_version: number }>('PRAGMA data_version')?.data_version ?? null;
    if (version !== seenVersion) session.othersWrote();
    seenVersion = version;
  }

  function undo(error: unknown): void {
    if (isIoError(error)) logSuspect = true;
    session.forget();
    if (db.inTransaction()) db.exec('ROLLBACK');
  }

  function transact(calls: readonly WriteCall[], synced: boolean): Answer[] {
    try {
      begin(synced);
      const answers = calls.map(runOne);
      db.exec('COMMIT');
      return answers;
    } catch (error) {
      undo(error);
      throw error;
    }
  }

  function runOne(call: WriteCall): Answer {
    const answer = runKeyed(session, call, dispatch);
    const { captured, suppressed } = session;
    if ((captured.length === 0 && suppressed.length === 0) || answer.kind !== 'value') return answer;
    session.captured = [];
    session.suppressed = [];
    return {
      ...answer,
      ...(captured.length === 0 ? {} : { captured }),
      ...(suppressed.length === 0 ? {} : { suppressed }),
    };
  }

  function run(calls: readonly WriteCall[], synced: boolean): Answer[] {
    try {
      return transact(calls, synced);
    } catch (error) {
      const answer = failedAnswer(error);
      if (answer.kind === 'unavailable' || calls.length === 1) return calls.map(() => answer);
      return calls.flatMap((call) => run([call], synced));
    }
  }

  function probe(): Answer {
    try {
      begin(true);
      db.run('INSERT OR REPLACE INTO probe (id, filler) VALUES (1, zeroblob(?))', PROBE_BYTES);
      db.exec('COMMIT');
      db.exec('BEGIN IMMEDIATE');
      db.run('DELETE FROM probe');
      db.exec('COMMIT');
      return { kind: 'value', value: undefined };
    } catch (error) {
      undo(error);
      return failedAnswer(error);
    }
  }

  return { run, probe };
}

/** Calls the operation; generic, so that name and parameters stay a pair. */
function dispatch(session: Session, call: WriteCall): ResultOf<WriteName> {
  return apply(session, call.name, call.params);
}

function apply<Name extends WriteName>(session: Session, name: Name, params: ParamsOf<Name>): ResultOf<Name> {
  return WRITES[name](session, params);
}
