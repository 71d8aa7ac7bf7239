import { generateKeyPairSync } from 'node:crypto';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import net, { type AddressInfo, type Server, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import {
  createServer as createTlsServer,
  rootCertificates,
  type TLSSocket,
  type TlsOptions,
  connect as tlsConnect,
} from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../../test/fakes/fake-dns.ts';
import { createTestCa, type TestCertificate } from '../../test/fakes/test-certificates.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { createSystemRandom } from '../lib/random.ts';
import { createVirtualClock, type VirtualClock } from '../lib/virtual-clock.ts';
import { createTlsContexts } from '../smtp/client-tls.ts';
import { type AddressCheck, createAddressFilter } from './address-filter.ts';
import { probeCertificate } from './certificate-probe.ts';
import { FORBIDDEN } from './checked-url.ts';
import { createGuardedHttp, type GuardedHttp, type GuardedHttpOptions } from './guarded-http.ts';
import { limitHandshake } from './handshake-limit.ts';
import { type CachingResolver, createResolver } from './resolver.ts';

const ca = createTestCa();
let dns: FakeDns;
let cleanups: (() => unknown)[];

beforeEach(async () => {
  dns = await createFakeDns({ 'hook.test': { A: ['127.0.0.1'] } });
  cleanups = [() => dns.close()];
});
afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

function filterFor(allowNetworks: string[]): AddressCheck {
  const filter = createAddressFilter({ allowNetworks });
  if (filter.kind !== 'filter') throw new Error(filter.detail);
  return filter;
}

function guarded(
  options: GuardedHttpOptions & { allowNetworks?: string[]; clock?: Clock; filter?: AddressCheck } = {},
): GuardedHttp & { resolver: CachingResolver } {
  const { clock = systemClock, allowNetworks = ['127.0.0.0/8'] } = options;
  const resolver = createResolver({ clock, random: createSystemRandom(), servers: () => [dns.server] });
  const filter = options.filter ?? filterFor(allowNetworks);
  const client = createGuardedHttp({ clock, resolver, filter }, { ca: [ca.cert], ...options });
  cleanups.push(
    () => client.close(),
    () => resolver.close(),
  );
  return { ...client, resolver };
}

async function listening(server: Server, address = '127.0.0.1', port = 0): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(port, address, resolve));
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

function collecting(handler: Handler): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => handler(request, response, body));
  };
}

function httpServer(handler: Handler, address?: string): Promise<number> {
  return listening(http.createServer(collecting(handler)), address);
}

function httpsServer(
  handler: Handler,
  certificate: Pick<TestCertificate, 'key' | 'cert'> & TlsOptions = ca.issue({ names: ['hook.test'] }),
): Promise<number> {
  return listening(https.createServer(certificate, collecting(handler)));
}

/** A server that speaks `onData`'s bytes instead of HTTP. */
function rawServer(onRequest: (socket: Socket) => void): Promise<number> {
  return listening(net.createServer((socket) => socket.once('data', () => onRequest(socket))));
}

