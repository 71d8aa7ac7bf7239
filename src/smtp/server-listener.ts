/**
 * Ports that speak SMTP: sockets, TLS and limits around server sessions, shared by both SMTP listeners. Each port begins
 * in the clear and offers STARTTLS unless told not to, or begins with TLS (RFC 8314). Given a certificate and, for each connection, a
 * handler and its options; leaves a `Service`. Bounded: connections in all and per address, what is read ahead, what is
 * written and not taken. While stopping, messages that are arriving are finished, everybody else is told 421.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Service } from '../lib/loop.ts';
import type { Certificates } from './server-certificates.ts';
import type { DataMemory } from './server-data.ts';
import { lastReply } from './server-reply.ts';
import { createServerSession, type ServerSession } from './server-session.ts';
import type { ServerHandler, ServerLimits, ServerSessionOptions, TlsFacts } from './server-types.ts';

export interface SmtpPorts extends Service {
  /** Where the ports really are, in the order they were given; after `start()`. */
  addresses(): readonly ListenAddress[];
}

export interface ListenAddress {
  host: string;
  port: number;
}

export interface SmtpPort extends ListenAddress {
  /** It begins with TLS. */
  implicitTls: boolean;
}

/** What one connection brings: who answers, and on what terms. */
export interface SessionTerms {
  handler: ServerHandler;
  auth: ServerSessionOptions['auth'];
  limits: ServerLimits;
  /** STARTTLS is offered on a port that begins in the clear; left out: yes. */
  startTls?: boolean;
  /** As in `ServerSessionOptions`; left out: 2. */
  minLabels?: number;
}

export interface SmtpPortsDeps {
  clock: Clock;
  /** The service log. */
  log: Logger;
  certificates: Certificates;
  /** `connections`: open now, this one included. */
  terms(peer: { ip: string; connections: number }): SessionTerms;
  /** Addresses that count as one peer have one key. */
  peerKey(ip: string): string;
}

export interface SmtpPortsOptions {
  /** Port 0 = any free one. */
  ports: readonly SmtpPort[];
  hostname: string;
  maxConnections: number;
  maxConnectionsPerAddress: number;
  /** Octets that arriving messages may hold together. */
  maxMemoryBytes: number;
  /** DSN (RFC 3461) is offered; left out: no. */
  dsn?: boolean;
}

interface Connection {
  session: ServerSession;
  destroy(): void;
}

const HANDSHAKE_MS = 30_000;
/** Replies the peer does not take. */
const MAX_UNSENT_BYTES = 64 * 1024;
/** After the last reply the peer closes, or is closed. */
const LINGER_MS = 2_000;

