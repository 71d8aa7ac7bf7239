import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import { createPathVolume } from './volume.ts';

const DAY = 86_400_000;
const MIDNIGHT = 20_000 * DAY;

describe('the messages of a path', () => {
  it('are those of today or of yesterday, whichever were more', async () => {
    const clock = createVirtualClock(MIDNIGHT + DAY - 1000);
    const volume = createPathVolume(clock, null);
    expect(volume.lastDay()).toBe(0);
    for (let n = 0; n < 60; n++) volume.took();
    expect(volume.lastDay()).toBe(60);
    await clock.advance(2000);
    volume.took();
    expect(volume.lastDay()).toBe(60);
    expect(volume.state()).toEqual({ day: 20_001, sent: 1, sentBefore: 60 });
    await clock.advance(DAY);
    expect(volume.lastDay()).toBe(1);
    await clock.advance(2 * DAY);
    expect(volume.lastDay()).toBe(0);
  });

  it('go on from what was kept, and are worth keeping at every doubling', () => {
    const clock = createVirtualClock(MIDNIGHT);
    const before = createPathVolume(clock, null);
    const kept: number[] = [];
    for (let n = 1; n <= 300; n++) if (before.took()) kept.push(n);
    expect(kept).toEqual([32, 64, 128, 256]);
    const after = createPathVolume(clock, before.state());
    after.took();
    expect(after.lastDay()).toBe(301);
  });
});
