import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import { connect, type Socket } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cpuMsOf } from '../../../test/fakes/thread-cpu.ts';
import type { Clock } from '../../lib/clock.ts';
import { silentLoggers } from '../../lib/log.ts';
import { createFairTurns } from '../../lib/turns.ts';
import { prefersStrict } from './body/prefer.ts';
import { createConnectionLimit } from './connection-limit.ts';
import type { HttpOptions } from './deps.ts';
import { parseIdempotencyKey } from './idempotency.ts';
import { clientIp } from './request-facts.ts';
import { codesAndLinks } from './sandbox/captured-mail.ts';
import { findCodes } from './sandbox/find-codes.ts';
import { findLinks } from './sandbox/find-links.ts';
import { nextConnection, recordingAcceptance, send, startListener, tokenMemory } from './test-support.ts';
import { openWorld, MAIL as WORLD_MAIL } from './test-world.ts';

const MAIL = JSON.stringify({
  From: { email: 'ann@example.com' },
  To: [{ email: 'bob@example.net' }],
  Subject: 'Hello',
  ContentType: 'Text',
  PlainContent: 'Hi',
});
const store = () => ({ ...tokenMemory(), findIdempotent: async () => null }) as never;

/** Time that stands still until it is moved. */
function manualClock(): Clock & { advance(ms: number): void; pending(): number } {
  let now = 1_790_000_000_000;
  const timers = new Set<{ at: number; fire: () => void }>();
  return {
    now: () => now,
    monotonicMs: () => now,
    setTimer(delayMs, fire) {
      const timer = { at: now + delayMs, fire };
      timers.add(timer);
      return { cancel: () => void timers.delete(timer) };
    },
    advance(ms) {
      now += ms;
      for (const timer of [...timers]) {
        if (timer.at > now || !timers.delete(timer)) continue;
        timer.fire();
      }
    },
    pending: () => timers.size,
  };
}

/** Writes `text`, and resolves with all that came back when the other side closed. */
function exchange(port: number, text: string | Uint8Array, end = false): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(text);
      if (end) socket.end();
    });
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(answer));
  });
}

describe('clients that do not read their answers', () => {
  /** Asks, and reads only when it is told to. */
  function asking(port: number, path: string, token: string) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.pause();
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    return { socket, closed };
  }

  it('are cut off, hold no more memory than half of what there is, and leave the rest to others', async () => {
    const world = await openWorld({
      options: { maxHeldAnswerBytes: 40_000_000, stalledAnswerMs: 1_500 },
    });
    const file = { Content: Buffer.alloc(9_000_000, 'x').toString('base64'), Filename: 'a.bin' };
    await world.sendMail({
      ...WORLD_MAIL,
      CC: [],
      Attachments: [{ ...file, Type: 'application/octet-stream' }],
    });
    await world.captureAll();
    const listed = (await world.call('GET', '/sandbox/messages')).json() as { Items: { ID: string }[] };
    const path = `/sandbox/messages/${listed.Items[0]?.ID}/raw`;
    const first = asking(world.at.port, `/api/v1${path}`, world.tokens.own);
    // Its first bytes say that the answer is under way.
    await new Promise((resolve) => first.socket.once('readable', resolve));
    const refused = await world.call('GET', path);
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
    expect(refused.text).toContain('have not read');
    expect((await world.call('GET', path, { token: world.tokens.admin })).status).toBe(200);
    await expect.poll(async () => (await world.call('GET', path)).status, { timeout: 30_000 }).toBe(200);
    // What the system held for it comes, and then the end.
    let read = 0;
    first.socket.on('data', (chunk) => {
      read += chunk.length;
    });
    await first.closed;
    expect(read).toBeLessThan(12_000_000);
    await world.close();
  });

  it('keep no connection for ever, however small the answers are', async () => {
    const body = 'x'.repeat(60_000);
    let answered = 0;
    const handle = async () => {
      answered += 1;
      return { status: 200, body };
    };
    const at = await startListener(
      {
        store: store(),
        acceptance: recordingAcceptance(),
        routes: [{ method: 'GET', path: '/small', handle }],
      },
      { silentConnectionMs: 300 },
    );
    const taken = nextConnection();
    const socket = connect(at.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.pause();
    const far = await taken;
    const asked = 500;
    // One after the other, until what the system holds for it is full.
    for (let i = 0; i < asked && !far.closed; i++) {
      socket.write('GET /small HTTP/1.1\r\nHost: a\r\n\r\n');
      await expect.poll(() => answered > i || far.closed, { interval: 1, timeout: 30_000 }).toBe(true);
    }
    expect(answered).toBeLessThan(asked);
    socket.destroy();
    await at.close();
  });

  it('get all of it where they read, however slowly', async () => {
    const size = 12_000_000;
    const body = new Uint8Array(size);
    const large = { method: 'GET', path: '/large', handle: async () => ({ status: 200, body }) } as const;
    const at = await startListener(
      { store: store(), acceptance: recordingAcceptance(), routes: [large] },
      { stalledAnswerMs: 1_500 },
    );
    const { socket } = asking(at.port, '/large', '');
    let read = 0;
    while (!socket.closed && read < size) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      read += (socket.read(Math.min(200_000, Math.max(1, socket.readableLength)))?.length ?? 0) as number;
    }
    expect(read).toBeGreaterThanOrEqual(size);
    socket.destroy();
    await at.close();
  });
});

