import { describe, expect, it } from 'vitest';
import { createRounds } from './rounds.ts';
import { createVirtualClock } from './virtual-clock.ts';

const MINUTE = 60_000;

/** Rounds whose work ends when a test says so. */
function slowRounds(given: { firstAfterMs?: number } = {}) {
  const clock = createVirtualClock();
  const begun: PromiseWithResolvers<void>[] = [];
  const failures: unknown[] = [];
  const rounds = createRounds({
    clock,
    everyMs: MINUTE,
    ...given,
    work: () => {
      const round = Promise.withResolvers<void>();
      begun.push(round);
      return round.promise;
    },
    failed: (cause) => failures.push(cause),
  });
  return { clock, begun, failures, rounds };
}

describe('rounds', () => {
  it('wait from the end of one to the beginning of the next', async () => {
    const { clock, begun, rounds } = slowRounds();
    rounds.start();
    expect(begun).toHaveLength(1);
    await clock.advance(5 * MINUTE);
    expect(begun).toHaveLength(1);
    begun[0]?.resolve();
    await clock.advance(MINUTE - 1);
    expect(begun).toHaveLength(1);
    await clock.advance(1);
    expect(begun).toHaveLength(2);
  });

  it('may begin later, or not at all', async () => {
    const { clock, begun, rounds } = slowRounds({ firstAfterMs: 2 * MINUTE });
    rounds.start();
    await clock.advance(2 * MINUTE - 1);
    expect(begun).toHaveLength(0);
    await rounds.stop();
    await clock.advance(MINUTE);
    expect(begun).toHaveLength(0);
    rounds.start();
    await clock.advance(2 * MINUTE);
    expect(begun).toHaveLength(1);
  });

  it('go on after one that failed, and tell of it', async () => {
    const { clock, begun, failures, rounds } = slowRounds();
    rounds.start();
    begun[0]?.reject('no disk');
    await clock.advance(MINUTE);
    expect([failures, begun.length]).toEqual([['no disk'], 2]);
  });

  it('end with the one under way, and begin no other', async () => {
    const { clock, begun, rounds } = slowRounds();
    rounds.start();
    expect(rounds.isRunning()).toBe(true);
    let ended = false;
    const ending = rounds.stop().then(() => {
      ended = true;
    });
    await clock.advance(MINUTE);
    expect([rounds.isRunning(), ended]).toEqual([false, false]);
    begun[0]?.resolve();
    await ending;
    await clock.advance(10 * MINUTE);
    expect(begun).toHaveLength(1);
  });
});
