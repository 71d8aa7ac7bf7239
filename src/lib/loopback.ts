/** IP addresses as sockets show them. */

/** A socket of both families shows IPv4 addresses in their IPv6 form. */
export function plainIp(ip: string): string {
  return ip.startsWith('::ffff:') && ip.includes('.') ? ip.slice('::ffff:'.length) : ip;
}

/** Whether an IP address is one of loopback: only programs on this machine can have it. */
export function isLoopbackAddress(address: string): boolean {
  const plain = plainIp(address);
  return plain === '::1' || plain.startsWith('127.');
}
