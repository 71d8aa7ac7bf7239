/**
 * TLS on the port of the HTTP listener. The first octet of a connection decides: TLS goes on as HTTP/2 or HTTP/1.1, as the
 * client wants it (ALPN); plain HTTP is for this machine alone (commands, health checks, tunnels), and the listener tells
 * everybody else where to go.
 *
 * Given Fastify's server, which serves HTTP/1.1 with its limits, plain or inside TLS; new connections come here instead.
 * HTTP/2 has many requests on one connection, so it has limits of its own: on streams, of one connection and of one address,
 * on header fields and resets, on connections without a request (RFC 9113 §10.5), and on what waits for a client that allows
 * a large window and reads nothing. A connection that breaks them is closed, a request too many refused; nothing is thrown.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import {
  constants,
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { isLoopbackAddress } from '../../lib/loopback.ts';
import type { Certificates } from '../../lib/server-certificates.ts';
import { beginTls, onFirstOctet, TLS_HANDSHAKE } from '../../lib/server-tls.ts';
import { afterInput } from '../../lib/turns.ts';
import type { ConnectionLimit } from './connection-limit.ts';

export interface SecurePort {
  /** Whether a request came over plain HTTP from another machine. */
  isPlainStranger(request: IncomingMessage): boolean;
  /** Takes no new requests on HTTP/2 connections; each closes after its last answer. */
  drain(): void;
  /** Closes what is still open. */
  destroy(): void;
}

/** `h2`, `http/1.1`, each after its length (RFC 7301 §3.1). */
const PROTOCOLS = Buffer.from('\x02h2\x08http/1.1', 'latin1');
/** As of the parser of HTTP/1.1. */
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_STREAMS = 100;
const MAX_BAD_FRAMES = 100;