/** Nothing listens before `start()`; a port that is taken rejects it. */
export function createSmtpPorts(deps: SmtpPortsDeps, options: SmtpPortsOptions): SmtpPorts {
  const { clock, log, certificates } = deps;
  const servers: Server[] = [];
  const connections = new Set<Connection>();
  /** Connections that are not greeted yet. */
  const arriving = new Set<Socket>();
  const perAddress = new Map<string, number>();
  const memory = sharedMemory(options.maxMemoryBytes);
  let sockets = 0;
  let stopping = false;
  let onEmpty: (() => void) | null = null;
  const listening: ListenAddress[] = [];

  return {
    async start() {
      for (const port of options.ports) listening.push(await listen(port, port.implicitTls));
    },
    async stop(deadlineMs) {
      stopping = true;
      const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)));
      for (const socket of arriving) socket.destroy();
      for (const { session } of connections) session.shutdown();
      if (sockets > 0) await untilEmpty(deadlineMs);
      for (const connection of connections) connection.destroy();
      await Promise.all(closed);
    },
    addresses: () => listening,
  };

  async function listen(at: ListenAddress, implicitTls: boolean): Promise<ListenAddress> {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (socket) => {
      void accept(socket, implicitTls);
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(at.port, at.host, () => {
        server.off('error', reject);
        resolve();
      });
    });
    server.on('error', (error) => log.error({ err: error }, 'an SMTP listener failed'));
    servers.push(server);
    const address = server.address();
    if (address === null || typeof address === 'string') throw new TypeError('expected a TCP address');
    return { host: at.host, port: address.port };
  }

  async function accept(socket: Socket, implicitTls: boolean): Promise<void> {
    const ip = plainIp(socket.remoteAddress ?? '');
    const key = deps.peerKey(ip);
    const fromThere = (perAddress.get(key) ?? 0) + 1;
    perAddress.set(key, fromThere);
    sockets += 1;
    arriving.add(socket);
    socket.once('close', () => {
      arriving.delete(socket);
      sockets -= 1;
      const left = (perAddress.get(key) ?? 1) - 1;
      if (left === 0) perAddress.delete(key);
      else perAddress.set(key, left);
      if (sockets === 0) onEmpty?.();
    });
    socket.on('error', (error) => log.debug({ ip, err: error }, 'an SMTP connection failed'));
    const refusal = refusalFor(fromThere);
    if (refusal !== null && implicitTls) {
      socket.destroy();
      return;
    }
    try {
      // Looked at before the greeting, so that the handshake has it at hand.
      const context = await certificates.current();
      if (socket.destroyed) return;
      if (!implicitTls) serve(socket, null);
      else {
        const secure = await handshake(socket, context);
        if (secure !== null) serve(secure.socket, secure.facts);
      }
    } catch (error) {
      log.error({ ip, err: error }, 'an SMTP connection could not be served');
      socket.destroy();
    }

    function serve(first: Socket, tls: TlsFacts | null): void {
      const connection = attach(first, ip, tls, (refused) => {
        connections.delete(connection);
        if (refused) socket.destroy();
      });
      arriving.delete(socket);
      connections.add(connection);
      connection.session.start(stopping ? STOPPING : (refusal ?? undefined));
    }
  }

  function refusalFor(fromThere: number) {
    if (sockets > options.maxConnections)
      return lastReply(421, '4.7.0', 'Too many connections; try again soon');
    if (fromThere > options.maxConnectionsPerAddress) {
      return lastReply(421, '4.7.0', 'Too many connections from your address');
    }
    return null;
  }

  /** The session of one connection, and its socket, which STARTTLS exchanges for another. */
  function attach(
    first: Socket,
    ip: string,
    tls: TlsFacts | null,
    closed: (gone: boolean) => void,
  ): Connection {
    let socket = first;
    let held = true;
    /** The peer sends no more, so there is nothing to linger for. */
    let inputEnded = false;
    const {
      handler,
      auth,
      limits,
      startTls = true,
      minLabels = 2,
    } = deps.terms({ ip, connections: sockets });
    const session = createServerSession(
      {
        clock,
        handler,
        connection: {
          write(text) {
            socket.write(text, 'latin1');
            if (socket.writableLength > MAX_UNSENT_BYTES) socket.destroy();
          },
          hold(wait) {
            if (wait === held) return;
            held = wait;
            if (wait) socket.pause();
            else socket.resume();
          },
          close() {
            closed(false);
            const last = socket;
            last.end(() => {
              if (inputEnded) last.destroy();
            });
            // Whatever is still sent is taken and forgotten, so that the last reply is not lost to a reset.
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
        hostname: options.hostname,
        startTls,
        tls,
        auth,
        dsn: options.dsn === true,
        minLabels,
        memory,
        limits,
      },
    );
    listenTo(socket);
    return {
      session,
      destroy() {
        session.end();
        socket.destroy();
      },
    };

    function listenTo(stream: Socket): void {
      stream.on('data', (chunk: Buffer) => session.push(chunk));
      stream.once('end', () => {
        inputEnded = true;
        session.endOfInput();
      });
      stream.once('close', () => {
        session.end();
        closed(true);
      });
      held = false;
      stream.resume();
    }

    async function upgrade(): Promise<void> {
      const plain = socket;
      plain.removeAllListeners('data');
      plain.removeAllListeners('end');
      plain.pause();
      try {
        const secure = await handshake(plain, await certificates.current());
        if (secure === null) return;
        socket = secure.socket;
        listenTo(socket);
        session.secured(secure.facts);
      } catch (error) {
        log.error({ ip, err: error }, 'STARTTLS failed');
        plain.destroy();
      }
    }
  }

  /** TLS over a paused socket; null where it fails, and the socket is gone then. */
  function handshake(
    plain: Socket,
    secureContext: Awaited<ReturnType<Certificates['current']>>,
  ): Promise<{ socket: TLSSocket; facts: TlsFacts } | null> {
    return new Promise((resolve) => {
      const socket = new TLSSocket(plain, { isServer: true, secureContext });
      const timer = clock.setTimer(HANDSHAKE_MS, () => socket.destroy());
      socket.on('error', (error) => log.debug({ err: error }, 'a TLS connection failed'));
      socket.once('close', () => {
        timer.cancel();
        plain.destroy();
        resolve(null);
      });
      // Read on, or a peer that leaves now is never missed; nothing is lost, there is no data before `secure`.
      const left = () => socket.destroy();
      socket.once('end', left);
      socket.resume();
      socket.once('secure', () => {
        timer.cancel();
        socket.off('end', left);
        socket.pause();
        const { name } = socket.getCipher();
        resolve({ socket, facts: { protocol: socket.getProtocol() ?? 'TLS', cipher: name } });
      });
    });
  }

  function untilEmpty(deadlineMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = clock.setTimer(deadlineMs, resolve);
      onEmpty = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}

function sharedMemory(maxBytes: number): DataMemory {
  let left = maxBytes;
  return {
    take(bytes) {
      if (bytes > left) return false;
      left -= bytes;
      return true;
    },
    give(bytes) {
      left += bytes;
    },
  };
}

const STOPPING = lastReply(421, '4.3.2', 'The server is stopping; try again soon');

/** IPv4 addresses of a dual-stack socket come in IPv6 clothes. */
function plainIp(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}
