/** IP addresses as sockets show them and as they are compared, and the names of this machine in URLs. */
import { isIP, SocketAddress } from 'node:net';

/** A socket of both families shows IPv4 addresses in their IPv6 form. */
export function plainIp(ip: string): string {
  return ip.startsWith('::ffff:') && ip.includes('.') ? ip.slice('::ffff:'.length) : ip;
}

/** The address that a proxy names, or null. Some add the port of the client, which is another for each connection. */
export function forwardedIp(text: string): string | null {
  const ip = plainIp(/^(?:\[(.+)\]|([\d.]+))(?::\d+)?$/.exec(text)?.slice(1).join('') ?? text);
  return isIP(ip) === 0 ? null : ip;
}

/** An IPv6 address in its shortest form, as the system lists those of its interfaces (RFC 5952). */
export function shortestIpv6(address: string): string {
  return new SocketAddress({ address, family: 'ipv6' }).address;
}

/** Whether an IP address is one of loopback: only programs on this machine can have it. */
export function isLoopbackAddress(address: string): boolean {
  const plain = plainIp(address);
  return plain === '::1' || /^127(\.\d{1,3}){3}$/.test(plain);
}

/** The same for a host as written, also in a URL (`[::1]`): an address, or a name that leads to one (RFC 6761 §6.3). */
export function isLoopbackHost(host: string): boolean {
  return /(?:^|\.)localhost\.?$/i.test(host) || isLoopbackAddress(host.replace(/^\[(.*)\]$/, '$1'));
}
