import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codesOf, MAIL, openWorld, type World } from '../test-world.ts';

const HOUR = 3_600_000;
let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const detail = async (id: string) =>
  (await world.call('GET', `/email/${id}`)).json() as {
    Status: string;
    ExpiresAt: string;
    Recipients: { Email: string; Status: string; Attempts: number; ExpiresAt: string }[];
  };
const statuses = async (id: string) => (await detail(id)).Recipients.map((row) => row.Status);
const kinds = async (id: string) => {
  const { Items } = (await world.call('GET', `/email/${id}/events`)).json() as { Items: { Event: string }[] };
  return Items.map((item) => item.Event);
};
const reasons = async (id: string) => {
  const { Items } = (await world.call('GET', `/email/${id}/events`)).json() as {
    Items: { Reason: string }[];
  };
  return Items.map((item) => item.Reason);
};

describe('POST /email/{id}/cancel', () => {
  it('stops what waits and says so in the timeline', async () => {
    const id = await world.sendMail();
    const reply = await world.call('POST', `/email/${id.toUpperCase()}/cancel`);
    expect([reply.status, reply.json()]).toEqual([200, { Canceled: 2, TooLate: 0 }]);
    expect([(await detail(id)).Status, await statuses(id)]).toEqual(['Canceled', ['Canceled', 'Canceled']]);
    expect(await kinds(id)).toEqual(['accepted', 'accepted', 'canceled', 'canceled']);
    expect(await reasons(id)).toContain('Requested by the token "test"');
    const other = await world.sendMail();
    await world.call('POST', `/email/${other}/cancel`, { token: world.tokens.admin });
    expect(await reasons(other)).toContain('Requested by the operator of this server');
    expect((await world.claimAll()).size).toBe(0);
    const again = await world.call('POST', `/email/${id}/cancel`);
    expect([again.status, codesOf(again)]).toEqual([409, [1801]]);
    expect((await world.call('GET', `/events?MessageID=${id}&Event=canceled`)).json().TotalRecords).toBe(2);
  });

  it('is too late for what is being sent', async () => {
    const id = await world.sendMail();
    const claimed = await world.claimAll();
    const refused = await world.call('POST', `/email/${id}/cancel`);
    expect([refused.status, codesOf(refused)]).toEqual([409, [1801]]);
    await world.settle(claimed.get('bob@example.net') ?? 0, 'delivered', 'delivered');
    await world.settle(claimed.get('cleo@example.org') ?? 0, 'queued', 'deferred', {
      dueAt: world.clock.now() + HOUR,
      waitReason: 'deferred',
    });
    const reply = await world.call('POST', `/email/${id}/cancel`);
    expect(reply.json()).toEqual({ Canceled: 1, TooLate: 1 });
    expect(await statuses(id)).toEqual(['Delivered', 'Canceled']);
  });

  it('tells webhooks', async () => {
    const body = { Event: 'cancel', WebhookURL: 'http://127.0.0.1:9/x' };
    const hook = (await world.call('POST', '/webhooks', { body })).json().NewWebhookID;
    const before = world.woken.events;
    await world.call('POST', `/email/${await world.sendMail()}/cancel`);
    const calls = (await world.call('GET', `/webhooks/${hook}/deliveries`)).json().Items;
    expect([(calls as unknown[]).length, world.woken.events]).toEqual([2, before + 1]);
  });
});

describe('POST /email/{id}/retry', () => {
  it('queues what failed, bounced or was deferred again, due now, and wakes the queue', async () => {
    const to = ['a@x.example', 'b@x.example', 'c@x.example', 'd@x.example'];
    const id = await world.sendMail({ ...MAIL, To: to.map((email) => ({ email })), CC: [] });
    const claimed = await world.claimAll();
    const idOf = (email: string) => claimed.get(email) ?? 0;
    await world.settle(idOf('a@x.example'), 'failed', 'failed');
    await world.settle(idOf('b@x.example'), 'bounced', 'bounced');
    await world.settle(idOf('c@x.example'), 'queued', 'deferred', {
      dueAt: world.clock.now() + HOUR,
      waitReason: 'deferred',
    });
    await world.settle(idOf('d@x.example'), 'delivered', 'delivered');
    const before = world.woken.queue;
    const reply = await world.call('POST', `/email/${id}/retry`);
    expect([reply.status, reply.json()]).toEqual([200, { Queued: 3, Opened: 0, Closed: [] }]);
    expect(world.woken.queue).toBe(before + 1);
    const after = await detail(id);
    expect(after.Recipients.map((row) => [row.Status, row.Attempts])).toEqual([
      ['Deferred', 1],
      ['Deferred', 1],
      ['Deferred', 1],
      ['Delivered', 1],
    ]);
    expect(Date.parse(after.ExpiresAt)).toBeGreaterThan(world.clock.now() + 71 * HOUR);
    expect((await kinds(id)).filter((kind) => kind === 'requeued')).toHaveLength(3);
    expect([...(await world.claimAll()).keys()].sort()).toEqual(to.slice(0, 3));
  });

  it('looks again at what was held for its domain, and leaves to the operator what the operator holds', async () => {
    const id = await world.sendMail({ ...MAIL, CC: [] });
    const [deliveryId = 0] = (await world.claimAll()).values();
    const waitReason = 'held: example.com is not verified';
    await world.settle(deliveryId, 'queued', 'held', { dueAt: world.clock.now() + HOUR, waitReason });
    expect(await statuses(id)).toEqual(['Held']);
    const hold = { RecipientDomain: 'example.net', Reason: 'their server moves' };
    await world.call('POST', '/queue/hold', { body: hold, token: world.tokens.admin });
    const refused = await world.call('POST', `/email/${id}/retry`);
    expect([refused.status, refused.json().Error]).toEqual([
      409,
      'It goes when its hold is released: their server moves',
    ]);
    await world.call('POST', '/queue/release', { body: { All: true }, token: world.tokens.admin });
    expect((await world.call('POST', `/email/${id}/retry`)).json()).toEqual({
      Queued: 1,
      Opened: 0,
      Closed: [],
    });
    expect(await world.claimAll()).toEqual(new Map([['bob@example.net', deliveryId]]));
  });

  it('refuses where nothing can be tried again', async () => {
    const id = await world.sendMail();
    const fresh = await world.call('POST', `/email/${id}/retry`);
    expect([fresh.status, codesOf(fresh)]).toEqual([409, [1802]]);
    await world.call('POST', `/email/${id}/cancel`);
    expect(codesOf(await world.call('POST', `/email/${id}/retry`))).toEqual([1802]);
    const body = { ...MAIL, CC: [], Sandbox: { Result: 'Suppress' } };
    const suppressed = await world.sendMail(body);
    expect(codesOf(await world.call('POST', `/email/${suppressed}/retry`))).toEqual([1802]);
  });
});

it.each(['cancel', 'retry'])('%s is for the own token with its scope only', async (verb) => {
  const id = await world.sendMail();
  const path = `/email/${id}/${verb}`;
  expect((await world.call('POST', path, { token: world.tokens.other })).status).toBe(404);
  expect(codesOf(await world.call('POST', path, { token: world.tokens.narrow }))).toEqual([34]);
  expect((await world.call('POST', `/email/nonsense/${verb}`)).status).toBe(404);
  expect((await world.call('GET', path)).status).toBe(405);
  expect(await statuses(id)).toEqual(['Queued', 'Queued']);
});
