/**
 * The customer's side of a webhook: a real HTTP server on loopback that keeps every request as its raw bytes and
 * answers what the scenario says.
 */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Scope, until } from './harness.ts';

export interface ReceivedCall {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** As they came. */
  bytes: Buffer;
  // biome-ignore lint/suspicious/noExplicitAny: scenarios look at payloads as a client without types does
  readonly json: any;
}

export interface ReceiverAnswer {
  status: number;
  body?: string | Uint8Array;
  headers?: Record<string, string>;
}

export interface Receiver {
  readonly url: string;
  readonly port: number;
  readonly calls: readonly ReceivedCall[];
  /** Answers from now on; a function is asked for each call, `drop` closes the connection without an answer. */
  answer(with_: ReceiverAnswer | 'drop' | ((call: ReceivedCall, n: number) => ReceiverAnswer | 'drop')): void;
  /** Waits for the first call that fits. */
  next(what: string, fits: (call: ReceivedCall) => boolean, timeoutMs?: number): Promise<ReceivedCall>;
}

/** Answers 200 `ok` until told otherwise. */
export async function startReceiver(scope: Scope): Promise<Receiver> {
  const calls: ReceivedCall[] = [];
  let current: Parameters<Receiver['answer']>[0] = { status: 200, body: 'ok' };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const bytes = Buffer.concat(chunks);
      const call: ReceivedCall = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        bytes,
        get json() {
          return JSON.parse(bytes.toString('utf8'));
        },
      };
      calls.push(call);
      const answer = typeof current === 'function' ? current(call, calls.length) : current;
      if (answer === 'drop') {
        request.socket.destroy();
        return;
      }
      response.writeHead(answer.status, answer.headers).end(answer.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  scope.defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    calls,
    answer: (given) => {
      current = given;
    },
    next: (what, fits, timeoutMs) => until(what, () => calls.find(fits), timeoutMs),
  };
}
