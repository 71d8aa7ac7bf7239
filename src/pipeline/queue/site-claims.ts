/**
 * Claims due rows for the sites that hold less than half of what they may, some queues of each at a time in rotation; a
 * site that is closed or full costs nothing until that ends. When to look is decided in claims.ts. A claim that fails
 * is reported there, and its site is tried again after the next sweep.
 */
import type { Clock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Random } from '../../lib/random.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { Lane } from '../../model/message.ts';
import type { NodeLease } from '../../model/node.ts';
import type { Store } from '../../store/store.ts';
import { createCrowdedOut } from './crowded-out.ts';
import type { DueQueue, DueQueues } from './due-queues.ts';
import {
  createPromises,
  LARGE_ROW_BYTES,
  type Promised,
  type ReadyWindow,
  type Room,
} from './ready-window.ts';

export interface SiteClaims {
  /** Whether the site holds less than half of what it may: due rows are claimed only then. */
  isLow(site: string): boolean;
  /** A site has free places, or is open again. */
  refill(site: string): void;
  /** After a sweep: claims that failed are tried again. */
  swept(): void;
  /** The site has its turn when its sender domain has places. */
  waitsForPlaces(site: string): boolean;
  /** Resolves when what is being claimed is in memory; null: nothing is. */
  underWay(): Promise<unknown> | null;
  /** Places that running claims may fill. */
  promised: Promised;
  start(): void;
  /** Ends when what is being claimed is in memory. */
  stop(): Promise<unknown>;
}

export interface SiteClaimsDeps {
  store: Pick<Store, 'claimDue'>;
  clock: Clock;
  random: Random;
  node: NodeLease;
  window: ReadyWindow;
  /** Rows and bytes that are reserved for mail being accepted. */
  reserved(): Promised;
  due: DueQueues;
  /** Nothing may be claimed for this site, or for any (null). */
  closed(site: string | null): boolean;
  /** A hold applies to this queue's mail. */
  keptBack(queue: DueQueue): boolean;
  /** Rows that this site should hold at most. */
  allowance(site: string): number;
  /** Claimed rows enter memory. `sinceMs`: when they were requested, monotonic. */
  add(deliveries: readonly ClaimedDelivery[], sinceMs: number): void;
  eventsStored(): void;
}

/** Rows per claim. */
export const CLAIM_ROWS = 64;
/** Queues of one site that are claimed from concurrently: their claims share a commit. */
const QUEUES_AT_ONCE = 8;
/** Queues that are moved to other sites in one round. */
const MOST_MOVED = 256;
/** Sites that are claimed for concurrently. */
const SITES_AT_ONCE = 8;

