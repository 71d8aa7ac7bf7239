import { afterAll, beforeAll, expect, it } from 'vitest';
import { openWorld, type World } from './test-world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

it('a secret is kept for repetitions, however much another tenant creates', async () => {
  const body = { Name: 'n', Preset: 'Send' };
  const create = () =>
    world.call('POST', '/tokens', {
      body,
      token: world.tokens.other,
      headers: { 'idempotency-key': 'mine' },
    });
  const first = (await create()).json();
  expect(first.Token).toEqual(expect.any(String));
  for (let i = 0; i < 1_010; i += 101) {
    const replies = await Promise.all(
      Array.from({ length: 101 }, (_, k) =>
        world.call('POST', '/suppressions', {
          body: { Items: [{ Email: `a${i + k}@example.net` }] },
          headers: { 'idempotency-key': `k${i + k}` },
        }),
      ),
    );
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
  }
  const again = await create();
  expect([again.headers['idempotency-replayed'], again.json()]).toEqual(['true', first]);
});
