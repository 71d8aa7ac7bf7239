/** The IP addresses of this machine, as its interfaces have them now: they change while the process runs. */
import { networkInterfaces } from 'node:os';

/** Without the zone of a link-local one. `internal`: of a loopback interface. */
export function ownAddresses(): { address: string; internal: boolean }[] {
  return Object.values(networkInterfaces()).flatMap((each) =>
    (each ?? []).map(({ address, internal }) => ({ address: address.replace(/%.*/, ''), internal })),
  );
}

/** The addresses of sources that no interface of this machine has, so that nothing can be sent from them. */
export function missingSources(
  sources: readonly { id: string; address: string | null; ipv6: string | null }[],
): { id: string; address: string }[] {
  const own = new Set(ownAddresses().map(({ address }) => address));
  return (
    sources
      .flatMap(({ id, address, ipv6 }) => [address, ipv6].map((each) => ({ id, address: each ?? '' })))
      // All of 127/8 is usable, whether an interface names it or not.
      .filter(({ address }) => address !== '' && !own.has(address) && !address.startsWith('127.'))
  );
}
