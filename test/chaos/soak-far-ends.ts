/**
 * The far ends of the soak: one mail server for each kind of trouble, on an address of its own, under one port.
 * Given: a seeded draw and who is told of every message that was taken. Keeps nothing of a message but what it tells, so that
 * hours of load do not grow it. Recipients are `r<number>@<kind>.test`; every transaction has one recipient.
 */
import { createServer, type Server, type Socket } from 'node:net';

/** What a kind does, by chance for each transaction. */
export type Kind =
  | 'good'
  | 'greylist'
  | 'busy'
  | 'drop'
  | 'lost'
  | 'tarpit'
  | 'hang'
  | 'refuse'
  | 'full'
  | 'garbage'
  | 'brokentls'
  | 'banner'
  | 'bouncer';

export const KINDS: readonly Kind[] = [
  ...(['good', 'greylist', 'busy', 'drop', 'lost', 'tarpit', 'hang'] as const),
  ...(['refuse', 'full', 'garbage', 'brokentls', 'banner', 'bouncer'] as const),
];

/** A message was taken: its recipient's number, its return path. */
export type Taken = (kind: Kind, recipient: number, returnPath: string) => void;

export interface FarEnds {
  readonly port: number;
  /** Address of the host of a kind. */
  addressOf(kind: Kind): string;
  close(): Promise<void>;
}

/** Share of transactions that meet the trouble of a kind. */
const SHARE: Readonly<Record<Kind, number>> = {
  ...{ good: 0, greylist: 1, busy: 0.2, drop: 0.2, lost: 0.1, tarpit: 1, hang: 0.02 },
  ...{ refuse: 0.5, full: 0.5, garbage: 0.1, brokentls: 1, banner: 0.5, bouncer: 0 },
};
const TARPIT_MS = 300;
const HANG_MS = 20_000;

/** Starts one host for each kind. */
export async function startFarEnds(draw: () => number, taken: Taken): Promise<FarEnds> {
  const servers: Server[] = [];
  const sockets = new Set<Socket>();
  const addressOf = (kind: Kind) => `127.3.0.${KINDS.indexOf(kind) + 1}`;
  const greylisted = greylisting();
  let port = 0;
  for (const kind of KINDS) {
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      serve(socket, kind, draw, taken, greylisted);
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, addressOf(kind), resolve);
    });
    const address = server.address();
    if (typeof address === 'object' && address !== null) port = address.port;
    servers.push(server);
  }
  return {
    port,
    addressOf,
    async close() {
      for (const socket of sockets) socket.destroy();
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}

function serve(
  socket: Socket,
  kind: Kind,
  draw: () => number,
  taken: Taken,
  greylisted: (recipient: number) => boolean,
): void {
  const met = () => draw() < SHARE[kind];
  let input = '';
  let inData = false;
  let from = '';
  let recipient = 0;
  let known = false;
  /** Replies leave one after the other, also where one waits. */
  let line = Promise.resolve();
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const wait = (ms: number) => {
    let timer: NodeJS.Timeout;
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    return Promise.race([over, closed]).finally(() => clearTimeout(timer));
  };
  const say = (reply: string) => {
    if (kind !== 'tarpit') {
      socket.write(`${reply}\r\n`);
      return;
    }
    line = line
      .then(() => wait(TARPIT_MS))
      .then(() => void (socket.writable && socket.write(`${reply}\r\n`)));
  };
  socket.setEncoding('latin1');
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('end', () => socket.end());
  socket.on('data', (chunk: string) => {
    input += chunk;
    while (!socket.destroyed && step()) {
      // One line or one message at a time.
    }
  });
  if (kind === 'banner' && met()) {
    say('554 5.3.2 no service for you now');
    socket.end();
    return;
  }
  say(`220 ${kind}.test ESMTP`);

  function step(): boolean {
    if (inData) {
      const end = input.indexOf('\r\n.\r\n');
      if (end === -1) return false;
      input = input.slice(end + 5);
      inData = false;
      dot();
      return true;
    }
    const end = input.indexOf('\r\n');
    if (end === -1) return false;
    const text = input.slice(0, end);
    input = input.slice(end + 2);
    command(text);
    return true;
  }

  function command(text: string): void {
    switch (text.slice(0, 4).toUpperCase()) {
      case 'EHLO':
        if (kind === 'brokentls') say(`250-${kind}.test\r\n250-PIPELINING\r\n250 STARTTLS`);
        else say(`250-${kind}.test\r\n250-PIPELINING\r\n250 8BITMIME`);
        return;
      case 'STAR':
        say('220 2.0.0 go ahead');
        socket.end('this is no handshake\r\n');
        return;
      case 'MAIL':
        from = /<([^>]*)>/.exec(text)?.[1] ?? '';
        if (kind === 'busy' && met()) {
          say('421 4.3.2 too busy, come back later');
          socket.end();
        } else if (kind === 'garbage' && met()) say('what was that?');
        else say('250 2.1.0 ok');
        return;
      case 'RCPT': {
        known = false;
        recipient = Number(/<r(\d+)@/.exec(text)?.[1] ?? 0);
        if (kind === 'refuse' && met()) say('550 5.1.1 no such user here');
        else if (kind === 'full' && met()) say('452 4.2.2 mailbox full');
        else if (kind === 'greylist' && greylisted(recipient))
          say('451 4.7.1 greylisted, come back in a minute');
        else {
          known = true;
          say('250 2.1.5 ok');
        }
        return;
      }
      case 'DATA':
        inData = known;
        say(known ? '354 go on' : '503 5.5.1 no recipient');
        return;
      case 'QUIT':
        say('221 2.0.0 bye');
        socket.end();
        return;
      default:
        say('250 2.0.0 ok');
    }
  }

  function dot(): void {
    if (kind === 'drop' && met()) {
      socket.resetAndDestroy();
      return;
    }
    taken(kind, recipient, from);
    if (kind === 'lost' && met()) {
      socket.resetAndDestroy();
    } else if (kind === 'hang' && met()) {
      void wait(HANG_MS).then(() => socket.destroy());
      input = '';
      inData = false;
    } else say('250 2.0.0 taken');
  }
}

/** Every second recipient is greylisted once. What was told to come again is forgotten when it did. */
function greylisting(): (recipient: number) => boolean {
  const waiting = new Set<number>();
  return (recipient) => {
    if (recipient % 2 === 1 || waiting.delete(recipient)) return false;
    waiting.add(recipient);
    return true;
  };
}