describe('an answered call', () => {
  it('posts exactly the given bytes and gives status, body, headers and times', async () => {
    const seen: unknown[] = [];
    const port = await httpServer((request, response, body) => {
      seen.push(request.method, request.url, request.headers.host, request.headers['x-id'], body);
      seen.push(request.headers['content-length'], request.headers['transfer-encoding']);
      response.writeHead(503, { 'Retry-After': '120', 'Content-Type': 'text/plain', 'Set-Cookie': 'a=b' });
      response.end('später');
    });
    const before = Date.now();
    const outcome = await guarded().post(`http://HOOK.test.:${port}/a/b?c=d#e`, {
      body: '{"ü":1}',
      headers: { 'X-Id': 'evt_1', Host: 'forged.test', 'Content-Length': '1' },
      allowHttp: 'listed-networks',
    });
    expect(seen).toEqual(['POST', '/a/b?c=d', `hook.test:${port}`, 'evt_1', '{"ü":1}', '8', undefined]);
    expect(outcome).toMatchObject({ kind: 'answered', status: 503, body: 'später', isCut: false });
    if (outcome.kind !== 'answered') return;
    expect(outcome.headers['retry-after']).toBe('120');
    expect(outcome.headers).not.toHaveProperty('set-cookie');
    expect(Buffer.from(outcome.bodyBytes).toString()).toBe('später');
    expect(outcome.answeredAt).toBeGreaterThanOrEqual(before);
  });

  it('replaces bytes that are not UTF-8', async () => {
    const port = await httpServer((_request, response) => response.end(Buffer.of(0x61, 0xff, 0x62)));
    const outcome = await guarded().get(`http://127.0.0.1:${port}/`, { allowHttp: 'always' });
    expect(outcome).toMatchObject({ kind: 'answered', body: 'a\ufffdb' });
  });

  it('does not follow a redirect', async () => {
    let calls = 0;
    const port = await httpServer((_request, response) => {
      calls++;
      response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end();
    });
    const outcome = await guarded().post(`http://hook.test:${port}/`, { body: '', allowHttp: 'always' });
    expect(outcome).toMatchObject({ status: 302, headers: { location: 'http://127.0.0.1:1/' } });
    expect(calls).toBe(1);
  });

  it('reads a huge body up to the cap and lets go', async () => {
    let closed: () => void = () => {};
    const isClosed = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const port = await httpServer((_request, response) => {
      response.on('close', closed);
      const more = (): void => {
        while (!response.destroyed && response.write('é'.repeat(5000)));
        response.once('drain', more);
      };
      more();
    });
    const outcome = await guarded().post(`http://hook.test:${port}/`, {
      body: '',
      allowHttp: 'always',
      maxResponseBytes: 10_001,
    });
    expect(outcome).toMatchObject({ kind: 'answered', status: 200, isCut: true, body: 'é'.repeat(5000) });
    await isClosed;
  });

  it('holds a body in chunks of one octet in a few times its size', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const held = () => {
      collect();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    const OCTETS = 60_000;
    const wire = Buffer.from(
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(OCTETS)}`,
    );
    const { promise: written, resolve: onWritten } = Promise.withResolvers<Socket>();
    const port = await rawServer((socket) => socket.write(wire, () => onWritten(socket)));
    const before = held();
    const call = guarded().get(`http://hook.test:${port}/`, { allowHttp: 'always' });
    const socket = await written;
    // Until the client has read what the system holds.
    for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
    expect(held() - before).toBeLessThan(30 * OCTETS);
    socket.end('0\r\n\r\n');
    expect(await call).toMatchObject({ kind: 'answered', body: 'a'.repeat(OCTETS) });
  });

  it('reads a whole body in chunks of one octet', async () => {
    const body = 'x'.repeat(65_536);
    const port = await rawServer((socket) => {
      const chunks = [...body].map((octet) => `1\r\n${octet}\r\n`).join('');
      socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
    });
    const outcome = await guarded().get(`http://hook.test:${port}/`, { allowHttp: 'always' });
    expect(outcome).toMatchObject({ kind: 'answered', body, isCut: false });
  });

  it('ignores proxy variables', async () => {
    const port = await httpServer((request, response) => response.end(request.url));
    const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'];
    const before = names.map((name) => [name, process.env[name]] as const);
    cleanups.push(() => {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    });
    for (const name of names) process.env[name] = name.endsWith('ENV_PROXY') ? '1' : 'http://127.0.0.1:1';
    const outcome = await guarded().post(`http://hook.test:${port}/x`, { body: '', allowHttp: 'always' });
    expect(outcome).toMatchObject({ kind: 'answered', body: '/x' });
  });
});

