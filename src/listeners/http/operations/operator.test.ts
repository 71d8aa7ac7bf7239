import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createManualClock } from '../../../store/sqlite/test-support.ts';
import { codesOf, MAIL, openWorld, type World } from '../test-world.ts';

const HOUR = 3_600_000;
const clock = createManualClock();
const item = {
  Key: 'http',
  Value: '127.0.0.1:0',
  Source: 'flag' as const,
  Default: null,
  Meaning: 'listener',
};
let world: World;
beforeAll(async () => {
  world = await openWorld({
    clock,
    parts: { config: () => ({ Mode: 'serve', Version: '1.0.0', Items: [item] }) },
  });
});
afterAll(() => world.close());

const queue = async (query = '', token = world.tokens.admin) =>
  (await world.call('GET', `/queue${query}`, { token })).json() as {
    Waiting: number | null;
    Sending: number | null;
    Queues: { Site: string; Ages: Record<string, number>; Reasons: { Reason: string; Count: number }[] }[];
    More: boolean;
  };

describe('GET /queue', () => {
  it('shows what waits by site and age, with the reasons', async () => {
    expect(await queue()).toMatchObject({
      Waiting: 0,
      Sending: 0,
      OldestDueAt: null,
      Queues: [],
      More: false,
    });
    await world.sendMail();
    const claimed = await world.claimAll();
    await world.settle(claimed.get('bob@example.net') ?? 0, 'queued', 'deferred', {
      dueAt: clock.now() + 5 * HOUR,
      waitReason: 'deferred',
      lastReply: '451 4.7.1 busy',
    });
    clock.advance(2 * HOUR);
    await world.sendMail({ ...MAIL, CC: [] });
    const seen = await queue();
    expect(seen).toMatchObject({ Waiting: 2, Sending: 1, PendingCalls: 0, OldestDueAt: expect.any(String) });
    expect(seen.Queues).toMatchObject([
      {
        Site: 'example.net',
        SenderDomain: 'example.com',
        Priority: 'normal',
        Waiting: 2,
        Complete: true,
        Due: 1,
        Ages: { Under1m: 1, Under1h: 0, Under1d: 1, Older: 0 },
        Reasons: [
          { Reason: 'its turn: earlier mail, or other mail of its sender domain, goes first', Count: 1 },
          { Reason: 'deferred', Count: 1, Reply: '451 4.7.1 busy' },
        ],
      },
    ]);
  });

  it('is for admins, within their domains', async () => {
    const some = await world.at.token({
      domains: ['other.example'],
      scopes: ['admin'],
      expiresInSeconds: 8e7,
    });
    expect(await queue('', some)).toMatchObject({ Waiting: null, Queues: [] });
    expect((await queue('?Domain=example.com')).Queues).toHaveLength(1);
    expect((await queue('?Domain=other.example')).Queues).toHaveLength(0);
    expect((await world.call('GET', '/queue?Domain=example.com', { token: some })).status).toBe(404);
    expect(codesOf(await world.call('GET', '/queue'))).toEqual([34]);
    expect(codesOf(await world.call('GET', '/queue?Limit=0', { token: world.tokens.admin }))).toEqual([422]);
  });
});

describe('GET /config', () => {
  it('shows what is in force to admins of everything', async () => {
    const reply = await world.call('GET', '/config', { token: world.tokens.admin });
    expect(reply.json()).toEqual({ Mode: 'serve', Version: '1.0.0', Items: [item] });
    const some = await world.at.token({
      domains: ['other.example'],
      scopes: ['admin'],
      expiresInSeconds: 8e7,
    });
    expect(codesOf(await world.call('GET', '/config', { token: some }))).toEqual([34]);
    expect(codesOf(await world.call('GET', '/config'))).toEqual([34]);
  });
});

describe('GET /nodes', () => {
  it('shows who lives and who ended, with what each holds, and which one answers', async () => {
    const about = {
      ...{ host: 'mail1', pid: 7, version: '1.2.3', roles: ['deliver'], sources: ['nat'], settings: {} },
    };
    const other = await world.store.beginEpoch({ nodeId: 'other', now: clock.now(), about });
    await world.store.takeLeases({ epoch: other, names: ['upkeep'], quiet: [], now: clock.now() });
    const gone = await world.store.beginEpoch({ nodeId: 'gone', now: clock.now() });
    await world.store.endEpoch({ epoch: gone, now: clock.now() });
    const killed = await world.store.beginEpoch({ nodeId: 'killed', now: clock.now() });
    await world.store.endEpoch({ epoch: killed, beat: 0, now: clock.now() });
    const nodes = async () =>
      (await world.call('GET', '/nodes', { token: world.tokens.admin })).json() as { Items: object[] };
    expect(await nodes()).toMatchObject({
      Items: [
        {
          ...{ Node: 'other', Epoch: other, Self: false, Status: 'Alive', Host: 'mail1', Pid: 7 },
          ...{ Roles: ['deliver'], Sources: ['nat'], Sending: 0, Leases: ['upkeep'], EndedAt: null },
        },
        { Node: 'test', Epoch: world.epoch, Self: true, Status: 'Alive', Leases: [] },
        { Node: 'killed', Epoch: killed, Self: false, Status: 'Lost', EndedAt: expect.any(String) },
        { Node: 'gone', Epoch: gone, Self: false, Status: 'Ended', EndedAt: expect.any(String) },
      ],
      NextCursor: null,
    });
    clock.advance(20_000);
    expect((await nodes()).Items[0]).toMatchObject({ Node: 'other', Status: 'Silent' });
  });

  it('is for admin tokens of all domains', async () => {
    expect(codesOf(await world.call('GET', '/nodes'))).toEqual([34]);
  });
});
