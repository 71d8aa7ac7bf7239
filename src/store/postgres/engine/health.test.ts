import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import { isConnectionLost, NO_ANSWER } from './errors.ts';
import { createHealth } from './health.ts';

const gone = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });

function healthOver() {
  const clock = createVirtualClock();
  const lines: string[] = [];
  let probes = 0;
  let givenUp = 0;
  let locker: string | null = null;
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
      lockedBy: () => Promise.resolve(locker),
    },
    (_level, message) => lines.push(message),
  );
  return {
    ...{ lines, clock, health, probes: () => probes, givenUp: () => givenUp },
    answers: (given: () => Promise<void>) => {
      answer = given;
    },
    isLockedBy: (who: string | null) => {
      locker = who;
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

  it('says that the database does not answer, not that its connections were cut for that', async () => {
    const { clock, health, answers } = healthOver();
    answers(() => Promise.reject(new Error('timeout expired')));
    health.noteFailure(new Error(NO_ANSWER));
    await clock.advance(0);
    health.noteFailure(new Error('Connection terminated unexpectedly'));
    const reason = expect.stringMatching(/^the database does not answer: .* \(timeout expired\)$/);
    expect(health.writable()).toEqual({ ok: false, reason });
  });

  it('takes the end of a session that was silent in a transaction for a lost connection', () => {
    const { health } = healthOver();
    const ended = Object.assign(new Error('terminating connection'), { code: '25P03' });
    expect(isConnectionLost(ended)).toBe(true);
    expect(health.noteFailure(ended)).toContain('was silent');
  });

  it('says of a server that starts that it takes no connections', () => {
    const { health } = healthOver();
    health.noteFailure(Object.assign(new Error('the database system is starting up'), { code: '57P03' }));
    expect(health.writable()).toEqual({
      ok: false,
      reason: 'the database takes no connections now (the database system is starting up)',
    });
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

  it('says the same reason once a minute while the probe works, and at once when it does not', async () => {
    const { clock, health, lines, answers } = healthOver();
    answers(() => Promise.resolve());
    for (let i = 0; i < 50; i += 1) {
      health.noteFailure(gone);
      await clock.advance(100);
    }
    expect(lines).toEqual(['the store cannot write', 'the store can write again']);
    answers(() => Promise.reject(gone));
    health.noteFailure(gone);
    await clock.advance(0);
    expect(lines.slice(2)).toEqual(['the store cannot write']);
  });

  it('says once a minute that calls take too long, which nothing else shows', async () => {
    const { clock, health, lines } = healthOver();
    const late = Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' });
    for (let i = 0; i < 13; i += 1) {
      health.noteFailure(late);
      await clock.advance(5_000);
    }
    expect(lines).toEqual(
      Array.from({ length: 2 }, () => 'the database did not do in time what it was asked'),
    );
  });

  it('says that mail cannot be stored although the probe works, until some is stored or nobody tried for a while', async () => {
    const { clock, health, lines, answers } = healthOver();
    answers(() => Promise.resolve());
    const full = Object.assign(new Error('No space left on device'), { code: '53100' });
    const fail = async () => {
      health.noteStored('commit', full);
      health.noteFailure(full);
      await clock.advance(0);
    };
    const failing = { ok: true, failing: expect.stringContaining('No space left on device') };
    await fail();
    expect(health.writable()).toEqual(failing);
    health.noteStored('settle');
    expect(health.writable()).toEqual(failing);
    health.noteSuccess();
    expect(lines).toEqual(['the store cannot write']);
    health.noteStored('commit');
    expect(health.writable()).toEqual({ ok: true });
    health.noteSuccess();
    expect(lines).toEqual(['the store cannot write', 'the store can write again']);
    await fail();
    await clock.advance(15_000);
    expect(health.writable()).toEqual({ ok: true });
  });

  it('logs a full disk once a minute, whichever file cannot grow', async () => {
    const { clock, health, lines, answers } = healthOver();
    answers(() => Promise.resolve());
    for (let file = 1; file <= 5; file += 1) {
      const message = `could not extend file "base/1/${file}": No space left on device`;
      health.noteFailure(Object.assign(new Error(message), { code: '53100' }));
      await clock.advance(1_000);
    }
    expect(lines.filter((line) => line === 'the store cannot write')).toHaveLength(1);
  });

  it('names who locks the database where mail could not be stored in time', async () => {
    const { clock, health, lines, isLockedBy } = healthOver();
    const late = Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' });
    isLockedBy('process 17 holds locks');
    for (let i = 0; i < 3; i += 1) {
      health.noteStored('settle', late);
      await clock.advance(5_000);
      expect(health.writable()).toMatchObject({ failing: expect.stringMatching(/timeout\); process 17/) });
    }
    expect(lines).toEqual(['another program locks the database']);
    isLockedBy(null);
    health.noteStored('settle', late);
    await clock.advance(0);
    expect(health.writable()).toMatchObject({ failing: expect.stringMatching(/timeout\)$/) });
    // One that takes long may be large, where nobody holds a lock.
    health.noteStored('settle');
    health.noteStored('settle', late);
    await clock.advance(0);
    expect(health.writable()).toEqual({ ok: true });
    health.noteStored('settle', late);
    expect(health.writable()).toMatchObject({ failing: expect.stringMatching(/timeout\)$/) });
  });

  it('is not judged by a call that took too long, or waited for a lock', () => {
    const { health } = healthOver();
    for (const code of ['57014', '55P03']) {
      expect(health.noteFailure(Object.assign(new Error('canceled'), { code }))).not.toBeNull();
      expect(health.writable()).toEqual({ ok: true });
    }
  });
});
