/**
 * Which DNS servers to ask: those of a configuration text, or the system's. Takes `host:port,…`; returns server
 * addresses, or which part is wrong. Only IP addresses are accepted, because the name of a server would have to be
 * looked up first.
 */
import { Resolver as SystemResolver } from 'node:dns';
import { parseIp } from './ip-address.ts';

/** One DNS server. */
export interface DnsServer {
  /** IPv4 or IPv6 address, without brackets (a zone id such as `%eth0` is kept). */
  address: string;
  port: number;
}

export type ParsedServers =
  | { kind: 'servers'; servers: DnsServer[] }
  /** `text` is the part that could not be read, `detail` one clause. */
  | { kind: 'invalid'; text: string; detail: string };

const DNS_PORT = 53;

/**
 * Reads `address`, `address:port` and `[v6]:port`, separated by commas; the word `system` alone means the system's
 * servers. Default port 53; repeated servers are dropped.
 */
export function parseServers(text: string): ParsedServers {
  if (text.trim() === 'system') return { kind: 'servers', servers: systemServers() };
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

/** The system's current servers, read at each call; loopback if there are none. */
export function systemServers(): DnsServer[] {
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
