import { expect, it } from 'vitest';
import type { Domain } from '../../client/api-types.ts';
import { sleep } from '../../lib/clock.ts';
import { createVirtualClock } from '../../lib/virtual-clock.ts';
import { waitUntilVerified } from './domain-step.ts';

const domain = (Status: string, ...missing: string[]) =>
  ({
    Domain: 'example.com',
    Status,
    Checks: missing.map((Host) => ({ Host, Status: 'Failed', BlocksSending: true })),
  }) as unknown as Domain;

it('looks again until the records are there, and says only once what is missing', async () => {
  const clock = createVirtualClock();
  const answers = [domain('Pending', 'a', 'b'), domain('Pending', 'b'), domain('Verified')];
  const shown: string[] = [];
  const waited = waitUntilVerified({
    clock,
    domain: domain('Pending', 'a', 'b'),
    lookUp: async () => answers.shift() ?? domain('Verified'),
    show: (text) => void shown.push(text.slice(10).split('  (')[0] ?? ''),
    pause: (ms) => sleep(clock, ms),
  });
  for (let i = 0; i < 3; i++) await clock.advance(11_000);
  expect((await waited).Status).toBe('Verified');
  expect(shown).toEqual(['Waiting for: a, b', 'Waiting for: b']);
});
