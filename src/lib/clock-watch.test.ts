import { expect, it } from 'vitest';
import { createClockWatch } from './clock-watch.ts';
import { createVirtualClock } from './virtual-clock.ts';

const HOUR = 3_600_000;

function watched(lastAgoMs: number | null = null) {
  const clock = createVirtualClock();
  const said: string[] = [];
  const note = (level: string) => (_fields: object, text: string) => said.push(`${level}: ${text}`);
  const log = { error: note('error'), warn: note('warn') };
  const watch = createClockWatch({ clock, log }, lastAgoMs === null ? null : clock.now() - lastAgoMs);
  return { clock, said, watch };
}

it('suspects a clock that was set forward, for a quarter of an hour, and says so once', async () => {
  const { clock, said, watch } = watched();
  await clock.advance(8 * 24 * HOUR);
  expect(watch.isSuspect()).toBe(false);
  clock.jumpWallTo(clock.now() + HOUR);
  expect(watch.isSuspect()).toBe(true);
  expect(watch.suspicion()).toMatch(
    /^the clock went forward by 60 minutes at once, to 2027-.*: if that is wrong, set the clock right/,
  );
  await clock.advance(14 * 60_000);
  expect(watch.isSuspect()).toBe(true);
  await clock.advance(60_000);
  expect([watch.isSuspect(), watch.suspicion()]).toEqual([false, null]);
  expect(said).toEqual([expect.stringContaining('error: the clock went forward')]);
});

it('suspects one that is far ahead of when the server last ran, and none that is set by seconds', async () => {
  expect(watched(25 * HOUR).watch.isSuspect()).toBe(true);
  expect(watched(23 * HOUR).watch.isSuspect()).toBe(false);
  expect(watched(25 * HOUR).said).toEqual([expect.stringContaining('warn: by the clock, this server did')]);
  expect(watched(25 * HOUR).watch.suspicion()).toMatch(/^by its clock, .* did not run for 25 hours, to 2/);
  expect(watched(-30_000).said).toEqual([]);
  const ahead = watched(-HOUR);
  expect([ahead.watch.isSuspect(), ahead.watch.suspicion()]).toEqual([
    false,
    expect.stringMatching(/^by its clock it is 2\S+Z, .* ran at 2\S+Z already: tokens made then are refused/),
  ]);
  await ahead.clock.advance(HOUR);
  expect(ahead.watch.suspicion()).toBe(null);
  expect(watched(-HOUR).said).toEqual([expect.stringContaining('warn: the clock was set back')]);
  const { clock, said, watch } = watched();
  clock.jumpWallTo(clock.now() + 30_000);
  expect(watch.isSuspect()).toBe(false);
  clock.jumpWallTo(clock.now() - HOUR);
  expect(watch.isSuspect()).toBe(false);
  expect(said).toEqual([expect.stringContaining('warn: the clock was set back')]);
});
