import { expect, it } from 'vitest';
import { isLoopbackAddress } from './loopback.ts';

it.each(['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1'])('%s is on this machine', (address) => {
  expect(isLoopbackAddress(address)).toBe(true);
});

it.each(['', '128.0.0.1', '10.127.0.1', '1127.0.0.1', '::', '::10', '::ffff:192.0.2.1', 'fe80::1'])(
  '%s is anywhere',
  (address) => {
    expect(isLoopbackAddress(address)).toBe(false);
  },
);
