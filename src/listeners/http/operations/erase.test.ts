/** Erasing a person in one request and in several, over a real store. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cursorText } from '../paging.ts';
import { MAIL, openWorld, type World } from '../test-world.ts';

interface Erased {
  Messages: number;
  Events: number;
  Pending: number;
  Share: number;
  NextCursor: string | null;
}

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const erase = async (body: object) => {
  const reply = await world.call('POST', '/erase', { body, token: world.tokens.admin });
  return { status: reply.status, ...(reply.json() as unknown as Erased) };
};
const sendTo = async (email: string, count: number) => {
  const Messages = Array.from({ length: count }, () => ({ ...MAIL, CC: [], To: [{ email }] }));
  const reply = await world.call('POST', '/email/batch', { body: { Messages } });
  expect(reply.json()).toMatchObject({ Accepted: count });
};
const mailTo = async (address: string) =>
  ((await world.call('GET', `/email?To=${address}&Limit=100`)).json().Items as unknown[]).length;

describe('POST /erase', () => {
  it('works through a store in portions, and each message is dealt with once', async () => {
    await sendTo('ann@reader.example', 60);
    await sendTo('bob@reader.example', 100);
    await sendTo('ann@reader.example', 60);
    const seen: Erased[] = [];
    for (let after: string | null = ''; after !== null; ) {
      const cursor: object = after === '' ? {} : { After: after };
      const answer = await erase({ Email: 'Ann@reader.example', Limit: 100, ...cursor });
      expect(answer.status).toBe(200);
      seen.push(answer);
      after = answer.NextCursor;
    }
    expect(seen.length).toBe(3);
    expect(seen.map(({ Messages }) => Messages)).toEqual([60, 40, 20]);
    const shares = seen.map(({ Share }) => Share);
    expect(shares).toEqual([...shares].sort((a, b) => a - b));
    expect(shares.at(-1)).toBe(1);
    expect([await mailTo('ann@reader.example'), await mailTo('bob@reader.example')]).toEqual([0, 100]);
  });

  it('does all of it in one request where no bound is named', async () => {
    expect(await erase({ Email: 'bob@reader.example' })).toMatchObject({
      Messages: 100,
      Pending: 0,
      Share: 1,
      NextCursor: null,
    });
    expect(await mailTo('bob@reader.example')).toBe(0);
  });

  it('masks events that belong to no message in portions of the same size', async () => {
    const eve = 'eve@reader.example';
    const events = Array.from({ length: 250 }, (_, i) => ({
      id: randomUUID(),
      kind: 'unsubscribed' as const,
      at: 1_000 + Math.floor(i / 7),
      detail: { recipient: eve },
      domain: 'example.com',
      deliveryId: null,
    }));
    await world.store.appendEvents({ events });
    const seen: Erased[] = [];
    const behind = cursorText('erase', { message: 999_999 });
    for (let After = behind; After !== null; After = seen.at(-1)?.NextCursor ?? null) {
      seen.push(await erase({ Email: eve, Limit: 100, After }));
    }
    expect(seen.map((answer) => answer.Events)).toEqual([100, 100, 50]);
    expect(await erase({ Email: eve })).toMatchObject({ Events: 0, NextCursor: null });
  });

  it.each([
    [{ Email: 'a@reader.example', After: 'e5' }],
    [{ Email: 'nobody' }],
    [{ Email: 'a@reader.example', After: 'x' }],
    [{ Email: 'a@reader.example', After: 'm' }],
    [{ Email: 'a@reader.example', Limit: 1 }],
    [{}],
  ])('refuses %j', async (body) => {
    expect((await erase(body)).status).toBe(422);
  });
});
