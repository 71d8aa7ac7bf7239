/**
 * A log for times when one thing is away that many jobs need: each of them fails again and again for the same known reason.
 * A line about such a failure is written once a minute at most, with the reason as a sentence instead of the error with its
 * stack, and with how many there were since the last one. All other lines pass as they are.
 */
import type { Clock } from './clock.ts';
import type { LogFields, Logger } from './log.ts';

const EVERY_MS = 60_000;

/** `isKnown`: whether an `err` is such a failure. What is counted is remembered by message, and messages are constant. */
export function createQuietLog(
  log: Logger,
  clock: Pick<Clock, 'monotonicMs'>,
  isKnown: (err: unknown) => boolean,
): Logger {
  const written = new Map<string, { atMs: number; left: number }>();
  const quiet =
    (level: 'warn' | 'error') =>
    (fields: LogFields, message: string): void => {
      const { err, ...rest } = fields;
      if (!(err instanceof Error) || !isKnown(err)) {
        log[level](fields, message);
        return;
      }
      const nowMs = clock.monotonicMs();
      const last = written.get(message);
      if (last !== undefined && nowMs - last.atMs < EVERY_MS) {
        last.left += 1;
        return;
      }
      written.set(message, { atMs: nowMs, left: 0 });
      const repeated = last === undefined || last.left === 0 ? {} : { repeated: last.left };
      log[level]({ ...rest, reason: err.message, ...repeated }, message);
    };
  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => log.info(fields, message),
    warn: quiet('warn'),
    error: quiet('error'),
  };
}
