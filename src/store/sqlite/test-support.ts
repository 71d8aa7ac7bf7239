/** What the tests of this engine share: a folder for database files and a clock that moves when told. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';

/** Makes a folder for one test's files; `file` gives a path inside, `remove` deletes everything. */
export function temporaryFolder(): { file(name: string): string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-store-'));
  return {
    file: (name) => join(folder, name),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A clock that stands still until `advance`, which fires what is due on the way, in order. */
export function createManualClock(): Clock & { advance(ms: number): void } {
  let now = 1_790_000_000_000;
  let timers: { at: number; fire: () => void }[] = [];
  return {
    now: () => now,
    monotonicMs: () => now,
    setTimer(delayMs, fire) {
      const timer = { at: now + Math.max(0, delayMs), fire };
      timers.push(timer);
      return {
        cancel() {
          timers = timers.filter((other) => other !== timer);
        },
      };
    },
    advance(ms) {
      const until = now + ms;
      for (;;) {
        const [next] = timers.filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at);
        if (next === undefined) break;
        timers = timers.filter((timer) => timer !== next);
        now = next.at;
        next.fire();
      }
      now = until;
    },
  };
}
