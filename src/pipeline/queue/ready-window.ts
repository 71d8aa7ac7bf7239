/**
 * The window of claimed rows in memory, limited in number and bytes, over the unlimited queue in the store. Rows are
 * grouped by site, lane and sender domain. So that there are always places for urgent mail and for other senders, parts of
 * it are kept for higher lanes, at each site and in all, and a part of the bytes for small mail; and a sender domain gets
 * at most some times what is free in all, so that the more it has, the more others can get. Does not use the store or the
 * network.
 */
import { createTally, type Tally } from '../../lib/tally.ts';
import { LANES, type Lane } from '../../model/message.ts';
import { createLaneTurns, type LaneTurns } from './lane-turns.ts';
import type { ReadyItem } from './ready-item.ts';
import { createSenderRows, type SenderRows } from './sender-rows.ts';

export interface WindowLimits {
  maxRows: number;
  maxBytes: number;
  maxRowsPerSite: number;
}

export interface ReadyWindow {
  /** Whether a row of `bytes` of this lane and sender domain fits, in addition to what is promised. */
  hasRoom(place: RoomRequest, promised: readonly Promised[], bytes: number): boolean;
  /** Free places for a claim of one lane and sender domain, in addition to what is promised in all. */
  room(place: RoomRequest, promised: readonly Promised[]): Room;
  /** Whether no row of this lane fits, of whichever site and sender domain. */
  isFull(lane: Lane, promised: readonly Promised[]): boolean;
  /** Rows that a sender domain may still have below critical mail, and those that it has. */
  rowsOfSender(senderDomain: string, promised: readonly Promised[]): { more: number; has: number };
  /** Whether a claim may have large rows of a sender domain below critical mail. */
  takesLarge(senderDomain: string, promised: readonly Promised[]): boolean;
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
  hasWaiting(site: string): boolean;
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

interface RowOwner {
  site: string;
  lane: Lane;
  senderDomain: string;
}

/** A request for places. `siteRows`: the limit for this site, instead of the general one. */
export interface RoomRequest extends RowOwner {
  siteRows?: number;
}

/** Rows and bytes in all, and by sender domain. */
interface Amounts {
  readonly rows: number;
  readonly bytes: number;
  /** Bytes of large rows. */
  readonly large: number;
  readonly rowsOf: Pick<Tally, 'of'>;
  /** Rows of critical mail. */
  readonly criticalOf: Pick<Tally, 'of'>;
  readonly largeOf: Pick<Tally, 'of'>;
}

/** Negative numbers take back what was counted. */
interface Counts extends Amounts {
  addRows(of: Pick<RowOwner, 'lane' | 'senderDomain'>, rows: number): void;
  addBytes(senderDomain: string, bytes: number, areLarge: boolean): void;
}

/** Places that are promised to rows on their way into the window. `large`: the bytes that large rows may take. */
export interface Promised extends Amounts {
  /** Rows by site. */
  readonly at: Pick<Tally, 'of'>;
  /** Negative numbers take back what was promised. */
  add(to: RowOwner, rows: number, bytes: number, mayBeLarge: boolean): void;
}

function createCounts(): Counts {
  const [rowsOf, criticalOf, largeOf] = [createTally(), createTally(), createTally()];
  const all = { rows: 0, bytes: 0, large: 0, rowsOf, criticalOf, largeOf };
  return Object.assign(all, {
    addRows({ lane, senderDomain }: Pick<RowOwner, 'lane' | 'senderDomain'>, rows: number) {
      all.rows += rows;
      rowsOf.add(senderDomain, rows);
      if (lane === 'critical') criticalOf.add(senderDomain, rows);
    },
    addBytes(senderDomain: string, bytes: number, areLarge: boolean) {
      all.bytes += bytes;
      if (!areLarge) return;
      all.large += bytes;
      largeOf.add(senderDomain, bytes);
    },
  });
}

export function createPromises(): Promised {
  const counts = createCounts();
  const at = createTally();
  return Object.assign(counts, {
    at,
    add(to: RowOwner, rows: number, bytes: number, mayBeLarge: boolean) {
      at.add(to.site, rows);
      counts.addRows(to, rows);
      counts.addBytes(to.senderDomain, bytes, mayBeLarge);
    },
  });
}

export interface Room {
  rows: number;
  bytes: number;
  /** false: for rows of up to `LARGE_ROW_BYTES`. true: the first may be larger than `bytes`. */
  takesLarge: boolean;
  /** Why there is none, where other sites' mail is why: all of it, or that of the sender domain. */
  crowdedOut: 'by all' | 'by its sender' | null;
}

interface SiteRows {
  turns: LaneTurns;
  lanes: Record<Lane, SenderRows>;
  /** Including taken ones. */
  rows: number;
  /** Waiting, by lane. */
  waitingByLane: Record<Lane, number>;
  /** Waiting, by lane and sender domain. */
  waitingBySender: Tally;
}

/** Taken items count for the whole window, not for their site's share of it. */
function waitingAt({ waitingByLane }: SiteRows): number {
  return waitingByLane.critical + waitingByLane.normal + waitingByLane.bulk;
}

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
/** Rows with more octets are large. Four of 20 MB to a host that does not answer would otherwise stop all other mail. */
export const LARGE_ROW_BYTES = 256 * 1024;
/** Share of all bytes for large rows. Small ones get the rest of it, however many large ones there are. */
const SHARE_OF_LARGE = 3 / 4;
/** With less than this share of all bytes no large row is claimed: how large it is, only the store knows. */
const LEAST_FOR_LARGE = 1 / 16;
/** A sender domain gets this times the rows, bytes of large rows, and known queues that are free: three quarters if it is alone. */
export const TIMES_FREE = 3;
/** Share of a site's rows of a lane for one sender domain. */
const SENDER_SHARE = 3 / 4;
const NOBODY: Readonly<Record<Lane, number>> = { critical: 0, normal: 0, bulk: 0 };

export function createReadyWindow(limits: WindowLimits): ReadyWindow {
  const sites = new Map<string, SiteRows>();
  const byId = new Map<number, ReadyItem>();
  const held = createCounts();

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
        waitingBySender: createTally(),
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
      ofThisSender += site.waitingBySender.of(`${part} ${senderDomain}`);
    }
    const free = Math.min(most - waitingAt(site), ofLane - inLane, ofSender - ofThisSender);
    return lane === 'critical' ? Math.max(free, CRITICAL_ROWS - site.waitingByLane.critical) : free;
  };

  /** What the window holds and what is promised. */
  const inAll = (promised: readonly Promised[], of: (one: Amounts) => number) => of(held) + sum(promised, of);

  /** Rows that a sender domain may still have in the window: critical ones however many others it has. */
  const rowsFor = ({ lane, senderDomain }: RoomRequest, promised: readonly Promised[]): number => {
    const free = limitsOf(lane).maxRows - inAll(promised, (one) => one.rows);
    const own = inAll(promised, ({ criticalOf, rowsOf }) =>
      (lane === 'critical' ? criticalOf : rowsOf).of(senderDomain),
    );
    return Math.min(free, TIMES_FREE * free - own);
  };

  /** Bytes that its small and large rows may still have; a large one may have more where it has none. */
  const bytesFor = ({ lane, senderDomain }: RoomRequest, promised: readonly Promised[]) => {
    const { maxBytes } = limitsOf(lane);
    const large = inAll(promised, (one) => one.large);
    const all = inAll(promised, (one) => one.bytes);
    const own = inAll(promised, ({ largeOf }) => largeOf.of(senderDomain));
    const free = maxBytes - all;
    const ofLarge = Math.min(free, Math.floor(SHARE_OF_LARGE * maxBytes) - large);
    return {
      small: Math.max(free, Math.floor((1 - SHARE_OF_LARGE) * maxBytes) - (all - large)),
      large: own === 0 ? ofLarge : Math.min(ofLarge, TIMES_FREE * ofLarge - own),
    };
  };

  const isEmpty = (promised: readonly Promised[]): boolean => inAll(promised, (one) => one.rows) === 0;

  const isFull = (lane: Lane, promised: readonly Promised[]): boolean => {
    const nobody = { site: '', lane, senderDomain: '' };
    return rowsFor(nobody, promised) <= 0 || (bytesFor(nobody, promised).small <= 0 && !isEmpty(promised));
  };

  const isForLarge = (bytesLeft: number, promised: readonly Promised[]): boolean =>
    bytesLeft >= LEAST_FOR_LARGE * limits.maxBytes || isEmpty(promised);

  const countBytes = (size: number, senderDomain: string, by: 1 | -1): void =>
    held.addBytes(senderDomain, by * size, size > LARGE_ROW_BYTES);

  const hasOwnRoom = ({ site, lane }: RoomRequest): boolean =>
    lane === 'critical' && (sites.get(site)?.waitingByLane.critical ?? 0) < CRITICAL_ROWS;

  const count = (site: SiteRows, { delivery }: ReadyItem, by: 1 | -1): void => {
    site.waitingByLane[delivery.lane] += by;
    site.waitingBySender.add(`${delivery.lane} ${delivery.senderDomain}`, by);
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
    if (item.content.sharers === 0) countBytes(item.content.size, item.delivery.senderDomain, -1);
    item.content = null;
  };

  const forgetEmpty = (name: string, site: SiteRows): void => {
    if (site.rows === 0) sites.delete(name);
  };

  return {
    hasRoom(place, promised, size) {
      const { small, large } = bytesFor(place, promised);
      // An item larger than the whole window fits into an empty one, or it would wait forever.
      if (size > (size > LARGE_ROW_BYTES ? large : small) && !isEmpty(promised)) return false;
      if (rowsFor(place, promised) <= 0) return false;
      return hasOwnRoom(place) || siteRoom(place) > sum(promised, ({ at }) => at.of(place.site));
    },
    room(place, promised) {
      const { small, large } = bytesFor(place, promised);
      const takesLarge = isForLarge(large, promised);
      const free = takesLarge ? Math.max(1, large) : Math.max(0, small);
      const most = rowsFor(place, promised);
      return {
        ...{ rows: Math.max(0, Math.min(most, siteRoom(place))), bytes: free, takesLarge },
        crowdedOut: most > 0 && free > 0 ? null : isFull(place.lane, promised) ? 'by all' : 'by its sender',
      };
    },
    isFull,
    takesLarge: (senderDomain, promised) =>
      isForLarge(bytesFor({ site: '', lane: 'normal', senderDomain }, promised).large, promised),
    rowsOfSender: (senderDomain, promised) => ({
      more: rowsFor({ site: '', lane: 'normal', senderDomain }, promised),
      has: held.rowsOf.of(senderDomain),
    }),
    add(item) {
      const site = siteOf(item.site);
      site.lanes[item.delivery.lane].push(item);
      count(site, item, 1);
      site.rows += 1;
      byId.set(item.delivery.id, item);
      held.addRows(item.delivery, 1);
      countBytes(item.heldBytes, item.delivery.senderDomain, 1);
      if (item.content === null) return;
      if (item.content.sharers === 0) countBytes(item.content.size, item.delivery.senderDomain, 1);
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
      held.addRows(item.delivery, -1);
      countBytes(item.heldBytes, item.delivery.senderDomain, -1);
      // It may have been claimed again before the answer came that it was given back.
      if (byId.get(item.delivery.id) === item) byId.delete(item.delivery.id);
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
    hasWaiting(name) {
      const site = sites.get(name);
      return site !== undefined && waitingAt(site) > 0;
    },
    rowsOf: (name) => sites.get(name)?.rows ?? 0,
    items: () => byId.values(),
    ids: () => byId.keys(),
    itemOf: (deliveryId) => byId.get(deliveryId) ?? null,
    sites: () => [...sites.keys()],
    rows: () => held.rows,
    bytes: () => held.bytes,
  };
}

function sum(promised: readonly Promised[], of: (one: Promised) => number): number {
  let all = 0;
  for (const one of promised) all += of(one);
  return all;
}
