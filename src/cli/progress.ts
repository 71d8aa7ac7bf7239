/**
 * Progress on standard error for work that takes more than a second: a bar at a terminal, a line every ten seconds in a log.
 */
import type { Clock } from '../lib/clock.ts';
import type { Terminal } from './terminal.ts';

export interface Progress {
  /** `done` of `total` are finished; `total` null = unknown. */
  at(done: number, total: number | null): void;
  /** Removes the bar. */
  end(): void;
}

const FIRST_AFTER_MS = 1_000;
const REDRAW_MS = 100;
const LINE_MS = 10_000;
const WIDTH = 24;

/** Progress of `what` (`addresses`). */
export function createProgress(stderr: Terminal['stderr'], clock: Clock, what: string): Progress {
  const startedMs = clock.monotonicMs();
  const everyMs = stderr.isTTY === true ? REDRAW_MS : LINE_MS;
  let shownMs = Number.NEGATIVE_INFINITY;
  let shown = false;
  return {
    at(done, total) {
      const now = clock.monotonicMs();
      if (now - startedMs < FIRST_AFTER_MS || now - shownMs < everyMs) return;
      shownMs = now;
      shown = true;
      const text = line(done, total, what, (now - startedMs) / 1000);
      stderr.write(stderr.isTTY === true ? `\r${text}\u001b[K` : `${text}\n`);
    },
    end() {
      if (shown && stderr.isTTY === true) stderr.write('\r\u001b[K');
    },
  };
}

function line(done: number, total: number | null, what: string, seconds: number): string {
  const rate = `${Math.round(done / seconds)}/s`;
  if (total === null || total === 0) return `${done} ${what}, ${rate}`;
  const full = Math.round((Math.min(done, total) / total) * WIDTH);
  return `[${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}] ${done} of ${total} ${what}, ${rate}`;
}
