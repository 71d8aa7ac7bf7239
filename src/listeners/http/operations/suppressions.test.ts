import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import { codesOf, MAIL, openWorld, type World } from '../test-world.ts';

const DAY = 86_400_000;
const clock = createVirtualClock(1_800_000_000_000);
let world: World;
beforeAll(async () => {
  world = await openWorld({ clock });
});
afterAll(() => world.close());

const add = (
  items: unknown,
  more: { token?: string; Domain?: string; headers?: Record<string, string> } = {},
) => {
  const { token, headers, ...body } = more;
  return world.call('POST', '/suppressions', {
    body: { Items: items, ...body },
    ...(token === undefined ? {} : { token }),
    ...(headers === undefined ? {} : { headers }),
  });
};
const items = async (path: string, token = world.tokens.own) =>
  (await world.call('GET', path, { token })).json() as {
    Items: { Email: string; Reason: string }[];
    HasMore: boolean;
    NextCursor: string | null;
  };
const lift = (email: string) => world.call('DELETE', `/suppressions/${encodeURIComponent(email)}`);

describe('POST /suppressions', () => {
  it('adds addresses with reasons, notes and ends, and counts those that stood there', async () => {
    const reply = await add([
      { Email: 'Zoe@Example.NET', Note: 'asked by phone' },
      { email: 'yan@example.net', reason: 'softbounces' },
      { Email: 'xia@example.net', Reason: 'Manual', ExpiresAt: new Date(clock.now() + DAY).toISOString() },
      { Email: 'ZOE@example.net' },
    ]);
    expect([reply.status, reply.json()]).toEqual([200, { Added: 3, Existing: 1 }]);
    expect((await world.call('GET', '/suppressions/zoe%40example.net')).json()).toEqual({
      Email: 'zoe@example.net',
      Domain: 'example.com',
      Entries: [
        {
          Email: 'Zoe@example.net',
          Domain: 'example.com',
          Reason: 'Manual',
          Note: 'asked by phone',
          CreatedAt: new Date(clock.now()).toISOString(),
          ExpiresAt: null,
          MessageID: null,
          Reply: '',
          Rule: '',
        },
      ],
    });
    const yan = (await world.call('GET', '/suppressions/yan@example.net')).json();
    expect(yan.Entries).toMatchObject([
      { Reason: 'SoftBounces', ExpiresAt: new Date(clock.now() + 30 * DAY).toISOString() },
    ]);
  });

  it('refuses what is no address, no reason, past, too much or nothing, each with its place', async () => {
    const cases: [unknown, string][] = [
      [undefined, '/Items'],
      [[], '/Items'],
      [['a@example.net'], '/Items/0'],
      [[{ Email: 'fine@example.net' }, { Email: 'nobody' }], '/Items/1/Email'],
      [[{}], '/Items/0/Email'],
      [[{ Email: 'a@example.net', Reason: 'Whim' }], '/Items/0/Reason'],
      [[{ Email: 'a@example.net', ExpiresAt: '2001-01-01T00:00:00Z' }], '/Items/0/ExpiresAt'],
      [[{ Email: 'a@example.net', Note: 'x'.repeat(257) }], '/Items/0/Note'],
      [Array.from({ length: 1001 }, (_, i) => ({ Email: `a${i}@example.net` })), '/Items'],
    ];
    for (const [given, field] of cases) {
      const reply = await add(given);
      expect([reply.status, codesOf(reply)], field).toEqual([422, [422]]);
      expect((reply.json().Errors as { Field: string }[])[0]?.Field).toBe(field);
    }
    expect((await world.call('GET', '/suppressions/fine@example.net')).status).toBe(404);
  });

  it('takes a thousand at once, and an Idempotency-Key', async () => {
    const many = Array.from({ length: 1000 }, (_, i) => ({ Email: `m${i}@bulk.example` }));
    const headers = { 'idempotency-key': 'once' };
    expect((await add(many, { headers })).json()).toEqual({ Added: 1000, Existing: 0 });
    const again = await add(many, { headers });
    expect([again.json(), again.headers['idempotency-replayed']]).toEqual([
      { Added: 1000, Existing: 0 },
      'true',
    ]);
    const seen = new Set<string>();
    let after = '';
    for (let pages = 0; pages < 20; pages++) {
      const found = await items(`/suppressions?Limit=100${after}`);
      for (const { Email } of found.Items) if (Email.endsWith('bulk.example')) seen.add(Email);
      if (!found.HasMore) break;
      after = `&After=${found.NextCursor}`;
    }
    expect(seen.size).toBe(1000);
  });

  it('says how many a list may have', async () => {
    const many = Array.from({ length: 1001 }, (_, i) => ({ Email: `a${i}@example.net` }));
    expect((await add(many)).text).toContain('at most 1000 addresses: send them in several requests');
    expect((await add([])).text).toContain('Items must hold at least 1 item');
  });

  it('asks for the domain where a token holds several', async () => {
    const { admin } = world.tokens;
    const reply = await add([{ Email: 'a@example.net' }], { token: admin });
    expect([reply.status, codesOf(reply)]).toEqual([422, [2003]]);
    expect((await add([{ Email: 'a@example.net' }], { token: admin, Domain: 'other.example' })).status).toBe(
      200,
    );
    expect((await world.call('GET', '/suppressions/a@example.net', { token: admin })).status).toBe(422);
    const named = await world.call('GET', '/suppressions/a@example.net?Domain=other.example', {
      token: admin,
    });
    expect(named.json().Domain).toBe('other.example');
  });
});