describe('connections', () => {
  it('are kept for the next call and closed when idle', async () => {
    const ports = new Set<number | undefined>();
    let closed: () => void = () => {};
    const isClosed = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const port = await httpsServer((request, response) => {
      if (ports.size === 0) request.socket.on('close', closed);
      ports.add(request.socket.remotePort);
      response.end((request.socket as Socket & { servername?: string }).servername);
    });
    const client = guarded({ idleMs: 50 });
    for (let i = 0; i < 3; i++) {
      expect(await client.post(`https://hook.test:${port}/`, { body: 'x' })).toMatchObject({
        body: 'hook.test',
      });
    }
    expect(ports.size).toBe(1);
    await isClosed;
  });

  it('one that the other side closed meanwhile is replaced once', async () => {
    let requests = 0;
    const sockets = new Set<Socket>();
    const server = net.createServer((socket) => {
      sockets.add(socket);
      socket.on('data', () => {
        requests++;
        // The second request on a connection finds it closing, as when an idle limit strikes at that moment.
        if (socket.bytesWritten > 0) socket.resetAndDestroy();
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      });
    });
    const port = await listening(server);
    const client = guarded();
    const call = () => client.post(`http://hook.test:${port}/`, { body: '1', allowHttp: 'always' });
    expect(await call()).toMatchObject({ kind: 'answered', body: 'ok' });
    expect(await call()).toMatchObject({ kind: 'answered', body: 'ok' });
    expect([requests, sockets.size]).toEqual([3, 2]);
  });

  it('go to the next address when one does not take them', async () => {
    const port = await httpServer((_request, response) => response.end('here'), '127.0.0.3');
    dns.set('two.test', { A: ['127.0.0.2', '127.0.0.3'] });
    const outcome = await guarded().post(`http://two.test:${port}/`, { body: '', allowHttp: 'always' });
    expect(outcome).toMatchObject({ kind: 'answered', body: 'here' });
  });

  it('are not shared between addresses, so a name that moved is called where it is now', async () => {
    const clock = createVirtualClock();
    const port = await httpServer((_request, response) => response.end('first'), '127.0.0.4');
    const client = guarded({ clock });
    dns.set('move.test', { A: ['127.0.0.4'] });
    const call = () => client.post(`http://move.test:${port}/`, { body: '', allowHttp: 'always' });
    expect(await call()).toMatchObject({ body: 'first' });
    dns.set('move.test', { A: ['127.0.0.5'] });
    await clock.advance(3_600_000);
    expect(await call()).toMatchObject({ kind: 'failed', reason: 'connect' });
  });
});

