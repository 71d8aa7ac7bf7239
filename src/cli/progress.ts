/**
 * Progress on standard error for work that takes more than a second: a bar at a terminal, a line every ten seconds in a log.
 */
import { systemClock } from '../lib/clock.ts';
import type { Terminal } from './terminal.ts';

/** `done` of `total` are finished; `total` null = unknown. */
type Progress = (done: number, total: number | null) => void;

const FIRST_AFTER_MS = 1_000;
const REDRAW_MS = 100;
const LINE_MS = 10_000;
const WIDTH = 24;

/** Runs `work`, which tells how many of `what` (`addresses`) it has done. The bar is removed when it ends, also if it fails. */
export async function withProgress<Result>(
  { stderr }: Pick<Terminal, 'stderr'>,
  what: string,
  work: (progress: Progress) => Promise<Result>,
): Promise<Result> {
  const startedMs = systemClock.monotonicMs();
  const everyMs = stderr.isTTY === true ? REDRAW_MS : LINE_MS;
  let shownMs: number | null = null;
  try {
    return await work((done, total) => {
      const now = systemClock.monotonicMs();
      if (now - startedMs < FIRST_AFTER_MS || (shownMs !== null && now - shownMs < everyMs)) return;
      shownMs = now;
      const text = line(done, total, what, (now - startedMs) / 1000);
      stderr.write(stderr.isTTY === true ? `\r${text}\u001b[K` : `${text}\n`);
    });
  } finally {
    if (shownMs !== null && stderr.isTTY === true) stderr.write('\r\u001b[K');
  }
}

function line(done: number, total: number | null, what: string, seconds: number): string {
  const rate = `${Math.round(done / seconds)}/s`;
  if (total === null || total === 0) return `${done} ${what}, ${rate}`;
  const full = Math.round((Math.min(done, total) / total) * WIDTH);
  return `[${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}] ${done} of ${total} ${what}, ${rate}`;
}
