import { afterAll, beforeAll, expect, it } from 'vitest';
import { codesOf, openWorld, type World } from '../test-world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

it('pages through the calls, and takes DeliveryIDs or a range, never everything unasked', async () => {
  const body = { Event: 'accept', WebhookURL: 'http://127.0.0.1:9/x' };
  const path = `/webhooks/${(await world.call('POST', '/webhooks', { body })).json().NewWebhookID}`;
  await world.sendMail();
  const pageOf = async (query: string) =>
    (await world.call('GET', `${path}/deliveries?${query}`)).json() as {
      Items: { DeliveryID: number }[];
      HasMore: boolean;
      NextCursor: string | null;
    };
  const first = await pageOf('Limit=1');
  const second = await pageOf(`Limit=1&After=${first.NextCursor}`);
  expect([first.HasMore, second.HasMore, second.NextCursor]).toEqual([true, false, null]);
  expect(second.Items[0]?.DeliveryID).not.toBe(first.Items[0]?.DeliveryID);
  const replay = (wanted: object) => world.call('POST', `${path}/replay`, { body: wanted });
  // Both calls still wait: nothing is made twice.
  expect((await replay({ DeliveryIDs: [first.Items[0]?.DeliveryID] })).json()).toEqual({
    Queued: 0,
    NextCursor: null,
  });
  expect((await replay({ OnlyFailed: true })).json()).toEqual({ Queued: 0, NextCursor: null });
  for (const bad of [
    {},
    { OnlyFailed: false },
    { DeliveryIDs: [] },
    { DeliveryIDs: [1], Since: 1 },
    { OnlyFailed: true, After: 'x' },
  ]) {
    expect(codesOf(await replay(bad))).toEqual([422]);
  }
});
