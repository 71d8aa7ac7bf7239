/** A connection that breaks: replies that were sent before are still read. */
import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createServer as createTlsServer, connect as dialTls } from 'node:tls';
import { expect, it } from 'vitest';
import { makeCertificates } from '../../test/fakes/certificates.ts';
import { systemClock } from '../lib/clock.ts';
import { createChannel } from './client-channel.ts';

it('hears the last word of a server that has gone by the time something is written to it', async () => {
  const { server, socket, far } = await connected();
  const channel = createChannel(socket, systemClock);
  const heard: string[] = [];
  const closed = new Promise<void>((resolve) => {
    channel.listen({
      onReply({ code, text }) {
        heard.push(`${code} ${text}`);
        return true;
      },
      onClose: () => resolve(),
    });
  });
  far.write('354 go\r\n');
  await expect.poll(() => heard).toEqual(['354 go']);
  // All in one turn: the system has the reply and the reset before anything can be read.
  far.write('552 5.3.4 too big\r\n');
  far.resetAndDestroy();
  let flushed = false;
  channel.writeParts([Buffer.alloc(100_000)], '', () => {
    flushed = true;
  });
  await closed;
  expect({ heard, flushed }).toEqual({ heard: ['354 go', '552 5.3.4 too big'], flushed: false });
  server.close();
});

it('reads what arrived while the process stood still, although its time is over', async () => {
  const { server, socket, far } = await connected();
  const channel = createChannel(socket, systemClock);
  const heard: string[] = [];
  channel.listen({
    onReply({ code }) {
      heard.push(String(code));
      channel.expectNothing();
      return true;
    },
    onClose: ({ detail }) => heard.push(detail),
  });
  channel.expectWithin(100, 'the reply');
  far.write('250 taken\r\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  await expect.poll(() => heard).toEqual(['250']);
  channel.expectWithin(10, 'the next reply');
  await expect.poll(() => heard).toEqual(['250', 'the next reply took longer than 0.01 s']);
  server.close();
});

const certificates = makeCertificates('mx.test');

it.skipIf(certificates === null)(
  'takes for sent what the server may have under TLS, when the server goes before the system reports it',
  async () => {
    const server = createTlsServer({ ...certificates?.good });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const socket = dialTls({ port, host: '127.0.0.1', servername: 'mx.test', ca: certificates?.ca });
    await once(socket, 'secureConnect');
    expect(said(socket)).toEqual(['first sent', 'closed']);
    server.close();
  },
);

it('takes for sent only what the system has taken, without TLS', async () => {
  const { server, socket } = await connected();
  expect(said(socket, 50_000_000)).toEqual(['closed']);
  server.close();
});

/** A connection with its far end, both in this process. */
async function connected(): Promise<{ server: Server; socket: Socket; far: Socket }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = dial((server.address() as AddressInfo).port, '127.0.0.1');
  const [[far]] = await Promise.all([once(server, 'connection'), once(socket, 'connect')]);
  return { server, socket, far };
}

/** Two writes, and the end of the connection before anything of them is reported. */
function said(socket: Duplex, octets = 1_000): string[] {
  const heard: string[] = [];
  const channel = createChannel(socket, systemClock);
  channel.listen({ onReply: () => true, onClose: () => heard.push('closed') });
  channel.writeParts([Buffer.alloc(octets)], '', () => heard.push('first sent'));
  channel.writeParts([Buffer.alloc(1_000)], '', () => heard.push('second sent'));
  channel.close('closed', 'the server closed the connection');
  return heard;
}
