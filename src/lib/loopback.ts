/** Whether an IP address is one of loopback: only programs on this machine can have it. */
export function isLoopbackAddress(address: string): boolean {
  // A socket of both families shows IPv4 addresses in this form.
  const plain = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
  return plain === '::1' || plain.startsWith('127.');
}
