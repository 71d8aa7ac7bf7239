/** What is kept of a request under its key. */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { createIdempotency } from './idempotency.ts';

const body = new TextEncoder().encode('{"Password":"correct horse battery"}');
const request = { owner: 'o', operation: 'POST /people', key: 'one', body };

it('tells nothing of a password to who has only the database', async () => {
  const kept = async (fingerprintKey: Uint8Array) => {
    const store = { findIdempotent: async () => null };
    const idempotency = createIdempotency({ store, clock: systemClock }, { windowMs: 1_000, fingerprintKey });
    const check = await idempotency.begin(request);
    return check.kind === 'proceed' ? Buffer.from(check.fingerprint).toString('hex') : '';
  };
  const [own, again, other] = await Promise.all([1, 1, 2].map((n) => kept(new Uint8Array(32).fill(n))));
  expect(own).toBe(again);
  expect(own).not.toBe(other);
  expect(own).not.toBe(createHash('sha256').update(body).digest('hex'));
});