describe('the list', () => {
  it('is filtered by reason, address and time', async () => {
    await clock.advance(1001);
    const since = new Date(clock.now()).toISOString();
    await add([
      { Email: 'c@example.net', Reason: 'Complaint' },
      { Email: 'U@example.net', Reason: 'Unsubscribe' },
    ]);
    expect((await items('/suppressions?Reason=complaint')).Items.map((row) => row.Email)).toEqual([
      'c@example.net',
    ]);
    expect((await items('/suppressions?Email=u%40EXAMPLE.net')).Items.map((row) => row.Reason)).toEqual([
      'Unsubscribe',
    ]);
    expect((await items(`/suppressions?Since=${since}&Limit=2`)).HasMore).toBe(false);
    for (const query of ['Reason=Whim', 'Since=soon', 'After=x', 'Limit=101']) {
      expect((await world.call('GET', `/suppressions?${query}`)).status, query).toBe(422);
    }
  });

  it('shows and lifts nothing of another tenant', async () => {
    await add([{ Email: 'mine@example.net' }]);
    const { other } = world.tokens;
    expect((await items('/suppressions?Limit=100', other)).Items.map((row) => row.Email)).toEqual([
      'a@example.net',
    ]);
    const path = '/suppressions/mine@example.net';
    expect((await world.call('GET', path, { token: other })).status).toBe(404);
    expect((await world.call('DELETE', path, { token: other })).status).toBe(404);
    expect((await world.call('GET', `${path}?Domain=example.com`, { token: other })).status).toBe(404);
    expect((await add([{ Email: 'x@example.net' }], { token: other, Domain: 'example.com' })).status).toBe(
      404,
    );
    expect((await world.call('GET', path)).status).toBe(200);
  });

  it('needs its scopes', async () => {
    const { narrow } = world.tokens;
    for (const [method, path] of [
      ['GET', '/suppressions'],
      ['POST', '/suppressions'],
      ['GET', '/suppressions/a@example.net'],
      ['DELETE', '/suppressions/a@example.net'],
    ] as const) {
      const reply = await world.call(method, path, {
        token: narrow,
        ...(method === 'POST' ? { body: {} } : {}),
      });
      expect([reply.status, codesOf(reply)], method).toEqual([403, [34]]);
    }
  });
});

describe('DELETE /suppressions/{Email}', () => {
  it('lifts an address as a whole or for one reason, once', async () => {
    const odd = "o'neil+a/b%c@example.net";
    await add([
      { Email: odd, Reason: 'Bounce' },
      { Email: odd, Reason: 'Unsubscribe' },
    ]);
    const path = `/suppressions/${encodeURIComponent(odd)}`;
    const misspelt = (await world.call('DELETE', `${path}?Reasons=Bounce`)).json();
    expect(misspelt.Errors).toMatchObject([
      { Field: '/reasons', Message: 'This parameter is not known; did you mean Reason?' },
    ]);
    expect((await world.call('DELETE', `${path}?Reason=Bounce`)).json()).toEqual({});
    expect((await world.call('GET', path)).json().Entries).toMatchObject([{ Reason: 'Unsubscribe' }]);
    expect((await lift(odd)).status).toBe(200);
    expect((await lift(odd)).status).toBe(404);
    expect((await lift('not an address')).status).toBe(404);
  });
});

