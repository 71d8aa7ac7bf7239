/**
 * Limits how many connections the HTTP port has, in all, from one address, and from one site of IPv6 (at most half): each
 * takes an open file, and delivery needs some too. A connection over the limit of its address or site is closed at once,
 * before anything is read. Where all are in use, the oldest of who has most are closed for it, except those whose request is
 * being answered: what it asked for may be done already. Requests of HTTP/2 that run at once, which one connection has many
 * of, have the same limits: each takes memory for as long as its client likes. Proxies that the operator trusts have no limit
 * of their own, since they speak for many, and none of theirs is closed for another. Requests and input of TLS that come at
 * once are taken in turns of their addresses, handshakes in turns of their own.
 */
import type { EventEmitter } from 'node:events';
import { IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { forwardedIp, plainIp } from '../../lib/loopback.ts';
import { createRateGate } from '../../lib/rate-gate.ts';
import { createTally, type Tally } from '../../lib/tally.ts';
import { createFairTurns, type FairTurns, nextTurn } from '../../lib/turns.ts';
import { addressKey, networkKey } from '../../policy/access/failed-logins.ts';
import { createIpMatcher } from '../../policy/access/ip-allow-list.ts';

const TOLD_EVERY_MS = 60_000;
/** So many are closed at once, of as many as there may be: to find whom is a look at all of them. */
const CLOSED_PART = 1 / 100;

/**
 * Requests of HTTP/1.1 that one connection may have sent without having their answers. All that come in one piece are read in
 * one turn of the event loop, and 64 KiB of them took a tenth of a second; one new connection is taken in each turn.
 */
const MAX_PIPELINED = 20;

/**
 * A body may come in chunks of one octet, of which a reading of 64 KiB has 11,000 and takes some 30 ms. After so many small ones its
 * connection rests, and of all that rest one is read at a time, so that there is time for others between two of them.
 */
const SMALL_CHUNK_BYTES = 64;
const SMALL_CHUNKS = 1_000;
const RESTS_ENDED_PER_SECOND = 10;

/** A larger body is not read behind the last answer of its connection (`endsAfter`), and none for longer. */
const LEFT_BYTES = 64 * 1024 * 1024;
const LEFT_MS = 30_000;

type Counted = 'connections' | 'requests';

interface Connection {
  /** As they are counted. */
  names: readonly string[];
  /** The answers that are being made, and whether all of the request has come. */
  running: Map<Writable, () => boolean>;
  /** Its last answer is being sent: no further request is begun. */
  isEnding: boolean;
}

export interface ConnectionLimit {
  /** The class of requests of HTTP/1.1: one too many ends its connection, and nothing behind it is read. */
  Request: typeof IncomingMessage;
  /** Call it after all other listeners of `server` are in place. */
  watch(server: Server): void;
  /** Requests of HTTP/1.1 that come by `inner` are those of the connection `socket`. */
  carries(socket: Socket, inner: Socket): void;
  /**
   * The answer to this request of HTTP/1.1 is the last of its connection. What the client still sends of the body is read and
   * dropped before it closes: closed with octets unread it would be reset, and the client could lose the answer (RFC 9112
   * §9.6). A client that reads only after it has sent all would be told of a broken pipe. Chunks are not read: tiny ones cost
   * much, and Node passes over all of them in one go.
   */
  endsAfter(request: IncomingMessage): void;
  /** A request of `socket` is being answered until `answer` closes, from when it `isWhole`. */
  answers(socket: Socket, answer: Writable, isWhole: () => boolean): void;
  /** Reads input of a TLS handshake when it is the turn of its address. */
  shake(address: string, work: () => void): void;
  /** Reads other input of TLS, or begins a request with these headers, when it is the turn of its address. */
  begin(address: string, headers: IncomingMessage['headers'], work: () => void): void;
  /** Whether a client may have one more request of HTTP/2; it counts until `stream` closes. */
  takeRequest(stream: EventEmitter, address: string): boolean;
}

export function createConnectionLimit(
  deps: { clock: Clock; log: Logger; turns: FairTurns },
  options: { maxConnections: number; maxConnectionsPerAddress: number; trustedProxies: readonly string[] },
): ConnectionLimit {
  const { clock, log, turns } = deps;
  const { maxConnections, maxConnectionsPerAddress: mostOfOne, trustedProxies } = options;
  const mostOfNetwork = Math.max(mostOfOne, Math.floor(maxConnections / 2));
  const speaksForMany = trustedProxies.length === 0 ? () => false : createIpMatcher(trustedProxies);
  const open = new Map<Socket, Connection>();
  const carriers = new WeakMap<Socket, Socket>();
  const connections = createTally();
  const requests = createTally();
  /** Apart, so that who is connected does not wait for all who want to be. */
  const handshakes = createFairTurns(clock);
  let requestsInAll = 0;
  let toldAtMs = Number.NEGATIVE_INFINITY;
  const rests = createRateGate(RESTS_ENDED_PER_SECOND, 1);

  /**
   * Node stops to read behind a CONNECT, and only there: behind the end of the connection it would make all requests that have
   * come, and an error with a stack for each.
   */
  class Request extends IncomingMessage {
    private smallChunks = 0;
    private isResting = false;

    constructor(inner: Socket) {
      super(inner);
      const carrier = carriers.get(inner) ?? inner;
      if ((open.get(carrier)?.running.size ?? 0) < MAX_PIPELINED) return;
      tell(carrier.remoteAddress ?? '', 'requests', `one connection has ${MAX_PIPELINED} already`);
      const always = (value: unknown) => ({ get: () => value, set: () => {} });
      Object.defineProperties(this, { upgrade: always(true), method: always('CONNECT') });
    }

    override push(chunk: Uint8Array | null, encoding?: BufferEncoding): boolean {
      const takesMore = super.push(chunk, encoding);
      if (chunk === null || chunk.length > SMALL_CHUNK_BYTES) return takesMore;
      this.smallChunks++;
      if (this.smallChunks === SMALL_CHUNKS) void this.rest();
      return takesMore && !this.isResting;
    }

    override _read(size: number): void {
      if (!this.isResting) super._read(size);
    }

    private async rest(): Promise<void> {
      this.isResting = true;
      await nextTurn();
      const nowMs = clock.monotonicMs();
      rests.take(nowMs);
      clock.setTimer(rests.waitMs(nowMs), () => {
        this.smallChunks = 0;
        this.isResting = false;
        super._read(0);
      });
    }
  }

  return {
    Request,
    watch(server) {
      server.prependListener('connection', (socket: Socket) => {
        turns.arrived();
        handshakes.arrived();
        const ip = socket.remoteAddress ?? '';
        // First, so that who has too many takes nobody's place.
        if (!count(connections, socket, ip, 'connections') || !hasRoom(ip)) {
          socket.destroy();
          return;
        }
        open.set(socket, { names: namesOf(plainIp(ip)), running: new Map(), isEnding: false });
        socket.once('close', () => open.delete(socket));
      });
      const handlers = server.listeners('request') as ((...given: unknown[]) => void)[];
      server.removeAllListeners('request');
      server.on('request', (request: IncomingMessage, response: ServerResponse) => {
        const carrier = carriers.get(request.socket) ?? request.socket;
        if (open.get(carrier)?.isEnding === true) return;
        answers(carrier, response, () => request.complete);
        begin(carrier.remoteAddress ?? '', request.headers, () => {
          if (carrier.destroyed || response.closed) return;
          for (const handle of handlers) handle.call(server, request, response);
        });
      });
      // From here on Node does not tell the answers before it that the connection has closed.
      server.on('connect', ({ socket }: IncomingMessage) => {
        for (const answer of open.get(carriers.get(socket) ?? socket)?.running.keys() ?? []) answer.destroy();
        socket.destroy();
      });
    },
    carries: (socket, inner) => carriers.set(inner, socket),
    endsAfter(request) {
      const { socket } = request;
      const connection = open.get(carriers.get(socket) ?? socket);
      const isBounded = Number(request.headers['content-length']) <= LEFT_BYTES;
      if (connection === undefined || connection.isEnding || !isBounded) return;
      connection.isEnding = true;
      const close = socket.destroySoon.bind(socket);
      // Node calls it when the answer has been sent.
      socket.destroySoon = () => {
        if (request.readableEnded || request.destroyed) return close();
        socket.end();
        const timer = clock.setTimer(LEFT_MS, close);
        const end = (): void => {
          timer.cancel();
          close();
        };
        request.once('end', end);
        socket.once('close', end);
      };
    },
    answers,
    shake: (address, work) => handshakes(addressKey(plainIp(address)), work),
    begin,
    takeRequest(stream, address) {
      requestsInAll++;
      stream.once('close', () => {
        requestsInAll--;
      });
      const hasPlace = count(requests, stream, address, 'requests');
      if (requestsInAll <= maxConnections) return hasPlace;
      tell(address, 'requests', `all ${maxConnections} are in use`);
      return false;
    },
  };

  function answers(socket: Socket, answer: Writable, isWhole: () => boolean): void {
    const running = open.get(socket)?.running;
    running?.set(answer, isWhole);
    answer.on('close', () => running?.delete(answer));
  }

  function begin(address: string, headers: IncomingMessage['headers'], work: () => void): void {
    let client = plainIp(address);
    const named = String(headers['x-forwarded-for'] ?? '');
    // A proxy names last whom it speaks for, which may be another proxy.
    for (let end = named.length; end > 0 && speaksForMany(client); ) {
      const comma = named.lastIndexOf(',', end - 1);
      client = forwardedIp(named.slice(comma + 1, end).trim()) ?? '';
      end = comma;
    }
    turns(addressKey(client), work);
  }

  /** Whether there is a place for one more, which others may have to leave. */
  function hasRoom(ip: string): boolean {
    if (open.size < maxConnections) return true;
    tell(ip, 'connections', `all ${maxConnections} are in use`);
    for (const socket of oldestOfMost(Math.ceil(maxConnections * CLOSED_PART))) {
      open.delete(socket);
      socket.destroy();
    }
    return open.size < maxConnections;
  }

  function oldestOfMost(atMost: number): readonly Socket[] {
    let found: Socket[] = [];
    let most = 1;
    for (const [socket, { names, running }] of open) {
      const has = Math.max(...names.map(connections.of));
      if (has < most || (has === most && found.length === atMost)) continue;
      if ([...running.values()].some((isWhole) => isWhole())) continue;
      if (has > most) found = [];
      found.push(socket);
      most = has;
    }
    return found;
  }

  /** Whose it is; nobody's if it is of a proxy that speaks for many. */
  function namesOf(ip: string): readonly string[] {
    return speaksForMany(ip) ? [] : [addressKey(ip), `network ${networkKey(ip)}`];
  }

  /** Whether one address, and its site, has no more of them than it may, with this one. */
  function count(open: Tally, counted: EventEmitter, from: string, what: Counted): boolean {
    const ip = plainIp(from);
    const [address, network] = namesOf(ip);
    if (address === undefined || network === undefined) return true;
    const add = (by: number) => {
      open.add(address, by);
      open.add(network, by);
    };
    add(1);
    counted.once('close', () => add(-1));
    const hasItsPart = open.of(address) > mostOfOne;
    if (!hasItsPart && open.of(network) <= mostOfNetwork) return true;
    const [who, most] = hasItsPart ? ['address', mostOfOne] : ['network', mostOfNetwork];
    tell(ip, what, `one ${who} has ${most} already; if it is a proxy, name it in trusted-proxies`);
    return false;
  }

  function tell(ip: string, what: Counted, why: string): void {
    if (clock.monotonicMs() - toldAtMs < TOLD_EVERY_MS) return;
    toldAtMs = clock.monotonicMs();
    log.warn({ ip }, `HTTP ${what} are ended at once: ${why}`);
  }
}