describe('connections', () => {
  const opened = async (port: number): Promise<boolean> => {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => {});
    socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
    return new Promise((resolve) => {
      socket.once('data', () => resolve(true));
      socket.once('close', () => resolve(false));
    });
  };
  const sockets: Socket[] = [];
  const start = (options: Partial<HttpOptions>) =>
    startListener({ store: store(), acceptance: recordingAcceptance() }, options);

  it.each([
    ['of one address', { maxConnectionsPerAddress: 2 }],
    ['in all', { maxConnections: 2, trustedProxies: ['127.0.0.0/8'] }],
  ])('more than allowed %s are closed at once, until others have gone', async (_, options) => {
    const at = await start(options);
    expect([await opened(at.port), await opened(at.port)]).toEqual([true, true]);
    expect([await opened(at.port), await opened(at.port)]).toEqual([false, false]);
    for (const socket of sockets.splice(0)) socket.destroy();
    await expect.poll(() => opened(at.port)).toBe(true);
    for (const socket of sockets.splice(0)) socket.destroy();
    await at.close();
  });

  it('make room where all are in use: the oldest of who has most is closed, unless it is being answered', async () => {
    let answer = (): void => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const slow = {
      method: 'POST',
      path: '/slow',
      handle: async () => {
        await answered;
        return { status: 200, body: 'done' };
      },
    } as const;
    const quick = { method: 'GET', path: '/quick', handle: async () => ({ status: 200, body: '' }) } as const;
    const at = await startListener(
      { store: store(), acceptance: recordingAcceptance(), routes: [slow, quick] },
      { maxConnections: 5, maxConnectionsPerAddress: 4 },
    );
    const from = (localAddress: string, head: string) => {
      const socket = connect({ port: at.port, host: '127.0.0.1', localAddress });
      let text = '';
      socket.on('error', () => {});
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.write(`${head} HTTP/1.1\r\nHost: a\r\n`);
      return { socket, text: () => text, isOpen: () => !socket.destroyed };
    };
    const few = from('127.0.0.3', 'GET /quick');
    const many = [from('127.0.0.2', 'POST /slow')];
    many[0]?.socket.write('Content-Length: 0\r\n\r\n');
    for (const head of ['GET /quick', 'POST /slow', 'GET /quick']) many.push(from('127.0.0.2', head));
    many[2]?.socket.write('Content-Length: 9\r\n\r\n');
    await new Promise((resolve) => setTimeout(resolve, 200));
    const left = () => [few, ...many].map(({ isOpen }) => isOpen());
    expect(left()).toEqual([true, true, true, true, true]);
    const late = [from('127.0.0.4', 'GET /quick'), from('127.0.0.5', 'GET /quick')];
    for (const { socket, text } of late) {
      socket.write('\r\n');
      await expect.poll(text).toContain('HTTP/1.1 200');
    }
    expect(left()).toEqual([true, true, false, false, true]);
    answer();
    await expect.poll(() => many[0]?.text()).toContain('done');
    for (const { socket } of [few, ...many, ...late]) socket.destroy();
    await at.close();
  });

  it('end where more requests come at once than one may have without their answers', async () => {
    let made = 0;
    const count = () => made++;
    subscribe('http.server.request.start', count);
    const at = await startListener({
      store: store(),
      acceptance: recordingAcceptance(),
      routes: [{ method: 'GET', path: '/', handle: async () => ({ status: 200, body: '' }) }],
    });
    const ask = (count: number) => {
      const one = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
      return exchange(at.port, one.repeat(count - 1) + one.replace('Host', 'Connection: close\r\nHost'));
    };
    expect((await ask(20)).match(/HTTP\/1\.1 200/g)).toHaveLength(20);
    made = 0;
    await ask(1_000);
    expect(made).toBeLessThanOrEqual(20);
    unsubscribe('http.server.request.start', count);
    await at.close();
  });

  it('rest between the readings of a body whose chunks are tiny, and end where a chunked body is not read', async () => {
    const clock = manualClock();
    const acceptance = recordingAcceptance();
    const routes = [{ method: 'GET', path: '/', handle: async () => ({ status: 200, body: '' }) }] as const;
    const at = await startListener({ store: store(), acceptance, routes }, {}, clock);
    const head = `Host: a\r\nTransfer-Encoding: chunked\r\nAuthorization: Bearer ${await at.token()}\r\n`;
    clock.advance(1_000);
    const before = clock.pending();
    const chunks = [...MAIL.padEnd(40_000)].map((char) => `1\r\n${char}\r\n`).join('');
    let rests = 0;
    let isOver = false;
    const answer = exchange(
      at.port,
      `POST /api/v1/email HTTP/1.1\r\nConnection: close\r\n${head}\r\n${chunks}0\r\n\r\n`,
    ).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      await new Promise((resolve) => setImmediate(resolve));
      // Two are of the body: its pace, and its end.
      if (clock.pending() <= before + 2) continue;
      rests++;
      clock.advance(100);
    }
    expect(await answer).toMatch(/^HTTP\/1\.1 200/);
    expect(rests).toBeGreaterThan(2);
    const left = await exchange(at.port, `GET / HTTP/1.1\r\n${head}\r\n1\r\nx\r\n`);
    expect(left).toMatch(/^HTTP\/1\.1 200[\s\S]*connection: close/i);
    // Nor is it read behind the answer, where nothing would make it rest.
    const refused = connect({ port: at.port, host: '127.0.0.1', allowHalfOpen: true });
    const closed = new Promise((resolve) => refused.once('close', resolve));
    refused.on('error', () => {});
    refused.write(`POST /nothing HTTP/1.1\r\n${head}\r\n`);
    refused.once('data', () => refused.write(chunks.repeat(3)));
    await closed;
    await at.close();
  });

  it('of one address do not keep the requests of others waiting', async () => {
    let done = 0;
    const handle = async () => {
      for (const untilMs = performance.now() + 2; performance.now() < untilMs; ) {}
      done++;
      return { status: 200, body: '' };
    };
    const at = await startListener({
      store: store(),
      acceptance: recordingAcceptance(),
      routes: [{ method: 'GET', path: '/', handle }],
    });
    const open = (localAddress: string) =>
      new Promise<Socket>((resolve) => {
        const socket = connect({ port: at.port, host: '127.0.0.1', localAddress }, () => resolve(socket));
        socket.on('error', () => {});
      });
    const flood = await Promise.all(Array.from({ length: 20 }, () => open('127.0.0.2')));
    const other = await open('127.0.0.3');
    for (const socket of flood) socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(20));
    await expect.poll(() => done).toBeGreaterThan(0);
    other.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await new Promise((resolve) => other.once('data', resolve));
    expect(done).toBeLessThan(200);
    for (const socket of [other, ...flood]) socket.destroy();
    await at.close();
  });

  it('give back what their requests held where they end with CONNECT', async () => {
    let asked = 0;
    const slow = {
      method: 'GET' as const,
      path: '/slow',
      handle: () => {
        asked++;
        return new Promise<never>(() => {});
      },
    };
    const parts = { store: store(), acceptance: recordingAcceptance(), routes: [slow] };
    // All begin in one turn, however long that takes.
    const at = await startListener(parts, {}, manualClock());
    const text = `${'GET /slow HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3)}CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n`;
    expect(await exchange(at.port, text)).toBe('');
    expect(asked).toBe(3);
    // The listener waits for requests that run.
    await at.listener.stop(3_600_000);
    await at.close();
  });

  it('begin their requests in turns of the clients that proxies name, however long the names are', () => {
    const owners: string[] = [];
    const turns = Object.assign((owner: string) => void owners.push(owner), { arrived() {} });
    const limit = createConnectionLimit(
      { clock: manualClock(), log: silentLoggers.service, turns },
      { maxConnections: 10, maxConnectionsPerAddress: 2, trustedProxies: ['127.0.0.0/8', '192.0.2.1'] },
    );
    const begin = (ip: string, named?: string) =>
      limit.begin(ip, named === undefined ? {} : { 'x-forwarded-for': named }, () => {});
    begin('127.0.0.1');
    begin('127.0.0.1', '203.0.113.9, 198.51.100.7');
    begin('127.0.0.1', '203.0.113.9,198.51.100.8, 192.0.2.1:443,127.0.0.2');
    begin('127.0.0.1', '192.0.2.1');
    begin('203.0.113.1', '198.51.100.7');
    expect(owners).toEqual(['127.0.0.1', '198.51.100.7', '198.51.100.8', '192.0.2.1', '203.0.113.1']);
    const startMs = performance.now();
    for (let i = 0; i < 20; i++) begin('127.0.0.1', `${'a'.repeat(15_000)}, 198.51.100.7`);
    expect(performance.now() - startMs).toBeLessThan(1_000);
  });

  it('read what comes on their connections while others want to be connected', () => {
    const clock = manualClock();
    const limit = createConnectionLimit(
      { clock, log: silentLoggers.service, turns: createFairTurns(clock) },
      { maxConnections: 10, maxConnectionsPerAddress: 2, trustedProxies: [] },
    );
    const began: string[] = [];
    for (let i = 1; i < 4; i++)
      limit.shake(`192.0.2.${i}`, () => {
        began.push('handshake');
        clock.advance(8);
      });
    limit.begin('192.0.2.9', {}, () => began.push('input'));
    expect(began).toEqual(['handshake', 'input']);
  });

  it('of one site of IPv6 are at most half, however many networks it has', () => {
    const clock = manualClock();
    const limit = createConnectionLimit(
      { clock, log: silentLoggers.service, turns: createFairTurns(clock) },
      { maxConnections: 10, maxConnectionsPerAddress: 2, trustedProxies: [] },
    );
    const take = (ip: string) => limit.takeRequest(new EventEmitter(), ip);
    const site = Array.from({ length: 7 }, (_, i) => take(`2001:db8:5:${i}::1`));
    expect(site).toEqual([true, true, true, true, true, false, false]);
    expect([take('2001:db8:6::1'), take('192.0.2.1')]).toEqual([true, true]);
  });

  it('of a trusted proxy are not limited by its address', async () => {
    const at = await start({ maxConnectionsPerAddress: 2, trustedProxies: ['127.0.0.0/8'] });
    for (let i = 0; i < 4; i++) expect(await opened(at.port)).toBe(true);
    for (const socket of sockets.splice(0)) socket.destroy();
    await at.close();
  });
});