/** Takes over new connections of `server`; `handle` is its request handler. */
export function createSecurePort(
  deps: {
    server: Server;
    handle(request: IncomingMessage, response: ServerResponse): void;
    limit: Omit<ConnectionLimit, 'watch' | 'Request'>;
    certificates: Certificates;
    clock: Clock;
    log: Logger;
  },
  options: {
    headersTimeoutMs: number;
    requestTimeoutMs: number;
    keepAliveTimeoutMs: number;
    stalledAnswerMs: number;
    maxConnectionsPerAddress: number;
  },
): SecurePort {
  const { server, clock, log } = deps;
  const open = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  const plainStrangers = new WeakSet<Socket>();
  const serveHttp1 = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', accept);
  /** The TCP connection of the session that is being made. */
  let carrier: Socket | null = null;
  const http2 = createHttp2Server(
    {
      maxSessionInvalidFrames: MAX_BAD_FRAMES,
      maxSessionRejectedStreams: MAX_BAD_FRAMES,
      settings: {
        enablePush: false,
        // A client that knows the limit of its address waits; not all send again what is refused.
        maxConcurrentStreams: Math.min(MAX_STREAMS, options.maxConnectionsPerAddress),
        maxHeaderListSize: MAX_HEADER_BYTES,
      },
    },
    serveHttp2,
  );
  http2.on('session', watch);
  http2.on('sessionError', (err) => log.debug({ err }, 'an HTTP/2 connection failed'));

  return {
    isPlainStranger: ({ socket }) => plainStrangers.has(socket),
    drain() {
      for (const session of sessions) session.close();
    },
    destroy() {
      for (const socket of open) socket.destroy();
    },
  };

  function accept(socket: Socket): void {
    open.add(socket);
    const timer = clock.setTimer(options.headersTimeoutMs, () => socket.destroy());
    socket.once('close', () => {
      timer.cancel();
      open.delete(socket);
    });
    socket.on('error', (err) => log.debug({ err }, 'an HTTP connection failed'));
    onFirstOctet(socket, (first) => {
      if (first === TLS_HANDSHAKE) void secure(socket, timer);
      else {
        timer.cancel();
        if (!isThisMachine(socket)) plainStrangers.add(socket);
        for (const serve of serveHttp1) serve.call(server, socket);
      }
    });
  }

  async function secure(socket: Socket, timer: Timer): Promise<void> {
    const secureContext = await deps.certificates.current();
    if (socket.destroyed) return;
    let isSecured = false;
    const turn = (work: () => void) => {
      const address = socket.remoteAddress ?? '';
      if (isSecured) deps.limit.begin(address, {}, work);
      else deps.limit.shake(address, work);
    };
    // Half-open connections are allowed, so one whose client leaves during the handshake would stay until its time is over.
    const inner = beginTls(socket, clock, { secureContext, ALPNProtocols: PROTOCOLS }, turn, () => {
      isSecured = true;
      timer.cancel();
      // Only a tls.Server clears this timeout, and HTTP/2 would wait for it.
      Object.assign(inner, { secureConnecting: false });
      if (inner.alpnProtocol === 'h2') {
        // The session is made, and watched, before this returns.
        carrier = socket;
        http2.emit('connection', inner);
      } else {
        deps.limit.carries(socket, inner);
        for (const serve of serveHttp1) serve.call(server, inner);
      }
    });
    inner.on('error', (err) => log.debug({ err }, 'a TLS connection failed'));
  }

  /** Ends a session that is idle, or that cancels requests in order to have more at once than it may. */
  function watch(session: ServerHttp2Session): void {
    sessions.add(session);
    const connection = carrier;
    if (connection !== null) closeIfStalled(session, connection, clock, options.stalledAnswerMs);
    let running = 0;
    let begun = 0;
    let idle = clock.setTimer(options.headersTimeoutMs, end);
    session.on('stream', (stream: ServerHttp2Stream) => {
      // No request can be answered within one turn of the event loop. (nghttp2 counts requests that are canceled
      // later.)
      if (begun === 0) {
        clock.setTimer(0, () => {
          begun = 0;
        });
      }
      begun++;
      if (begun > MAX_STREAMS) {
        session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
        return;
      }
      running++;
      idle.cancel();
      if (connection !== null) {
        deps.limit.answers(connection, stream, () => stream.endAfterHeaders || stream.readableEnded);
      }
      // The reader of the body answers with 408 first; this ends a body that nothing reads.
      const late = stream.endAfterHeaders
        ? null
        : clock.setTimer(2 * options.requestTimeoutMs, () => stream.close(constants.NGHTTP2_CANCEL));
      stream.once('end', () => late?.cancel());
      stream.once('close', () => {
        late?.cancel();
        running--;
        if (running === 0 && !session.destroyed) idle = clock.setTimer(options.keepAliveTimeoutMs, end);
      });
    });
    session.once('close', () => {
      idle.cancel();
      sessions.delete(session);
    });

    function end(): void {
      session.close();
      // A client that is sending a header block would keep the session open.
      session.destroy();
    }
  }

  function serveHttp2(request: Http2ServerRequest, response: Http2ServerResponse): void {
    // The request was canceled already: nobody reads the answer.
    const { stream, headers } = request;
    if (stream.destroyed || stream.closed) return;
    if (!deps.limit.takeRequest(stream, request.socket.remoteAddress ?? '')) {
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      return;
    }
    const { ':authority': authority, host } = headers;
    // What everything else reads. A request that names two hosts is refused as one that names none (RFC 9113 §8.3.1).
    if (authority !== undefined && (host === undefined || host === authority)) headers.host = authority;
    else if (authority !== undefined) delete headers.host;
    deps.limit.begin(request.socket.remoteAddress ?? '', headers, () => {
      if (stream.destroyed || stream.closed) return;
      // Node gives both the interface of HTTP/1.1, as far as Fastify and the listener use it, but its types do not say
      // so.
      deps.handle(request as unknown as IncomingMessage, response as unknown as ServerResponse);
    });
  }
}

/**
 * Closes a connection whose client reads nothing: what was handed to TLS before its stream ended stays in memory as long
 * as the connection. It is asked for a sign of life (RFC 9113 §6.7), which waits behind all of that.
 */
function closeIfStalled(session: ServerHttp2Session, socket: Socket, clock: Clock, everyMs: number): void {
  let isAnswered = true;
  let written = 0;
  let timer = clock.setTimer(everyMs, look);
  session.once('close', () => timer.cancel());

  const isStalled = () => !isAnswered && socket.bytesWritten === written;

  function look(): void {
    if (session.destroyed) return;
    if (isStalled()) {
      // After a pause of this process, the answer may have come and not be read yet.
      afterInput(() => {
        if (!isStalled()) return lookAgain();
        session.destroy();
        socket.destroy();
      });
    } else lookAgain();
  }

  function lookAgain(): void {
    if (session.destroyed) return;
    if (isAnswered) {
      isAnswered = false;
      session.ping(() => {
        isAnswered = true;
      });
    }
    written = socket.bytesWritten;
    timer = clock.setTimer(everyMs, look);
  }
}

/** A connection of this machine: from loopback, or from the address that it leads to. */
function isThisMachine({ remoteAddress = '', localAddress }: Socket): boolean {
  return isLoopbackAddress(remoteAddress) || (remoteAddress !== '' && remoteAddress === localAddress);
}
