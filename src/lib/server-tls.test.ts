import { type AddressInfo, connect as connectTcp, createServer, type Socket } from 'node:net';
import { Duplex, duplexPair } from 'node:stream';
import { connect, createSecureContext } from 'node:tls';
import { expect, it, vi } from 'vitest';
import { createTestCa } from '../../test/fakes/test-certificates.ts';
import { systemClock } from './clock.ts';
import { beginTls, onFirstOctet } from './server-tls.ts';
import { nextTurn } from './turns.ts';

it('destroys a connection that ends before its first octet', async () => {
  const socket = new Duplex({ read: () => undefined });
  onFirstOctet(socket, () => expect.unreachable());
  socket.push(null);
  await expect.poll(() => socket.destroyed).toBe(true);
});

it.each(['TLSv1.2', 'TLSv1.3'] as const)('reads each message of %s in its turn', async (maxVersion) => {
  const secureContext = createSecureContext({
    ...createTestCa().issue({ names: ['mail.test'] }),
    ecdhCurve: 'P-256',
  });
  const [near, far] = duplexPair();
  const waiting: (() => void)[] = [];
  let isSecure = false;
  const server = beginTls(
    far as Socket,
    systemClock,
    { secureContext },
    (work) => void waiting.push(work),
    () => {
      isSecure = true;
    },
  );
  let got = '';
  server.on('data', (data) => {
    got += data;
  });
  // With TLS 1.3 the server asks for the other group.
  const client = connect({
    socket: near,
    rejectUnauthorized: false,
    maxVersion,
    ecdhCurve: 'X25519:P-256',
  });
  for (const _ of ['first', 'second']) {
    await expect.poll(() => waiting.length).toBeGreaterThan(0);
    expect(isSecure).toBe(false);
    for (const work of waiting.splice(0)) work();
  }
  client.write('data');
  await expect.poll(() => waiting.length).toBeGreaterThan(0);
  expect(got).toBe('');
  while (got === '') {
    await expect.poll(() => waiting.length).toBeGreaterThan(0);
    for (const work of waiting.splice(0)) work();
  }
  expect(isSecure).toBe(true);
  client.destroy();
});

it('reads what comes at once in pieces of 16 KiB, smaller ones where they take long, and little of it ahead', async () => {
  const secureContext = createSecureContext(createTestCa().issue({ names: ['mail.test'] }));
  const [near, far] = duplexPair();
  let turns = 0;
  let got = 0;
  let nowMs = 0;
  let msPerRecord = 0;
  let isSecure = false;
  const turn = (work: () => void) => {
    turns += 1;
    work();
  };
  const server = beginTls(
    far as Socket,
    { monotonicMs: () => nowMs },
    { secureContext, highWaterMark: 1024 },
    turn,
    () => {
      isSecure = true;
    },
  );
  server.on('data', ({ length }) => {
    got += length;
    nowMs += msPerRecord;
  });
  const held: Buffer[] = [];
  const carrier = new Duplex({
    read: () => undefined,
    write(chunk, _encoding, done) {
      if (isSecure) held.push(chunk);
      else near.write(chunk);
      done();
    },
  });
  near.on('data', (chunk) => void carrier.push(chunk));
  const client = connect({ socket: carrier, rejectUnauthorized: false });
  await expect.poll(() => isSecure).toBe(true);
  await new Promise((resolve) => void client.write(Buffer.alloc(60_000), resolve));
  turns = 0;
  near.write(Buffer.concat(held));
  await expect.poll(() => got).toBe(60_000);
  expect(turns).toBe(4);

  // Of many small records, little is read ahead while nobody takes it.
  server.pause();
  held.length = 0;
  for (let i = 0; i < 2_500; i++) await new Promise((resolve) => void client.write('x', resolve));
  near.write(Buffer.concat(held));
  await expect.poll(() => server.readableLength).toBeGreaterThan(1000);
  for (let i = 0; i < 20; i++) await nextTurn();
  expect(server.readableLength).toBeLessThan(2000);
  server.resume();
  await expect.poll(() => got).toBe(62_500);

  turns = 0;
  msPerRecord = 0.1;
  held.length = 0;
  for (let i = 0; i < 2_500; i++) await new Promise((resolve) => void client.write('x', resolve));
  near.write(Buffer.concat(held));
  await expect.poll(() => got).toBe(65_000);
  expect(turns).toBeGreaterThan(50);
  server.destroy();
});

it('closes a connection after a broken record', async () => {
  const secureContext = createSecureContext(createTestCa().issue({ names: ['mail.test'] }));
  const [near, far] = duplexPair();
  const fault = vi.fn<(error: Error) => void>();
  const server = beginTls(
    far as Socket,
    systemClock,
    { secureContext },
    (work) => work(),
    () => near.write('EHLO a.test\r\n'),
  );
  server.on('error', fault);
  connect({ socket: near, rejectUnauthorized: false }).on('error', () => undefined);
  await expect.poll(() => far.destroyed).toBe(true);
  expect(fault).toHaveBeenCalledOnce();
});

it.each(['request', 'end of the handshake'])(
  'reads the %s that waits for its turn before the end',
  async (from) => {
    const secureContext = createSecureContext(createTestCa().issue({ names: ['mail.test'] }));
    const waiting: (() => void)[] = [];
    let isBusy = false;
    let isSecure = false;
    let got = '';
    const fault = vi.fn<(error: Error) => void>();
    const server = createServer({ allowHalfOpen: true }, (plain) => {
      const turn = (work: () => void) => {
        if (isBusy) waiting.push(work);
        else work();
        isBusy ||= from !== 'request';
      };
      const inner = beginTls(plain, systemClock, { secureContext }, turn, () => {
        isBusy = true;
        isSecure = true;
        inner.on('data', (data) => {
          got += data;
        });
        inner.on('end', () => inner.end(`answer to ${got}`));
      });
      inner.on('error', fault);
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const raw = connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true });
    const held: Buffer[] = [];
    const carrier = new Duplex({
      read: () => undefined,
      write(chunk, _encoding, done) {
        if (isBusy) held.push(chunk);
        else raw.write(chunk);
        done();
      },
      final(done) {
        raw.end(Buffer.concat(held), done);
      },
    });
    raw.on('data', (chunk) => void carrier.push(chunk));
    const client = connect({ socket: carrier, rejectUnauthorized: false });
    if (from === 'request') await expect.poll(() => isSecure).toBe(true);
    // All that it sends comes as one piece.
    client.end('request');
    let answer = '';
    client.on('data', (data) => {
      answer += data;
    });
    await expect.poll(() => waiting.length).toBe(2);
    expect(isSecure).toBe(from === 'request');
    for (const work of waiting.splice(0)) work();
    await expect.poll(() => answer).toBe('answer to request');
    expect(fault).not.toHaveBeenCalled();
    server.close();
  },
);
