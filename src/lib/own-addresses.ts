/** The IP addresses of this machine, as its interfaces have them now: they change while the process runs. */
import { networkInterfaces } from 'node:os';

/** Without the zone of a link-local one. `internal`: of a loopback interface. */
export function ownAddresses(): { address: string; internal: boolean }[] {
  return Object.values(networkInterfaces()).flatMap((each) =>
    (each ?? []).map(({ address, internal }) => ({ address: address.replace(/%.*/, ''), internal })),
  );
}