describe('TLS', () => {
  const ok: Handler = (_request, response) => response.end('ok');

  it('accepts a certificate for the name, or for the address where the URL has one', async () => {
    const port = await httpsServer(ok, ca.issue({ names: ['hook.test'], addresses: ['127.0.0.1'] }));
    expect(await guarded().get(`https://hook.test:${port}/`)).toMatchObject({ kind: 'answered' });
    expect(await guarded().get(`https://127.0.0.1:${port}/`)).toMatchObject({ kind: 'answered' });
  });

  it('gives no server a second handshake', async () => {
    const options = { ...ca.issue({ names: ['hook.test'] }), maxVersion: 'TLSv1.2' } as const;
    const server = https.createServer(options, (request, response) => {
      (request.socket as TLSSocket).renegotiate({}, () => response.end());
    });
    const port = await listening(server);
    const outcome = await guarded().get(`https://hook.test:${port}/`);
    expect(outcome).toMatchObject({ kind: 'failed' });
  });

  it('refuses a wrong name, an expired certificate and an unknown authority, whatever the environment says', async () => {
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    cleanups.push(() => {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    });
    const certificates = [
      ca.issue({ names: Array.from({ length: 300 }, (_, i) => `other${i}.test`) }),
      ca.issue({ addresses: ['127.0.0.1'] }),
      ca.issue({ names: ['hook.test'], notAfter: new Date('2021-01-01T00:00:00Z') }),
      createTestCa('Somebody else').issue({ names: ['hook.test'] }),
    ];
    for (const certificate of certificates) {
      const port = await httpsServer(ok, certificate);
      const outcome = await guarded().post(`https://hook.test:${port}/`, { body: 'secret' });
      const detail = expect.stringMatching(/^.{10,350}$/);
      expect(outcome).toMatchObject({ kind: 'failed', reason: 'tls', detail });
    }
  });

  it('reads no more of a certificate chain than a usual one may have', async () => {
    const { key, cert } = ca.issue({ names: ['hook.test'] });
    const chains = (certificates: number) => ({ key, cert: cert + ca.cert.repeat(certificates) });
    const long = await httpsServer(ok, chains(100));
    expect(await guarded().get(`https://hook.test:${long}/`)).toEqual({
      kind: 'failed',
      reason: 'tls',
      detail: 'a private address (not shown): its handshake takes more than 32 KiB',
    });
    const usual = await httpsServer((_request, response) => response.end('x'.repeat(400_000)), chains(20));
    const limits = { maxResponseBytes: 500_000 };
    expect(await guarded().get(`https://hook.test:${usual}/`, limits)).toMatchObject({
      kind: 'answered',
      isCut: false,
    });
    // With the names of those whose certificates it takes of a client, which may be all that a system trusts.
    const asks = { requestCert: true, rejectUnauthorized: false, ca: [...rootCertificates] };
    const asking = await httpsServer(ok, { ...chains(20), ...asks });
    expect(await guarded().get(`https://hook.test:${asking}/`)).toMatchObject({ kind: 'answered' });
  });

  it('takes no Diffie-Hellman in a group that the server makes up, which costs a second, nor do probes and SMTP', async () => {
    const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const { cert } = createTestCa('RSA', keys);
    const key = keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const server = createTlsServer({ key, cert, dhparam: 'auto', maxVersion: 'TLSv1.2', ciphers: 'kDHE' });
    const refused: string[] = [];
    server.on('tlsClientError', ({ message }) => refused.push(message));
    const port = await listening(server);
    const address = '127.0.0.1';
    expect(await guarded().get(`https://hook.test:${port}/`)).toMatchObject({
      reason: 'tls',
      detail: 'a private address (not shown): ssl/tls alert handshake failure',
    });
    await probeCertificate({ clock: systemClock, host: 'hook.test', address, port });
    for (const mode of ['opportunistic', 'verified'] as const) {
      const secureContext = createTlsContexts().forMode(mode);
      const socket = tlsConnect({ host: address, port, secureContext, rejectUnauthorized: false });
      await finished(socket.resume()).catch(() => {});
    }
    expect(refused).toEqual(Array(4).fill(expect.stringMatching(/no shared cipher/)));
  });

  it('reads no more than is usual beside the data, such as session tickets without end', async () => {
    const ended = async (kib: number, bytesRead: number) => {
      const socket = new PassThrough();
      const { stream, opened } = limitHandshake(socket);
      opened({ bytesRead });
      socket.end(Buffer.alloc(kib * 1024));
      return finished(stream.resume(), { writable: false }).catch(({ message }) => message);
    };
    expect(await ended(256, 0)).toBeUndefined();
    expect(await ended(257, 0)).toBe('its TLS takes more than 256 KiB beside the data');
    expect(await ended(257, 11)).toBeUndefined();
  });

  it('offers no session again where the handshake with it ended in a reset', async () => {
    const resumed: boolean[] = [];
    const server = https.createServer(ca.issue({ names: ['hook.test'] }), (_request, response) =>
      response.writeHead(200, { connection: 'close' }).end(),
    );
    server.on('secureConnection', (socket) => resumed.push(socket.isSessionReused()));
    let resets = false;
    const port = await listening(
      net.createServer((socket) => {
        if (resets) socket.once('data', () => socket.resetAndDestroy());
        else server.emit('connection', socket);
      }),
    );
    const client = guarded();
    const call = async () => (await client.get(`https://hook.test:${port}/`)).kind;
    expect([await call(), await call()]).toEqual(['answered', 'answered']);
    resets = true;
    expect(await call()).toBe('failed');
    // Until the socket of that call is closed.
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
    resets = false;
    expect(await call()).toBe('answered');
    expect(resumed).toEqual([false, true, false]);
  });

  it('says tls when the other side speaks something else or hangs up in the handshake', async () => {
    const plain = await httpServer(ok);
    const closing = await rawServer((socket) => socket.destroy());
    for (const port of [plain, closing]) {
      expect(await guarded().get(`https://hook.test:${port}/`)).toMatchObject({
        kind: 'failed',
        reason: 'tls',
      });
    }
  });
});

