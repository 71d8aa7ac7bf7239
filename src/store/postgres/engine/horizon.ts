/**
 * How far events and captures can be read. Transactions take numbers in one order and commit in another, so behind the
 * greatest number that is seen a smaller one may still appear. Every transaction takes its id before the numbers of its
 * rows: a number noted here, followed by an id taken here, is safe as soon as every transaction with a smaller id has
 * ended. A snapshot's `xmin` says so; its `xmax` is not the next id.
 */
import type { Db } from './db.ts';

export interface Horizon {
  /** No row up to this number appears any more. */
  safe(): Promise<number>;
}

/** Numbers that wait for their transactions; further ones are not noted, which only delays. */
const MOST_NOTED = 100;

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
      const [now, snapshot] = await Promise.all([
        db.get<{ seq: number; xid: number }>(
          `WITH s AS MATERIALIZED (SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS seq FROM ${sequence})
           SELECT seq, pg_current_xact_id()::text::int8 AS xid FROM s`,
        ),
        db.get<{ xmin: number }>('SELECT pg_snapshot_xmin(pg_current_snapshot())::text::int8 AS xmin'),
      ]);
      if (now === undefined || snapshot === undefined) throw new Error('The database told no numbers');
      noted.push(now);
      for (const { seq, xid } of noted) if (xid <= snapshot.xmin) safe = Math.max(safe, seq);
      noted = noted.filter(({ xid }) => xid > snapshot.xmin).slice(0, MOST_NOTED);
      return safe;
    });
  }

  return {
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
