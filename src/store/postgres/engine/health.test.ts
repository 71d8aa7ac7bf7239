import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import { createHealth } from './health.ts';

const gone = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });

function healthOver() {
  const clock = createVirtualClock();
  let probes = 0;
  let givenUp = 0;
  let answer: () => Promise<void> = () => Promise.reject(gone);
  const health = createHealth(
    clock,
    {
      probe: () => {
        probes += 1;
        return answer();
      },
      gaveUp: () => {
        givenUp += 1;
      },
    },
    () => {},
  );
  return {
    ...{ clock, health, probes: () => probes, givenUp: () => givenUp },
    answers: (given: () => Promise<void>) => {
      answer = given;
    },
  };
}

describe('the health of a database', () => {
  it('is probed at once after a failure, and calls are begun until the probe has failed too', async () => {
    const { clock, health, probes, givenUp } = healthOver();
    health.noteFailure(gone);
    expect(health.writable()).toMatchObject({ ok: false });
    expect(() => health.requireAnswering()).not.toThrow();
    await clock.advance(0);
    expect(probes()).toBe(1);
    expect(() => health.requireAnswering()).toThrow('cannot be reached');
    await clock.advance(3_000);
    expect(probes()).toBe(4);
    expect(givenUp()).toBe(1);
  });

  it('is good again by the first probe that works, and then there are no more', async () => {
    const { clock, health, probes, answers } = healthOver();
    health.noteFailure(gone);
    await clock.advance(0);
    answers(() => Promise.resolve());
    await clock.advance(1_000);
    expect(health.writable()).toEqual({ ok: true });
    expect(() => health.requireAnswering()).not.toThrow();
    await clock.advance(60_000);
    expect(probes()).toBe(2);
  });

  it('is not judged by a call that took too long, or waited for a lock', () => {
    const { health } = healthOver();
    for (const code of ['57014', '55P03']) {
      expect(health.noteFailure(Object.assign(new Error('canceled'), { code }))).not.toBeNull();
      expect(health.writable()).toEqual({ ok: true });
    }
  });
});
