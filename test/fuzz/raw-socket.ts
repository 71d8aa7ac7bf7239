/** Bytes in, bytes out, over a real connection with a deadline; and the answers that stand in what came back. */
import { connect } from 'node:net';

export interface RawAnswer {
  status: number;
  body: string;
}

/** No answer may take longer than this once the client has said everything. */
const DEADLINE_MS = 5_000;

/**
 * Sends `bytes`, ends its side, and gives everything that came back until the server closed. Rejects when the server
 * neither answers nor closes.
 */
export function sendRaw(port: number, bytes: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    const deadline = setTimeout(() => {
      socket.destroy();
      const sent = Buffer.from(bytes).toString('latin1').slice(0, 500);
      reject(new Error(`no end after ${DEADLINE_MS} ms to ${JSON.stringify(sent)}`));
    }, DEADLINE_MS);
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    // A server may close while the client still talks; what it said before counts.
    socket.on('error', () => socket.destroy());
    socket.on('end', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(deadline);
      resolve(Buffer.concat(chunks));
    });
    socket.end(bytes);
  });
}

/** The answers in what a server sent, by Content-Length; a HEAD answer has no body and ends the list. */
export function answersOf(bytes: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = bytes;
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) throw new Error(`not an HTTP answer: ${rest.toString('latin1').slice(0, 200)}`);
    const head = rest.toString('latin1', 0, end);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? 0);
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    const body = rest.subarray(end + 4, end + 4 + length);
    // 100 Continue stands in front of the answer itself.
    if (status !== 100) answers.push({ status, body: body.toString('utf8') });
    rest = rest.subarray(end + 4 + (status === 100 ? 0 : body.length));
  }
  return answers;
}
