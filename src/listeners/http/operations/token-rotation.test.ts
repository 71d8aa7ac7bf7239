import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createManualClock } from '../../../store/sqlite/test-support.ts';
import { codesOf, openWorld, type World } from '../test-world.ts';

const DAY = 86_400_000;
const clock = createManualClock();
let world: World;
beforeAll(async () => {
  world = await openWorld({ clock });
});
afterAll(() => world.close());

async function make(more: object = {}) {
  const body = {
    Name: 'app',
    Domains: ['example.com'],
    Preset: 'Send',
    ExpiresIn: 30 * 86_400,
    RateLimit: 7,
    ...more,
  };
  const made = (await world.call('POST', '/tokens', { body, token: world.tokens.admin })).json();
  return { id: String(made.TokenID), jwt: String(made.Token) };
}
const rotate = (id: string, body: object = {}, token = world.tokens.own) =>
  world.call('POST', `/tokens/${id}/rotate`, { body, token });
const works = async (jwt: string) => (await world.call('GET', '/me', { token: jwt })).status === 200;

describe('POST /tokens/{id}/rotate', () => {
  it('gives a token that may the same, and ends the old one after the overlap', async () => {
    const old = await make();
    expect(await works(old.jwt)).toBe(true);
    const reply = await rotate(old.id, { Overlap: 600 });
    expect(reply.status).toBe(201);
    const fresh = reply.json() as { TokenID: string; Token: string; PreviousValidUntil: string };
    expect(Date.parse(fresh.PreviousValidUntil)).toBe(clock.now() + 600_000);
    const [before, after] = await Promise.all(
      [old.id, fresh.TokenID].map(async (id) => (await world.call('GET', `/tokens/${id}`)).json()),
    );
    expect(after).toMatchObject({
      Name: 'app',
      Scopes: before?.Scopes,
      Domains: ['example.com'],
      RateLimit: 7,
    });
    expect(Date.parse(String(after?.ExpiresAt))).toBe(clock.now() + 30 * DAY);
    expect([await works(old.jwt), await works(fresh.Token)]).toEqual([true, true]);
    clock.advance(600_000);
    expect([await works(old.jwt), await works(fresh.Token)]).toEqual([false, true]);
  });

  it('ends the old one at once without an overlap, and after a day where nothing is said', async () => {
    const [now, later] = [await make(), await make({ ExpiresIn: 'never' })];
    expect(await works(now.jwt)).toBe(true);
    await rotate(now.id, { Overlap: 0 });
    expect(await works(now.jwt)).toBe(false);
    const reply = await world.call('POST', `/tokens/${later.id}/rotate`, { token: world.tokens.admin });
    expect(reply.status).toBe(201);
    expect((await world.call('GET', `/tokens/${reply.json().TokenID}`)).json().ExpiresAt).toBeNull();
    expect(Date.parse(String(reply.json().PreviousValidUntil))).toBe(clock.now() + DAY);
    expect(await works(later.jwt)).toBe(true);
  });

  it('replaces a token once, and names the token in its place', async () => {
    const old = await make();
    const replies = await Promise.all(Array.from({ length: 4 }, () => rotate(old.id, { Overlap: 5 })));
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422]);
    const fresh = String(replies.find(({ status }) => status === 201)?.json().TokenID);
    expect(replies.find(({ status }) => status === 422)?.text).toContain(`was replaced by ${fresh} already`);
    expect((await world.call('GET', `/tokens/${old.id}`)).json().ReplacedBy).toBe(fresh);
    const next = (await rotate(fresh)).json();
    const { ExpiresAt } = (await world.call('GET', `/tokens/${next.TokenID}`)).json();
    expect(Date.parse(String(ExpiresAt))).toBe(clock.now() + 30 * DAY);
  });

  it('never prolongs the old one', async () => {
    const old = await make({ ExpiresIn: 60 });
    const reply = await rotate(old.id, { Overlap: 600 });
    expect(Date.parse(String(reply.json().PreviousValidUntil))).toBe(clock.now() + 60_000);
  });

  it('refuses what has ended and what is out of range', async () => {
    const old = await make();
    expect(codesOf(await rotate(old.id, { Overlap: 604_801 }))).toEqual([422]);
    expect(codesOf(await rotate(old.id, { Overlap: -1 }))).toEqual([422]);
    await world.call('DELETE', `/tokens/${old.id}`);
    expect(codesOf(await rotate(old.id))).toEqual([422]);
    expect((await rotate('nonsense')).status).toBe(404);
  });

  it('makes one token of two requests with one key', async () => {
    const old = await make();
    const send = () =>
      world.call('POST', `/tokens/${old.id}/rotate`, { body: {}, headers: { 'idempotency-key': 'r1' } });
    const [first, second] = [await send(), await send()];
    expect([second.text, second.headers['idempotency-replayed']]).toEqual([first.text, 'true']);
  });

  it('gives nobody a longer life, a faster rate or more places to come from than they have', async () => {
    const limits = {
      Scopes: ['tokens:write', 'email:send'],
      Preset: undefined,
      ExpiresIn: 3_600,
      RateLimit: 2,
    };
    const minter = await make({ ...limits, IPAllowList: ['127.0.0.1'] });
    const [free, faster, own] = [
      await make({ RateLimit: 2 }),
      await make({ IPAllowList: ['127.0.0.1'] }),
      await make({ IPAllowList: ['127.0.0.1'], RateLimit: 2 }),
    ];
    expect(codesOf(await rotate(free.id, {}, minter.jwt))).toEqual([422]);
    expect(codesOf(await rotate(faster.id, {}, minter.jwt))).toEqual([422]);
    // What lives longer is cut to the life of who rotates it, itself included.
    for (const id of [own.id, minter.id]) {
      const { TokenID } = (await rotate(id, {}, minter.jwt)).json();
      const fresh = (await world.call('GET', `/tokens/${TokenID}`)).json();
      expect(fresh.CreatedBy).toBe(minter.id);
      expect(Date.parse(String(fresh.ExpiresAt))).toBe(clock.now() + 3_600_000);
    }
  });

  it('gives nobody more than they hold', async () => {
    const strong = await make({ Preset: 'Full' });
    expect((await rotate(strong.id, {}, world.tokens.other)).status).toBe(404);
    expect(codesOf(await rotate(strong.id, {}, world.tokens.narrow))).toEqual([34]);
    const minter = await make({ Preset: undefined, Scopes: ['tokens:write'] });
    expect(codesOf(await rotate(strong.id, {}, minter.jwt))).toEqual([34]);
    expect(await works(strong.jwt)).toBe(true);
  });
});
