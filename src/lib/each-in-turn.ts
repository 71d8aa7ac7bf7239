/** Ends the parts of something one after the other: one that fails is logged, and the next is ended all the same. */
import type { Logger } from './log.ts';

export async function eachInTurn(
  log: Pick<Logger, 'error'>,
  steps: readonly (() => unknown)[],
): Promise<void> {
  for (const step of steps) {
    try {
      await step();
    } catch (err) {
      log.error({ err }, 'a part could not be ended');
    }
  }
}
