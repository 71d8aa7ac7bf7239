/** Addresses of this machine, so that mail for a domain whose MX we are is not sent in a circle. */
import { networkInterfaces } from 'node:os';

/**
 * Addresses of the interfaces without loopback (which is refused in any case), and of listeners bound to one address.
 */
export function ownAddresses(listeners: readonly ({ host: string } | null)[]): string[] {
  const own = new Set<string>();
  for (const each of Object.values(networkInterfaces()).flat()) {
    if (each !== undefined && !each.internal) own.add(each.address.replace(/%.*$/, ''));
  }
  for (const listener of listeners) {
    const host = listener?.host ?? '';
    if (/^[0-9.]+$|:/.test(host) && host !== '0.0.0.0' && host !== '::') own.add(host);
  }
  return [...own];
}
