/**
 * Limits how many connections the HTTP port has, in all and from one address: each takes an open file, and delivery needs some
 * too. A connection over a limit is closed at once, before anything is read. Requests of HTTP/2 that run at once, which one
 * connection has many of, have the same limits: each takes memory for as long as its client likes. Proxies that the operator
 * trusts have no limit of their own, since they speak for many.
 */
import type { EventEmitter } from 'node:events';
import type { Server, Socket } from 'node:net';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { plainIp } from '../../lib/loopback.ts';
import { createTally, type Tally } from '../../lib/tally.ts';
import { addressKey } from '../../policy/access/failed-logins.ts';
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

  /** Whether one address has no more of them than it may, with this one. */
  function count(open: Tally, counted: EventEmitter, address: string, what: Counted): boolean {
    const ip = plainIp(address);
    if (speaksForMany(ip)) return true;
    const key = addressKey(ip);
    open.add(key, 1);
    counted.once('close', () => open.add(key, -1));
    if (open.of(key) <= mostOfOne) return true;
    tell(ip, what, `one address has ${mostOfOne} already; if it is a proxy, name it in trusted-proxies`);
    return false;
  }

  function tell(ip: string, what: Counted, why: string): void {
    if (clock.monotonicMs() - toldAtMs < TOLD_EVERY_MS) return;
    toldAtMs = clock.monotonicMs();
    log.warn({ ip }, `HTTP ${what} are ended at once: ${why}`);
  }
}
