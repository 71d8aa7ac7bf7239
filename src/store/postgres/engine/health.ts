/**
 * Whether the database can be used. After the first failed call, a probe runs about once a second until one succeeds.
 * From the first failure until a probe or another call succeeds, the store is not writable. After a failed probe,
 * calls are refused at once, so that none waits for a server that does not answer.
 */
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock, Timer } from '../../../lib/clock.ts';
import { StoreUnavailable } from '../../store.ts';
import { isOfOneCall, unavailableReason } from './errors.ts';

const PROBE_EVERY_MS = 1_000;
/** The same reason is logged this often: a database may fail some calls many times a second, and answer others. */
const LOG_EVERY_MS = 60_000;
const MAX_REASONS = 16;

export interface Health {
  writable(): { ok: true } | { ok: false; reason: string };
  /** Throws StoreUnavailable where a call would fail. */
  requireAnswering(): void;
  noteSuccess(): void;
  /** Why nothing works now, if the error means that; otherwise null. */
  noteFailure(error: unknown): string | null;
  close(): void;
}

export function createHealth(
  clock: Clock,
  /** `gaveUp`: the first probe after a success has failed, for this reason. */
  { probe, gaveUp }: { probe: () => Promise<void>; gaveUp(error: unknown): void },
  log: (level: 'info' | 'warn' | 'error', message: string, fields: Readonly<Record<string, string>>) => void,
): Health {
  let trouble: string | null = null;
  /** A probe has failed since the last success. */
  let isAway = false;
  let timer: Timer | null = null;
  let closed = false;
  /** When each reason was logged. */
  const logged = new BoundedMap<string, number>(MAX_REASONS);
  let isTold = false;

  function isNew(reason: string): boolean {
    const nowMs = clock.monotonicMs();
    if (nowMs - (logged.get(reason) ?? Number.NEGATIVE_INFINITY) < LOG_EVERY_MS) return false;
    logged.set(reason, nowMs);
    return true;
  }

  function noteSuccess(): void {
    if (trouble !== null && isTold) log('info', 'the store can write again', {});
    trouble = null;
    isAway = false;
  }

  function noteFailure(error: unknown): string | null {
    const reason = unavailableReason(error);
    if (reason === null) return reason;
    if (isOfOneCall(error)) {
      if (isNew(reason)) log('warn', 'the database did not do in time what it was asked', { reason });
      return reason;
    }
    if (trouble === null) {
      isTold = isNew(reason);
      if (isTold) log('error', 'the store cannot write', { reason });
    }
    trouble = reason;
    if (timer === null) probeIn(0);
    return reason;
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
          if (!isTold) log('error', 'the store cannot write', { reason: trouble });
          isTold = true;
          probeIn(PROBE_EVERY_MS);
        },
      );
    });
  }

  return {
    writable: () => (trouble === null ? { ok: true } : { ok: false, reason: trouble }),
    requireAnswering() {
      if (isAway) throw new StoreUnavailable(`The store cannot work: ${trouble}`);
    },
    noteSuccess,
    noteFailure,
    close() {
      closed = true;
      timer?.cancel();
    },
  };
}
