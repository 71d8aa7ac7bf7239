/** Housekeeping in small steps that do not disturb sending: forgets idempotency keys whose window is over. */
import type { Clock, Timer } from './lib/clock.ts';
import type { Logger } from './lib/log.ts';
import type { Service } from './lib/loop.ts';
import type { Store } from './store/store.ts';

const EVERY_MS = 10 * 60_000;
const STEP_ROWS = 1000;

export function createUpkeep(
  { store, clock, log }: { store: Store; clock: Clock; log: Logger },
  options: { idempotencyWindowMs: number },
): Service {
  let timer: Timer | null = null;
  let running = false;
  let working: Promise<void> = Promise.resolve();

  const run = (): void => {
    working = purge()
      .catch((cause: unknown) => log.warn({ err: cause }, 'upkeep failed; it will be tried again'))
      .then(() => {
        if (running) timer = clock.setTimer(EVERY_MS, run);
      });
  };

  async function purge(): Promise<void> {
    const before = clock.now() - options.idempotencyWindowMs;
    while (running && (await store.purgeIdempotency({ before, limit: STEP_ROWS })) === STEP_ROWS);
  }

  return {
    async start() {
      running = true;
      run();
    },
    async stop() {
      running = false;
      timer?.cancel();
      await working;
    },
  };
}
