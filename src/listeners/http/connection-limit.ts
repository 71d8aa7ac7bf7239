/**
 * Limits how many connections the HTTP port has, in all, from one address, and from one site of IPv6 (at most half): each
 * takes an open file, and delivery needs some too. A connection over a limit is closed at once, before anything is read. Requests of HTTP/2 that run at once, which one
 * connection has many of, have the same limits: each takes memory for as long as its client likes. Proxies that the operator
 * trusts have no limit of their own, since they speak for many.
 */
import type { EventEmitter } from 'node:events';
import type { Server, Socket } from 'node:net';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { plainIp } from '../../lib/loopback.ts';
import { createTally, type Tally } from '../../lib/tally.ts';
import { addressKey, networkKey } from '../../policy/access/failed-logins.ts';
import { createIpMatcher } from '../../policy/access/ip-allow-list.ts';

const TOLD_EVERY_MS = 60_000;

type Counted = 'connections' | 'requests';

export interface ConnectionLimit {
  /** Call it after all other listeners of `server` are in place. */
  watch(server: Server): void;
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
  const connections = createTally();
  const requests = createTally();
  let requestsInAll = 0;
  let toldAtMs = Number.NEGATIVE_INFINITY;

  return {
    watch(server) {
      // Node closes what is more than this without making anything of it.
      server.maxConnections = maxConnections;
      server.on('drop', (from) =>
        tell(from?.remoteAddress ?? '', 'connections', `all ${maxConnections} are in use`),
      );
      server.prependListener('connection', (socket: Socket) => {
        if (!count(connections, socket, socket.remoteAddress ?? '', 'connections')) socket.destroy();
      });
    },
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

  /** Whether one address, and its site, has no more of them than it may, with this one. */
  function count(open: Tally, counted: EventEmitter, from: string, what: Counted): boolean {
    const ip = plainIp(from);
    if (speaksForMany(ip)) return true;
    const [address, network] = [addressKey(ip), `network ${networkKey(ip)}`];
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
