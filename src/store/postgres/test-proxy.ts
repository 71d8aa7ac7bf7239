/**
 * A proxy between a store and the test server that loses data on demand: requests of the client, or answers of the
 * server. It does not know the protocol; both sides are sockets in folders.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SOCKET = '.s.PGSQL.5432';

export interface TestProxy {
  /** The URL of a database, through the proxy. */
  url: string;
  /**
   * The next octets of a client that contain `text` end the connection: before they reach the server, or after it has
   * answered them.
   */
  loseNext(text: string, what: 'question' | 'answer'): void;
  /** Ends all connections and refuses new ones, until `open`. */
  shut(): void;
  open(): void;
  /**
   * Data in both directions is lost without an error, until `resume`; then the connections of that time are closed.
   */
  swallow(): void;
  resume(): void;
  /** To new connections, the server reports another timeline, as after a standby has taken over. */
  takeOver(): void;
  /** How many connections were cut on demand. */
  cuts(): number;
  close(): Promise<void>;
}

/** In front of the server of a URL that names the folder of its socket. */
export async function proxyTo(url: string): Promise<TestProxy> {
  const there = new URL(url.replace('@/', '@local/')).searchParams.get('host');
  if (there === null) throw new Error('The proxy needs a server with a socket in a folder');
  const folder = mkdtempSync(join(tmpdir(), 'postrider-proxy-'));
  const sockets = new Set<Socket>();
  let next: { text: string; what: 'question' | 'answer' } | null = null;
  let isShut = false;
  let swallows = false;
  let cuts = 0;
  let hasTakenOver = false;

  const server = createServer((client) => {
    const far = createConnection(join(there, SOCKET));
    const end = () => {
      client.destroy();
      far.destroy();
      sockets.delete(client);
    };
    sockets.add(client);
    let losesAnswer = false;
    if (isShut) end();
    client.on('data', (data) => {
      if (swallows) return;
      if (next !== null && data.includes(next.text)) {
        const { what } = next;
        next = null;
        cuts += 1;
        if (what === 'question') return end();
        losesAnswer = true;
      }
      far.write(data);
    });
    far.on('data', (data) => {
      if (losesAnswer) end();
      else if (!swallows) client.write(hasTakenOver ? onNextTimeline(data) : data);
    });
    for (const socket of [client, far]) socket.on('error', end).on('close', end);
  });
  await new Promise<void>((resolve) => server.listen(join(folder, SOCKET), resolve));
  return {
    url: url.replace(/([?&]host=)[^&]*/, `$1${encodeURIComponent(folder)}`),
    loseNext(text, what) {
      next = { text, what };
    },
    shut() {
      isShut = true;
      for (const socket of sockets) socket.destroy();
    },
    open() {
      isShut = false;
    },
    swallow() {
      swallows = true;
    },
    resume() {
      swallows = false;
      for (const socket of sockets) socket.destroy();
    },
    takeOver() {
      hasTakenOver = true;
    },
    cuts: () => cuts,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The answer to what each new connection asks first (checks.ts), with the number behind the first one. */
function onNextTimeline(data: Buffer): Buffer {
  if (!data.includes('timeline')) return data;
  return Buffer.from(data.toString('latin1').replace('00000001', '00000002'), 'latin1');
}
