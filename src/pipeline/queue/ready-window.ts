/**
 * The window of claimed rows in memory, limited in number and bytes, over the unlimited queue in the store. Rows are
 * grouped by site, lane and sender domain. Part of each site's capacity is reserved for higher lanes, and one sender
 * domain cannot fill a lane, so there are always places for urgent mail and for small senders. Does not use the store
 * or the network.
 */
import type { Lane } from '../../model/message.ts';
import { createLaneTurns, type LaneTurns } from './lane-turns.ts';
import type { ReadyItem } from './ready-item.ts';
import { createSenderRows, type SenderRows } from './sender-rows.ts';

export interface WindowLimits {
  maxRows: number;
  maxBytes: number;
  maxRowsPerSite: number;
}

export interface ReadyWindow {
  /**
   * Whether a row of `bytes` of this lane and sender domain fits, in addition to what is reserved already: rows and
   * bytes in total, and rows of this site.
   */
  hasRoom(
    place: RoomRequest,
    promised: { rows: number; bytes: number; siteRows: number },
    bytes: number,
  ): boolean;
  /** Free places for a claim of one lane and sender domain, in addition to what is reserved in all: rows, and bytes in total. */
  room(place: RoomRequest, promised: { rows: number; bytes: number }): { rows: number; bytes: number };
  /** Whether no row of this lane fits, of whichever site and sender domain. */
  isFull(lane: Lane, promised: { rows: number; bytes: number }): boolean;
  add(item: ReadyItem): void;
  /**
   * Next item of a lane for which `admits` returns true, or null; sender domains take turns, and only the first item of
   * each is asked. It counts in the limits until `done`. Lane null: critical first; normal and bulk then share 8:2.
   */
  take(site: string, lane?: Lane | null, admits?: (item: ReadyItem) => boolean): ReadyItem | null;
  /** Puts a taken item back as the first of its sender domain's rows. */
  putBack(item: ReadyItem): void;
  /** Removes one waiting item. It counts in the limits until `done`. */
  pull(item: ReadyItem): void;
  /** A copy of an item that was pulled or taken waits in its place, as the first. */
  replace(copy: ReadyItem): void;
  /** Nobody needs the content of the item any more, which still counts as a row. */
  dropContent(item: ReadyItem): void;
  /** The item has left memory. */
  done(item: ReadyItem): void;
  /** Removes and returns the waiting items of a site (not taken ones). */
  drain(site: string): ReadyItem[];
  /** Moves waiting items of `site` to their current sites by `siteOf`; returns the sites that got some. */
  regroup(site: string, siteOf: (item: ReadyItem) => string): Set<string>;
  /** Removes and returns the waiting items of any site for which `leaves` returns true (not taken ones). */
  remove(leaves: (item: ReadyItem) => boolean): ReadyItem[];
  waiting(site: string): Readonly<Record<Lane, number>>;
  /** Rows of a site in memory, including taken ones. */
  rowsOf(site: string): number;
  /** All of them, including taken ones. */
  items(): Iterable<ReadyItem>;
  /** Their deliveries. */
  ids(): Iterable<number>;
  /** A delivery in memory, or null. */
  itemOf(deliveryId: number): ReadyItem | null;
  sites(): string[];
  rows(): number;
  bytes(): number;
}

/** A request for places. `siteRows`: the limit for this site, instead of the general one. */
export interface RoomRequest {
  site: string;
  lane: Lane;
  senderDomain: string;
  siteRows?: number;
}

interface SiteRows {
  turns: LaneTurns;
  lanes: Record<Lane, SenderRows>;
  /** Including taken ones. */
  rows: number;
  /** Waiting, by lane. */
  waitingByLane: Record<Lane, number>;
  /** Waiting, by lane and sender domain. */
  waitingBySender: Map<string, number>;
}

/** Taken items count for the whole window, not for their site's share of it. */
function waitingAt({ waitingByLane }: SiteRows): number {
  return waitingByLane.critical + waitingByLane.normal + waitingByLane.bulk;
}

