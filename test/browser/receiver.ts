/** A receiver of webhooks on loopback: takes calls, refuses them with a hostile page, or never answers, by the path. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Scope } from '../scenarios/harness.ts';

export const HOSTILE =
  '<!doctype html><script>document.title = "taken over"</script><img src="http://127.0.0.1:9/picture"><form action="http://127.0.0.1:9/"><button>Sign in</button></form>\u0000\u001b[31m\u202egpj.exe\n' +
  'x'.repeat(50_000);

export interface Receiver {
  url: string;
  /** Bodies of the calls that were taken. */
  taken: string[];
  /** `/broken` takes calls from now on. */
  mend(): void;
  /** Breaks the calls that wait at `/hangs`. */
  drop(): void;
}

export async function startReceiver(scope: Scope): Promise<Receiver> {
  const taken: string[] = [];
  const hanging: ServerResponse[] = [];
  let isMended = false;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.url?.startsWith('/hangs')) {
        hanging.push(response);
        return;
      }
      if (request.url?.startsWith('/broken') && !isMended) {
        response.writeHead(500, { 'content-type': 'text/html' }).end(HOSTILE);
        return;
      }
      taken.push(Buffer.concat(chunks).toString());
      response.writeHead(200).end('thanks');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  scope.defer(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken,
    mend() {
      isMended = true;
    },
    drop() {
      for (const response of hanging.splice(0)) response.destroy();
    },
  };
}
