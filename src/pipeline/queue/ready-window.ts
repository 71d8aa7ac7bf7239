/**
 * The bounded window of claimed work over the unbounded queue in the store: at most so many rows and bytes are held,
 * grouped by site (where a delivery goes), then lane, first in first out. Critical mail goes first; while other lanes
 * wait as well, normal and bulk share 8:2. Nothing here touches the store or the network.
 */
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { Lane } from '../../model/message.ts';

/** A leased delivery in memory. */
export interface ReadyItem {
  delivery: ClaimedDelivery;
  /** The message's bytes, one buffer for all its recipients; null where they have to be read back first. */
  content: Uint8Array | null;
  /** Where it goes; work of one site shares connections and limits. */
  site: string;
  /** Bytes it counts for in the window; those of `content` are counted beside it, once for all who share them. */
  heldBytes: number;
  /** Times it was handed to another connection without an attempt being charged. */
  redispatched: number;
}

export interface WindowLimits {
  maxRows: number;
  maxBytes: number;
  maxRowsPerSite: number;
}

export interface ReadyWindow {
  /** Whether `rows` more rows of `bytes` in all fit for `site`. */
  hasRoom(site: string, rows: number, bytes: number): boolean;
  /** Room left for one site: rows, and bytes over all. */
  room(site: string): { rows: number; bytes: number };
  add(item: ReadyItem): void;
  /** Next item of a site or null. The item keeps its place in the bounds until `done`. */
  take(site: string): ReadyItem | null;
  /** Puts a taken item back at the head of its lane. */
  putBack(item: ReadyItem): void;
  /** The item has left memory. */
  done(item: ReadyItem): void;
  /** Removes and returns what waits for a site (not what was taken). */
  drain(site: string): ReadyItem[];
  waiting(site: string): number;
  sites(): string[];
  readonly rows: number;
  readonly bytes: number;
}

interface SiteRows {
  lanes: Record<Lane, Fifo>;
  held: number;
  /** Position in the 8:2 cycle. */
  turn: number;
}

const CYCLE = 10;
const NORMAL_SHARE = 8;

export function createReadyWindow(limits: WindowLimits): ReadyWindow {
  const sites = new Map<string, SiteRows>();
  let rows = 0;
  let bytes = 0;
  /** Items by the content they share: it stays in memory as long as the last of them. */
  const sharing = new Map<Uint8Array, number>();

  const siteOf = (name: string): SiteRows => {
    let site = sites.get(name);
    if (site === undefined) {
      site = {
        lanes: { critical: createFifo(), normal: createFifo(), bulk: createFifo() },
        held: 0,
        turn: 0,
      };
      sites.set(name, site);
    }
    return site;
  };

  const letGo = (content: Uint8Array): void => {
    const sharers = sharing.get(content) ?? 0;
    if (sharers > 1) sharing.set(content, sharers - 1);
    else if (sharing.delete(content)) bytes -= content.length;
  };

  return {
    hasRoom(name, count, size) {
      const held = sites.get(name)?.held ?? 0;
      // A single item larger than the whole window may pass an empty one, or it would wait for ever.
      const fitsBytes = bytes + size <= limits.maxBytes || (rows === 0 && count === 1);
      return rows + count <= limits.maxRows && held + count <= limits.maxRowsPerSite && fitsBytes;
    },
    room(name) {
      const held = sites.get(name)?.held ?? 0;
      return {
        rows: Math.max(0, Math.min(limits.maxRows - rows, limits.maxRowsPerSite - held)),
        bytes: Math.max(0, limits.maxBytes - bytes),
      };
    },
    add(item) {
      const site = siteOf(item.site);
      site.lanes[item.delivery.lane].push(item);
      site.held += 1;
      rows += 1;
      bytes += item.heldBytes;
      if (item.content === null) return;
      const sharers = sharing.get(item.content) ?? 0;
      if (sharers === 0) bytes += item.content.length;
      sharing.set(item.content, sharers + 1);
    },
    take(name) {
      const site = sites.get(name);
      if (site === undefined) return null;
      const { critical, normal, bulk } = site.lanes;
      if (critical.size > 0) return critical.shift();
      if (normal.size > 0 && bulk.size > 0) {
        site.turn = (site.turn + 1) % CYCLE;
        return site.turn < NORMAL_SHARE ? normal.shift() : bulk.shift();
      }
      return normal.shift() ?? bulk.shift();
    },
    putBack(item) {
      siteOf(item.site).lanes[item.delivery.lane].unshift(item);
    },
    done(item) {
      rows -= 1;
      bytes -= item.heldBytes;
      if (item.content !== null) letGo(item.content);
      const site = sites.get(item.site);
      if (site === undefined) return;
      site.held -= 1;
      if (site.held === 0) sites.delete(item.site);
    },
    drain(name) {
      const site = sites.get(name);
      if (site === undefined) return [];
      const items: ReadyItem[] = [];
      for (const lane of ['critical', 'normal', 'bulk'] as const) {
        for (let item = site.lanes[lane].shift(); item !== null; item = site.lanes[lane].shift())
          items.push(item);
      }
      return items;
    },
    waiting(name) {
      const lanes = sites.get(name)?.lanes;
      return lanes === undefined ? 0 : lanes.critical.size + lanes.normal.size + lanes.bulk.size;
    },
    sites: () => [...sites.keys()],
    get rows() {
      return rows;
    },
    get bytes() {
      return bytes;
    },
  };
}

interface Fifo {
  readonly size: number;
  push(item: ReadyItem): void;
  unshift(item: ReadyItem): void;
  shift(): ReadyItem | null;
}

/** Array with a moving head: `Array.shift` moves every element once the array is large. */
function createFifo(): Fifo {
  let items: ReadyItem[] = [];
  let head = 0;
  return {
    get size() {
      return items.length - head;
    },
    push(item) {
      items.push(item);
    },
    unshift(item) {
      if (head > 0) items[--head] = item;
      else items.unshift(item);
    },
    shift() {
      const item = items[head];
      if (item === undefined) return null;
      head += 1;
      if (head === items.length) {
        items = [];
        head = 0;
      } else if (head > 512 && head * 2 > items.length) {
        items = items.slice(head);
        head = 0;
      }
      return item;
    },
  };
}
