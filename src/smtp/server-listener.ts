/**
 * Ports that speak SMTP: sockets, TLS and limits around server sessions, shared by both SMTP listeners. Each port
 * begins without TLS and offers STARTTLS unless configured otherwise, or begins with TLS (RFC 8314). Takes a
 * certificate and, for each connection, a handler and its options; returns a `Service`. Limited are connections in
 * total and per address, the memory of arriving messages, unread input, and output that the peer does not read; nobody
 * can have all of it. Input and handshakes that come at once are taken in turns of their addresses. While stopping, messages
 * that are arriving are finished; all other peers get a 421.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { createByteBudget } from '../lib/byte-budget.ts';
import { atMost, type Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { plainIp } from '../lib/loopback.ts';
import type { Certificates } from '../lib/server-certificates.ts';
import type { Service } from '../lib/service.ts';
import { createTally } from '../lib/tally.ts';
import { createFairTurns } from '../lib/turns.ts';
import { openConnection, type SessionTerms, type SmtpConnection } from './server-connection.ts';
import { handshake, MAX_AHEAD_BYTES } from './server-handshake.ts';
import { lastReply, REPLIES } from './server-reply.ts';

interface SmtpPorts extends Service {
  /** The real addresses of the ports in the given order; after `start()`. */
  addresses(): readonly ListenAddress[];
}

export interface ListenAddress {
  host: string;
  port: number;
}

interface SmtpPort extends ListenAddress {
  /** The connection begins with TLS. */
  implicitTls: boolean;
}

interface SmtpPortsDeps {
  clock: Clock;
  /** The service log. */
  log: Logger;
  certificates: Certificates;
  /** `connections`: open connections of the peer, including this one. */
  terms(peer: { ip: string; connections: number }): SessionTerms;
  /** The key under which the connections of a peer are counted. */
  peerKey(ip: string): string;
  /** The key of the shares of who has not logged in. */
  ownerKey(ip: string): string;
}

interface SmtpPortsOptions {
  /** Port 0 = any free port. */
  ports: readonly SmtpPort[];
  hostname: string;
  maxConnections: number;
  maxConnectionsPerAddress: number;
  /** Octets that all arriving messages may hold together. */
  maxMemoryBytes: number;
  /** DSN (RFC 3461) is offered; default: no. */
  dsn?: boolean;
}

/** A network that lost a place takes none for this time, or those that connect again at once would leave no time to anybody. */
const LOST_MS = 30_000;

