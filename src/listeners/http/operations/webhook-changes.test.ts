import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERRORS } from '../../../lib/errors.ts';
import { codesOf, openWorld, type World } from '../test-world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

async function create(more: object = {}) {
  const body = { Event: 'accept', WebhookURL: 'http://127.0.0.1:9/x', ...more };
  const made = (await world.call('POST', '/webhooks', { body })).json();
  return { path: `/webhooks/${made.NewWebhookID}`, secret: String(made.Secret) };
}
const patch = (path: string, body: unknown, token?: string) =>
  world.call('PATCH', path, token === undefined ? { body } : { body, token });

describe('PATCH /webhooks/{id}', () => {
  it('changes what is given and answers the detail', async () => {
    const { path, secret } = await create();
    const reply = await patch(path, {
      event: 'Bounced',
      WebhookURL: 'http://127.0.0.1:9/y',
      Description: 'shop',
    });
    expect([reply.status, reply.json()]).toMatchObject([
      200,
      {
        Event: 'bounce',
        WebhookURL: 'http://127.0.0.1:9/y',
        Description: 'shop',
        Status: 'Enabled',
        Pending: 0,
        SecretHint: secret.slice(-4),
      },
    ]);
    expect((await world.call('GET', path)).json()).toEqual(reply.json());
    expect((await patch(path, { Description: '' })).json()).toMatchObject({
      Event: 'bounce',
      Description: '',
    });
  });

  it('takes several events, each once, in one order; the list shows them in one text', async () => {
    const { path } = await create({ Event: undefined, Events: ['complained', 'BOUNCE', 'bounced', 'open'] });
    const id = Number(path.split('/').at(-1));
    const all = ['bounce', 'open', 'complaint'];
    const detail = (await world.call('GET', path)).json();
    expect(detail).toMatchObject({ Event: all.join(','), Events: all });
    const { Webhooks } = (await world.call('GET', '/webhooks')).json() as {
      Webhooks: { WebhookID: number; Event: string }[];
    };
    const listed = Webhooks.find((one) => one.WebhookID === id) ?? { Event: '' };
    expect([listed.Event, Object.keys(listed).length]).toEqual([all.join(','), 10]);
    // What was read can be sent back, in either member or both.
    expect((await patch(path, { Event: 'delivery, delay' })).json()).toMatchObject({
      Events: ['delivery', 'delay'],
    });
    const { Event, Events } = detail;
    expect((await patch(path, { Event, Events })).json()).toMatchObject({ Events: all });
    expect((await patch(path, { Events: ['bounce', 'all'] })).json()).toMatchObject({ Event: 'all' });
  });

  it.each([
    [{ Events: [] }, 'webhook-event-unknown'],
    [{ Events: ['bounce', 'nope'] }, 'webhook-event-unknown'],
    [{ Events: 'bounce' }, 'webhook-event-unknown'],
    [{ Event: 'bounce,,open' }, 'webhook-event-unknown'],
    [{ Event: 'bounce', Events: ['open'] }, 'invalid-parameter'],
  ] as const)('refuses %j', async (change, name) => {
    const { path } = await create();
    const reply = await patch(path, change);
    expect([reply.status, codesOf(reply)]).toEqual([422, [ERRORS[name].code]]);
    const made = await world.call('POST', '/webhooks', {
      body: { WebhookURL: 'http://127.0.0.1:9/x', ...change },
    });
    expect([made.status, codesOf(made)]).toEqual([422, [ERRORS[name].code]]);
  });

  it('switches off, and on again with what waited', async () => {
    const { path } = await create();
    await world.sendMail();
    const off = await patch(path, { Status: 'disabled' });
    expect(off.json()).toMatchObject({ Status: 'Disabled', DisabledReason: 'User', Pending: 2 });
    await world.sendMail();
    const woken = world.woken.events;
    const on = await patch(path, { Status: 'Enabled' });
    expect(on.json()).toMatchObject({ Status: 'Enabled', DisabledReason: null, Pending: 2 });
    expect(world.woken.events).toBe(woken + 1);
    await world.call('DELETE', path);
  });

  it('names what is wrong', async () => {
    const { path } = await create();
    expect(codesOf(await patch(path, {}))).toEqual([422]);
    expect(codesOf(await patch(path, { Event: 'nothing' }))).toEqual([1902]);
    expect(codesOf(await patch(path, { Event: 7 }))).toEqual([1902]);
    expect(codesOf(await patch(path, { WebhookURL: 'example.com/x' }))).toEqual([1901]);
    expect(codesOf(await patch(path, { WebhookURL: 'http://10.0.0.1/' }))).toEqual([1901]);
    expect(codesOf(await patch(path, { WebhookURL: ['x'], Event: 'x', Status: 'Paused' }))).toEqual([
      1902, 1901, 422,
    ]);
    expect(codesOf(await patch(path, { Description: 'x'.repeat(257) }))).toEqual([422]);
    expect((await world.call('GET', path)).json()).toMatchObject({ Event: 'accept', Status: 'Enabled' });
  });

  it('is for the own token with its scope only', async () => {
    const { path } = await create();
    const { other, narrow } = world.tokens;
    expect((await patch(path, { Status: 'Disabled' }, other)).status).toBe(404);
    expect(codesOf(await patch(path, { Status: 'Disabled' }, narrow))).toEqual([34]);
    expect((await patch('/webhooks/abc', { Status: 'Disabled' })).status).toBe(404);
    expect((await world.call('GET', path)).json()).toMatchObject({ Status: 'Enabled' });
  });
});
