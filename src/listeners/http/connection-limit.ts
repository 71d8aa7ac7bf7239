/**
 * Limits how many connections the HTTP port has, in all, from one address, and from one site of IPv6 (at most half): each
 * takes an open file, and delivery needs some too. A connection over the limit of its address or site is closed at once,
 * before anything is read. Where all are in use, the oldest of who has most are closed for it, except those whose request is
 * being answered: what it asked for may be done already. Requests of HTTP/2 that run at once, which one connection has many
 * of, have the same limits: each takes memory for as long as its client likes. Proxies that the operator trusts have no limit
 * of their own, since they speak for many, and none of theirs is closed for another.
 */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { plainIp } from '../../lib/loopback.ts';
import { createTally, type Tally } from '../../lib/tally.ts';
import { addressKey, networkKey } from '../../policy/access/failed-logins.ts';
import { createIpMatcher } from '../../policy/access/ip-allow-list.ts';

const TOLD_EVERY_MS = 60_000;
/** So many are closed at once, of as many as there may be: to find whom is a look at all of them. */
const CLOSED_PART = 1 / 100;

/**
 * Requests of HTTP/1.1 that one connection may have sent without having their answers. All that come in one piece begin in
 * one turn of the event loop, and 64 KiB of them took a tenth of a second.
 */
const MAX_PIPELINED = 20;

type Counted = 'connections' | 'requests';

interface Connection {
  /** As they are counted. */
  names: readonly string[];
  /** Its requests; each tells whether all of it has come. */
  running: Set<() => boolean>;
}

export interface ConnectionLimit {
  /** Call it after all other listeners of `server` are in place. */
  watch(server: Server): void;
  /** Requests of HTTP/1.1 that come by `inner` are those of the connection `socket`. */
  carries(socket: Socket, inner: Socket): void;
  /** A request of `socket` is being answered until `answer` closes, from when it `isWhole`. */
  answers(socket: Socket, answer: EventEmitter, isWhole: () => boolean): void;
  /** Whether a client may have one more request of HTTP/2; it counts until `stream` closes. */
  takeRequest(stream: EventEmitter, address: string): boolean;
}

export function createConnectionLimit(
  deps: { clock: Clock; log: Logger },
  options: { maxConnections: number; maxConnectionsPerAddress: number; trustedProxies: readonly string[] },
): ConnectionLimit {
  const { clock, log } = deps;
  const { maxConnections, maxConnectionsPerAddress: mostOfOne, trustedProxies } = options;
  const mostOfNetwork = Math.max(mostOfOne, Math.floor(maxConnections / 2));
  const speaksForMany = trustedProxies.length === 0 ? () => false : createIpMatcher(trustedProxies);
  const open = new Map<Socket, Connection>();
  const carriers = new WeakMap<Socket, Socket>();
  const connections = createTally();
  const requests = createTally();
  let requestsInAll = 0;
  let toldAtMs = Number.NEGATIVE_INFINITY;

  return {
    watch(server) {
      server.prependListener('connection', (socket: Socket) => {
        const ip = socket.remoteAddress ?? '';
        // First, so that who has too many takes nobody's place.
        if (!count(connections, socket, ip, 'connections') || !hasRoom(ip)) {
          socket.destroy();
          return;
        }
        open.set(socket, { names: namesOf(plainIp(ip)), running: new Set() });
        socket.once('close', () => open.delete(socket));
      });
      const handlers = server.listeners('request') as ((...given: unknown[]) => void)[];
      server.removeAllListeners('request');
      server.on('request', (request: IncomingMessage, response: ServerResponse) => {
        // Node hands on all that a client has sent at once, also after the end of the connection.
        const carrier = carriers.get(request.socket) ?? request.socket;
        if (carrier.destroyed) return;
        if ((open.get(carrier)?.running.size ?? 0) >= MAX_PIPELINED) {
          tell(carrier.remoteAddress ?? '', 'requests', `one connection has ${MAX_PIPELINED} already`);
          carrier.destroy();
          return;
        }
        answers(carrier, response, () => request.complete);
        for (const handle of handlers) handle.call(server, request, response);
      });
    },
    carries: (socket, inner) => carriers.set(inner, socket),
    answers,
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

  function answers(socket: Socket, answer: EventEmitter, isWhole: () => boolean): void {
    const running = open.get(socket)?.running;
    running?.add(isWhole);
    answer.once('close', () => running?.delete(isWhole));
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
      if ([...running].some((isWhole) => isWhole())) continue;
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
