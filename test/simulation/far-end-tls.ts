/**
 * TLS of a simulated far end: real handshakes and records over the network in memory. Given the client's half of a
 * connection at its STARTTLS; leaves a pair that speaks in clear text inside.
 */
import { Duplex } from 'node:stream';
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls';
import type { SecureHalf } from '../../src/simulation/far-end-line.ts';
import type { ClientHalf } from '../../src/simulation/network.ts';
import { createTestCa } from '../fakes/test-certificates.ts';

/**
 * Turns of the event loop in which whatever was written to a TLS connection has arrived: Node hands records on over
 * several. Four are enough for a handshake with what follows; more change nothing.
 */
export const TLS_TURNS = 8;

let context: SecureContext | null = null;

/** One certificate for all: nobody here asks whose it is. */
function contextOfAll(): SecureContext {
  if (context === null) {
    const { key, cert } = createTestCa().issue({ names: ['mx.test'] });
    context = createSecureContext({ key, cert });
  }
  return context;
}

class ServerSocket extends Duplex {
  readonly client: ClientHalf;

  constructor(client: ClientHalf) {
    super();
    this.client = client;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.client.say(chunk.toString('latin1'));
    done();
  }
}

export function secureHalf(
  client: ClientHalf,
  heard: { secured(): void; data(bytes: Buffer): void },
): SecureHalf {
  const raw = new ServerSocket(client);
  const secure = new TLSSocket(raw, { isServer: true, secureContext: contextOfAll() });
  // A client that goes away during the handshake is seen by the network.
  secure.on('error', () => {});
  raw.on('error', () => {});
  secure.once('secure', heard.secured);
  secure.on('data', heard.data);
  return {
    received: (bytes) => void raw.push(bytes),
    say: (text) => void secure.write(Buffer.from(text, 'latin1')),
    hangUp(how) {
      if (how === 'reset') return client.reset();
      secure.end();
      secure.once('finish', () => client.end());
    },
    gone() {
      secure.destroy();
      raw.destroy();
    },
  };
}
