/**
 * Whether the database can be used. After the first failed call, a probe runs about once a second until one succeeds.
 * From the first failure until a probe or another call succeeds, the store is not writable. After a failed probe,
 * calls are refused at once, so that none waits for a server that does not answer. A probe may succeed where mail cannot be
 * stored, on a full disk or where another program locks a table: the store then stays writable, and says what fails.
 */
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock, Timer } from '../../../lib/clock.ts';
import { type Store, StoreUnavailable } from '../../store.ts';
import { isConnectionLost, isOfOneCall, NotConnected, unavailableReason } from './errors.ts';

const PROBE_EVERY_MS = 1_000;
/** The same reason is logged this often: a database may fail some calls many times a second, and answer others. */
const LOG_EVERY_MS = 60_000;
const MAX_REASONS = 16;
/** Without a further try, a failed one says for so long that the next would fail. */
const UNSTORED_MS = 15_000;

interface Unstored {
  /** null: one call took too long, and nothing says that the next one would. */
  reason: string | null;
  atMs: number;
}

export interface Health {
  writable(): ReturnType<Store['writable']>;
  /** Throws StoreUnavailable where a call would fail. */
  requireAnswering(): void;
  noteSuccess(): void;
  /** What came of the last mail or outcomes in this lane: stored, or this error. The probe can succeed where they fail. */
  noteStored(lane: string, error?: unknown): void;
  /** Why nothing works now, if the error means that; otherwise null. */
  noteFailure(error: unknown): string | null;
  close(): void;
}

export function createHealth(
  clock: Clock,
  /** `gaveUp`: the first probe after a success has failed, for this reason. `lockedBy`: which other programs hold locks. */
  deps: { probe: () => Promise<void>; gaveUp(error: unknown): void; lockedBy(): Promise<string | null> },
  log: (level: 'info' | 'warn' | 'error', message: string, fields: Readonly<Record<string, string>>) => void,
): Health {
  const { probe, gaveUp, lockedBy } = deps;
  let trouble: string | null = null;
  /** A probe has failed since the last success. */
  let isAway = false;
  let timer: Timer | null = null;
  let closed = false;
  /** When each reason was logged. */
  const logged = new BoundedMap<string, number>(MAX_REASONS);
  let isTold = false;
  /** The log says that nothing can be written, and not yet that it can again. */
  let isOwed = false;
  /** By lane. */
  const unstored = new Map<string, Unstored>();

  function isNew(reason: string): boolean {
    const nowMs = clock.monotonicMs();
    // The server's own words, in brackets, may name another file each time.
    const [ours = ''] = reason.split(' (', 1);
    if (nowMs - (logged.get(ours) ?? Number.NEGATIVE_INFINITY) < LOG_EVERY_MS) return false;
    logged.set(ours, nowMs);
    return true;
  }

  function tell(reason: string): void {
    log('error', 'the store cannot write', { reason });
    isTold = true;
    isOwed = true;
  }

  function noteSuccess(): void {
    trouble = null;
    isAway = false;
    // The probe may succeed where mail cannot be stored.
    if (!isOwed || failing() !== null) return;
    isOwed = false;
    log('info', 'the store can write again', {});
  }

  function noteFailure(error: unknown): string | null {
    const reason = unavailableReason(error);
    if (reason === null) return reason;
    if (isOfOneCall(error)) {
      if (isNew(reason)) log('warn', 'the database did not do in time what it was asked', { reason });
      return reason;
    }
    if (trouble === null) {
      isTold = false;
      if (isNew(reason)) tell(reason);
    }
    // Afterwards calls fail because their connections were cut.
    if (!isAway) trouble = reason;
    if (timer === null) probeIn(0);
    return reason;
  }

  function noteStored(lane: string, error?: unknown): void {
    const reason = unavailableReason(error);
    const last = unstored.get(lane);
    unstored.delete(lane);
    // Of a connection the probe tells.
    if (reason === null || error instanceof NotConnected || isConnectionLost(error)) return;
    const entry: Unstored = { reason, atMs: clock.monotonicMs() };
    unstored.set(lane, entry);
    if (!isOfOneCall(error)) return;
    // One that took too long may be large. Until the answer, which may take as long, what is known from the last time is told.
    entry.reason = last === undefined ? null : (last.reason ?? reason);
    lockedBy().then(
      (who) => {
        if (who !== null) entry.reason = `${reason}; ${who}`;
        else if (last !== undefined) entry.reason = reason;
        if (who !== null && isNew(who)) log('error', 'another program locks the database', { reason: who });
      },
      () => {},
    );
  }

  /** Why mail or outcomes were not stored the last time. */
  function failing(): string | null {
    const sinceMs = clock.monotonicMs() - UNSTORED_MS;
    return (
      [...unstored.values()].find(({ atMs, reason }) => atMs > sinceMs && reason !== null)?.reason ?? null
    );
  }

  /** One probe at a time; `timer` is set from the first one until none is needed. */
  function probeIn(ms: number): void {
    if (closed) return;
    timer = clock.setTimer(ms, () => {
      probe().then(
        () => {
          timer = null;
          noteSuccess();
        },
        (error: unknown) => {
          timer = null;
          if (trouble === null) return;
          if (!isAway) gaveUp(error);
          isAway = true;
          trouble = unavailableReason(error) ?? `the probe failed (${String(error)})`;
          if (!isTold) tell(trouble);
          probeIn(PROBE_EVERY_MS);
        },
      );
    });
  }

  return {
    writable() {
      if (trouble !== null) return { ok: false, reason: trouble };
      const reason = failing();
      return reason === null ? { ok: true } : { ok: true, failing: reason };
    },
    requireAnswering() {
      if (isAway) throw new StoreUnavailable(`The store cannot work: ${trouble}`);
    },
    noteSuccess,
    noteStored,
    noteFailure,
    close() {
      closed = true;
      timer?.cancel();
    },
  };
}
