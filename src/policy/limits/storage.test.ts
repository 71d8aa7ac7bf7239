import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../test/fakes/virtual-clock.ts';
import { createStorage, type StorageLimit } from './storage.ts';

function setUp(limit: StorageLimit, disk = { free: null as number | null }) {
  const clock = createVirtualClock();
  const stored = new Map<string, number>();
  const counts = { reads: 0 };
  const store = {
    async storedBytes({ domains }: { domains: readonly string[] }) {
      counts.reads += 1;
      return domains.map((domain) => ({ domain, bytes: stored.get(domain) ?? 0 }));
    },
  };
  const storage = createStorage({ store, clock, freeBytes: () => disk.free }, { limit });
  const fits = (domain: string, bytes: number) =>
    storage.take(domain, bytes).then(
      () => true,
      (error: { problems: { name: string }[] }) => {
        expect(error.problems[0]?.name).toBe('quota-exceeded');
        return false;
      },
    );
  return { clock, stored, counts, storage, fits };
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
    expect(await storage.use(['a.test'])).toEqual([{ domain: 'a.test', bytes: 7, limit: 1_000 }]);
    expect(await setUp(null).storage.use(['a.test'])).toEqual([{ domain: 'a.test', bytes: 0, limit: null }]);
  });
});
