import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createManualClock } from '../../../store/sqlite/test-support.ts';
import { type Block, openStream } from '../streams/test-stream.ts';
import { codesOf, MAIL, openWorld, type World } from '../test-world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

interface Data {
  ID: string;
  MessageID: string;
  Inbox: string;
  Subject: string;
}

const open = (given: World, query = '', token = given.tokens.own, headers: Record<string, string> = {}) =>
  openStream<Data>(`${given.at.url}/api/v1/sandbox/stream${query}`, token, headers);

async function caught(subject: string, inbox = 'main', more: object = {}): Promise<string> {
  const id = await world.sendMail({ ...MAIL, CC: [], Sandbox: true, Subject: subject, ...more });
  await world.captureAll(inbox);
  return id;
}

describe('GET /sandbox/stream', () => {
  it('tells captures from now on, and resumes behind the last one that was seen', async () => {
    await caught('Before');
    const stream = open(world);
    expect((await stream.next()).data).toBeNull();
    const id = await caught('First');
    const first = await stream.next();
    expect(first).toMatchObject({
      event: 'captured',
      data: { MessageID: id, Inbox: 'main', Subject: 'First' },
    });
    stream.close();
    await caught('Second');
    await caught('Third');
    const again = open(world, '', undefined, { 'last-event-id': first.id });
    await again.next();
    expect([(await again.next()).data?.Subject, (await again.next()).data?.Subject]).toEqual([
      'Second',
      'Third',
    ]);
    again.close();
  });

  it('shows what the filters ask for, contents included, and nothing of other domains', async () => {
    const other = open(world, '', world.tokens.other);
    const own = open(world, '?Inbox=Wanted');
    const inside = open(world, '?Text=xyzzy');
    await Promise.all([other.next(), own.next(), inside.next()]);
    await caught('Not this', 'elsewhere');
    await caught('This', 'wanted');
    await caught('Inside', 'elsewhere', { HTMLContent: '<p>Xyzzy</p>' });
    expect((await own.next()).data?.Subject).toBe('This');
    expect((await inside.next()).data?.Subject).toBe('Inside');
    await world.sendMail(
      { ...MAIL, CC: [], From: { email: 'a@other.example' }, Sandbox: true },
      world.tokens.other,
    );
    await world.captureAll('theirs');
    expect((await other.next()).data?.Inbox).toBe('theirs');
    for (const stream of [other, own, inside]) stream.close();
    expect(codesOf(await world.call('GET', '/sandbox/stream?After=x'))).toEqual([422]);
    expect(codesOf(await world.call('GET', '/sandbox/stream', { token: world.tokens.narrow }))).toEqual([34]);
    expect((await world.call('HEAD', '/sandbox/stream')).status).toBe(405);
  });

  it('carries more captures than one look takes, in order', async () => {
    const to = Array.from({ length: 50 }, (_, i) => ({ email: `n${i}@example.net` }));
    const stream = open(world, '?Subject=many');
    await stream.next();
    for (let i = 0; i < 5; i++) await caught('Many', `m${i}`, { To: to });
    const ids: number[] = [];
    for (let i = 0; i < 250; i++) ids.push(Number((await stream.next()).id));
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    expect(new Set(ids).size).toBe(250);
    stream.close();
  });

  it('bounds the streams of a token, and ends with the listener', async () => {
    const own = await openWorld();
    const streams = Array.from({ length: 20 }, () => open(own));
    for (const stream of streams) await stream.next();
    expect(codesOf(await own.call('GET', '/sandbox/stream'))).toEqual([429]);
    await own.close();
    await Promise.all(streams.map((stream) => stream.ended));
  });

  it('beats, and ends when its token does', async () => {
    const clock = createManualClock();
    const own = await openWorld({ clock });
    const made = await own.call('POST', '/tokens', { body: { Name: 'x', Scopes: ['email:read'] } });
    const { TokenID, Token } = made.json() as Record<string, string>;
    const stream = open(own, '', Token);
    await stream.next();
    let came: Block<Data> | null = null;
    void stream.next().then((block) => {
      came = block;
    });
    const advanceUntil = (done: () => unknown) =>
      expect
        .poll(() => {
          clock.advance(1_000);
          return done();
        })
        .toBeTruthy();
    await advanceUntil(() => came);
    await own.call('DELETE', `/tokens/${TokenID}`);
    let over = false;
    void stream.ended.then(() => {
      over = true;
    });
    await advanceUntil(() => over);
    await own.close();
  });
});
