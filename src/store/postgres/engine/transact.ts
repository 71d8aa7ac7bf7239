/**
 * Runs work as one transaction, with its idempotency key if it has one. Repeats it after a conflict with another
 * transaction, or if its answer was lost with the connection and it can be repeated. Returns the result with its
 * session, which has what to report after the commit. Throws KeyTaken, or the error of the work or the server; then
 * nothing was stored, unless the connection was lost.
 */
import { type Clock, sleep } from '../../../lib/clock.ts';
import { jitter, type Random } from '../../../lib/random.ts';
import type { IdempotencyEntry } from '../../topics/acceptance.ts';
import type { Connections, Lane, Link } from './connections.ts';
import { isConflict, isConnectionLost, isSilence, unavailableReason } from './errors.ts';
import { NothingStored, runKeyed } from './keyed.ts';
import { createSession, type Session, type Shared } from './session.ts';

const TRIES = 4;
const WAIT_MS = 20;
/** As long as a client would wait for an answer. */
const REPEAT_MS = 8_000;
const RECONNECT_MS = 100;

export interface How {
  lane: Lane;
  /** See `WriteOptions`, as the next three. */
  serial?: string | undefined;
  whole?: true | undefined;
  unsynced?: true | undefined;
  repeatable?: true | undefined;
  idempotency?: IdempotencyEntry | undefined;
}

export interface Done<Result> {
  result: Result;
  session: Session;
}

export interface Transactions {
  /** `work` may run several times; only the effects of the last run stay. */
  run<Result>(how: How, work: (session: Session) => Promise<Result>): Promise<Done<Result>>;
}

export function createTransactions(deps: {
  connections: Connections;
  shared: Shared;
  clock: Clock;
  random: Random;
}): Transactions {
  const { connections, shared, clock, random } = deps;

  async function once<Result>(
    link: Link,
    how: How,
    work: (session: Session) => Promise<Result>,
  ): Promise<Done<Result>> {
    const session = createSession(link.db, shared);
    const { idempotency, serial, whole, unsynced } = how;
    if (whole === true && idempotency === undefined) return { result: await work(session), session };
    // Sent directly after BEGIN, without a round trip between them.
    const begun = link.exec(unsynced === true ? 'BEGIN; SET LOCAL synchronous_commit = off' : 'BEGIN');
    begun.catch(() => {});
    try {
      if (serial !== undefined) await alone(link, serial);
      const result =
        idempotency === undefined
          ? await work(session)
          : await runKeyed(link.db, idempotency, () => work(session));
      await begun;
      const ended = await link.exec('COMMIT');
      if (ended !== 'COMMIT')
        throw new Error('A transaction was undone because an error in it was overlooked');
      return { result, session };
    } catch (error) {
      // A server that does not answer would not answer ROLLBACK either.
      if (isConnectionLost(error)) link.cut();
      if (!link.isBroken()) await link.exec('ROLLBACK').catch(() => link.cut());
      if (error instanceof NothingStored) return { result: error.result as Result, session };
      throw error;
    }
  }

  return {
    async run(how, work) {
      let sinceMs = clock.monotonicMs();
      let conflicts = 0;
      let isLost = false;
      for (;;) {
        try {
          return await connections.use(how.lane, (link) => once(link, how, work));
        } catch (error) {
          if (isConflict(error)) {
            conflicts += 1;
            if (conflicts === TRIES) throw error;
            await sleep(clock, jitter(random, WAIT_MS * conflicts, 0.5));
            continue;
          }
          if (!isLost && how.repeatable === true && isConnectionLost(error)) {
            isLost = true;
            // It may have been lost because this process was stopped: then all that time has passed, and the server answers.
            if (!isSilence(error)) sinceMs = clock.monotonicMs();
          }
          // If no connection can be made, it remains unknown whether the transaction was committed.
          if (!isLost || unavailableReason(error) === null || clock.monotonicMs() - sinceMs > REPEAT_MS)
            throw error;
          await sleep(clock, jitter(random, RECONNECT_MS, 0.5));
        }
      }
    },
  };
}

/** Waits until no other transaction of any node runs under this word. */
async function alone({ db }: Link, serial: string): Promise<void> {
  await db.get('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', `postrider ${serial}`);
}
