/**
 * Clients of HTTP/2 over TLS for tests: one of Node, and one that writes frames of its own (RFC 9113 §4), which a client that
 * keeps the rules could not send. `close()` ends the connection.
 */
import {
  type ClientHttp2Session,
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { connect as connectTls, type TLSSocket } from 'node:tls';

export interface Http2Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface Http2Client {
  session: ClientHttp2Session;
  /** One request to its end. */
  send(
    method: string,
    path: string,
    headers?: OutgoingHttpHeaders,
    body?: string | Uint8Array,
  ): Promise<Http2Answer>;
  close(): void;
}

interface Server {
  port: number;
  /** PEM of the authority, and the name that the certificate must have. */
  ca: string;
  host: string;
}

export async function openHttp2({ port, ca, host }: Server): Promise<Http2Client> {
  const session = connect(`https://${host}`, {
    createConnection: () =>
      connectTls({ host: '127.0.0.1', port, ca, servername: host, ALPNProtocols: ['h2'] }),
  });
  // What waits for an answer rejects.
  session.on('error', () => undefined);
  await new Promise<void>((resolve, reject) => {
    session.once('connect', () => resolve());
    session.once('error', reject);
  });
  return {
    session,
    send: (method, path, headers = {}, body) =>
      new Promise((resolve, reject) => {
        const stream = session.request({ ':method': method, ':path': path, ...headers });
        let got: IncomingHttpHeaders = {};
        let text = '';
        stream.setEncoding('utf8');
        stream.on('response', (answer) => {
          got = answer;
        });
        stream.on('data', (chunk: string) => {
          text += chunk;
        });
        stream.on('end', () => resolve({ status: Number(got[':status'] ?? 0), headers: got, text }));
        stream.on('error', reject);
        stream.on('aborted', () => reject(new Error('the stream was aborted')));
        stream.end(body);
      }),
    close: () => session.destroy(),
  };
}

/** Type, flags, stream, payload. */
export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Uint8Array = new Uint8Array(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

export const FRAMES = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  continuation: 9,
} as const;
export const END_STREAM = 1;
export const END_HEADERS = 4;

/** GET / over https with `:authority: a`, as HPACK writes it (RFC 7541 §6). */
export const GET_ROOT = Buffer.from([0x82, 0x84, 0x87, 0x41, 0x01, 0x61]);

export interface RawHttp2 {
  socket: TLSSocket;
  /** Resolves with the types of all frames that came, when the connection has ended. */
  closed: Promise<number[]>;
  close(): void;
}

/** A connection that has sent its preface and nothing else. */
export async function openRawHttp2({ port, ca, host }: Server): Promise<RawHttp2> {
  const socket = connectTls({ host: '127.0.0.1', port, ca, servername: host, ALPNProtocols: ['h2'] });
  const chunks: Buffer[] = [];
  const closed = new Promise<number[]>((resolve) => {
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('close', () => resolve(typesOf(Buffer.concat(chunks))));
  });
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('secureConnect', resolve));
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(frame(FRAMES.settings, 0, 0));
  return { socket, closed, close: () => socket.destroy() };
}

function typesOf(bytes: Buffer): number[] {
  const types: number[] = [];
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) types.push(bytes[at + 3] ?? -1);
  return types;
}
