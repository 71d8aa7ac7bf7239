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

it('shows the request of a call, to whom may read events', async () => {
  const body = { Event: 'accept', WebhookURL: 'http://127.0.0.1:9/y' };
  const { NewWebhookID: id } = (await world.call('POST', '/webhooks', { body })).json();
  const message = await world.sendMail();
  const { Items } = (await world.call('GET', `/webhooks/${id}/deliveries?Limit=1`)).json() as {
    Items: [{ DeliveryID: number; EventID: string }];
  };
  const [listed] = Items;
  const path = `/webhooks/${id}/deliveries/${listed.DeliveryID}`;
  const { Request, ...call } = (await world.call('GET', path)).json() as { Request: { Body: string } };
  expect(call).toMatchObject({ DeliveryID: listed.DeliveryID, EventID: listed.EventID, Event: 'accepted' });
  expect(Request).toMatchObject({
    URL: 'http://127.0.0.1:9/y',
    Headers: {
      'content-type': 'application/json',
      'webhook-id': `evt_${listed.EventID.replaceAll('-', '')}`,
    },
  });
  expect(JSON.parse(Request.Body)).toMatchObject({
    type: 'email.accepted',
    data: { WebhookID: id, MessageID: message },
  });
  for (const other of ['0', 'x', '9999999', '1e3', String(Number.MAX_SAFE_INTEGER)])
    expect((await world.call('GET', `/webhooks/${id}/deliveries/${other}`)).status).toBe(404);
  const limited = (
    await world.call('POST', '/tokens', {
      body: { Name: 'no events', Domains: ['example.com'], Scopes: ['webhooks:read'] },
    })
  ).json() as { Token: string };
  expect((await world.call('GET', path, { token: limited.Token })).status).toBe(403);
  expect((await world.call('GET', `/webhooks/${id}/deliveries`, { token: limited.Token })).status).toBe(200);
});
