/**
 * How far events and captures can be read. Transactions take numbers in one order and commit in another, so behind the
 * greatest number that is seen a smaller one may still appear. Every transaction takes its id before the numbers of its
 * rows: a number noted here, followed by an id taken here, is safe as soon as every transaction with a smaller id has
 * ended. A snapshot says so, but its ids are those of the whole server: the ones of other databases are left out.
 */
import type { Db } from './db.ts';

export interface Horizon {
  /** No row up to this number appears any more. */
  safe(): Promise<number>;
  /** Another server has taken over, which may give numbers again. */
  forget(): void;
}

/** Numbers that wait for their transactions; further ones are not noted, which only delays. */
const MOST_NOTED = 100;

/**
 * The oldest transaction of this database that may still run, or one that has not begun. The snapshot comes before the
 * looks at locks and processes, so a transaction that is found there ran in the process that is found. One that is not
 * found there counts as one of this database: it has just begun or just ended.
 */
const OLDEST_RUNNING = `
  SELECT coalesce(min(x::text::int8), pg_snapshot_xmax(pg_current_snapshot())::text::int8) AS oldest
  FROM pg_snapshot_xip(pg_current_snapshot()) x
  WHERE NOT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
      WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted AND l.transactionid = x::xid
        AND a.datname <> current_database())
    AND NOT EXISTS (SELECT FROM pg_prepared_xacts p WHERE p.transaction = x::xid AND p.database <> current_database())`;

/** `sequence`: the one that the numbers come from. */
export function createHorizon(
  sequence: 'event_seq_seq' | 'capture_seq_seq',
  quickly: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>,
): Horizon {
  let safe = 0;
  let noted: { seq: number; xid: number }[] = [];
  let asking: Promise<number> | null = null;
  let again: Promise<number> | null = null;

  function ask(): Promise<number> {
    return quickly(async (db) => {
      // Each is a transaction of its own, in this order: the second sees the end of the first.
      const [now, running] = await Promise.all([
        db.get<{ seq: number; xid: number }>(
          `WITH s AS MATERIALIZED (SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS seq FROM ${sequence})
           SELECT seq, pg_current_xact_id()::text::int8 AS xid FROM s`,
        ),
        db.get<{ oldest: number }>(OLDEST_RUNNING),
      ]);
      if (now === undefined || running === undefined) throw new Error('The database told no numbers');
      noted.push(now);
      for (const { seq, xid } of noted) if (xid <= running.oldest) safe = Math.max(safe, seq);
      noted = noted.filter(({ xid }) => xid > running.oldest).slice(0, MOST_NOTED);
      return safe;
    });
  }

  return {
    forget() {
      safe = 0;
      noted = [];
    },
    safe() {
      // Whoever asks while the answer is on its way may have committed after it was made.
      if (asking === null) {
        asking = ask().finally(() => {
          asking = null;
        });
        return asking;
      }
      again ??= asking
        .catch(() => 0)
        .then(() => {
          again = null;
          return this.safe();
        });
      return again;
    },
  };
}
