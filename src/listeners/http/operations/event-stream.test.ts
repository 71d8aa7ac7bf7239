import { connect } from 'node:net';
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
  Event: string;
  MessageID: string;
  Recipient: string;
  Domain: string;
  Conversation?: string;
}

const open = (given: World, query = '', token = given.tokens.own, headers: Record<string, string> = {}) =>
  openStream<Data>(`${given.at.url}/api/v1/events/stream${query}`, token, headers);

/** Sends a message to `to` and tells the listener, as acceptance does in a server. */
async function accept(to: string, more: object = {}): Promise<string> {
  const id = await world.sendMail({ ...MAIL, To: [{ email: to }], CC: [], ...more });
  world.notify();
  return id;
}

describe('GET /events/stream', () => {
  it('tells what happens from now on, and resumes behind the last event that was seen', async () => {
    await accept('before@example.net');
    const stream = open(world);
    expect(await stream.status).toBe(200);
    const start = await stream.next();
    expect([start.data, Number(start.id) > 0]).toEqual([null, true]);
    const id = await accept('first@example.net');
    const first = await stream.next();
    expect(first).toMatchObject({
      event: 'accepted',
      data: { Event: 'accepted', MessageID: id, Recipient: 'first@example.net', Domain: 'example.com' },
    });
    stream.close();
    await accept('second@example.net');
    await accept('third@example.net');
    const again = open(world, '', undefined, { 'last-event-id': first.id });
    await again.next();
    expect((await again.next()).data?.Recipient).toBe('second@example.net');
    expect((await again.next()).data?.Recipient).toBe('third@example.net');
    again.close();
    const byQuery = open(world, `?After=${first.id}&Recipient=third@example.net`);
    await byQuery.next();
    expect((await byQuery.next()).data?.Recipient).toBe('third@example.net');
    byQuery.close();
  });

  it('carries more events than one look takes, in order', async () => {
    const from = await world.store.lastEventSeq();
    const to = Array.from({ length: 50 }, (_, i) => ({ email: `n${i}@example.net` }));
    for (let i = 0; i < 5; i++) await world.sendMail({ ...MAIL, To: to, CC: [] });
    const stream = open(world, `?After=${from}`);
    await stream.next();
    const ids: number[] = [];
    for (let i = 0; i < 250; i++) ids.push(Number((await stream.next()).id));
    expect(ids).toEqual(Array.from({ length: 250 }, (_, i) => from + 1 + i));
    stream.close();
  });

  it('shows only what was asked for, and nothing of other domains', async () => {
    const other = open(world, '', world.tokens.other);
    const tagged = open(world, '?Tag=wanted&Event=accepted');
    await Promise.all([other.next(), tagged.next()]);
    await accept('x@example.net');
    await accept('y@example.net', { Tags: ['wanted'] });
    expect((await tagged.next()).data?.Recipient).toBe('y@example.net');
    const own = await world.sendMail({ ...MAIL, From: { email: 'a@other.example' } }, world.tokens.other);
    world.notify();
    expect((await other.next()).data?.MessageID).toBe(own);
    other.close();
    tagged.close();
    expect(codesOf(await world.call('GET', '/events/stream?Event=x'))).toEqual([422]);
    expect(codesOf(await world.call('GET', '/events/stream?After=x'))).toEqual([422]);
    expect((await world.call('GET', '/events/stream?Domain=other.example')).status).toBe(404);
    expect(codesOf(await world.call('GET', '/events/stream', { token: world.tokens.narrow }))).toEqual([34]);
    const head = await world.call('HEAD', '/events/stream');
    expect([head.status, head.headers.allow]).toEqual([405, 'GET']);
  });

  it('bounds the streams of a token, and frees the place of one that ended', async () => {
    const token = await world.at.token({ scopes: ['events:read'] });
    const streams = Array.from({ length: 10 }, () => open(world, '', token));
    for (const stream of streams) await stream.next();
    expect(codesOf(await world.call('GET', '/events/stream', { token }))).toEqual([429]);
    streams[0]?.close();
    await expect
      .poll(async () => {
        const late = open(world, '', token);
        const status = await late.status;
        streams.push(late);
        return status;
      })
      .toBe(200);
    for (const stream of streams) stream.close();
  });

  it('ends when the listener stops', async () => {
    const own = await openWorld();
    const stream = open(own);
    await stream.next();
    await own.close();
    await stream.ended;
  });

  it('beats every 15 seconds, moving the place to resume from, until the token ends', async () => {
    const clock = createManualClock();
    const own = await openWorld({ clock });
    const made = await own.call('POST', '/tokens', { body: { Name: 'x', Scopes: ['events:read'] } });
    const { TokenID, Token } = made.json() as Record<string, string>;
    const stream = open(own, '?Recipient=nobody@example.net', Token);
    const start = await stream.next();
    await own.sendMail();
    const beat = stream.next();
    let came: Block<Data> | null = null;
    void beat.then((block) => {
      came = block;
    });
    await expect
      .poll(() => {
        clock.advance(1_000);
        return came;
      })
      .not.toBeNull();
    expect([(await beat).data, Number((await beat).id)]).toEqual([null, Number(start.id) + 2]);
    await own.call('DELETE', `/tokens/${TokenID}`);
    let over = false;
    void stream.ended.then(() => {
      over = true;
    });
    await expect
      .poll(() => {
        clock.advance(1_000);
        return over;
      })
      .toBe(true);
    await own.close();
  });
});

describe('a client that takes nothing', () => {
  /** Asks for all events, more than the system holds for it, and reads their first bytes only. */
  async function stalled(own: World) {
    const Metadata = Object.fromEntries(Array.from({ length: 18 }, (_, i) => [`k${i}`, 'x'.repeat(512)]));
    const To = Array.from({ length: 50 }, (_, i) => ({ email: `n${i}@example.net` }));
    for (let i = 0; i < 20; i++) await own.sendMail({ ...MAIL, To, CC: [], Metadata });
    const socket = connect(own.at.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.pause();
    socket.write(
      `GET /api/v1/events/stream?After=0 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${own.tokens.own}\r\n\r\n`,
    );
    await new Promise((resolve) => socket.once('readable', resolve));
    // Until the system takes no more.
    await new Promise((resolve) => setTimeout(resolve, 500));
    return socket;
  }

  it('is cut off, and its place is for others', async () => {
    const clock = createManualClock();
    const own = await openWorld({ clock, options: { streamsPerTenant: 1 } });
    const socket = await stalled(own);
    const statusNow = async () => {
      const stream = open(own);
      const status = await stream.status;
      stream.close();
      return status;
    };
    expect(await statusNow()).toBe(429);
    clock.advance(59_000);
    expect(await statusNow()).toBe(429);
    await expect
      .poll(() => {
        clock.advance(61_000);
        return statusNow();
      })
      .toBe(200);
    let read = 0;
    socket.on('data', (chunk) => {
      read += chunk.length;
    });
    await new Promise((resolve) => socket.once('close', resolve));
    expect(read).toBeLessThan(9_000_000);
    await own.close();
  });

  it('does not delay the stop of the listener', async () => {
    const own = await openWorld();
    const socket = await stalled(own);
    const began = performance.now();
    await own.at.listener.stop(20_000);
    expect(performance.now() - began).toBeLessThan(10_000);
    socket.destroy();
    await own.close();
  });
});