const LANES: readonly Lane[] = ['critical', 'normal', 'bulk'];
const BELOW: Readonly<Record<Lane, readonly Lane[]>> = {
  critical: ['critical', 'normal', 'bulk'],
  normal: ['normal', 'bulk'],
  bulk: ['bulk'],
};
/** Share of a site's rows for a lane and the lanes below it. */
const LANE_SHARE: Readonly<Record<Lane, number>> = { critical: 1, normal: 7 / 8, bulk: 1 / 2 };
/** A site that became slow holds more rows than it should, and critical mail does not wait until they are gone. */
const CRITICAL_ROWS = 4;
/** Share of all rows and bytes for the lanes below critical: mail to slow sites leaves critical mail a place. */
const SHARE_BELOW_CRITICAL = 15 / 16;
/** Share of a site's rows of a lane for one sender domain. */
const SENDER_SHARE = 3 / 4;
const NOBODY: Readonly<Record<Lane, number>> = { critical: 0, normal: 0, bulk: 0 };

export function createReadyWindow(limits: WindowLimits): ReadyWindow {
  const sites = new Map<string, SiteRows>();
  const byId = new Map<number, ReadyItem>();
  let rows = 0;
  let bytes = 0;

  const below = {
    maxRows: Math.max(1, Math.floor(SHARE_BELOW_CRITICAL * limits.maxRows)),
    maxBytes: Math.floor(SHARE_BELOW_CRITICAL * limits.maxBytes),
  };
  const limitsOf = (lane: Lane): Pick<WindowLimits, 'maxRows' | 'maxBytes'> =>
    lane === 'critical' ? limits : below;

  const siteOf = (name: string): SiteRows => {
    let site = sites.get(name);
    if (site === undefined) {
      site = {
        lanes: { critical: createSenderRows(), normal: createSenderRows(), bulk: createSenderRows() },
        turns: createLaneTurns(),
        rows: 0,
        waitingByLane: { ...NOBODY },
        waitingBySender: new Map(),
      };
      sites.set(name, site);
    }
    return site;
  };

  /** Rows that this lane and sender domain may still have at the site. */
  const siteRoom = ({ site: name, lane, senderDomain, siteRows }: RoomRequest): number => {
    const most = siteRows ?? limits.maxRowsPerSite;
    const site = sites.get(name);
    const ofLane = Math.max(1, Math.ceil(most * LANE_SHARE[lane]));
    const ofSender = Math.max(1, Math.ceil(ofLane * SENDER_SHARE));
    if (site === undefined) return ofSender;
    let inLane = 0;
    let ofThisSender = 0;
    // A lane's share includes the rows of the lanes below it.
    for (const part of BELOW[lane]) {
      inLane += site.waitingByLane[part];
      ofThisSender += site.waitingBySender.get(`${part} ${senderDomain}`) ?? 0;
    }
    const free = Math.min(most - waitingAt(site), ofLane - inLane, ofSender - ofThisSender);
    return lane === 'critical' ? Math.max(free, CRITICAL_ROWS - site.waitingByLane.critical) : free;
  };

  const hasOwnRoom = ({ site, lane }: RoomRequest): boolean =>
    lane === 'critical' && (sites.get(site)?.waitingByLane.critical ?? 0) < CRITICAL_ROWS;

  const count = (site: SiteRows, { delivery }: ReadyItem, by: 1 | -1): void => {
    site.waitingByLane[delivery.lane] += by;
    const key = `${delivery.lane} ${delivery.senderDomain}`;
    const left = (site.waitingBySender.get(key) ?? 0) + by;
    if (left === 0) site.waitingBySender.delete(key);
    else site.waitingBySender.set(key, left);
  };

  const removeFrom = (site: SiteRows, leaves: (item: ReadyItem) => boolean): ReadyItem[] => {
    const gone = LANES.flatMap((lane) =>
      site.lanes[lane].size() === 0 ? [] : site.lanes[lane].remove(leaves),
    );
    for (const item of gone) count(site, item, -1);
    return gone;
  };

  const dropContent = (item: ReadyItem): void => {
    if (item.content === null) return;
    item.content.sharers -= 1;
    if (item.content.sharers === 0) bytes -= item.content.size;
    item.content = null;
  };

  const forgetEmpty = (name: string, site: SiteRows): void => {
    if (site.rows === 0) sites.delete(name);
  };

  return {
    hasRoom(place, promised, size) {
      // An item larger than the whole window fits into an empty one, or it would wait forever.
      const { maxRows, maxBytes } = limitsOf(place.lane);
      const fitsBytes = bytes + promised.bytes + size <= maxBytes || rows + promised.rows === 0;
      if (!fitsBytes || rows + promised.rows >= maxRows) return false;
      return hasOwnRoom(place) || siteRoom(place) > promised.siteRows;
    },
    room(place, promised) {
      const { maxRows, maxBytes } = limitsOf(place.lane);
      return {
        rows: Math.max(0, Math.min(maxRows - rows - promised.rows, siteRoom(place))),
        bytes: Math.max(0, maxBytes - bytes - promised.bytes),
      };
    },
    isFull(lane, promised) {
      const { maxRows, maxBytes } = limitsOf(lane);
      const all = rows + promised.rows;
      return all >= maxRows || (all > 0 && bytes + promised.bytes >= maxBytes);
    },
    add(item) {
      const site = siteOf(item.site);
      site.lanes[item.delivery.lane].push(item);
      count(site, item, 1);
      site.rows += 1;
      byId.set(item.delivery.id, item);
      rows += 1;
      bytes += item.heldBytes;
      if (item.content === null) return;
      if (item.content.sharers === 0) bytes += item.content.size;
      item.content.sharers += 1;
    },
    take(name, lane = null, admits = () => true) {
      const site = sites.get(name);
      if (site === undefined) return null;
      if (lane !== null) {
        const item = site.lanes[lane].shift(admits);
        if (item !== null) count(site, item, -1);
        return item;
      }
      for (const next of site.turns.order()) {
        const item = site.lanes[next].shift(admits);
        if (item === null) continue;
        site.turns.went(next);
        count(site, item, -1);
        return item;
      }
      return null;
    },
    putBack(item) {
      const site = siteOf(item.site);
      site.lanes[item.delivery.lane].unshift(item);
      count(site, item, 1);
    },
    pull(item) {
      const site = sites.get(item.site);
      if (site !== undefined) removeFrom(site, (one) => one === item);
    },
    replace(copy) {
      byId.set(copy.delivery.id, copy);
      const site = siteOf(copy.site);
      site.lanes[copy.delivery.lane].unshift(copy);
      count(site, copy, 1);
    },
    dropContent,
    done(item) {
      rows -= 1;
      bytes -= item.heldBytes;
      byId.delete(item.delivery.id);
      dropContent(item);
      const site = sites.get(item.site);
      if (site === undefined) return;
      site.rows -= 1;
      forgetEmpty(item.site, site);
    },
    drain(name) {
      const site = sites.get(name);
      return site === undefined ? [] : removeFrom(site, () => true);
    },
    remove: (leaves) => [...sites.values()].flatMap((site) => removeFrom(site, leaves)),
    regroup(name, where) {
      const reached = new Set<string>();
      const site = sites.get(name);
      if (site === undefined) return reached;
      for (const lane of LANES) {
        for (const item of site.lanes[lane].remove((candidate) => where(candidate) !== name)) {
          count(site, item, -1);
          site.rows -= 1;
          item.site = where(item);
          const target = siteOf(item.site);
          target.lanes[lane].push(item);
          count(target, item, 1);
          target.rows += 1;
          reached.add(item.site);
        }
      }
      forgetEmpty(name, site);
      return reached;
    },
    waiting(name) {
      const lanes = sites.get(name)?.lanes;
      if (lanes === undefined) return NOBODY;
      return { critical: lanes.critical.size(), normal: lanes.normal.size(), bulk: lanes.bulk.size() };
    },
    rowsOf: (name) => sites.get(name)?.rows ?? 0,
    items: () => byId.values(),
    ids: () => byId.keys(),
    itemOf: (deliveryId) => byId.get(deliveryId) ?? null,
    sites: () => [...sites.keys()],
    rows() {
      return rows;
    },
    bytes() {
      return bytes;
    },
  };
}
