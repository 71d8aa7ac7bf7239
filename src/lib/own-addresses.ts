/** The IP addresses of this machine, as its interfaces have them now: they change while the process runs. */
import { networkInterfaces } from 'node:os';

/** Without the zone of a link-local one. `internal`: of a loopback interface. */
export function ownAddresses(): { address: string; internal: boolean }[] {
  return Object.values(networkInterfaces()).flatMap((each) =>
    (each ?? []).map(({ address, internal }) => ({ address: address.replace(/%.*/, ''), internal })),
  );
}

/** Sources whose address no interface of this machine has, so that nothing can be sent from them. */
export function missingSources<Source extends { address: string }>(sources: readonly Source[]): Source[] {
  const own = new Set(ownAddresses().map(({ address }) => address));
  // All of 127/8 is usable, whether an interface names it or not.
  return sources.filter(({ address }) => !own.has(address) && !address.startsWith('127.'));
}