export function createSiteClaims(
  deps: SiteClaimsDeps & {
    /** A claim failed. */
    failed(site: string, cause: unknown): void;
  },
  { maxRows }: { maxRows: number },
): SiteClaims {
  const { store, clock, random, node, window, due } = deps;
  let running = false;
  /** Sites to claim for, in turn. */
  const wanting = new Set<string>();
  const claiming = new Map<string, Promise<void>>();
  const promised = createPromises();
  const crowdedOut = createCrowdedOut({ window, taken, usedRows }, maxRows);
  /** A claim failed since the last sweep: two sites of a sender domain would otherwise take turns without end. */
  let isFailing = false;

  return {
    isLow,
    refill,
    swept() {
      isFailing = false;
      retryFullSenders();
    },
    waitsForPlaces: crowdedOut.isBySender,
    underWay: () => (claiming.size === 0 ? null : Promise.all(claiming.values())),
    promised,
    start() {
      running = true;
    },
    stop() {
      running = false;
      wanting.clear();
      crowdedOut.clear();
      return Promise.all(claiming.values());
    },
  };

  // ── for which sites ─────────────────────────────────────────────────────────────────────────────────────

  function refill(site: string): void {
    want(crowdedOut.takeUrgent());
    want(crowdedOut.takeOthers());
    retryFullSenders();
    if (!running || claiming.has(site) || due.count(site) === 0 || deps.closed(site)) return;
    if (isLow(site)) want([site]);
  }

  function retryFullSenders(): void {
    if (!isFailing && wanting.size === 0) want(crowdedOut.takeOfSenders(SITES_AT_ONCE));
  }

  function want(sites: readonly string[]): void {
    if (sites.length === 0) return;
    for (const site of sites) wanting.add(site);
    startClaims();
  }

  function startClaims(): void {
    for (const site of wanting) {
      if (claiming.size >= SITES_AT_ONCE) return;
      wanting.delete(site);
      claiming.set(
        site,
        claimFor(site)
          .catch((cause: unknown) => {
            isFailing = true;
            deps.failed(site, cause);
            return false;
          })
          .then((again) => {
            claiming.delete(site);
            if (again) refill(site);
            else retryFullSenders();
            startClaims();
          }),
      );
    }
  }

  function isLow(site: string): boolean {
    const { critical, normal, bulk } = window.waiting(site);
    const waiting = critical + normal + bulk;
    return waiting === 0 || 2 * waiting < deps.allowance(site);
  }

  /** Places that are promised, also to mail that is being accepted. */
  function taken(): readonly Promised[] {
    return [deps.reserved(), promised];
  }

  function usedRows(): number {
    return window.rows() + deps.reserved().rows + promised.rows;
  }

  // ── which rows ──────────────────────────────────────────────────────────────────────────────────────────

  /** One round over some of the site's queues; returns true if the next round may find more. */
  async function claimFor(site: string): Promise<boolean> {
    // Critical mail is read beside what waits in memory.
    const isUrgent = due.hasCritical(site) && window.waiting(site).critical === 0;
    if (!running || deps.closed(site) || !(isLow(site) || isUrgent)) return false;
    const allowed = deps.allowance(site);
    const { critical, normal, bulk } = window.waiting(site);
    const free = allowed - (critical + normal + bulk) - deps.reserved().at.of(site) - promised.at.of(site);
    let rowsLeft = Math.min(isUrgent ? Math.max(1, free) : free, maxRows - usedRows());
    const roomOf = (lane: Lane, senderDomain: string) =>
      window.room({ site, lane, senderDomain, siteRows: allowed }, taken());
    const chosen = new Set<DueQueue>();
    const fits = (lane: Lane, senderDomain: string, onlyLarge: boolean) => {
      if (free <= 0 && lane !== 'critical') return false;
      const room = roomOf(lane, senderDomain);
      if (room.crowdedOut === 'by its sender') crowdedOut.bySender(site, senderDomain);
      if (room.rows <= 0 || room.bytes <= 0) return false;
      if (onlyLarge && !room.takesLarge) crowdedOut.byLarge(site, senderDomain);
      return room.takesLarge || !onlyLarge;
    };
    crowdedOut.byAll(site, due.hasCritical(site));
    let moved = 0;
    const claims: Promise<void>[] = [];
    while (chosen.size < QUEUES_AT_ONCE && rowsLeft > 0) {
      const queue = due.next(site, fits, (other) => !chosen.has(other) && !deps.keptBack(other));
      if (queue === null) break;
      // Only of those that are next: to ask for all of a site's queues in every round took 50 ms for 100,000.
      const belongs = due.move(queue);
      if (belongs !== site) {
        refill(belongs);
        moved += 1;
        if (moved === MOST_MOVED) break;
        continue;
      }
      const room = roomOf(queue.lane, queue.senderDomain);
      chosen.add(queue);
      const share = Math.ceil(rowsLeft / Math.min(QUEUES_AT_ONCE, due.count(site) - chosen.size + 1));
      const limit = Math.min(CLAIM_ROWS, share, room.rows);
      rowsLeft -= limit;
      claims.push(claimFrom(queue, { ...room, rows: limit }));
    }
    await Promise.all(claims);
    // A queue that had no due rows is not among them any more, so this ends.
    return moved > 0 || claims.length > 0;
  }

  async function claimFrom(queue: DueQueue, { rows: limit, bytes: free, takesLarge }: Room): Promise<void> {
    // Its site may change meanwhile.
    const { revision, queueId, site, lane, senderDomain } = queue;
    const maxBytes = Math.ceil(free / 2);
    promised.add(queue, limit, maxBytes, takesLarge);
    const sinceMs = clock.monotonicMs();
    const eventId = uuidv7(clock, random);
    const claim = {
      ...{ queueId, epoch: node.epoch, now: clock.now(), limit, maxBytes, eventId },
      ...(takesLarge ? {} : { maxRowBytes: Math.min(maxBytes, LARGE_ROW_BYTES) }),
    };
    let rows: readonly ClaimedDelivery[] = [];
    try {
      rows = await store.claimDue(claim);
    } finally {
      // In one go with their arrival: a message that is accepted in between would find room for itself.
      promised.add({ site, lane, senderDomain }, -limit, -maxBytes, takesLarge);
    }
    if (rows.some((delivery) => delivery.wasScheduled)) deps.eventsStored();
    let bytes = 0;
    for (const { size } of rows) bytes += size;
    deps.add(rows, sinceMs);
    // Neither the limit of rows nor of bytes ended this claim, so there are no more due rows. A row larger than half of
    // that is left for the sweep.
    if (rows.length === limit || bytes > maxBytes / 2) due.leftMore(queue);
    else if (takesLarge) due.exhausted(queue, revision);
    else due.noMoreSmall(queue, revision);
  }
}
