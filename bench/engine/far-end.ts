// Receivers of the engine's measurements: small SMTP servers in the measuring process, one per loopback address, that
// count what they took and behave: `good` at once, `throttled` one message a second and 451 for the rest, `tarpit`
// seconds before every reply.
import { createServer, type Server, type Socket } from 'node:net';

export type Behaviour = 'good' | 'throttled' | 'tarpit';

export interface FarEnd {
  taken: number;
  /** Called with the id of each message (X-Bench-Id) as its final dot comes in. */
  onTaken: (id: number) => void;
  close(): Promise<void>;
}

const TARPIT_MS = 5_000;
const END = '\r\n.\r\n';

export function startFarEnd(host: string, port: number, behaviour: Behaviour): Promise<FarEnd> {
  const sockets = new Set<Socket>();
  let lastTakenMs = 0;
  const server: Server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.setEncoding('latin1');
    let pending = '';
    let inData = false;
    let writing = Promise.resolve();
    const reply = (text: string): void => {
      if (behaviour !== 'tarpit') {
        socket.write(`${text}\r\n`);
        return;
      }
      writing = writing
        .then(() => new Promise((resolve) => setTimeout(resolve, TARPIT_MS)))
        .then(() => void (socket.destroyed || socket.write(`${text}\r\n`)));
    };
    reply('220 far.example ESMTP');
    socket.on('data', (chunk: string) => {
      pending += chunk;
      for (;;) {
        if (inData) {
          const end = pending.indexOf(END);
          if (end < 0) return;
          const id = Number(/\nX-Bench-Id: (\d+)/.exec(pending.slice(0, end))?.[1] ?? -1);
          pending = pending.slice(end + END.length);
          inData = false;
          const now = performance.now();
          if (behaviour === 'throttled' && now - lastTakenMs < 1_000) {
            reply('451 4.7.1 Rate limit exceeded, try again later');
          } else {
            lastTakenMs = now;
            far.taken += 1;
            far.onTaken(id);
            reply('250 2.0.0 taken');
          }
          continue;
        }
        const line = pending.indexOf('\n');
        if (line < 0) return;
        const command = pending.slice(0, 4).toUpperCase();
        pending = pending.slice(line + 1);
        if (command === 'EHLO') reply('250-far.example\r\n250-PIPELINING\r\n250 ENHANCEDSTATUSCODES');
        else if (command === 'DATA') {
          inData = true;
          reply('354 go on');
        } else if (command === 'QUIT') socket.end('221 bye\r\n');
        else reply('250 2.1.0 ok');
      }
    });
  });
  const far: FarEnd = {
    taken: 0,
    onTaken: () => {},
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, backlog: 1024 }, () => resolve(far));
  });
}