describe('failures', () => {
  const options = { body: '', allowHttp: 'always' } as const;

  it('say dns when there is no answer', async () => {
    dns.fault('broken.test', { kind: 'servfail' });
    expect(await guarded().post('https://broken.test/', options)).toMatchObject({
      kind: 'failed',
      reason: 'dns',
    });
  });

  it('say connect when nobody listens', async () => {
    const server = net.createServer();
    const port = await listening(server);
    await new Promise((resolve) => server.close(resolve));
    expect(await guarded().post(`http://hook.test:${port}/`, options)).toMatchObject({
      kind: 'failed',
      reason: 'connect',
    });
  });

  it('say reset when the connection ends before the answer or within it', async () => {
    const silent = await rawServer((socket) => socket.end());
    let connections = 0;
    const resetting = await rawServer((socket) => {
      connections += 1;
      socket.resetAndDestroy();
    });
    const halfway = await rawServer((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'),
    );
    const upgrading = await rawServer((socket) =>
      socket.end('HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
    );
    const details: string[] = [];
    for (const port of [silent, resetting, upgrading, halfway]) {
      const outcome = await guarded().post(`http://hook.test:${port}/`, options);
      expect(outcome).toMatchObject({ kind: 'failed', reason: 'reset' });
      details.push(outcome.kind === 'failed' ? outcome.detail : '');
    }
    const none = expect.stringContaining(': closed without an answer');
    expect(details).toEqual([none, none, none, expect.stringContaining('before the answer was complete')]);
    // Only a connection that was used before may have been closed meanwhile: nothing else is sent twice.
    expect(connections).toBe(1);
  });

  it('say protocol for an answer that is no HTTP, or has headers without end', async () => {
    const babbling = await rawServer((socket) => socket.end('220 mail.test ESMTP\r\n'));
    const heads = await rawServer((socket) =>
      socket.write(`HTTP/1.1 200 OK\r\nX: ${'y'.repeat(50_000)}\r\n\r\n`),
    );
    const longer = await rawServer((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nmore'),
    );
    const begun = 'not valid HTTP after the answer had begun: ';
    const whys = { [babbling]: 'not valid HTTP: ', [heads]: 'not valid HTTP: ', [longer]: begun };
    for (const [port, why] of Object.entries(whys)) {
      const outcome = await guarded().post(`http://hook.test:${port}/`, options);
      const detail = expect.stringContaining(why);
      expect(outcome).toMatchObject({ kind: 'failed', reason: 'protocol', detail });
    }
  });

  it.each(['\r\n', 'HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'])(
    'say protocol for an answer that never begins: %j',
    async (unit) => {
      const port = await rawServer((socket) => {
        const more = (): void => {
          while (!socket.destroyed && socket.write(unit.repeat(1_000)));
          socket.once('drain', more);
        };
        more();
      });
      const outcome = await guarded().get(`http://hook.test:${port}/`, { allowHttp: 'always' });
      expect(outcome).toMatchObject({ kind: 'failed', reason: 'protocol' });
    },
  );

  it('say protocol for more interim answers than any server needs, although the answer follows', async () => {
    const interim = 'HTTP/1.1 103 Early Hints\r\n\r\n';
    const answer = 'HTTP/1.1 204 No Content\r\n\r\n';
    const kinds: string[] = [];
    for (const count of [16, 17]) {
      const port = await rawServer((socket) => socket.end(interim.repeat(count) + answer));
      const outcome = await guarded().get(`http://hook.test:${port}/`, { allowHttp: 'always' });
      kinds.push(outcome.kind === 'failed' ? outcome.reason : outcome.kind);
    }
    expect(kinds).toEqual(['answered', 'protocol']);
  });

  it('say protocol for a header that HTTP cannot carry, and send nothing', async () => {
    let requests = 0;
    const port = await httpServer((_request, response) => {
      requests++;
      response.end();
    });
    const outcome = await guarded().post(`http://hook.test:${port}/`, {
      ...options,
      headers: { 'x-a': 'b\r\nc: d' },
    });
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'protocol' });
    expect(requests).toBe(0);
  });
});

describe('time', () => {
  const options = { body: '', allowHttp: 'always' } as const;
  let clock: VirtualClock;
  beforeEach(() => {
    clock = createVirtualClock();
  });
  afterEach(() => expect(clock.pendingTimers()).toBe(0));

  it('ends a call whose name is not answered', async () => {
    dns.fault('*', { kind: 'drop' });
    const outcome = guarded({ clock }).post('https://hook.test/', { ...options, timeoutMs: 1500 });
    await dns.reached(1);
    await clock.advance(1500);
    expect(await outcome).toMatchObject({ kind: 'failed', reason: 'timeout' });
    await clock.advance(10_000);
  });

  it('ends a call that gets no answer, and one whose answer drips', async () => {
    let arrived: () => void = () => {};
    const silent = await rawServer(() => arrived());
    const dripping = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n', arrived);
    });
    for (const port of [silent, dripping]) {
      const hasArrived = new Promise<void>((resolve) => {
        arrived = resolve;
      });
      const outcome = guarded({ clock }).post(`http://hook.test:${port}/`, options);
      await hasArrived;
      await clock.advance(15_000);
      expect(await outcome).toMatchObject({ kind: 'failed', reason: 'timeout' });
    }
  });

  it('ends a handshake that gets nowhere after the time for connecting', async () => {
    let hasArrived: () => void = () => {};
    const arrival = new Promise<void>((resolve) => {
      hasArrived = resolve;
    });
    const port = await rawServer(() => hasArrived());
    const outcome = guarded({ clock }).post(`https://hook.test:${port}/`, options);
    await arrival;
    await clock.advance(5000);
    expect(await outcome).toMatchObject({
      kind: 'failed',
      reason: 'timeout',
      detail: expect.stringContaining('5000 ms'),
    });
  });

  it('ends a call when its signal says so', async () => {
    const stop = new AbortController();
    const port = await rawServer(() => stop.abort());
    const client = guarded({ clock });
    const url = `http://hook.test:${port}/`;
    expect(await client.post(url, { ...options, signal: stop.signal })).toMatchObject({ reason: 'aborted' });
    expect(await client.post(url, { ...options, signal: stop.signal })).toMatchObject({ reason: 'aborted' });
  });
});

