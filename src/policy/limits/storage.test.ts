import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../lib/virtual-clock.ts';
import { createStorage, type StorageLimit } from './storage.ts';

function setUp(
  limit: StorageLimit,
  disk = { free: null as number | null },
  queue: { recipientLimit: StorageLimit; queueLimit: number } = { recipientLimit: null, queueLimit: 1 },
) {
  const clock = createVirtualClock();
  const stored = new Map<string, number>();
  const waiting = new Map<string, number>();
  const counts = { reads: 0 };
  const away = { why: null as Error | null };
  /** What a count waits for. */
  const slow = { until: Promise.resolve() };
  const store = {
    async domainUse({ domains }: { domains: readonly string[] }) {
      counts.reads += 1;
      await slow.until;
      if (away.why !== null) throw away.why;
      return domains.map((domain) => ({
        domain,
        bytes: stored.get(domain) ?? 0,
        recipients: waiting.get(domain) ?? 0,
      }));
    },
    async queueCounts() {
      const queued = [...waiting.values()].reduce((sum, n) => sum + n, 0);
      return { queued, sending: 0, oldestDueAt: null, pendingCalls: 0 };
    },
  };
  const storage = createStorage({ store, clock, freeBytes: () => disk.free }, { limit, ...queue });
  const fits = (domain: string, bytes: number, recipients = 1) =>
    storage.take(domain, { bytes, recipients }).then(
      () => true,
      (error: { problems?: { name: string }[] }) => {
        if (error.problems === undefined) throw error;
        expect(error.problems[0]?.name).toBe('quota-exceeded');
        return false;
      },
    );
  return { clock, stored, waiting, counts, away, slow, storage, fits };
}

describe('what a domain may store', () => {
  it('is refused above its limit, also within the second that a figure is believed, and others go on', async () => {
    const { fits, stored, clock, counts } = setUp(1_000);
    expect([await fits('a.test', 600), await fits('a.test', 600), await fits('b.test', 600)]).toEqual([
      true,
      false,
      true,
    ]);
    expect(counts.reads).toBe(2);
    stored.set('a.test', 400);
    await clock.advance(1_001);
    expect(await fits('a.test', 600)).toBe(true);
  });

  it('holds for those that ask at the same moment', async () => {
    const { fits, counts } = setUp(1_000);
    expect(await Promise.all([1, 2, 3].map(() => fits('a.test', 600)))).toEqual([true, false, false]);
    expect(counts.reads).toBe(1);
  });

  it('is read again where reading failed', async () => {
    const { fits, counts, away } = setUp(1_000);
    away.why = new Error('away');
    const refused = [fits('a.test', 1), fits('a.test', 1)];
    for (const one of refused) await expect(one).rejects.toThrow('away');
    away.why = null;
    expect(await fits('a.test', 1)).toBe(true);
    expect(counts.reads).toBe(2);
  });

  it('is what was counted last, and added since, while a count takes long or fails', async () => {
    const { fits, stored, clock, counts, away, slow } = setUp(1_000);
    stored.set('a.test', 500);
    expect(await fits('a.test', 100)).toBe(true);
    await clock.advance(1_001);
    const { promise, resolve } = Promise.withResolvers<void>();
    slow.until = promise;
    stored.set('a.test', 0);
    const waiting = fits('a.test', 300);
    await clock.advance(200);
    expect(await waiting).toBe(true);
    expect(await fits('a.test', 101)).toBe(false);
    expect(counts.reads).toBe(2);
    resolve();
    await promise;
    await clock.advance(0);
    // What was added while it was counted may be in the count or not.
    expect([await fits('a.test', 701), await fits('a.test', 700)]).toEqual([false, true]);
    await clock.advance(1_001);
    away.why = new Error('away');
    expect([await fits('a.test', 1), await fits('b.test', 1).catch(String)]).toEqual([false, 'Error: away']);
    await clock.advance(300_000);
    await expect(fits('a.test', 1)).rejects.toThrow('away');
  });

  it('comes back as what is stored is counted down', async () => {
    const { fits, stored, clock } = setUp(1_000);
    stored.set('a.test', 1_000);
    expect(await fits('a.test', 1)).toBe(false);
    stored.set('a.test', 0);
    await clock.advance(1_001);
    expect(await fits('a.test', 1_000)).toBe(true);
  });

  it('leaves a fifth of the room to others, where nothing is set', async () => {
    const disk = { free: 10_000 as number | null };
    const { fits, stored, clock } = setUp('auto', disk);
    // One domain takes what it can get; each round the disk has less.
    for (let round = 0; round < 100; round += 1) {
      await clock.advance(1_001);
      if (!(await fits('greedy.test', 500))) break;
      stored.set('greedy.test', (stored.get('greedy.test') ?? 0) + 500);
      disk.free = (disk.free ?? 0) - 500;
    }
    expect(stored.get('greedy.test')).toBe(8_000);
    expect(disk.free).toBe(2_000);
    expect(await fits('other.test', 1_500)).toBe(true);
    disk.free = null;
    await clock.advance(1_001);
    expect(await fits('greedy.test', 500)).toBe(true);
  });

  it('is shown with its limit', async () => {
    const { storage, stored } = setUp(1_000);
    stored.set('a.test', 7);
    expect(await storage.use(['a.test'])).toMatchObject([{ domain: 'a.test', bytes: 7, limit: 1_000 }]);
    expect(await setUp(null).storage.use(['a.test'])).toMatchObject([
      { domain: 'a.test', bytes: 0, limit: null, recipients: 0, recipientLimit: null },
    ]);
  });
});

describe('what a domain may have in the queue', () => {
  it('is four fifths of what others leave, so that one never fills it for the others', async () => {
    const { fits, waiting, clock, storage } = setUp(
      null,
      { free: null },
      { recipientLimit: 'auto', queueLimit: 100_000 },
    );
    for (let round = 0; round < 200; round += 1) {
      await clock.advance(1_001);
      if (!(await fits('greedy.test', 1, 1_000))) break;
      waiting.set('greedy.test', (waiting.get('greedy.test') ?? 0) + 1_000);
    }
    expect(waiting.get('greedy.test')).toBe(80_000);
    expect(await storage.use(['greedy.test'])).toMatchObject([
      { recipients: 80_000, recipientLimit: 80_000 },
    ]);
    // Within the second that a figure is believed, and for those that ask at the same moment, too.
    await clock.advance(1_001);
    expect(await Promise.all([10_000, 10_000].map((n) => fits('third.test', 1, n)))).toEqual([true, false]);
    await clock.advance(1_001);
    expect([await fits('other.test', 1, 10_000), await fits('other.test', 1, 10_000)]).toEqual([true, false]);
    await expect(storage.take('greedy.test', { bytes: 1, recipients: 1 })).rejects.toMatchObject({
      problems: [{ message: expect.stringContaining('queue-limit-per-domain') }],
    });
  });

  it('is what is configured, or anything', async () => {
    const limited = setUp(null, undefined, { recipientLimit: 10, queueLimit: 1 });
    expect([await limited.fits('a.test', 1, 10), await limited.fits('a.test', 1, 1)]).toEqual([true, false]);
    expect(await setUp(null).fits('a.test', 1, 1e9)).toBe(true);
  });
});
