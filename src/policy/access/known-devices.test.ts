/** Marks of known browsers: bound to a person, valid for a time, and of no effect if forged. */
import { expect, it } from 'vitest';
import { createSystemRandom } from '../../lib/random.ts';
import { createManualClock } from '../../store/sqlite/test-support.ts';
import { createKnownDevices, DEVICE_MS } from './known-devices.ts';

const ADA = 'ada@example.com';
const BOB = 'bob@example.com';

function devices(byte = 1) {
  const clock = createManualClock();
  const key = new Uint8Array(32).fill(byte);
  return { clock, ...createKnownDevices({ key, clock, random: createSystemRandom() }) };
}

it('knows a browser again for each person who signed in with it, for a year since the last time', () => {
  const { clock, deviceOf, marked } = devices();
  const first = marked(null, ADA);
  const both = marked(first, BOB);
  const device = deviceOf(both, ADA);
  expect(device).toMatch(/^[\w-]{22}$/);
  expect(deviceOf(first, BOB)).toBeNull();
  expect(deviceOf(both, BOB)).not.toBe(device);
  clock.advance(DEVICE_MS - 1);
  const renewed = marked(both, ADA);
  expect(deviceOf(renewed, ADA)).toBe(device);
  clock.advance(1);
  expect([deviceOf(both, ADA), deviceOf(renewed, ADA)]).toEqual([null, device]);
  expect(deviceOf(renewed, BOB)).toBeNull();
});

it('forgets the browser of whoever signed in with it first, where many share it', () => {
  const { deviceOf, marked } = devices();
  let cookie: string | null = null;
  for (const email of [ADA, BOB, 'c@example.com', 'd@example.com', 'e@example.com'])
    cookie = marked(cookie, email);
  expect([deviceOf(cookie, ADA), deviceOf(cookie, BOB) === null]).toEqual([null, false]);
});

it('knows nothing that it has not signed', () => {
  const { deviceOf, marked } = devices();
  const mark = marked(null, ADA);
  const [device = '', at = '', signed = ''] = mark.split('.');
  const forged = [
    devices(2).marked(null, ADA),
    `${'A'.repeat(22)}.${at}.${signed}`,
    `${device}.zzzzzzzzz.${signed}`,
    `${device}.${at}.${'A'.repeat(43)}`,
    `${device}.${at}`,
    '~~~~',
    '',
  ];
  for (const cookie of forged) expect(deviceOf(cookie, ADA), cookie).toBeNull();
  expect(deviceOf(`nonsense~${mark}`, ADA)).toBe(device);
});
