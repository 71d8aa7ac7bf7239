import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../lib/clock.ts';
import { connectTcp } from './sockets.ts';

async function listen() {
  const server = createServer((socket) => socket.on('error', () => {}));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { port, close: () => new Promise((resolve) => server.close(resolve)) };
}

const ask = { address: '127.0.0.1', timeoutMs: 5_000, clock: systemClock };

describe('connecting', () => {
  it('connects to an address, from an address', async () => {
    const { port, close } = await listen();
    const result = await connectTcp({ ...ask, port, localAddress: '127.0.0.7' });
    if (result.kind !== 'connected') throw new Error(result.detail);
    expect(result.socket.localAddress).toBe('127.0.0.7');
    result.socket.destroy();
    await close();
    expect((await connectTcp({ ...ask, port })).kind).toBe('refused');
  });

  it.each(['localhost', '127.0.0.1.', '', '[::1]', '0x7f000001'])('looks no name up: %j', async (address) => {
    expect((await connectTcp({ ...ask, address, port: 25 })).kind).toBe('error');
  });

  it.each([0, 65_536, 1.5, Number.NaN])('refuses the port %d', async (port) => {
    expect((await connectTcp({ ...ask, port })).kind).toBe('error');
  });

  it('gives up when its time is over, leaving no socket', async () => {
    const { port, close } = await listen();
    // A clock on which every limit is over at once.
    const hasty: Clock = {
      ...systemClock,
      setTimer(_delayMs, fire) {
        queueMicrotask(fire);
        return { cancel() {} };
      },
    };
    expect((await connectTcp({ ...ask, port, clock: hasty })).kind).toBe('timeout');
    await close();
  });

  it('gives up when it is aborted', async () => {
    const { port, close } = await listen();
    const abort = new AbortController();
    const connecting = connectTcp({ ...ask, port, signal: abort.signal });
    abort.abort();
    expect((await connecting).kind).toBe('aborted');
    await close();
  });
});
