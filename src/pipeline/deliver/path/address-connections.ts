/**
 * The connections of each source to each address. On shared hosting thousands of domains have an MX name of their own for one
 * server: each is a site of its own, but the server counts the connections of all of them, and a sender with such domains could
 * have us open thousands to an address of their choice.
 */
import { createConnectionTotal } from './connection-total.ts';
import type { ConnectionTotal } from './limits.ts';

/** What one path sees of them. */
export interface PathAddresses {
  /** Whether it may not open a connection to this address now. */
  isFull(address: string): boolean;
  /** Takes one, which ends with `ended`; null: there is none. */
  take(address: string): ConnectionTotal | null;
  /** Calls `wake` when there is one again. */
  wait(address: string, isUrgent: boolean, wake: () => void): void;
}

export interface AddressConnections {
  /** `allowed`: the connections of the path's own site, which it may have also where these are more. */
  of(source: string, allowed: () => number): PathAddresses;
}

/** As many as one ordinary site may have (shaping data, `default`). */
export const MOST_AT_ADDRESS = 10;

export function createAddressConnections(): AddressConnections {
  /** Those with an open connection. */
  const totals = new Map<string, ConnectionTotal>();

  return {
    of(source, allowed) {
      const most = () => Math.max(MOST_AT_ADDRESS, allowed());
      const keyOf = (address: string) => `${source} ${address}`;
      const isFull = (address: string) => totals.get(keyOf(address))?.isFull(most()) ?? false;
      return {
        isFull,
        take(address) {
          if (isFull(address)) return null;
          const total = at(keyOf(address));
          total.opened();
          return total;
        },
        wait: (address, isUrgent, wake) => totals.get(keyOf(address))?.wait(isUrgent, wake, most()),
      };
    },
  };

  function at(key: string): ConnectionTotal {
    const known = totals.get(key);
    if (known !== undefined) return known;
    const total = createConnectionTotal(MOST_AT_ADDRESS);
    const added: ConnectionTotal = {
      ...total,
      ended() {
        total.ended();
        if (total.isUnused()) totals.delete(key);
      },
    };
    totals.set(key, added);
    return added;
  }
}
