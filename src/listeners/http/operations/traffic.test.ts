/** Paths, holds and overrides through the API, over a real store; the tests supply what delivery would show. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { PathSnapshot } from '../../../pipeline/deliver/path/state.ts';
import { createManualClock } from '../../../store/sqlite/test-support.ts';
import { codesOf, openWorld, type World } from '../test-world.ts';
import { pathSnapshot } from './test-paths.ts';

const HOUR = 3_600_000;
const clock = createManualClock();
let world: World;
beforeAll(async () => {
  world = await openWorld({ clock });
});
afterAll(() => world.close());
beforeEach(() => {
  world.paths.length = 0;
});

interface Answer {
  [member: string]: unknown;
  Items: Record<string, unknown>[];
}

const call = async (method: string, path: string, body?: unknown) => {
  const options = { token: world.tokens.admin, ...(body === undefined ? {} : { body }) };
  const { status, json } = await world.call(method, path, options);
  return { status, body: json() as Answer };
};
const iso = (at: number) => new Date(at).toISOString();

const snapshot = (more: Partial<PathSnapshot> = {}) => pathSnapshot(world, more);

describe('holds', () => {
  it('are made, shown everywhere held mail is looked at, and released', async () => {
    await world.sendMail();
    const asked = {
      SenderDomain: 'Example.com',
      Priority: 'normal',
      Reason: 'wrong price',
      Until: iso(clock.now() + HOUR),
    };
    const made = await call('POST', '/queue/hold', asked);
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      HoldID: expect.any(String),
      SenderDomain: 'example.com',
      RecipientDomain: null,
      Site: null,
      Priority: 'normal',
      Reason: 'wrong price',
      Until: asked.Until,
      CreatedAt: iso(clock.now()),
    });
    expect((await call('GET', '/queue/holds')).body.Items).toEqual([made.body]);
    const queues = (await call('GET', '/queue')).body.Queues as { Reasons: unknown[] }[];
    expect(queues.map(({ Reasons }) => Reasons)).toContainEqual([
      { Reason: 'held: wrong price', Count: 1, Reply: null },
    ]);
    const list = (await call('GET', '/email?Status=Held')).body.Items;
    const detail = (await call('GET', `/email/${list[0]?.MessageID}`)).body;
    expect(detail).toMatchObject({
      Recipients: [
        { Status: 'Held', WaitReason: 'held: wrong price' },
        { Status: 'Held', WaitReason: 'held: wrong price' },
      ],
    });
    expect(await call('POST', '/queue/release', { SenderDomain: 'example.com' })).toEqual({
      status: 200,
      body: { Released: 1 },
    });
    expect((await call('GET', '/email?Status=Held')).body.Items).toEqual([]);
    expect((await call('POST', '/queue/release', { HoldID: made.body.HoldID })).status).toBe(404);
  });

  it('are released by their id, or by all that they name, one without the other', async () => {
    const hold = async (body: object) =>
      (await call('POST', '/queue/hold', { Reason: 'r', ...body })).body.HoldID;
    const [one, two] = [await hold({ Site: 'google' }), await hold({ Site: 'google', Priority: 'bulk' })];
    await hold({ All: true });
    const left = async () => (await call('GET', '/queue/holds')).body.Items.map(({ HoldID }) => HoldID);
    expect((await call('POST', '/queue/release', { Site: 'google', Priority: 'bulk' })).body).toEqual({
      Released: 1,
    });
    expect(await left()).not.toContain(two);
    await call('POST', '/queue/release', { HoldID: one });
    expect(await left()).toHaveLength(1);
    expect((await call('POST', '/queue/release', { All: true })).body).toEqual({ Released: 1 });
    expect(await left()).toEqual([]);
  });

  it.each([
    ['nothing named', { Reason: 'r' }],
    ['no reason', { Priority: 'bulk' }],
    ['an empty reason', { Priority: 'bulk', Reason: ' ' }],
    ['an unknown lane', { Priority: 'fast', Reason: 'r' }],
    ['an end that is over', { Priority: 'bulk', Reason: 'r', Until: '2020-01-01T00:00:00Z' }],
    ['an end that is no time', { Priority: 'bulk', Reason: 'r', Until: 'tomorrow' }],
    ['an end past all dates', { Priority: 'bulk', Reason: 'r', Until: 9e15 }],
  ])('with %s are refused', async (_what, body) => {
    expect((await call('POST', '/queue/hold', body)).status).toBe(422);
    expect((await call('GET', '/queue/holds')).body.Items).toEqual([]);
  });

  it('are made once under one Idempotency-Key', async () => {
    const body = { Site: 'once.example', Reason: 'r' };
    const options = { token: world.tokens.admin, headers: { 'idempotency-key': 'hold-once' }, body };
    const first = await world.call('POST', '/queue/hold', options);
    const again = await world.call('POST', '/queue/hold', options);
    expect([first.status, again.status, again.headers['idempotency-replayed']]).toEqual([201, 201, 'true']);
    expect(again.json()).toEqual(first.json());
    const sites = (await call('GET', '/queue/holds')).body.Items.map(({ Site }) => Site);
    expect(sites.filter((site) => site === 'once.example')).toHaveLength(1);
    await call('POST', '/queue/release', { All: true });
  });

  it('are not released by nothing', async () => {
    expect((await call('POST', '/queue/release', {})).status).toBe(422);
  });
});

describe('overrides', () => {
  it('are listed with why and until when, and removed by hand', async () => {
    world.overrides.note({
      scope: 'path',
      key: '>google',
      param: 'messagesPerSecond',
      value: 0.5,
      until: clock.now() + HOUR,
      rule: 'G01',
      why: '421 4.7.28 too much mail',
    });
    const { body } = await call('GET', '/overrides');
    expect(body.Items).toEqual([
      {
        OverrideID: expect.any(String),
        Scope: 'path',
        Key: '>google',
        Param: 'messagesPerSecond',
        Value: 0.5,
        Until: iso(clock.now() + HOUR),
        Rule: 'G01',
        Why: '421 4.7.28 too much mail',
        CreatedAt: iso(clock.now()),
      },
    ]);
    const path = `/overrides/${body.Items[0]?.OverrideID}`;
    expect(await call('DELETE', path)).toEqual({ status: 200, body: {} });
    expect((await call('DELETE', path)).status).toBe(404);
    expect((await call('GET', '/overrides')).body.Items).toEqual([]);
  });
});

describe('GET /queue/paths', () => {
  it('shows each path with its limits and where they come from', async () => {
    world.paths.push(snapshot());
    const [path] = (await call('GET', '/queue/paths')).body.Items;
    expect(path).toMatchObject({
      Site: 'google',
      State: 'open',
      Reason: 'path: 421 4.7.28 too much mail',
      WaitsUntil: iso(clock.now() + HOUR),
      Waiting: { critical: 0, normal: 2, bulk: 5 },
      LastSuccess: { Text: '250 ok' },
      LastFailure: null,
    });
    expect(path?.Limits).toContainEqual({
      Name: 'connections',
      Value: 5,
      From: 'data',
      Detail: 'google',
      Until: null,
    });
  });

  it.each(['google', 'GMAIL.com', 'example.net'])(
    'finds a site by the name %s, with what waits for it',
    async (name) => {
      world.paths.push(
        snapshot(),
        snapshot({ key: '>yahoo', site: 'yahoo', provider: 'yahoo', domains: ['yahoo.com'] }),
      );
      const { body } = await call('GET', `/queue/paths/${name}`);
      expect(body).toMatchObject({ Paths: [{ Site: 'google' }], Waiting: 1, Complete: true, Limits: [] });
    },
  );

  it('says what a site that was never met would begin with', async () => {
    const limit = async (site: string) => {
      const { body } = await call('GET', `/queue/paths/${site}`);
      return (body.Limits as { Name: string; Value: unknown }[]).find(({ Name }) => Name === 'connections')
        ?.Value;
    };
    expect([await limit('comcast.net'), await limit('google'), await limit('unknown.example')]).toEqual([
      25, 5,
      // It counts as small until it has taken more.
      2,
    ]);
    const { body } = await call('GET', '/queue/paths/unknown.example');
    expect(body).toMatchObject({
      Paths: [],
      Waiting: 0,
      Note: expect.stringMatching(/^Nothing waits .* would begin/),
    });
  });

  it.each([
    'nonsense',
    'no domain',
    '-a.example',
    '192.0.2.1',
    'relay:mail.example.com:25',
    '%00',
    '*.example',
  ])('knows no site %s', async (name) => {
    const { status, body } = await call('GET', `/queue/paths/${encodeURIComponent(name)}`);
    expect(status).toBe(404);
    expect(body.Error).toMatch(/no domain/);
  });

  it('finds what a hold or a domain in Unicode names', async () => {
    await call('POST', '/queue/hold', { Site: 'relay:mail.example.com:25', Reason: 'moved' });
    const held = await call('GET', '/queue/paths/relay:mail.example.com:25');
    expect(held.body).toMatchObject({ Holds: [{ Reason: 'moved' }] });
    expect((await call('GET', `/queue/paths/${encodeURIComponent('bücher.example')}`)).status).toBe(200);
    await call('POST', '/queue/release', { All: true });
  });
});

describe('lists that are held in memory', () => {
  const fill = {
    '/queue/paths': async () => {
      for (let i = 0; i < 5; i++) world.paths.push(snapshot({ key: `s${i}>google`, source: `s${i}` }));
    },
    '/queue/holds': async () => {
      for (let i = 0; i < 5; i++) await call('POST', '/queue/hold', { Site: `s${i}`, Reason: 'r' });
    },
    '/overrides': async () => {
      for (let i = 0; i < 5; i++) {
        world.overrides.note({
          scope: 'path',
          key: `s${i}>google`,
          param: 'messagesPerSecond',
          value: 0.5,
          until: clock.now() + HOUR,
          rule: 'G01',
          why: 'slow',
        });
      }
    },
  };

  it.each(Object.entries(fill))('%s: pages hold every item once, in order', async (path, prepare) => {
    await prepare();
    const whole = (await call('GET', `${path}?Limit=100`)).body;
    expect(whole).toMatchObject({ HasMore: false, NextCursor: null });
    expect(whole.Items.length).toBeGreaterThanOrEqual(5);
    const seen: unknown[] = [];
    for (let after = ''; ; ) {
      const { body } = await call('GET', `${path}?Limit=2${after}`);
      seen.push(...body.Items);
      if (body.NextCursor === null) break;
      expect(body).toMatchObject({ HasMore: true, Items: { length: 2 } });
      after = `&After=${String(body.NextCursor)}`;
    }
    expect(seen).toEqual(whole.Items);
  });

  it('go on behind an item that is gone by then', async () => {
    await call('POST', '/queue/release', { All: true });
    await fill['/queue/holds']();
    const whole = (await call('GET', '/queue/holds')).body.Items;
    const first = (await call('GET', '/queue/holds?Limit=2')).body;
    await call('POST', '/queue/release', { HoldID: first.Items[1]?.HoldID });
    const second = (await call('GET', `/queue/holds?Limit=2&After=${String(first.NextCursor)}`)).body;
    expect(second.Items).toEqual(whole.slice(2, 4));
  });

  it('refuse a cursor of another list, and what is none', async () => {
    await fill['/queue/holds']();
    const { NextCursor } = (await call('GET', '/queue/holds?Limit=1')).body;
    for (const [path, cursor] of [
      ['/overrides', NextCursor],
      ['/queue/holds', 'x'],
      ['/queue/paths', '1'],
      ['/warmup', '%00'],
      ['/causes', NextCursor],
      ['/causes', '5'],
    ]) {
      expect([path, (await call('GET', `${path}?After=${String(cursor)}`)).status]).toEqual([path, 422]);
    }
  });
});

describe('whoever is not the operator', () => {
  it.each([
    ['GET', '/queue/paths'],
    ['GET', '/queue/paths/google'],
    ['GET', '/queue/holds'],
    ['POST', '/queue/hold'],
    ['POST', '/queue/release'],
    ['GET', '/overrides'],
    ['DELETE', '/overrides/x'],
  ])('may not %s %s', async (method, path) => {
    const someDomains = await world.at.token({ domains: ['example.com'], scopes: ['admin'] });
    for (const token of [world.tokens.own, someDomains]) {
      const body = method === 'POST' ? { body: { Reason: 'r', All: true } } : {};
      expect(codesOf(await world.call(method, path, { token, ...body }))).toEqual([34]);
    }
  });
});
