/**
 * One lane of one site in memory: rows by sender domain, first in first out within each, and deficit round robin
 * between them. A message costs one, and one more for each whole 64 KiB; a sender domain may spend one per turn, and
 * what it does not spend is lost when it has no more rows. Does not use the store or the network.
 */
import type { ReadyItem } from './ready-item.ts';

export interface SenderRows {
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

interface Sender {
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

export function createSenderRows(): SenderRows {
  const senders = new Map<string, Sender>();
  /** Sender domains with rows, in the order of their turns. */
  const ring: string[] = [];
  let at = 0;
  let size = 0;

  return {
    size: () => size,
    push(item) {
      senderOf(item).rows.push(item);
      size += 1;
    },
    unshift(item) {
      const sender = senderOf(item);
      if (sender.head > 0) sender.rows[--sender.head] = item;
      else sender.rows.unshift(item);
      size += 1;
    },
    shift(admits) {
      if (size === 0) return null;
      if (ring.length === 1) return alone(admits);
      for (let round = 0; round < 2; round++) {
        // One round; a sender domain that cannot pay yet has got its credit for the turn.
        let leastMissing = Number.POSITIVE_INFINITY;
        for (let step = 0; step < ring.length; step++) {
          const sender = current();
          const item = sender?.rows[sender.head];
          if (sender !== undefined && item !== undefined && admits(item)) {
            if (!sender.credited) {
              sender.credit += 1;
              sender.credited = true;
            }
            const cost = turnCost(item.delivery.size);
            if (sender.credit >= cost) {
              sender.credit -= cost;
              if (sender.credit < 1) turn(sender);
              drop(sender, item);
              return item;
            }
            leastMissing = Math.min(leastMissing, cost - sender.credit);
          }
          if (sender !== undefined) turn(sender);
        }
        if (leastMissing === Number.POSITIVE_INFINITY) return null;
        // All that may send lack credit: skip as many turns as the first of them needs.
        for (const sender of senders.values()) {
          const item = sender.rows[sender.head];
          if (item !== undefined && admits(item)) sender.credit += leastMissing - 1;
        }
      }
      return null;
    },
    remove(leaves) {
      const gone: ReadyItem[] = [];
      for (const [name, sender] of senders) {
        const kept: ReadyItem[] = [];
        for (let i = sender.head; i < sender.rows.length; i++) {
          const item = sender.rows[i];
          if (item !== undefined) (leaves(item) ? gone : kept).push(item);
        }
        sender.rows = kept;
        sender.head = 0;
        if (kept.length === 0) forget(name);
      }
      size -= gone.length;
      return gone;
    },
  };

  function current(): Sender | undefined {
    if (at >= ring.length) at = 0;
    return senders.get(ring[at] ?? '');
  }

  function turn(sender: Sender): void {
    sender.credited = false;
    at += 1;
  }

  /** Nobody else waits: turns are not counted. */
  function alone(admits: (item: ReadyItem) => boolean): ReadyItem | null {
    const sender = current();
    const item = sender?.rows[sender.head];
    if (sender === undefined || item === undefined || !admits(item)) return null;
    sender.credit = 0;
    sender.credited = false;
    drop(sender, item);
    return item;
  }

  function drop(sender: Sender, item: ReadyItem): void {
    size -= 1;
    sender.head += 1;
    if (sender.head === sender.rows.length) forget(item.delivery.senderDomain);
    else if (sender.head > 64 && sender.head * 2 > sender.rows.length) {
      sender.rows = sender.rows.slice(sender.head);
      sender.head = 0;
    }
  }

  function forget(name: string): void {
    senders.delete(name);
    const index = ring.indexOf(name);
    ring.splice(index, 1);
    if (index < at) at -= 1;
  }

  function senderOf(item: ReadyItem): Sender {
    const name = item.delivery.senderDomain;
    let sender = senders.get(name);
    if (sender === undefined) {
      sender = { rows: [], head: 0, credit: 0, credited: false };
      senders.set(name, sender);
      ring.push(name);
    }
    return sender;
  }
}
