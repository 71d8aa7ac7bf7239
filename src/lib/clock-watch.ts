/**
 * Notices that the clock was set, also while this server did not run. Forward, all mail and data seem old at once: for some
 * minutes nothing should be given up or removed for its age, so that a wrong clock can be set right without loss. Back,
 * what was planned or made before seems to be in the future.
 */
import type { Clock } from './clock.ts';
import type { Logger } from './log.ts';

/** A smaller step ends few lives, and is usual where time is set without NTP. */
const STEP_MS = 10 * 60_000;
/**
 * Nothing tells a longer stop from a wrong clock, by which all waiting mail, which lives for three days, may be given up. A
 * server that did stand still so long only gives it up some minutes later.
 */
const AWAY_MS = 86_400_000;
const SUSPECT_MS = 15 * 60_000;
/** A clock that was ahead and is right now need not be told of until it is there again. */
const BACK_MS = 86_400_000;
const RIGHT_NOW =
  'if it is wrong, set it right now; nothing is given up or removed for its age for 15 minutes';

const WAITS =
  'mail that got its next attempt before waits until then (postrider queue try SITE tries it now)';

export interface ClockWatch {
  /** Whether the clock was set forward within the last minutes. */
  isSuspect(): boolean;
  /** What an operator should know while it is suspect, or for a day behind when it was set back; otherwise null. */
  suspicion(): string | null;
}

/** `lastAt`: a time at which this server ran, by the clock of then; null: it never did. */
export function createClockWatch(
  { clock, log }: { clock: Clock; log: Pick<Logger, 'error' | 'warn'> },
  lastAt: number | null,
): ClockWatch {
  let offsetMs = clock.now() - clock.monotonicMs();
  let suspected: { untilMs: number; text: string } | null = null;
  /** `at`: what the clock had said already. */
  let back: { untilMs: number; at: number } | null = null;
  const awayMs = lastAt === null ? 0 : clock.now() - lastAt;
  if (awayMs > AWAY_MS) {
    const hours = Math.round(awayMs / 3_600_000);
    suspect(`by its clock, this server did not run for ${hours} hours`);
    log.warn({ hours }, `by the clock, this server did not run for long: ${RIGHT_NOW}`);
  }
  if (awayMs < -STEP_MS) tellBack(awayMs, 'since this server ran');
  return { isSuspect: () => look() !== null, suspicion: () => look() ?? behind() };

  /** Compares the clock with that of the last time. */
  function look(): string | null {
    const now = clock.now() - clock.monotonicMs();
    const stepMs = now - offsetMs;
    offsetMs = now;
    if (stepMs > STEP_MS) {
      const minutes = Math.round(stepMs / 60_000);
      suspect(`the clock went forward by ${minutes} minutes at once`);
      log.error(
        { now: new Date(clock.now()).toISOString(), minutes },
        `the clock went forward far: ${RIGHT_NOW}`,
      );
    } else if (stepMs < -STEP_MS) tellBack(stepMs, 'at once');
    return suspected !== null && clock.monotonicMs() < suspected.untilMs ? suspected.text : null;
  }

  function behind(): string | null {
    const now = clock.now();
    if (back === null || now >= back.at || clock.monotonicMs() >= back.untilMs) return null;
    const [is, was] = [now, back.at].map((at) => new Date(at).toISOString());
    return `by its clock it is ${is}, and this server ran at ${was} already: tokens made then are refused, and ${WAITS}`;
  }

  function tellBack(stepMs: number, when: string): void {
    const at = Math.max(clock.now() - stepMs, back?.at ?? 0);
    back = { untilMs: clock.monotonicMs() + BACK_MS, at };
    log.warn(
      { now: new Date(clock.now()).toISOString(), minutes: Math.round(-stepMs / 60_000), when },
      `the clock was set back: ${WAITS}`,
    );
  }

  /** `why`: a clause. */
  function suspect(why: string): void {
    const now = new Date(clock.now()).toISOString();
    const until = new Date(clock.now() + SUSPECT_MS).toISOString();
    suspected = {
      untilMs: clock.monotonicMs() + SUSPECT_MS,
      text: `${why}, to ${now}: if that is wrong, set the clock right before ${until}; until then nothing is given up or removed for its age`,
    };
  }
}