/** Every way we know to spell an address that must not be reached. The port is where a server would answer. */
const FORBIDDEN_URLS: readonly string[] = [
  'http://127.0.0.1/',
  'http://127.1/',
  'http://127.0.1/',
  'http://127.255.255.254/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0x7f.0x0.0x0.0x1/',
  'http://0177.0.0.1/',
  'http://017700000001/',
  'http://0x7f.1/',
  'http://127.0.0.1./',
  'http://%31%32%37.0.0.1/',
  'http://１２７.０.０.１/',
  'http://127。0。0。1/',
  'http://①②⑦.0.0.1/',
  'http://0/',
  'http://0.0.0.0/',
  'http://00.0.0.0/',
  'http://localhost/',
  'http://LOCALHOST/',
  'http://localhost./',
  'http://app.localhost/',
  'http://[::1]/',
  'http://[0:0:0:0:0:0:0:1]/',
  'http://[::]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[0:0:0:0:0:ffff:7f00:0001]/',
  'http://[::127.0.0.1]/',
  'http://[::ffff:0:127.0.0.1]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[64:ff9b::127.0.0.1]/',
  'http://[64:ff9b:1::7f00:1]/',
  'http://[2002:7f00:1::]/',
  'http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/',
  'http://[fc00::1]/',
  'http://[fd00:ec2::254]/',
  'http://[fe80::1]/',
  'http://[fec0::1]/',
  'http://[ff02::1]/',
  'http://[2001:db8::1]/',
  'http://10.0.0.1/',
  'http://172.16.0.1/',
  'http://172.31.255.255/',
  'http://192.168.1.1/',
  'http://100.64.0.1/',
  'http://169.254.169.254/latest/meta-data/',
  'http://[::ffff:169.254.169.254]/',
  'http://0xa9fea9fe/',
  'http://2852039166/',
  'http://168.63.129.16/',
  'http://192.0.2.1/',
  'http://198.18.0.1/',
  'http://224.0.0.1/',
  'http://255.255.255.255/',
  'http://user@127.0.0.1/',
  'http://8.8.8.8@127.0.0.1/',
  'http://hook.test:pass@127.0.0.1/',
  'http://@127.0.0.1/',
  'http://8.8.8.8\\@127.0.0.1/',
  'http:\\\\127.0.0.1/',
  'http:127.0.0.1/',
  'http:/127.0.0.1/',
  'http:///127.0.0.1/',
  '//127.0.0.1/',
  'http://127.0.0.1\t/',
  'ht\ntp://127.0.0.1/',
  ' http://127.0.0.1/',
  'http://127.0.0.1#@8.8.8.8/',
  'http://127.0.0.1?@8.8.8.8/',
  'http://hook.test/',
  'http://mapped.test/',
  'http://nat64.test/',
  'http://sixtofour.test/',
  'http://alias.test/',
  'http://zone.test/',
];

