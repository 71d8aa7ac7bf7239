/** Scheduled mail: shown as `Scheduled`, kept over a restart, sent at its time; it can be moved and canceled. */
import { beforeAll, describe, expect, it } from 'vitest';
import { addDomain, email, fileScope, type Instance, makeToken, startInstance, until } from './harness.ts';

const scope = fileScope();
const HOUR = 3_600_000;
const iso = (at: number) => new Date(at).toISOString();
const dateOf = (raw: string) => Date.parse(/^Date: (.*)$/m.exec(raw)?.[1] ?? '');

let server: Instance;
let token: string;
let other: string;
beforeAll(async () => {
  server = await startInstance(scope);
  token = await addDomain(server, 'example.com', { Preset: 'Full' });
  other = await addDomain(server, 'other.example', { Preset: 'Full' });
});

const post = (fields: object) => server.call('POST', '/email', { token, body: email({ ...fields }) });
const patch = (id: string, SendAt: unknown, by = token) =>
  server.call('PATCH', `/email/${id}`, { token: by, body: { SendAt } });
const detail = async (id: string, at = server) => (await at.call('GET', `/email/${id}`)).json;
const kinds = async (id: string, at = server) =>
  (await at.call('GET', `/email/${id}/events`)).json.Items.map(({ Event }: { Event: string }) => Event);

describe('a scheduled message', () => {
  it('waits as Scheduled, with the time in its Date, and its give-up age counts from then', async () => {
    const at = Math.floor(Date.now() / 1000) * 1000 + 5 * HOUR;
    const id = await server.send({ SendAt: at / 1000, Metadata: { order: '7' } }, { token });
    expect(await detail(id)).toMatchObject({
      Status: 'Scheduled',
      SendAt: iso(at),
      ExpiresAt: iso(at + 72 * HOUR),
      Metadata: { order: '7' },
      Recipients: [{ Status: 'Scheduled', WaitReason: 'scheduled', NextAttemptAt: iso(at) }],
    });
    expect(await kinds(id)).toEqual(['scheduled']);
    const listed = await server.call('GET', '/email?Status=Scheduled&Metadata.order=7', { token });
    expect(listed.json.Items.map(({ MessageID }: { MessageID: string }) => MessageID)).toEqual([id]);
    const raw = (await server.call('GET', `/email/${id}/raw`)).text;
    expect(dateOf(raw)).toBe(at);
    expect(raw).not.toContain('order');
    const queue = (await server.call('GET', '/queue')).text;
    expect(queue).toContain('scheduled');
  });

  it('goes after a restart, when its time comes, accepted only then', async () => {
    const first = await startInstance(scope);
    const own = await addDomain(first, 'example.com');
    const at = Date.now() + 1_500;
    const id = await first.send({ SendAt: iso(at) }, { token: own });
    await first.stop();
    const second = await startInstance(scope, { folder: first.folder });
    const facts = await second.settled(id);
    expect(facts.Status).toBe('Delivered');
    const { Items } = (await second.call('GET', `/email/${id}/events`)).json;
    expect(Items.map(({ Event }: { Event: string }) => Event)).toEqual([
      'scheduled',
      'accepted',
      'delivered',
    ]);
    for (const { At } of Items.slice(1)) expect(Date.parse(At)).toBeGreaterThanOrEqual(at);
  });

  it('goes at once where the time has just gone by, and is refused where it is long gone or far off', async () => {
    const id = await server.send({ SendAt: iso(Date.now() - 60_000) }, { token });
    await server.settled(id);
    expect(await kinds(id)).toEqual(['accepted', 'delivered']);
    for (const SendAt of [iso(Date.now() - 600_000), iso(Date.now() + 31 * 24 * HOUR), 'soon']) {
      const answer = await post({ SendAt });
      expect([answer.status, answer.json.Errors[0].Code, answer.json.Errors[0].Field]).toEqual([
        422,
        1601,
        '/SendAt',
      ]);
    }
    const early = await post({ SendAt: iso(Date.now() + HOUR), ExpiresAt: iso(Date.now() + HOUR / 2) });
    expect([early.status, early.json.Errors[0].Code]).toEqual([422, 1604]);
  });

  it('is stopped by cancel', async () => {
    const id = await server.send({ SendAt: iso(Date.now() + HOUR) }, { token });
    const answer = await server.call('POST', `/email/${id}/cancel`, { token });
    expect(answer.json).toEqual({ Canceled: 1, TooLate: 0 });
    expect((await detail(id)).Status).toBe('Canceled');
    expect(await kinds(id)).toEqual(['scheduled', 'canceled']);
    expect((await patch(id, iso(Date.now() + 2 * HOUR))).status).toBe(409);
  });

  it('is composed by a worker where it is large, just the same', async () => {
    const at = Math.floor(Date.now() / 1000) * 1000 + HOUR;
    const body = email({
      SendAt: iso(at),
      Metadata: { a: 'b' },
      HTMLContent: `<p>${'x '.repeat(200_000)}</p>`,
    });
    const id = (await server.call('POST', '/email', { token, body })).json.MessageID;
    expect(await detail(id)).toMatchObject({ SendAt: iso(at), Metadata: { a: 'b' }, Status: 'Scheduled' });
    expect(dateOf((await server.call('GET', `/email/${id}/raw`)).text)).toBe(at);
  });
});