describe('sending to the suppressed', () => {
  const rows = async (id: string) =>
    ((await world.call('GET', `/email/${id}`)).json().Recipients as { Email: string; Status: string }[]).map(
      ({ Email, Status }) => `${Email} ${Status}`,
    );

  it('sends to the others and tells of the one that was left out', async () => {
    await add([{ Email: 'BOB@example.net', Note: 'moved' }]);
    const id = await world.sendMail();
    expect(await rows(id)).toEqual(['bob@example.net Suppressed', 'cleo@example.org Queued']);
    const [event] = (await world.call('GET', `/events?MessageID=${id}&Event=suppressed`)).json().Events as {
      Recipient: string;
      Reason: string;
    }[];
    expect(event?.Recipient).toBe('bob@example.net');
    expect(event?.Reason).toMatch(/^On the suppression list: Manual since \d{4}-\d\d-\d\d: moved$/);
    expect([...(await world.claimAll()).keys()]).toEqual(['cleo@example.org']);
    await lift('bob@example.net');
  });

  it('refuses a message with nobody left, stores nothing, and leaves the Idempotency-Key free', async () => {
    await add([{ Email: 'bob@example.net' }, { Email: 'cleo@example.org' }]);
    const before = (await world.call('GET', '/email?Limit=100')).text;
    const headers = { 'idempotency-key': 'to-nobody' };
    const reply = await world.call('POST', '/email', { body: MAIL, headers });
    expect([reply.status, codesOf(reply)]).toEqual([422, [14]]);
    expect(reply.text).toContain('bob@example.net');
    expect((await world.call('GET', '/email?Limit=100')).text).toBe(before);
    await lift('bob@example.net');
    await lift('cleo@example.org');
    expect((await world.call('POST', '/email', { body: MAIL, headers })).status).toBe(200);
    await world.claimAll();
  });

  it('looks at the lane: an opt-out stops bulk mail only, a complaint all but critical', async () => {
    const send = async (lane: string, email: string) =>
      (await world.call('POST', '/email', { body: { ...MAIL, CC: [], To: [{ email }], Priority: lane } }))
        .status;
    await add([
      { Email: 'optout@example.net', Reason: 'Unsubscribe' },
      { Email: 'angry@example.net', Reason: 'Complaint' },
      { Email: 'gone@example.net', Reason: 'Bounce' },
    ]);
    const lanes = ['critical', 'normal', 'bulk'];
    const answers = async (email: string) => Promise.all(lanes.map((lane) => send(lane, email)));
    expect(await answers('optout@example.net')).toEqual([200, 200, 422]);
    expect(await answers('angry@example.net')).toEqual([200, 422, 422]);
    expect(await answers('gone@example.net')).toEqual([422, 422, 422]);
    await world.claimAll();
  });

  it('is as free as before once the end has come', async () => {
    const email = 'soon@example.net';
    await add([{ Email: email, ExpiresAt: new Date(clock.now() + DAY).toISOString() }]);
    const mail = { ...MAIL, CC: [], To: [{ email }] };
    expect((await world.call('POST', '/email', { body: mail })).status).toBe(422);
    await clock.advance(DAY);
    expect((await world.call('POST', '/email', { body: mail })).status).toBe(200);
    await world.claimAll();
  });

  it('does not concern the sandbox', async () => {
    await add([{ Email: 'bob@example.net' }, { Email: 'cleo@example.org' }]);
    expect((await world.call('POST', '/email', { body: { ...MAIL, Sandbox: true } })).status).toBe(200);
    const magic = { ...MAIL, CC: [], To: [{ email: 'suppressed@simulator.test' }] };
    const id = await world.sendMail(magic);
    expect(await rows(id)).toEqual(['suppressed@simulator.test Suppressed']);
    const mixed = await world.sendMail({ ...magic, CC: [{ email: 'bob@example.net' }] });
    expect(await rows(mixed)).toEqual(['suppressed@simulator.test Suppressed', 'bob@example.net Suppressed']);
    await lift('bob@example.net');
    await lift('cleo@example.org');
    await world.claimAll();
  });

  it('leaves the suppressed out of a retry', async () => {
    const id = await world.sendMail();
    for (const row of (await world.claimAll()).values()) await world.settle(row, 'bounced', 'bounced');
    await add([{ Email: 'bob@example.net' }]);
    expect((await world.call('POST', `/email/${id}/retry`)).json()).toMatchObject({ Queued: 1 });
    expect(await rows(id)).toEqual(['bob@example.net Bounced', 'cleo@example.org Deferred']);
    await world.settle((await world.claimAll()).get('cleo@example.org') ?? 0, 'bounced', 'bounced');
    await add([{ Email: 'cleo@example.org' }]);
    const refused = await world.call('POST', `/email/${id}/retry`);
    expect([refused.status, codesOf(refused)]).toEqual([409, [1802]]);
    expect(refused.text).toContain('suppression list');
  });
});

describe('GET /suppressions by the domain of the addresses', () => {
  it('finds it in any spelling, and nothing where it is no domain', async () => {
    await add([{ Email: 'one@bücher.example' }, { Email: 'two@buecher.example' }]);
    const found = async (domain: string) =>
      (await items(`/suppressions?RecipientDomain=${encodeURIComponent(domain)}`)).Items.map(
        ({ Email }) => Email,
      );
    expect(await found('BÜCHER.example')).toEqual(['one@xn--bcher-kva.example']);
    expect(await found('buecher.example ')).toEqual(['two@buecher.example']);
    expect(await found('%')).toEqual([]);
  });
});
