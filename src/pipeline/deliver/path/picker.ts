/**
 * Chooses the next of the prepared messages of a path: critical first, then normal and bulk in the ratio 8:2, each lane
 * within the connections it may use, one sender domain's critical mail within half of them while other mail waits,
 * large bulk mail never on the last one. The order of sender domains is that of the window, which handed the messages
 * out. Holds only a few messages.
 */
import { LANES, type Lane } from '../../../model/message.ts';
import { createLaneTurns } from '../../queue/lane-turns.ts';
import { shareKey } from '../prepare/grouping.ts';
import type { Prepared } from '../prepare/prepared.ts';
import { laneSlots } from './limits.ts';

/** Connections in use and usable now. */
export interface Slots {
  /** Connections that may be used concurrently. */
  usable: number;
  busy: Readonly<Record<Lane, number>>;
  /** Connections that carry critical mail of this sender domain. */
  criticalOf(senderDomain: string): number;
  /** Whether a sender domain may use one more connection, by its own limits. */
  allows(senderDomain: string): boolean;
  /** Mail of other lanes, or critical mail of other sender domains, waits for the path. */
  othersWait(senderDomain: string): boolean;
}

export interface Picker {
  size(): number;
  count(lane: Lane): number;
  add(prepared: Prepared): void;
  addFirst(prepared: Prepared): void;
  /** Messages that may get a connection of their own now, in order. */
  candidates(slots: Slots): Prepared[];
  /** The first of each lane, in turn, whatever connections there are; for one that already carries the lane. */
  heads(): Prepared[];
  /** Whether a prepared message can include other copies in its transaction, by their `shareKey`. */
  leads(key: string): boolean;
  /** The message is being sent. */
  took(prepared: Prepared): void;
  /** Removes and returns the messages for which `leaves` returns true. */
  remove(leaves: (prepared: Prepared) => boolean): Prepared[];
}

const LARGE_BYTES = 5 * 1024 * 1024;

export function createPicker(): Picker {
  const lanes: Record<Lane, Prepared[]> = { critical: [], normal: [], bulk: [] };
  const turns = createLaneTurns();

  return {
    size: () => lanes.critical.length + lanes.normal.length + lanes.bulk.length,
    count: (lane) => lanes[lane].length,
    add: (prepared) => void lanes[prepared.item.delivery.lane].push(prepared),
    addFirst: (prepared) => void lanes[prepared.item.delivery.lane].unshift(prepared),
    candidates(slots) {
      const found: Prepared[] = [];
      for (const lane of turns.order()) {
        for (const prepared of lanes[lane]) {
          if (!mayUseSlot(prepared, slots)) continue;
          found.push(prepared);
          // It waits for a new connection; those behind it need not.
          if (!prepared.item.fresh) break;
        }
      }
      return found;
    },
    heads() {
      const heads: Prepared[] = [];
      for (const lane of turns.order()) {
        const [first] = lanes[lane];
        if (first !== undefined) heads.push(first);
      }
      return heads;
    },
    leads: (key) =>
      LANES.some((lane) =>
        lanes[lane].some(({ shared, item }) => shared !== null && shareKey(item.delivery) === key),
      ),
    took(prepared) {
      const { lane } = prepared.item.delivery;
      const index = lanes[lane].indexOf(prepared);
      if (index >= 0) lanes[lane].splice(index, 1);
      turns.went(lane);
    },
    remove(leaves) {
      const gone: Prepared[] = [];
      for (const lane of LANES) {
        // Called for every message, and rarely removes one. `leaves` is called once for each, because it may settle the
        // message.
        const all = lanes[lane];
        const first = all.findIndex(leaves);
        const leaving = all[first];
        if (leaving === undefined) continue;
        gone.push(leaving);
        const kept = all.slice(0, first);
        for (const prepared of all.slice(first + 1)) (leaves(prepared) ? gone : kept).push(prepared);
        lanes[lane] = kept;
      }
      return gone;
    },
  };

  /** Whether a message may get a connection of its own. */
  function mayUseSlot({ item, prefix, content }: Prepared, slots: Slots): boolean {
    const { usable, busy } = slots;
    const { lane, senderDomain } = item.delivery;
    const all = busy.critical + busy.normal + busy.bulk;
    if (all >= usable || !slots.allows(senderDomain)) return false;
    switch (lane) {
      case 'critical':
        // Marking everything critical has no advantage while other mail waits.
        return (
          !slots.othersWait(senderDomain) ||
          slots.criticalOf(senderDomain) < Math.max(1, Math.floor(usable / 2))
        );
      case 'normal':
        return busy.normal + busy.bulk < laneSlots('normal', usable);
      case 'bulk':
        if (prefix.length + content.length >= LARGE_BYTES && all > 0 && usable - all < 2) return false;
        return busy.bulk < laneSlots('bulk', usable);
    }
  }
}
