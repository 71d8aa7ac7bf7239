import type { Socket } from 'node:net';
import { Duplex, duplexPair } from 'node:stream';
import { connect, createSecureContext } from 'node:tls';
import { expect, it } from 'vitest';
import { createTestCa } from '../../test/fakes/test-certificates.ts';
import { beginTls, onFirstOctet } from './server-tls.ts';

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
