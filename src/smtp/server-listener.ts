/**
 * Ports that speak SMTP: sockets, TLS and limits around server sessions, shared by both SMTP listeners. Each port
 * begins without TLS and offers STARTTLS unless configured otherwise, or begins with TLS (RFC 8314). Takes a
 * certificate and, for each connection, a handler and its options; returns a `Service`. Limited are connections in
 * total and per address, the memory of arriving messages, unread input, and output that the peer does not read; nobody
 * can have all of it. Input and handshakes that come at once are taken in turns of their addresses. While stopping, messages
 * that are arriving are finished; all other peers get a 421.
 */
import { createServer, type Server, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { createByteBudget } from '../lib/byte-budget.ts';
import { atMost, type Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { plainIp } from '../lib/loopback.ts';
import type { Certificates } from '../lib/server-certificates.ts';
import { beginTls } from '../lib/server-tls.ts';
import type { Service } from '../lib/service.ts';
import { createTally } from '../lib/tally.ts';
import { createFairTurns } from '../lib/turns.ts';
import { formatReply, lastReply, REPLIES } from './server-reply.ts';
import { createServerSession, type ServerSession } from './server-session.ts';
import type { ServerHandler, ServerLimits, ServerSessionOptions, TlsFacts } from './server-types.ts';

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

/** The handler and options of one connection. */
interface SessionTerms {
  handler: ServerHandler;
  auth: ServerSessionOptions['auth'];
  limits: ServerLimits;
  /** Whether STARTTLS is offered on a port without implicit TLS; default: yes. */
  startTls?: boolean;
  /** As in `ServerSessionOptions`; default: 2. */
  minLabels?: number;
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

interface Connection {
  session: ServerSession;
  /** It must log in and has not, so that another one may have its place. */
  isStranger(): boolean;
  /** As the shares of memory and connections are counted. */
  owner(): readonly string[];
  destroy(): void;
}

const HANDSHAKE_MS = 30_000;
/** Who says nothing in this time waits for a greeting without TLS; who only looks whether the port is open is gone by then. */
const AWAITS_GREETING_MS = 5_000;
/** Who has said nothing by then is told why there is no greeting: before common clients give up waiting for one (30 s). */
const TELL_SILENT_MS = 20_000;
/** What OpenSSL calls a beginning that is no record of TLS. */
const NO_TLS = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_HTTP_REQUEST',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
]);
/** What a connection reads ahead while its session waits. Each piece that comes, also one of an octet, takes 400 octets of memory. */
const MAX_AHEAD_BYTES = 1024;
/** Replies that the peer does not read. */
const MAX_UNSENT_BYTES = 64 * 1024;
/** After the last reply, the peer has this long to close. */
const LINGER_MS = 2_000;

/** Nothing listens before `start()`, which rejects if a port is in use. */
export function createSmtpPorts(deps: SmtpPortsDeps, options: SmtpPortsOptions): SmtpPorts {
  const { clock, log, certificates } = deps;
  const servers: Server[] = [];
  const connections = new Set<Connection>();
  /** Connections that have not been greeted yet. */
  const arriving = new Set<Socket>();
  const perAddress = createTally();
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
    const refusal = refusalFor(perAddress.of(key));
    if (refusal !== null && implicitTls) {
      socket.destroy();
      return;
    }
    try {
      // Loaded before the greeting, so that the handshake need not wait for it.
      const context = await certificates.current();
      if (socket.destroyed) return;
      if (!implicitTls) serve(socket, null);
      else {
        const speaksNone = () =>
          deps.terms({ ip, connections: sockets }).handler.onRefused?.('connection', REPLIES.notTls, null);
        const secure = await handshake(socket, key, context, speaksNone);
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
      connection.session.start(stopping ? REPLIES.stopping : (refusal ?? undefined));
    }
  }

  function refusalFor(fromThere: number) {
    // First, so that who is refused for it takes nobody's place.
    if (fromThere > options.maxConnectionsPerAddress) {
      return lastReply(421, '4.7.0', 'Too many connections from your address');
    }
    if (sockets > options.maxConnections && !makeRoom())
      return lastReply(421, '4.7.0', 'Too many connections; try again soon');
    return null;
  }

  /**
   * Ends the oldest connection without a login, or the oldest handshake: nothing tells a silent stranger from a slow one but
   * time. If there is neither, the oldest one of who has most.
   */
  function makeRoom(): boolean {
    const silent = [...connections].find((connection) => connection.isStranger());
    // The last one is the one that wants its place.
    const [oldest] = arriving;
    if (silent === undefined && oldest !== undefined && arriving.size > 1) {
      oldest.destroy();
      return true;
    }
    const one = silent ?? oldestOfMost();
    if (one === null) return false;
    connections.delete(one);
    one.destroy();
    return true;
  }

  /** Those that are being answered stay: their message may be stored already, and would be sent again. */
  function oldestOfMost(): Connection | null {
    const owners = new Map([...connections].map((connection) => [connection, connection.owner()]));
    const counts = createTally();
    for (const names of owners.values()) for (const name of names) counts.add(name, 1);
    let found: Connection | null = null;
    let most = 0;
    for (const [connection, names] of owners) {
      const has = Math.max(...names.map(counts.of));
      if (has <= most || connection.session.isAnswering()) continue;
      found = connection;
      most = has;
    }
    return found;
  }

  /** The session of one connection, and its socket, which STARTTLS replaces. */
  function attach(
    first: Socket,
    ip: string,
    tls: TlsFacts | null,
    closed: (gone: boolean) => void,
  ): Connection {
    const peer = deps.peerKey(ip);
    let socket = first;
    /** TLS gets its input in turns. Behind it each record that waits, also one of an octet, takes 500 octets of memory. */
    let takeTurn = tls === null ? inTurn : atOnce;
    let held = true;
    /** A piece of input waits for its turn, or STARTTLS for its handshake. */
    let isPaused = false;
    /** The peer has ended its input, so there is nothing to wait for. */
    let inputEnded = false;
    const {
      handler,
      auth,
      limits,
      startTls = true,
      minLabels = 2,
    } = deps.terms({ ip, connections: sockets });
    const owner = () => handler.owner?.() ?? [deps.ownerKey(ip)];
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
        hostname: options.hostname,
        startTls,
        tls,
        auth,
        dsn: options.dsn === true,
        minLabels,
        memory: () => memory.open(owner()),
        limits,
      },
    );
    listenTo(socket);
    return {
      session,
      owner,
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

    function inTurn(work: () => void): void {
      turns(peer, work);
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
        const secure = await handshake(plain, peer, await certificates.current());
        if (secure === null) return;
        socket = secure.socket;
        takeTurn = atOnce;
        listenTo(socket);
        session.secured(secure.facts);
      } catch (error) {
        log.error({ ip, err: error }, 'STARTTLS failed');
        plain.destroy();
      }
    }
  }

  /**
   * TLS over a paused socket, when it is the turn of `peer`; null if it fails, and the socket is destroyed then. `speaksNone`:
   * the peer began without.
   */
  function handshake(
    plain: Socket,
    peer: string,
    secureContext: Awaited<ReturnType<Certificates['current']>>,
    speaksNone?: () => void,
  ): Promise<{ socket: TLSSocket; facts: TlsFacts } | null> {
    return new Promise((resolve) => {
      const timer = clock.setTimer(HANDSHAKE_MS, () => plain.destroy());
      const silent = clock.setTimer(TELL_SILENT_MS, () => {
        if (plain.bytesRead > 0) return;
        plain.write(formatReply(REPLIES.notTls));
        plain.destroySoon();
      });
      const beganMs = clock.monotonicMs();
      let isDone = false;
      let isNone = false;
      plain.once('close', () => {
        timer.cancel();
        silent.cancel();
        const isSilent = plain.bytesRead === 0 && clock.monotonicMs() - beganMs >= AWAITS_GREETING_MS;
        if (!isDone && !stopping && (isNone || isSilent)) speaksNone?.();
        resolve(null);
      });
      const take = (work: () => void) => (isDone ? turns : handshakes)(peer, work);
      const socket = beginTls(plain, { secureContext, highWaterMark: MAX_AHEAD_BYTES }, take, () => {
        isDone = true;
        timer.cancel();
        silent.cancel();
        socket.pause();
        const { name } = socket.getCipher();
        resolve({ socket, facts: { protocol: socket.getProtocol() ?? 'TLS', cipher: name } });
      });
      socket.on('error', (error: NodeJS.ErrnoException) => {
        isNone ||= !isDone && NO_TLS.has(error.code ?? '');
        log.debug({ err: error }, 'a TLS connection failed');
      });
      // It must be read, or a peer that closes now is not noticed; there is no data before it is secure.
      socket.resume();
    });
  }
}

function atOnce(work: () => void): void {
  work();
}
