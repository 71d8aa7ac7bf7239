/** What DMARC reports say of a domain, where somebody floods it with reports that nobody signed. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createManualClock } from '../../../store/sqlite/test-support.ts';
import { openWorld, type World } from '../test-world.ts';

const clock = createManualClock();
let world: World;

beforeAll(async () => {
  world = await openWorld({ clock });
});
afterAll(() => world.close());

async function add(signedBy: string, reportId: string, sources: readonly string[], messages: number) {
  const result = { dkim: false, spf: false, disposition: 'none', from: 'example.com', found: '' } as const;
  await world.store.addDmarcReport({
    domain: 'example.com',
    report: {
      ...{ reporter: signedBy || `Nobody ${reportId}`, signedBy, reportId },
      ...{ beginAt: 0, endAt: clock.now() + 1_000_000_000_000, receivedAt: clock.now() },
      counts: sources.map((source) => ({ ...result, source, messages })),
    },
    ...{ recentSince: 0, maxOfSigner: 1_000_000, maxOfAll: 1_000_000 },
  });
}

it('reports that nobody signed hide no source and no reporter of those that are signed', async () => {
  await add('receiver.example', '1', ['192.0.2.1', '203.0.113.9'], 5);
  for (let n = 0; n < 2_100; n += 1) await add('', `f-${n}`, [`10.0.${n >> 8}.${n & 255}`], 1_000_000);
  const answer = await world.call('GET', '/domains/example.com/dmarc', { token: world.tokens.admin });
  const { Sources, Reporters } = answer.json() as {
    Sources: { Address: string; LastAt: string }[];
    Reporters: { Name: string }[];
  };
  expect(Sources.slice(0, 2).map(({ Address }) => Address)).toEqual(['192.0.2.1', '203.0.113.9']);
  expect(Reporters[0]?.Name).toBe('receiver.example');
  // No report is about a time after it came.
  expect(Sources[0]?.LastAt).toBe(new Date(clock.now()).toISOString());
});
