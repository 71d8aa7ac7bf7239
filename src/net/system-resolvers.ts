/**
 * Which DNS servers to ask: those of a configuration text, or the system's. Takes `host:port,…`; returns server
 * addresses, or which part is wrong. Only IP addresses are accepted, because the name of a server would have to be
 * looked up first.
 */
import { Resolver as SystemResolver } from 'node:dns';
import type { Clock } from '../lib/clock.ts';
import { parseIp } from './ip-address.ts';

export interface DnsServer {
  /** IPv4 or IPv6 address, without brackets (a zone id such as `%eth0` is kept). */
  address: string;
  port: number;
}

type ParsedServers =
  | { kind: 'servers'; servers: DnsServer[] }
  /** `text` is the part that could not be read, `detail` one clause. */
  | { kind: 'invalid'; text: string; detail: string };

const DNS_PORT = 53;

/** Reads `address`, `address:port` and `[v6]:port`, separated by commas. Default port 53; repeated servers are dropped. */
export function parseServers(text: string): ParsedServers {
  const servers: DnsServer[] = [];
  for (const part of text.split(',')) {
    const trimmed = part.trim();
    const server = parseServer(trimmed);
    if (!server)
      return { kind: 'invalid', text: trimmed, detail: 'not an address, address:port or [v6]:port' };
    if (!servers.some((known) => known.address === server.address && known.port === server.port)) {
      servers.push(server);
    }
  }
  return { kind: 'servers', servers };
}

/** How old the system's servers may be when they are asked. */
const READ_AGAIN_MS = 10_000;

/** The system's servers as they are now: a network that changes (DHCP, a VPN) names others. */
export function createSystemServers(clock: Pick<Clock, 'monotonicMs'>): () => readonly DnsServer[] {
  let readMs = clock.monotonicMs();
  let servers = systemServers();
  return () => {
    if (clock.monotonicMs() - readMs < READ_AGAIN_MS) return servers;
    readMs = clock.monotonicMs();
    const now = systemServers();
    // The same ones are the same objects: what is known of them goes on.
    servers = now.map(
      (one) => servers.find(({ address, port }) => address === one.address && port === one.port) ?? one,
    );
    return servers;
  };
}

/** Loopback if there are none. */
function systemServers(): DnsServer[] {
  const servers = new SystemResolver().getServers().flatMap((text) => parseServer(text) ?? []);
  return servers.length > 0 ? servers : [{ address: '127.0.0.1', port: DNS_PORT }];
}

function parseServer(text: string): DnsServer | undefined {
  if (isServerAddress(text)) return { address: text, port: DNS_PORT };
  // Without brackets an IPv6 address and its port cannot be separated.
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::([1-9]\d{0,4}))?$/.exec(text);
  const address = match?.[1] ?? match?.[2] ?? '';
  const port = Number(match?.[3] ?? DNS_PORT);
  if (!isServerAddress(address) || port > 65_535) return undefined;
  // Brackets are valid for IPv6 only.
  if ((match?.[1] !== undefined) !== address.includes(':')) return undefined;
  return { address, port };
}

function isServerAddress(text: string): boolean {
  const zone = text.indexOf('%');
  if (zone === -1) return parseIp(text) !== undefined;
  return /^[\w.-]{1,32}$/.test(text.slice(zone + 1)) && parseIp(text.slice(0, zone))?.family === 6;
}
