/**
 * Limits how many connections the HTTP port has, in all and from one address: each takes an open file, and delivery needs some
 * too. A connection over a limit is closed at once, before anything is read. Proxies that the operator trusts have no limit of
 * their own, since they speak for many.
 */
import type { Server, Socket } from 'node:net';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { plainIp } from '../../lib/loopback.ts';
import { createTally } from '../../lib/tally.ts';
import { addressKey } from '../../policy/access/failed-logins.ts';
import { createIpMatcher } from '../../policy/access/ip-allow-list.ts';

const TOLD_EVERY_MS = 60_000;

/** Call it after all other listeners of `server` are in place. */
export function limitConnections(
  server: Server,
  deps: { clock: Clock; log: Logger },
  options: { maxConnections: number; maxConnectionsPerAddress: number; trustedProxies: readonly string[] },
): void {
  const { clock, log } = deps;
  const { maxConnections, maxConnectionsPerAddress: mostOfOne, trustedProxies } = options;
  const speaksForMany = trustedProxies.length === 0 ? () => false : createIpMatcher(trustedProxies);
  const open = createTally();
  let toldAtMs = Number.NEGATIVE_INFINITY;

  // Node closes what is more than this without making anything of it.
  server.maxConnections = maxConnections;
  server.on('drop', (from) =>
    tell(from?.remoteAddress ?? '', `all ${maxConnections} connections are in use`),
  );
  server.prependListener('connection', (socket: Socket) => {
    const ip = plainIp(socket.remoteAddress ?? '');
    if (speaksForMany(ip)) return;
    const key = addressKey(ip);
    open.add(key, 1);
    socket.once('close', () => open.add(key, -1));
    if (open.of(key) <= mostOfOne) return;
    socket.destroy();
    tell(ip, `one address has ${mostOfOne} already; if it is a proxy, name it in trusted-proxies`);
  });

  function tell(ip: string, why: string): void {
    if (clock.monotonicMs() - toldAtMs < TOLD_EVERY_MS) return;
    toldAtMs = clock.monotonicMs();
    log.warn({ ip }, `HTTP connections are closed at once: ${why}`);
  }
}
