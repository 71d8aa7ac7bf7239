/**
 * One lane of one site in memory: rows by sender domain, first in first out within each, and deficit round robin
 * between them. A message costs one, and one more for each whole 64 KiB; a sender domain may spend one per turn, and
 * what it does not spend is lost when it has no more rows. Does not use the store or the network.
 */
import type { ReadyItem } from './ready-item.ts';

export interface TenantRows {
  size(): number;
  push(item: ReadyItem): void;
  /** As the first of its sender domain's rows. */
  unshift(item: ReadyItem): void;
  /**
   * The next row for which `admits` returns true; only the first row of each sender domain is asked. null if there is
   * none.
   */
  shift(admits: (item: ReadyItem) => boolean): ReadyItem | null;
  /** Removes those for which `leaves` returns true; in no particular order. */
  remove(leaves: (item: ReadyItem) => boolean): ReadyItem[];
}

interface Tenant {
  rows: ReadyItem[];
  /** Index of the first row: `Array.shift` moves every element once the array is large. */
  head: number;
  credit: number;
  /** It is its turn, and its credit for this turn was added. */
  credited: boolean;
}

const COST_STEP_BYTES = 64 * 1024;

/** The cost of a message in turns. */
export function turnCost(bytes: number): number {
  return 1 + Math.floor(bytes / COST_STEP_BYTES);
}

export function createTenantRows(): TenantRows {
  const tenants = new Map<string, Tenant>();
  /** Sender domains with rows, in the order of their turns. */
  const ring: string[] = [];
  let at = 0;
  let size = 0;

  return {
    size() {
      return size;
    },
    push(item) {
      tenantOf(item).rows.push(item);
      size += 1;
    },
    unshift(item) {
      const tenant = tenantOf(item);
      if (tenant.head > 0) tenant.rows[--tenant.head] = item;
      else tenant.rows.unshift(item);
      size += 1;
    },
    shift(admits) {
      if (size === 0) return null;
      if (ring.length === 1) return alone(admits);
      for (let round = 0; round < 2; round++) {
        // One round; a sender domain that cannot pay yet has got its credit for the turn.
        let leastMissing = Number.POSITIVE_INFINITY;
        for (let step = 0; step < ring.length; step++) {
          const tenant = current();
          const item = tenant?.rows[tenant.head];
          if (tenant !== undefined && item !== undefined && admits(item)) {
            if (!tenant.credited) {
              tenant.credit += 1;
              tenant.credited = true;
            }
            const cost = turnCost(item.delivery.size);
            if (tenant.credit >= cost) {
              tenant.credit -= cost;
              if (tenant.credit < 1) turn(tenant);
              drop(tenant, item);
              return item;
            }
            leastMissing = Math.min(leastMissing, cost - tenant.credit);
          }
          if (tenant !== undefined) turn(tenant);
        }
        if (leastMissing === Number.POSITIVE_INFINITY) return null;
        // All that may send lack credit: skip as many turns as the first of them needs.
        for (const tenant of tenants.values()) {
          const item = tenant.rows[tenant.head];
          if (item !== undefined && admits(item)) tenant.credit += leastMissing - 1;
        }
      }
      return null;
    },
    remove(leaves) {
      const gone: ReadyItem[] = [];
      for (const [name, tenant] of tenants) {
        const kept: ReadyItem[] = [];
        for (let i = tenant.head; i < tenant.rows.length; i++) {
          const item = tenant.rows[i];
          if (item !== undefined) (leaves(item) ? gone : kept).push(item);
        }
        tenant.rows = kept;
        tenant.head = 0;
        if (kept.length === 0) forget(name);
      }
      size -= gone.length;
      return gone;
    },
  };

  function current(): Tenant | undefined {
    if (at >= ring.length) at = 0;
    return tenants.get(ring[at] ?? '');
  }

  function turn(tenant: Tenant): void {
    tenant.credited = false;
    at += 1;
  }

  /** Nobody else waits: turns are not counted. */
  function alone(admits: (item: ReadyItem) => boolean): ReadyItem | null {
    const tenant = current();
    const item = tenant?.rows[tenant.head];
    if (tenant === undefined || item === undefined || !admits(item)) return null;
    tenant.credit = 0;
    tenant.credited = false;
    drop(tenant, item);
    return item;
  }

  function drop(tenant: Tenant, item: ReadyItem): void {
    size -= 1;
    tenant.head += 1;
    if (tenant.head === tenant.rows.length) forget(item.delivery.senderDomain);
    else if (tenant.head > 64 && tenant.head * 2 > tenant.rows.length) {
      tenant.rows = tenant.rows.slice(tenant.head);
      tenant.head = 0;
    }
  }

  function forget(name: string): void {
    tenants.delete(name);
    const index = ring.indexOf(name);
    ring.splice(index, 1);
    if (index < at) at -= 1;
  }

  function tenantOf(item: ReadyItem): Tenant {
    const name = item.delivery.senderDomain;
    let tenant = tenants.get(name);
    if (tenant === undefined) {
      tenant = { rows: [], head: 0, credit: 0, credited: false };
      tenants.set(name, tenant);
      ring.push(name);
    }
    return tenant;
  }
}
