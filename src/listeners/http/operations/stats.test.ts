import { afterAll, beforeAll, expect, it } from 'vitest';
import { createManualClock } from '../../../store/sqlite/test-support.ts';
import { codesOf, MAIL, openWorld, type World } from '../test-world.ts';

const HOUR = 3_600_000;
const clock = createManualClock();
let world: World;
beforeAll(async () => {
  world = await openWorld({ clock });
});
afterAll(() => world.close());

interface Figures {
  Group: string | null;
  IsProvider: boolean;
  Counts: Record<string, number>;
  Rates: Record<string, number | null>;
  Intervals: { At: string; Counts: Record<string, number> }[];
}
/** Asks again only when the rate allows it. */
const stats = async (query = '', token = world.tokens.own) => {
  clock.advance(1000);
  return world.call('GET', `/stats${query}`, { token });
};
const items = async (query = '') => (await stats(query)).json().Items as Figures[];

it('counts nothing as nothing', async () => {
  const reply = await stats();
  expect([reply.status, reply.json()]).toMatchObject([
    200,
    { Interval: 'day', GroupBy: null, Rest: null, Items: [{ Group: null, Intervals: [] }] },
  ]);
  expect((await items())[0]).toMatchObject({ Counts: { Delivered: 0 }, Rates: { Delivered: null } });
});

it('counts kinds per interval, gives rates, and groups', async () => {
  await world.sendMail();
  await world.sendMail({ ...MAIL, Tags: ['receipt'], CC: [] });
  await world.sendMail({ ...MAIL, Sandbox: true });
  const claimed = await world.claimAll();
  await world.settle(claimed.get('cleo@example.org') ?? 0, 'bounced', 'bounced');
  clock.advance(HOUR);
  await world.settle(claimed.get('bob@example.net') ?? 0, 'delivered', 'delivered');
  const [all] = await items('?Interval=hour');
  expect(all).toMatchObject({ Group: null, Counts: { Accepted: 3, Bounced: 0, Delivered: 0, Opened: 0 } });
  const [whole] = await items('?interval=HOUR&includesandbox=true');
  expect(whole).toMatchObject({
    Counts: { Accepted: 5, Bounced: 1, Delivered: 1 },
    Rates: { Bounced: 0.5, Opened: 0 },
  });
  expect(whole?.Intervals.map((one) => one.Counts.Accepted)).toEqual([5, 0]);
  const tags = await items('?GroupBy=tag');
  expect(tags.map((one) => [one.Group, one.Counts.Accepted])).toEqual([
    ['login', 2],
    ['receipt', 1],
  ]);
  const sites = await items('?GroupBy=RecipientDomain');
  expect(sites.map((one) => one.Group)).toEqual(['example.net', 'example.org']);
  const fact = { kind: 'provider', key: 'example.org', value: '"google 20000"', until: clock.now() + HOUR };
  await world.store.putEgressFacts({ facts: [fact] });
  expect((await items('?GroupBy=Provider')).map((one) => [one.Group, one.IsProvider])).toEqual([
    ['example.net', false],
    ['google', true],
  ]);
  expect((await items('?GroupBy=Domain'))[0]?.Group).toBe('example.com');
  expect(await items('?GroupBy=DeliveryTime&IncludeSandbox=true')).toMatchObject([
    { Group: '3600', Counts: { Delivered: 1, Accepted: 0 } },
  ]);
});

it('bounds and checks the question', async () => {
  for (const query of [
    '?Interval=week',
    '?GroupBy=Subject',
    '?From=2026-01-01&To=2026-01-01',
    '?From=2026-01-01&To=2026-04-04',
    '?Interval=hour&From=2026-01-01&To=2026-01-10',
    '?From=yesterday',
    '?IncludeSandbox=maybe',
  ]) {
    expect([query, codesOf(await stats(query))]).toEqual([query, [422]]);
  }
  expect((await stats('?From=2026-01-01&To=2026-04-03')).status).toBe(200);
});

it('says how many events are counted while too many are not', async () => {
  const { stats: own, countSummed } = world.store;
  Object.assign(world.store, {
    stats: async () => ({ kind: 'too-many', of: 'unsummed' }),
    countSummed: async () => ({ summed: 3_200_000, events: 12_000_000 }),
  });
  const reply = await stats();
  expect([reply.status, reply.headers['retry-after'], reply.json().detail]).toEqual([
    503,
    '300',
    'Events are still being counted after an upgrade: 3.2 of 12.0 million so far',
  ]);
  Object.assign(world.store, { countSummed: async () => ({ summed: 11_700_000, events: 12_000_000 }) });
  expect((await stats()).headers['retry-after']).toBe('30');
  Object.assign(world.store, { stats: own, countSummed });
});

it('shows nothing of other domains, and asks for its scope', async () => {
  expect((await stats('', world.tokens.other)).json().Items).toMatchObject([{ Counts: { Accepted: 0 } }]);
  expect((await stats('?Domain=example.com', world.tokens.other)).status).toBe(404);
  expect((await stats('?GroupBy=Domain', world.tokens.other)).json().Items).toEqual([]);
  expect(codesOf(await stats('', world.tokens.narrow))).toEqual([34]);
});

it('answers twenty times after a pause, then five times a second', async () => {
  clock.advance(4000);
  const replies = [];
  for (let i = 0; i < 21; i++) replies.push(await world.call('GET', '/stats'));
  expect(replies.map((reply) => reply.status)).toEqual([...Array(20).fill(200), 429]);
  expect(replies[20]?.headers['retry-after']).toBe('1');
  expect((await world.call('GET', '/stats', { token: world.tokens.other })).status).toBe(200);
});
