/** IP addresses as sockets show them, and the names of this machine in URLs. */

/** A socket of both families shows IPv4 addresses in their IPv6 form. */
export function plainIp(ip: string): string {
  return ip.startsWith('::ffff:') && ip.includes('.') ? ip.slice('::ffff:'.length) : ip;
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
