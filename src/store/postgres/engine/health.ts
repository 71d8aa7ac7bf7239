/**
 * Whether the database can be written: false from the first call that could not work until a later one, or the probe
 * about once a second, did.
 */
import type { Clock, Timer } from '../../../lib/clock.ts';
import { unavailableReason } from './errors.ts';

const PROBE_EVERY_MS = 1_000;

export interface Health {
  writable(): { ok: true } | { ok: false; reason: string };
  noteSuccess(): void;
  /** Why nothing works now, if that is what the error says. */
  noteFailure(error: unknown): string | null;
  close(): void;
}

export function createHealth(
  clock: Clock,
  probe: () => Promise<void>,
  log: (level: 'info' | 'error', message: string, fields: Readonly<Record<string, string>>) => void,
): Health {
  let trouble: string | null = null;
  let timer: Timer | null = null;
  let closed = false;

  function noteSuccess(): void {
    if (trouble !== null) log('info', 'the store can write again', {});
    trouble = null;
    timer?.cancel();
    timer = null;
  }

  function noteFailure(error: unknown): string | null {
    const reason = unavailableReason(error);
    if (reason === null) return null;
    if (trouble === null) log('error', 'the store cannot write', { reason });
    trouble = reason;
    if (!closed)
      timer ??= clock.setTimer(PROBE_EVERY_MS, () => {
        timer = null;
        probe().then(noteSuccess, noteFailure);
      });
    return reason;
  }

  return {
    writable: () => (trouble === null ? { ok: true } : { ok: false, reason: trouble }),
    noteSuccess,
    noteFailure,
    close() {
      closed = true;
      timer?.cancel();
      timer = null;
    },
  };
}
