/** A spamd on loopback that answers every mail with the same report, and keeps what it was asked. */

import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';

export interface FakeSpamd {
  port: number;
  asked: string[];
  close(): Promise<void>;
}

const REPORT = [
  'SPAMD/1.1 0 EX_OK',
  'Content-length: 300',
  'Spam: True ; 5.9 / 5.0',
  '',
  'Content analysis details:   (5.9 points, 5.0 required)',
  '',
  ' pts rule name              description',
  '---- ---------------------- --------------------------------------------------',
  '-0.1 DKIM_VALID             Message has at least one valid DKIM signature',
  ' 1.2 MISSING_HEADERS        Missing To: header',
  ' 4.8 SUBJ_ALL_CAPS          Subject is all',
  '                            capitals',
  '',
].join('\r\n');

export async function startSpamd(): Promise<FakeSpamd> {
  const asked: string[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const parts: Buffer[] = [];
    socket.on('data', (part) => parts.push(part));
    socket.on('end', () => {
      asked.push(Buffer.concat(parts).toString());
      socket.end(REPORT);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