describe('PATCH /email/{id}', () => {
  it('moves a scheduled message, the Date with it and nothing else', async () => {
    const id = await server.send({ SendAt: iso(Date.now() + HOUR) }, { token });
    const before = (await server.call('GET', `/email/${id}/raw`)).text;
    const at = Math.floor(Date.now() / 1000) * 1000 + 3 * HOUR;
    const answer = await patch(id.toUpperCase(), at / 1000);
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({
      MessageID: id,
      Status: 'Scheduled',
      SendAt: iso(at),
      ExpiresAt: iso(at + 72 * HOUR),
    });
    const after = (await server.call('GET', `/email/${id}/raw`)).text;
    expect(dateOf(after)).toBe(at);
    expect(after.length).toBe(before.length);
    expect(after.replace(/^Date: .*$/m, '')).toBe(before.replace(/^Date: .*$/m, ''));
    expect(await kinds(id)).toEqual(['scheduled', 'scheduled']);
  });

  it('brings it forward to now', async () => {
    const id = await server.send({ SendAt: iso(Date.now() + 24 * HOUR) }, { token });
    expect((await patch(id, iso(Date.now() - 1000))).status).toBe(200);
    expect((await server.settled(id)).Status).toBe('Delivered');
    expect(await kinds(id)).toEqual(['scheduled', 'scheduled', 'accepted', 'delivered']);
  });

  it('keeps an expiry that was named, and does not go behind it', async () => {
    const ExpiresAt = iso(Math.floor(Date.now() / 1000) * 1000 + 4 * HOUR);
    const id = await server.send({ SendAt: iso(Date.now() + HOUR), ExpiresAt }, { token });
    const late = await patch(id, iso(Date.now() + 5 * HOUR));
    expect([late.status, late.json.Errors[0].Code]).toEqual([422, 1601]);
    expect((await patch(id, iso(Date.now() + 2 * HOUR))).json.ExpiresAt).toBe(ExpiresAt);
  });

  it('refuses what it must: no time, mail that went, mail of others, a token that may not send', async () => {
    const id = await server.send({ SendAt: iso(Date.now() + HOUR) }, { token });
    for (const bad of [undefined, null, 'x', iso(Date.now() + 31 * 24 * HOUR)]) {
      const answer = await patch(id, bad);
      expect([answer.status, answer.json.Errors[0].Code]).toEqual([422, 1601]);
    }
    const later = iso(Date.now() + 2 * HOUR);
    expect((await patch(id, later, other)).status).toBe(404);
    const reader = await makeToken(server, { Domains: ['example.com'], Scopes: ['email:read'] });
    expect((await patch(id, later, reader)).status).toBe(403);
    const sent = await server.send({}, { token });
    await server.settled(sent);
    const answer = await patch(sent, later);
    expect([answer.status, answer.json.Errors[0].Code]).toEqual([409, 1803]);
    expect((await detail(id)).Status).toBe('Scheduled');
  });
});

describe('ExpiresAt', () => {
  it('ends what could not be sent by then', async () => {
    const closed = await startInstance(scope, { settings: { route: 'smtp://127.0.0.1:9', retry: '1h' } });
    const own = await addDomain(closed, 'example.com');
    const id = await closed.send({ ExpiresAt: iso(Date.now() + 1_000) }, { token: own });
    expect((await closed.settled(id)).Recipients[0]).toMatchObject({ Status: 'Failed' });
    expect(
      await until('the timeline is complete', async () => {
        const found = await kinds(id, closed);
        return found.at(-1) === 'failed' ? found : null;
      }),
    ).toContain('accepted');
    expect(closed.logs).toContainEqual(
      expect.objectContaining({
        ...{
          msg: 'failed',
          stream: 'mail',
          messageId: id,
          to: expect.stringContaining('@'),
          category: 'expired',
        },
        detail: expect.stringContaining('the maximum age of this message was reached'),
      }),
    );
  }, 30_000);
});

describe('Metadata', () => {
  it('finds messages by every pair, with the case of its keys, and not those of others', async () => {
    const ids: string[] = [];
    for (const order of ['A', 'B']) {
      const Metadata = { OrderID: order, shop: 'berlin' };
      ids.push(await server.send({ Metadata }, { token }));
    }
    const find = async (query: string, by = token) =>
      (await server.call('GET', `/email?${query}`, { token: by })).json.Items.map(
        ({ MessageID }: { MessageID: string }) => MessageID,
      );
    expect(await find('Metadata.OrderID=A')).toEqual([ids[0]]);
    expect(await find('METADATA.OrderID=B&metadata.shop=berlin')).toEqual([ids[1]]);
    expect(await find('Metadata.shop=berlin')).toEqual([ids[1], ids[0]]);
    expect(await find('Metadata.shop=berlin&Limit=1')).toEqual([ids[1]]);
    expect(await find('Metadata.orderid=A')).toEqual([]);
    expect(await find('Metadata.shop=berlin', other)).toEqual([]);
    expect((await server.call('GET', '/email?Metadata.=x', { token })).status).toBe(422);
  });
});