/** Nothing listens before `start()`, which rejects if a port is in use. */
export function createSmtpPorts(deps: SmtpPortsDeps, options: SmtpPortsOptions): SmtpPorts {
  const { clock, log, certificates } = deps;
  const servers: Server[] = [];
  const connections = new Set<SmtpConnection>();
  /** Connections that have not been greeted yet. */
  const arriving = new Set<Socket>();
  const perAddress = createTally();
  /** Networks that lost a place to another one, and until when that counts, the earliest first. */
  const lost = new Map<string, number>();
  const memory = createByteBudget(options.maxMemoryBytes);
  const turns = createFairTurns(clock);
  /** Apart, so that who is connected does not wait for all who want to be. */
  const handshakes = createFairTurns(clock);
  let sockets = 0;
  let stopping = false;
  let onEmpty: (() => void) | null = null;
  const listening: ListenAddress[] = [];

  return {
    async start() {
      try {
        for (const port of options.ports) listening.push(await listen(port, port.implicitTls));
      } catch (cause) {
        for (const server of servers) server.close();
        throw cause;
      }
    },
    async stop(deadlineMs) {
      stopping = true;
      const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)));
      for (const socket of arriving) socket.destroy();
      for (const { session } of connections) session.shutdown();
      if (sockets > 0)
        await atMost(
          clock,
          deadlineMs,
          new Promise<void>((resolve) => {
            onEmpty = resolve;
          }),
        );
      for (const connection of connections) connection.destroy();
      await Promise.all(closed);
    },
    addresses: () => listening,
  };

  async function listen(at: ListenAddress, implicitTls: boolean): Promise<ListenAddress> {
    const server = createServer(
      { allowHalfOpen: true, pauseOnConnect: true, noDelay: true, highWaterMark: MAX_AHEAD_BYTES },
      (socket) => {
        turns.arrived();
        handshakes.arrived();
        void accept(socket, implicitTls);
      },
    );
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
    const turn = (work: () => void) => turns(key, work);
    const handshakeTurn = (work: () => void) => handshakes(key, work);
    const terms = () => deps.terms({ ip, connections: sockets });
    perAddress.add(key, 1);
    sockets += 1;
    arriving.add(socket);
    socket.once('close', () => {
      arriving.delete(socket);
      sockets -= 1;
      perAddress.add(key, -1);
      if (sockets === 0) onEmpty?.();
    });
    socket.on('error', (error) => log.debug({ ip, err: error }, 'an SMTP connection failed'));
    const refusal = refusalFor(perAddress.of(key), deps.ownerKey(ip));
    if (refusal !== null && implicitTls) {
      socket.destroy();
      return;
    }
    try {
      // Loaded before the greeting, so that the handshake need not wait for it.
      const context = await certificates.current();
      if (socket.destroyed) return;
      if (!implicitTls) serve(socket, false);
      else {
        const secure = await handshake(socket, context, { clock, log, turn, handshakeTurn }, () => {
          if (!stopping) terms().handler.onRefused?.('connection', REPLIES.notTls, null);
        });
        if (secure !== null) serve(secure, true);
      }
    } catch (error) {
      log.error({ ip, err: error }, 'an SMTP connection could not be served');
      socket.destroy();
    }

    function serve(first: Socket, secured: boolean): void {
      const connection = openConnection(
        first,
        secured,
        { clock, log, certificates, memory, turn, handshakeTurn, peer: { ip, ownerKey: deps.ownerKey(ip) } },
        { ...terms(), hostname: options.hostname, dsn: options.dsn === true },
        (isGone) => {
          connections.delete(connection);
          if (isGone) socket.destroy();
        },
      );
      arriving.delete(socket);
      connections.add(connection);
      connection.session.start(stopping ? REPLIES.stopping : (refusal ?? undefined));
    }
  }

  function refusalFor(fromThere: number, network: string) {
    // First, so that who is refused for it takes nobody's place.
    if (fromThere > options.maxConnectionsPerAddress) {
      return lastReply(421, '4.7.0', 'Too many connections from your address');
    }
    if (sockets > options.maxConnections && (hasLost(network) || !makeRoomFor(network)))
      return lastReply(421, '4.7.0', 'Too many connections; try again soon');
    return null;
  }

  /**
   * Ends the oldest connection without a login, or the oldest handshake: nothing tells a silent stranger from a slow one but
   * time. If there is neither, one of who has most.
   */
  function makeRoomFor(network: string): boolean {
    const silent = [...connections].find((connection) => connection.isStranger());
    // The last one is the one that wants its place.
    const [oldest] = arriving;
    if (silent === undefined && oldest !== undefined && arriving.size > 1) {
      loses(deps.ownerKey(plainIp(oldest.remoteAddress ?? '')), network);
      oldest.destroy();
      return true;
    }
    const one = silent ?? oldestOfMost(connections);
    if (one === null) return false;
    connections.delete(one);
    loses(one.network, network);
    one.destroy();
    return true;
  }

  function loses(network: string, to: string): void {
    if (network === to) return;
    lost.delete(network);
    lost.set(network, clock.monotonicMs() + LOST_MS);
  }

  function hasLost(network: string): boolean {
    for (const [early, untilMs] of lost) {
      if (untilMs > clock.monotonicMs()) break;
      lost.delete(early);
    }
    return lost.has(network);
  }
}

/** Idle ones first, as nothing is lost with them. Those that are being answered stay: their message may be stored already, and would be sent again. */
function oldestOfMost(connections: ReadonlySet<SmtpConnection>): SmtpConnection | null {
  const owners = new Map([...connections].map((connection) => [connection, connection.owner()]));
  const counts = createTally();
  for (const names of owners.values()) for (const name of names) counts.add(name, 1);
  let found: SmtpConnection | null = null;
  let most = 0;
  for (const [connection, names] of owners) {
    const rank = 2 * Math.max(...names.map(counts.of)) + (connection.isIdle() ? 1 : 0);
    if (rank <= most || connection.session.isAnswering()) continue;
    found = connection;
    most = rank;
  }
  return found;
}