const NOT_URLS: readonly string[] = [
  '',
  'hook.test',
  'https://',
  'https:///',
  'https://:443/',
  'ftp://hook.test/',
  'file:///etc/passwd',
  'gopher://hook.test/',
  'javascript:alert(1)',
  'data:text/plain,x',
  'https://hook.test:99999/',
  'https://hook.test:0/',
  'https://a..b/',
  'https://-bad.test/',
  'https://[::1/',
  'https://[fe80::1%25eth0]/',
  'https://exa mple.test/',
  'https://example.test/\u0000',
  'https://256.256.256.256/',
  'https://1.2.3.4.5/',
  `https://hook.test/${'x'.repeat(2048)}`,
];

describe('what must not be reached', () => {
  let hits: number;
  let connections: number;
  let port: number;
  beforeEach(async () => {
    hits = 0;
    connections = 0;
    const server = http.createServer((_request, response) => {
      hits++;
      response.end('reached');
    });
    server.on('connection', () => connections++);
    port = await listening(server);
    dns.set('mapped.test', { AAAA: ['::ffff:127.0.0.1'] });
    dns.set('nat64.test', { AAAA: ['64:ff9b::7f00:1'] });
    dns.set('sixtofour.test', { AAAA: ['2002:7f00:1::'] });
    dns.set('alias.test', { CNAME: 'hook.test' });
    dns.set('zone.test', { A: ['0.0.0.0'], AAAA: ['fe80::1'] });
  });

  it.each([...FORBIDDEN_URLS, ...NOT_URLS])('is blocked: %j', async (text) => {
    const client = guarded({ allowNetworks: [] });
    // The port goes behind the authority, wherever that ends.
    const withPort = text.replace(/^(https?:\/\/[^/?#]*[^/?#:])(?=[/?#]|$)/, `$1:${port}`);
    for (const url of new Set([text, withPort])) {
      const outcome = await client.post(url, { body: '', allowHttp: 'always' });
      expect(outcome.kind).toBe('blocked');
      expect(await client.checkTarget(url, 'always')).toMatchObject({ kind: 'refused' });
    }
    expect([hits, connections]).toEqual([0, 0]);
  });

  it('has well over forty spellings', () => {
    expect(FORBIDDEN_URLS.length).toBeGreaterThan(70);
  });

  it('is checked again when a name answers differently the second time', async () => {
    const clock = createVirtualClock();
    const checked: string[] = [];
    const strict = filterFor(['127.0.0.9/32']);
    const filter: AddressCheck = {
      check(address) {
        checked.push(address);
        return strict.check(address);
      },
    };
    // 127.0.0.9 plays the public address here: it passes the filter, 127.0.0.1 does not.
    const server = http.createServer((_request, response) => response.end('public'));
    await listening(server, '127.0.0.9', port);
    const client = guarded({ clock, filter });
    dns.set('rebind.test', { A: ['127.0.0.9'], ttl: 0 });
    const call = () => client.post(`http://rebind.test:${port}/`, { body: '', allowHttp: 'always' });
    expect(await call()).toMatchObject({ kind: 'answered', body: 'public' });
    dns.set('rebind.test', { A: ['127.0.0.1'], ttl: 0 });
    // Still the checked answer: the TTL of zero does not make anything ask again between check and connect.
    expect(await call()).toMatchObject({ kind: 'answered', body: 'public' });
    await clock.advance(60_000);
    expect(await call()).toMatchObject({ kind: 'blocked', detail: FORBIDDEN });
    expect(checked).toEqual(['127.0.0.9', '127.0.0.9', '127.0.0.1']);
    expect(hits).toBe(0);
  });

  it('is left out where a name has allowed addresses too', async () => {
    dns.set('both.test', { A: ['127.0.0.1', '127.0.0.9'] });
    await listening(
      http.createServer((_request, response) => response.end('allowed')),
      '127.0.0.9',
      port,
    );
    const client = guarded({ allowNetworks: ['127.0.0.9'] });
    const outcome = await client.post(`http://both.test:${port}/`, {
      body: '',
      allowHttp: 'listed-networks',
    });
    expect(outcome).toMatchObject({ kind: 'answered', body: 'allowed' });
    expect(hits).toBe(0);
  });

  it('is refused in one sentence, whatever the address is, so that nobody learns of a private name', async () => {
    const details = new Set<string>();
    dns.set('empty.test', { TXT: ['x'] });
    const names = {
      'a.test': '10.1.2.3',
      'b.test': '192.168.7.7',
      'c.test': '169.254.169.254',
      'd.test': '127.0.0.1',
    };
    for (const [name, address] of Object.entries(names)) {
      dns.set(name, { A: [address] });
      const client = guarded({ allowNetworks: [] });
      for (const host of [name, address]) {
        const called = await client.post(`https://${host}/`, { body: '' });
        const checked = await client.checkTarget(`https://${host}/`);
        if (called.kind !== 'blocked' || checked.kind !== 'refused')
          throw new Error(`${host}: ${called.kind}`);
        details.add(called.detail).add(checked.detail);
      }
    }
    // Nor whether it is there at all; the operator is told.
    for (const name of ['empty.test', 'missing.test', 'a.test']) {
      const client = guarded({ allowNetworks: [] });
      for (const url of [`https://${name}/`, `http://${name}/`]) {
        expect(await client.checkTarget(url), url).toEqual({ kind: 'refused', detail: FORBIDDEN });
      }
      expect(await client.post(`https://${name}/`, { body: '' }), name).toEqual({
        kind: 'blocked',
        detail: FORBIDDEN,
        cause: name === 'a.test' ? 'a.test leads to 10.1.2.3' : `${name} has no address`,
      });
    }
    expect([...details]).toEqual([FORBIDDEN]);
  });

  it('is not named either where the operator listed its network and nobody listens', async () => {
    dns.set('inner.test', { A: ['127.0.0.77'] });
    const client = guarded({ allowNetworks: ['127.0.0.77'] });
    const outcome = await client.post('http://inner.test:9/', { body: '', allowHttp: 'listed-networks' });
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'connect' });
    expect(JSON.stringify(outcome)).not.toContain('127.0.0.77');
  });

  it('is named where the URL itself has it', async () => {
    const client = guarded({ allowNetworks: ['127.0.0.0/8'] });
    const outcome = await client.post('http://127.0.0.1:9/', { body: '', allowHttp: 'listed-networks' });
    expect(outcome).toMatchObject({ detail: expect.stringContaining('ECONNREFUSED 127.0.0.1:9') });
  });

  it('includes plain HTTP unless allowed, to a listed network or at all', async () => {
    const client = guarded();
    const post = (url: string, allowHttp: 'never' | 'listed-networks' | 'always') =>
      client.post(url, { body: '', allowHttp });
    const url = `http://hook.test:${port}/`;
    expect(await client.post(url, { body: '' })).toMatchObject({ kind: 'blocked' });
    expect(await post(url, 'never')).toMatchObject({ kind: 'blocked' });
    expect(await post(url, 'listed-networks')).toMatchObject({ kind: 'answered' });
    dns.set('public.test', { A: ['8.8.4.4'] });
    expect(await post('http://public.test/', 'listed-networks')).toMatchObject({ kind: 'blocked' });
    expect(await post('http://8.8.4.4/', 'listed-networks')).toMatchObject({ kind: 'blocked' });
    expect(await client.checkTarget('http://8.8.4.4/')).toMatchObject({ kind: 'refused' });
    expect(await client.checkTarget('http://8.8.4.4/', 'always')).toMatchObject({ kind: 'ok' });
  });
});

describe('checking a URL beforehand', () => {
  it('gives the parts of a good one', async () => {
    const client = guarded();
    dns.set('xn--bcher-kva.test', { A: ['8.8.4.4'] });
    expect(await client.checkTarget('https://Hook.Test./a%20b?c#d')).toEqual({
      kind: 'ok',
      url: {
        isTls: true,
        host: 'hook.test',
        isAddress: false,
        port: 443,
        path: '/a%20b?c',
        hostHeader: 'hook.test',
      },
    });
    expect(await client.checkTarget('https://[2606:4700::1]:8443')).toMatchObject({
      url: {
        host: '2606:4700::1',
        isAddress: true,
        port: 8443,
        path: '/',
        hostHeader: '[2606:4700::1]:8443',
      },
    });
    expect(await client.checkTarget('https://bücher.test/')).toMatchObject({
      url: { host: 'xn--bcher-kva.test' },
    });
    expect(await client.checkTarget('https://localhost:3000/')).toMatchObject({ kind: 'ok' });
    dns.fault('broken.test', { kind: 'servfail' });
    expect(await client.checkTarget('https://broken.test/')).toMatchObject({ kind: 'ok' });
  });
});
