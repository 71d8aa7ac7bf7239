/**
 * One connection of an SMTP port: a server session over its socket, which STARTTLS replaces. Takes the socket, inside TLS or not;
 * its input comes in turns of its address, and waits while the session or a handshake does. A peer that does not read its replies
 * is cut off; after the last reply it has a moment to close.
 */
import type { Socket } from 'node:net';
import type { ByteBudget } from '../lib/byte-budget.ts';
import type { Certificates } from '../lib/server-certificates.ts';
import { type HandshakeDeps, handshake } from './server-handshake.ts';
import { createServerSession, type ServerSession } from './server-session.ts';
import type { ServerHandler, ServerLimits, ServerSessionOptions } from './server-types.ts';

/** The handler and options of one connection. */
export interface SessionTerms {
  handler: ServerHandler;
  auth: ServerSessionOptions['auth'];
  limits: ServerLimits;
  /** Whether STARTTLS is offered on a port without implicit TLS; default: yes. */
  startTls?: boolean;
  /** As in `ServerSessionOptions`; default: 2. */
  minLabels?: number;
}

export interface SmtpConnection {
  session: ServerSession;
  /** It must log in and has not, so that another one may have its place. */
  isStranger(): boolean;
  /** It has had time to say whom a message is for, and has none, or one that hardly arrives. */
  isIdle(): boolean;
  /** As the shares of memory and connections are counted. */
  owner(): readonly string[];
  /** As for who has not logged in. */
  network: string;
  destroy(): void;
}

interface ConnectionDeps extends HandshakeDeps {
  certificates: Certificates;
  memory: ByteBudget;
  /** `ownerKey`: the key of its shares while nobody has logged in. */
  peer: { ip: string; ownerKey: string };
}

/** Replies that the peer does not read. */
const MAX_UNSENT_BYTES = 64 * 1024;
/** Four round trips to a far peer. */
const TO_RECIPIENT_MS = 2_000;
/** After the last reply, the peer has this long to close. */
const LINGER_MS = 2_000;

/** The session of one connection, and its socket, which STARTTLS replaces. */
export function openConnection(
  first: Socket,
  secured: boolean,
  deps: ConnectionDeps,
  options: SessionTerms & { hostname: string; dsn: boolean },
  closed: (isGone: boolean) => void,
): SmtpConnection {
  const { clock, log, memory, turn, peer } = deps;
  const { handler, auth, limits, hostname, dsn, startTls = true, minLabels = 2 } = options;
  let socket = first;
  /** TLS gets its input in turns. Behind it each record that waits, also one of an octet, takes 500 octets of memory. */
  let takeTurn = secured ? atOnce : turn;
  let held = true;
  /** A piece of input waits for its turn, or STARTTLS for its handshake. */
  let isPaused = false;
  /** The peer has ended its input, so there is nothing to wait for. */
  let inputEnded = false;
  const idleFromMs = clock.monotonicMs() + TO_RECIPIENT_MS;
  const owner = () => handler.owner?.() ?? [peer.ownerKey];
  const session = createServerSession(
    {
      clock,
      handler,
      connection: {
        write(text) {
          socket.write(text, 'latin1');
          if (socket.writableLength > MAX_UNSENT_BYTES) socket.destroy();
        },
        pause(wait) {
          if (wait === held) return;
          held = wait;
          flow();
        },
        close() {
          closed(false);
          const last = socket;
          last.end(() => {
            if (inputEnded) last.destroy();
          });
          // Further input is read and dropped, so that a reset does not remove the last reply.
          last.removeAllListeners('data');
          last.resume();
          const timer = clock.setTimer(LINGER_MS, () => last.destroy());
          last.once('close', () => timer.cancel());
        },
        startTls() {
          void upgrade();
        },
      },
    },
    {
      ...{ hostname, startTls, secured, auth, dsn, minLabels, limits },
      memory: () => memory.open(owner()),
    },
  );
  listenTo(socket);
  return {
    session,
    owner,
    network: peer.ownerKey,
    isIdle: () => clock.monotonicMs() >= idleFromMs && !session.getsOn(),
    isStranger: () => auth?.required === true && !session.facts().authenticated && !session.isBusy(),
    destroy() {
      session.end();
      socket.destroy();
    },
  };

  function flow(): void {
    if (held || isPaused) socket.pause();
    else socket.resume();
  }

  function take(chunk: Buffer): void {
    let isTaken = false;
    takeTurn(() => {
      isTaken = true;
      const hasWaited = isPaused;
      isPaused = false;
      session.push(chunk);
      if (hasWaited) flow();
    });
    if (isTaken) return;
    isPaused = true;
    flow();
  }

  function ended(): void {
    takeTurn(() => {
      inputEnded = true;
      session.endOfInput();
    });
  }

  function listenTo(stream: Socket): void {
    stream.on('data', take);
    stream.once('end', ended);
    stream.once('close', () => {
      session.end();
      closed(true);
    });
    held = false;
    isPaused = false;
    flow();
  }

  async function upgrade(): Promise<void> {
    const plain = socket;
    // One by one: `removeAllListeners` leaves Node's note that somebody listens, and it would read on.
    plain.off('data', take);
    plain.off('end', ended);
    isPaused = true;
    plain.pause();
    try {
      const context = await deps.certificates.current();
      if (plain.destroyed) return;
      const secure = await handshake(plain, context, deps);
      if (secure === null) return;
      socket = secure;
      takeTurn = atOnce;
      listenTo(socket);
      session.secured();
    } catch (error) {
      log.error({ ip: peer.ip, err: error }, 'STARTTLS failed');
      plain.destroy();
    }
  }
}

function atOnce(work: () => void): void {
  work();
}