describe('slow and broken peers', () => {
  it('gives up on headers that do not come, with 408', async () => {
    const at = await startListener(
      { store: store(), acceptance: recordingAcceptance() },
      // Less than the second after which Node looks, and more than a busy machine may need to read them.
      { headersTimeoutMs: 500 },
    );
    const answer = await exchange(at.port, 'GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow');
    expect(answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*"Code":408/);
    expect(answer).not.toContain('SMTP');
    // As an SMTP client does, which waits for a greeting.
    expect(await exchange(at.port, '')).toContain('this port speaks HTTP; SMTP has another port');
    await at.close();
  });

  it('gives up on a body that drips, with 408', async () => {
    const clock = manualClock();
    const at = await startListener({ store: store(), acceptance: recordingAcceptance() }, {}, clock);
    const token = await at.token();
    // What the listener planned for its own start is over.
    clock.advance(1_000);
    const before = clock.pending();
    const answer = exchange(
      at.port,
      `POST /api/v1/email HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\nContent-Length: 100\r\n\r\n{`,
    );
    while (clock.pending() === before) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(10_000);
    expect(await answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*"Code":408/);
    await expect.poll(() => clock.pending()).toBe(before);
    await at.close();
  });

  it('survives a sender that goes away in the middle of its body', async () => {
    const acceptance = recordingAcceptance();
    const at = await startListener({ store: store(), acceptance });
    const head = `POST /api/v1/email HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${await at.token()}\r\n`;
    await exchange(at.port, `${head}Content-Length: 1000\r\n\r\n{"From`, true);
    expect(acceptance.requests).toEqual([]);
    expect((await send(`${at.url}/api/v1/nothing`, 'GET')).status).toBe(404);
    await at.close();
  });

  it('gives back the memory of bodies whose sender went away while the token was checked', async () => {
    let checked = Promise.withResolvers<void>();
    checked.resolve();
    const memory = tokenMemory();
    const getToken: typeof memory.getToken = async (query) => {
      await checked.promise;
      return memory.getToken(query);
    };
    const slow = { ...memory, getToken, findIdempotent: async () => null } as never;
    const at = await startListener(
      { store: slow, acceptance: recordingAcceptance() },
      { maxHeldBodyBytes: 100_000 },
    );
    const large = MAIL.replace('"Hi"', `"${'x'.repeat(60_000)}"`);
    // An answer shows that the server has seen what was sent before.
    const seen = async () => {
      for (let n = 0; n < 3; n++) await send(`${at.url}/api/v1/problems/internal`, 'GET');
    };
    for (let n = 0; n < 3; n++) {
      const token = await at.token();
      checked = Promise.withResolvers();
      const head = `POST /api/v1/email HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nAuthorization: Bearer ${token}\r\n`;
      const socket = connect(at.port, '127.0.0.1');
      socket.on('error', () => undefined);
      const text = `${head}Content-Length: ${large.length}\r\n\r\n${large}`;
      await new Promise((resolve) => socket.write(text, resolve));
      await seen();
      socket.resetAndDestroy();
      await seen();
      checked.resolve();
      await seen();
    }
    const headers = { authorization: `Bearer ${await at.token()}`, 'content-type': 'application/json' };
    const post = () => send(`${at.url}/api/v1/email`, 'POST', { headers, body: large });
    await post();
    expect((await post()).status).toBe(200);
    await at.close();
  });

  it('answers any bytes with a 4xx or nothing, never a 5xx', async () => {
    const at = await startListener({ store: store(), acceptance: recordingAcceptance() });
    const start = fc.constantFrom(
      'GET ',
      'POST /api/v1/email HTTP/1.1\r\n',
      'GET /api/v1/me?x=% HTTP/1.1\r\nHost: a\r\n',
      '',
    );
    await fc.assert(
      fc.asyncProperty(start, fc.uint8Array({ maxLength: 60 }), async (line, bytes) => {
        const text = Buffer.concat([Buffer.from(line), bytes, Buffer.from('\r\n\r\n')]);
        const answer = await exchange(at.port, text, true);
        expect(answer).toMatch(/^($|HTTP\/1\.1 4)/);
      }),
      { numRuns: 60 },
    );
    await at.close();
  });

  it('takes the absolute form of a request line', async () => {
    const at = await startListener({ store: store(), acceptance: recordingAcceptance() });
    const answer = await exchange(
      at.port,
      'GET http://example.org/api/v1/problems/internal HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    await at.close();
  });
});

describe('bodies of very many values', () => {
  it.each(['email', 'email/batch'])('are refused before they are parsed: %s', async (operation) => {
    const at = await startListener({ store: store(), acceptance: recordingAcceptance() });
    const headers = { Authorization: `Bearer ${await at.token()}`, 'Content-Type': 'application/json' };
    const body = `{"To":[${'[],'.repeat(600_000)}0]}`;
    const reply = await send(`${at.url}/api/v1/${operation}`, 'POST', { headers, body });
    expect(reply.status).toBe(422);
    expect(reply.text).toContain('more than a million values');
    await at.close();
  });
});

describe('who the peer is', () => {
  const forwarded = { 'x-forwarded-for': '203.0.113.9, 198.51.100.7:50123, 127.0.0.2:443' };

  it.each([
    [['127.0.0.0/8'], 200],
    [[], 403],
    [['10.0.0.0/8'], 403],
  ])(
    'with the trusted proxies %j answers %i to a token for the forwarded address',
    async (trustedProxies, status) => {
      const at = await startListener(
        { store: store(), acceptance: recordingAcceptance() },
        { trustedProxies },
      );
      const token = await at.token({ ipAllowList: ['198.51.100.7/32'] });
      const headers = { ...forwarded, authorization: `Bearer ${token}` };
      const reply = await send(`${at.url}/api/v1/email`, 'POST', { headers, body: MAIL });
      expect(reply.status).toBe(status);
      if (status === 403) expect(reply.json().Errors).toMatchObject([{ Code: 35 }]);
      await at.close();
    },
  );
});

it.each([
  ['198.51.100.7:50123', '198.51.100.7'],
  ['[2001:db8::7]:50123', '2001:db8::7'],
  ['[2001:db8::7]', '2001:db8::7'],
  ['::ffff:198.51.100.7', '198.51.100.7'],
  ['2001:db8::7', '2001:db8::7'],
  ['unknown', '10.0.0.1'],
  ['', '10.0.0.1'],
])('a client that a proxy calls %j has the address %s', (ip, address) => {
  expect(clientIp({ ip, socket: { remoteAddress: '::ffff:10.0.0.1' } })).toBe(address);
});

describe('the send rate', () => {
  it('lets twice the rate through at once, then as many as time allows', async () => {
    const clock = manualClock();
    const at = await startListener({ store: store(), acceptance: recordingAcceptance() }, {}, clock);
    const headers = { authorization: `Bearer ${await at.token({ rateLimit: 1 })}` };
    const post = () => send(`${at.url}/api/v1/email`, 'POST', { headers, body: MAIL });
    const first = await post();
    expect([first.status, first.headers.ratelimit]).toEqual([200, '"send";r=1;t=1']);
    expect(first.headers['ratelimit-policy']).toBe('"send";q=2;w=2');
    expect((await post()).status).toBe(200);
    const refused = await post();
    expect([refused.status, refused.headers['retry-after'], refused.json().Errors]).toMatchObject([
      429,
      '1',
      [{ Code: 429 }],
    ]);
    clock.advance(1000);
    expect((await post()).status).toBe(200);
    expect((await post()).status).toBe(429);
    await at.close();
  });
});

describe('small readers', () => {
  it.each([
    ['abc', 'abc'],
    ['"a\\"b"', 'a"b'],
    ['x'.repeat(255), 'x'.repeat(255)],
  ])('reads the key %s', (header, key) => expect(parseIdempotencyKey(header)).toBe(key));
  it.each(['', '""', '"a b"', 'a b', 'é', 'x'.repeat(256), '\u0000'])('refuses the key %j', (header) => {
    expect(() => parseIdempotencyKey(header)).toThrow('Idempotency-Key');
  });

  it('finds strict handling among other preferences', () => {
    expect(prefersStrict('respond-async, handling=strict; foo')).toBe(true);
    expect(prefersStrict('Handling="strict"')).toBe(true);
    expect([
      prefersStrict(undefined),
      prefersStrict('handling=lenient'),
      prefersStrict('x-handling=strict'),
    ]).toEqual([false, false, false]);
  });

  it('finds links and codes, and stays linear on hostile text', () => {
    expect(findLinks(`<a href = 'https://a.example/?x=1&amp;y'>`, '')).toEqual(['https://a.example/?x=1&y']);
    expect(findLinks('', 'see https://a.example/b now')).toEqual(['https://a.example/b']);
    expect(findCodes(['Your code is 482913. Call +1-555-0100, order #12345, 12.3456'])).toEqual(['482913']);
    expect(findLinks('<a href=app://x/1>', 'm (see http://b.example/a_(c)). javascript://x')).toEqual([
      'app://x/1',
      'http://b.example/a_(c)',
    ]);
  });

  it.each([
    ['anchors', '<a href="https://a.example/">'],
    ['half anchors', '<a href="'],
    ['open tags', '<a '],
    ['schemes', 'https://'],
    ['words of codes', 'code '],
    ['digits', '1'],
    ['groups', '12-34 '],
    ['dashed digits', '1-'],
    ['codes', 'code 123456 '],
    ['lines of codes', 'code:\n123456\n'],
    ['marks', '((('],
    ['word parts', 'one-time_'],
    ['at signs', 'a@'],
    ['blanks', ' '],
    ['letters', 'İ'],
  ])('looks for codes and links in time that grows with the text: %s', (_, part) => {
    const text = (chars: number) => part.repeat(Math.ceil(chars / part.length));
    const run = (chars: number) =>
      cpuMsOf(() => void codesAndLinks({ subject: 'x', text: text(chars), html: text(chars) }));
    run(10_000);
    const [small, large] = [run(100_000), run(400_000)];
    // Four times the text; quadratic would be sixteen.
    expect(large).toBeLessThan(8 * small + 60);
  });
});

describe('HEAD, and methods that do not exist', () => {
  let at: Awaited<ReturnType<typeof startListener>>;
  beforeAll(async () => {
    at = await startListener({ store: store(), acceptance: recordingAcceptance() });
  });
  afterAll(() => at.close());

  it('answers HEAD like GET without a body', async () => {
    const head = await send(`${at.url}/api/v1/problems/internal`, 'HEAD');
    expect([head.status, head.text]).toEqual([200, '']);
  });

  it.each(['PUT', 'PATCH', 'OPTIONS', 'PROPFIND', 'TRACE'])(
    'answers %s with 405 and Allow',
    async (method) => {
      const reply = await send(`${at.url}/api/v1/webhooks`, method);
      expect([reply.status, reply.headers.allow]).toEqual([405, 'GET, HEAD, POST']);
    },
  );
});
