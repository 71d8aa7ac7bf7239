/** What is kept of a request under its key. */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { NOBODY } from './callers.ts';
import { createWithKey } from './idempotency.ts';

const body = new TextEncoder().encode('{"Password":"correct horse battery"}');
const request = { caller: NOBODY, header: () => 'one', body };

it('tells nothing of a password to who has only the database', async () => {
  const kept = async (fingerprintKey: Uint8Array) => {
    const store = { findIdempotent: async () => null };
    const withKey = createWithKey({ store, clock: systemClock }, { windowMs: 1_000, fingerprintKey });
    const { body: shown } = await withKey(request, 'POST /people', async (key) => ({
      ...{ status: 201, body: Buffer.from(key?.fingerprint ?? []).toString('hex') },
    }));
    return shown;
  };
  const [own, again, other] = await Promise.all([1, 1, 2].map((n) => kept(new Uint8Array(32).fill(n))));
  expect(own).toMatch(/^[0-9a-f]{64}$/);
  expect(own).toBe(again);
  expect(own).not.toBe(other);
  expect(own).not.toBe(createHash('sha256').update(body).digest('hex'));
});
