/**
 * Fills the window from the store. Knows what is due per site (due-queues.ts) and claims for sites that hold less than
 * half of what they may, some queues at a time in rotation; a site that is closed or full costs nothing until that
 * ends. A sweep every five seconds asks the store what becomes due within the next ten, and finds rows that were not
 * announced. Expired rows are settled here, whether their site is blocked or not.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import { createReruns } from '../../lib/shared-work.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { Lane } from '../../model/message.ts';
import type { NodeLease } from '../../model/node.ts';
import type { Store } from '../../store/store.ts';
import type { Hint } from '../../store/topics/hints.ts';
import type { QueueHint, Settlement } from '../../store/topics/queue.ts';
import { dueQueuePages } from './due-pages.ts';
import type { DueQueue, DueQueues } from './due-queues.ts';
import type { QueueOptions } from './queue.ts';
import {
  createPromises,
  LARGE_ROW_BYTES,
  type Promised,
  type ReadyWindow,
  type Room,
} from './ready-window.ts';
import type { Holding } from './strays.ts';

export interface Claims {
  /** Due times were noted, which may have come. */
  look(): void;
  /** Something may be due that was not announced. */
  sweepSoon(): void;
  /** Other nodes have stored rows in these queues, or in any. */
  hinted(queues: Hint['queues']): void;
  /** Whether the site holds less than half of what it may: due rows are claimed only then. */
  isLow(site: string): boolean;
  /** A site has free places, or is open again. */
  refill(site: string): void;
  /** Expired rows that are leased, and since when claims are under way. */
  holding(): Holding;
  /** Resolves when what is being claimed is in memory; null: nothing is. */
  underWay(): Promise<unknown> | null;
  start(): void;
  stop(): Promise<void>;
  /** Waiting recipients, as last counted. */
  queued(): number;
  /** Counts them; a sweep does so too. */
  count(): Promise<void>;
  /** Places that running claims may fill. */
  promised(): Promised;
}

interface Deps {
  store: Pick<
    Store,
    'hearsHints' | 'dueQueues' | 'dueAmong' | 'claimDue' | 'claimExpired' | 'settle' | 'queueCounts'
  >;
  clock: Clock;
  random: Random;
  log: Logger;
  node: NodeLease;
  window: ReadyWindow;
  /** Rows and bytes that are reserved for mail being accepted. */
  reserved(): Promised;
  due: DueQueues;
  /** Nothing may be claimed for this site, or for any (null). */
  closed(site: string | null): boolean;
  /** Nothing may be given up for its age now. */
  suspectsClock(): boolean;
  /** A hold applies to this queue's mail. */
  keptBack(queue: DueQueue): boolean;
  /** Rows that this site should hold at most. */
  allowance(site: string): number;
  /** Critical mail waits for a blocked site. */
  urgent(site: string): void;
  /** Claimed rows enter memory. `sinceMs`: when they were requested, monotonic. */
  add(deliveries: readonly ClaimedDelivery[], sinceMs: number): void;
  /** There is work for a site, or a reason to look again. */
  wake(site: string): void;
  expire(delivery: ClaimedDelivery, now: number): Settlement;
  /** Settles expired mail that waits in memory, which the search in the store does not find. */
  expireHeld(now: number): void;
  eventsStored(): void;
}

const CLAIM_ROWS = 64;
/** Queues of one site that are claimed from concurrently: their claims share a commit. */
const QUEUES_AT_ONCE = 8;
/** Queues that are moved to other sites in one round. */
const MOST_MOVED = 256;
/** Sites that are claimed for concurrently. */
const SITES_AT_ONCE = 8;
/** Sites that found no place are tried again below this share of all rows, or of those of their sender domain. */
const ROOM_AGAIN = 0.9;
const QUEUES_PER_SWEEP = 20_000;
const FAILED_SWEEP_MS = 1_000;

export function createClaims(
  deps: Deps,
  options: Pick<QueueOptions, 'lookAheadMs' | 'lookAheadWithoutHintsMs' | 'checkMs' | 'maxRows'>,
): Claims {
  const { store, clock, random, log, node, window, due } = deps;
  let running = false;
  let timer: Timer | null = null;
  let timerAt = Number.POSITIVE_INFINITY;
  let sweepAt = 0;
  /** Monotonic, so that setting the wall clock back does not delay them. */
  let nextSweepMs = 0;
  let nextExpiryCheckMs = 0;
  let nextCountMs = 0;
  let queued = 0;
  let sweeping: Promise<void> | null = null;
  /** Where the last sweep stopped if it found more than it looks at: the next one goes on there. */
  let sweptTo: QueueHint | undefined;
  /** Expired rows that are leased but not settled yet. */
  let expiring: Settlement[] = [];
  /** Queues of which others told; they are looked at together, however often others tell. */
  const told = new Set<number>();
  const looking = createReruns(lookAtTold);
  /** Sites to claim for, in turn. */
  const wanting = new Set<string>();
  const claiming = new Map<string, Promise<void>>();
  /** When the running claims began (monotonic), the oldest first. */
  const asked = new Set<{ sinceMs: number }>();
  const promised = createPromises();
  /** Sites that found no place because of others, also for critical mail. */
  const urgentOut = new Set<string>();
  /** Those that found none below critical mail. */
  const crowdedOut = new Set<string>();
  /** By sender domain: those where its mail found no place because of its mail to others. */
  const fullSenders = new Map<string, Set<string>>();
  /** The same for large mail. */
  const largeOut = new Map<string, Set<string>>();
  /** A claim failed since the last sweep: two sites of a sender domain would otherwise take turns without end. */
  let isFailing = false;

  return {
    look,
    sweepSoon,
    hinted(queues) {
      if (queues === 'all') sweepSoon();
      else if (queues.length > 0) {
        for (const id of queues) told.add(id);
        looking.ask();
      }
    },
    isLow,
    refill,
    count,
    holding() {
      const [oldest] = asked;
      return { ids: expiring.map(({ deliveryId }) => deliveryId), sinceMs: oldest?.sinceMs ?? null };
    },
    underWay: () => (claiming.size === 0 ? null : Promise.all(claiming.values())),
    start() {
      running = true;
      nextSweepMs = 0;
      void tick();
    },
    async stop() {
      running = false;
      timer?.cancel();
      wanting.clear();
      urgentOut.clear();
      crowdedOut.clear();
      fullSenders.clear();
      largeOut.clear();
      await sweeping;
      await Promise.all(claiming.values());
    },
    queued() {
      return queued;
    },
    promised() {
      return promised;
    },
  };

  // ── when ────────────────────────────────────────────────────────────────────────────────────────────────

  function sweepSoon(): void {
    nextSweepMs = Number.NEGATIVE_INFINITY;
    // A running sweep may have looked too early, so another follows it.
    if (sweeping === null) tick();
  }

  /** How far a sweep looks ahead. */
  function lookAheadMs(): number {
    return options.lookAheadWithoutHintsMs === undefined || store.hearsHints()
      ? options.lookAheadMs
      : options.lookAheadWithoutHintsMs;
  }

  function look(): void {
    if (!running) return;
    const now = clock.now();
    if ((due.nextAt() ?? Number.POSITIVE_INFINITY) <= now) {
      for (const site of due.advance(now)) arrived(site);
    }
    schedule();
  }

  /** Also told to a blocked site: critical mail may be a reason to try earlier. */
  function arrived(site: string): void {
    if (!deps.closed(site)) {
      refill(site);
      return;
    }
    deps.wake(site);
    if (due.hasLane(site, 'critical')) deps.urgent(site);
  }

  function schedule(): void {
    if (!running) return;
    const now = clock.now();
    // Whole milliseconds: a timer that fires a fraction too early would be set again for zero.
    sweepAt = now + Math.max(0, Math.ceil(nextSweepMs - clock.monotonicMs()));
    const at = sweeping === null ? Math.min(sweepAt, due.nextAt() ?? sweepAt) : (due.nextAt() ?? null);
    if (at === null) return;
    if (timer !== null && timerAt <= at && timerAt > now) return;
    timer?.cancel();
    timerAt = at;
    timer = clock.setTimer(at - now, () => {
      timer = null;
      timerAt = Number.POSITIVE_INFINITY;
      tick();
    });
  }

  function tick(): void {
    if (!running) return;
    look();
    if (sweeping !== null || clock.monotonicMs() < nextSweepMs) return;
    nextSweepMs = clock.monotonicMs() + Math.min(lookAheadMs(), options.checkMs);
    sweeping = sweep()
      .catch((cause: unknown) => {
        log.warn({ err: cause }, 'queue sweep failed; it will be tried again');
        nextSweepMs = Math.min(nextSweepMs, clock.monotonicMs() + FAILED_SWEEP_MS);
      })
      .then(() => {
        sweeping = null;
        tick();
      });
  }

  // ── what ────────────────────────────────────────────────────────────────────────────────────────────────

  async function sweep(): Promise<void> {
    const nowMs = clock.monotonicMs();
    // Asked at each sweep: it compares the clock with that of the last time.
    const isSuspect = deps.suspectsClock();
    if (nowMs >= nextExpiryCheckMs && !isSuspect && !deps.closed(null)) {
      deps.expireHeld(clock.now());
      await settleExpired(clock.now());
      nextExpiryCheckMs = nowMs + options.checkMs;
    }
    if (nowMs >= nextCountMs) {
      nextCountMs = nowMs + options.checkMs;
      void count();
    }
    const dueBefore = clock.now() + lookAheadMs();
    const from = sweptTo;
    sweptTo = undefined;
    let left = QUEUES_PER_SWEEP;
    for await (const hints of dueQueuePages(store, { dueBefore, most: left, from })) {
      const now = clock.now();
      for (const hint of hints) due.note(hint, hint.nextDueAt, now);
      left -= hints.length;
      if (left === 0) sweptTo = hints.at(-1);
    }
    isFailing = false;
    retryFullSenders();
    // Sites that wait for a place, and were woken while there was none.
    for (const site of [...due.sites()]) {
      if (!deps.closed(site)) {
        if (!waitsForPlaces(site)) refill(site);
      } else if (due.hasLane(site, 'critical')) deps.urgent(site);
    }
  }

  async function lookAtTold(): Promise<void> {
    if (!running) return;
    const queueIds = [...told];
    told.clear();
    try {
      const now = clock.now();
      for (const hint of await store.dueAmong({ queueIds, now, dueBefore: now + lookAheadMs() })) {
        due.note(hint, hint.nextDueAt, clock.now());
      }
    } catch (cause) {
      log.debug({ err: cause }, 'queues of other nodes could not be looked at; the sweep finds them');
    }
    look();
  }

  /** Not awaited by sweeps: for the store this is a search that may take long, and no claim must wait for it. */
  function count(): Promise<void> {
    return store.queueCounts({ now: clock.now() }).then(
      (counts) => {
        queued = counts.queued;
      },
      (cause: unknown) => log.debug({ err: cause }, 'the queue could not be counted'),
    );
  }

  /** Rows that were claimed but could not be settled come first: they are leased and would not be claimed again. */
  async function settleExpired(now: number): Promise<void> {
    for (;;) {
      if (expiring.length === 0) {
        const eventId = uuidv7(clock, random);
        const claim = { epoch: node.epoch, now, limit: CLAIM_ROWS, eventId };
        const rows = await asking(() => store.claimExpired(claim));
        expiring = rows.map((row) => deps.expire(row, now));
      }
      if (expiring.length === 0) return;
      await store.settle({ settlements: expiring, now });
      expiring = [];
      deps.eventsStored();
    }
  }

  async function asking<Result>(claim: () => Promise<Result>): Promise<Result> {
    const one = { sinceMs: clock.monotonicMs() };
    asked.add(one);
    try {
      return await claim();
    } finally {
      asked.delete(one);
    }
  }

  function refill(site: string): void {
    if (urgentOut.size > 0 && !window.isFull('critical', taken())) wantAgain(urgentOut);
    if (crowdedOut.size > 0 && usedRows() < ROOM_AGAIN * options.maxRows) wantAgain(crowdedOut);
    retryFullSenders();
    if (!running || claiming.has(site) || due.count(site) === 0 || deps.closed(site)) return;
    if (!isLow(site)) return;
    wanting.add(site);
    startClaims();
  }

  function retryFullSenders(): void {
    if (isFailing || wanting.size > 0) return;
    wantSome(fullSenders, (senderDomain) => {
      const { more, has } = window.rowsOfSender(senderDomain, taken());
      return more > (1 - ROOM_AGAIN) * has;
    });
    wantSome(largeOut, (senderDomain) => window.takesLarge(senderDomain, taken()));
    startClaims();
  }

  /** A few sites of each sender domain that has places: the others would ask in vain. */
  function wantSome(out: Map<string, Set<string>>, hasPlaces: (senderDomain: string) => boolean): void {
    for (const [senderDomain, sites] of out) {
      if (!hasPlaces(senderDomain)) continue;
      for (const site of sites) {
        if (wanting.size === SITES_AT_ONCE) break;
        sites.delete(site);
        wanting.add(site);
      }
      if (sites.size === 0) out.delete(senderDomain);
    }
  }

  function waitsAt(site: string, out: Map<string, Set<string>>, senderDomain: string): void {
    const sites = out.get(senderDomain) ?? new Set();
    out.set(senderDomain, sites.add(site));
  }

  /** It has its turn when there are places. */
  function waitsForPlaces(site: string): boolean {
    for (const sites of fullSenders.values()) if (sites.has(site)) return true;
    return false;
  }

  function usedRows(): number {
    return window.rows() + deps.reserved().rows + promised.rows;
  }

  function wantAgain(sites: Set<string>): void {
    for (const site of sites) wanting.add(site);
    sites.clear();
    startClaims();
  }

  /** Places that are promised, also to mail that is being accepted. */
  function taken(): readonly Promised[] {
    return [deps.reserved(), promised];
  }

  function startClaims(): void {
    for (const site of wanting) {
      if (claiming.size >= SITES_AT_ONCE) return;
      wanting.delete(site);
      claiming.set(
        site,
        claimFor(site)
          .catch((cause: unknown) => {
            // The sweep tries again.
            log.warn({ err: cause, site }, 'due mail could not be claimed; it will be tried again');
            nextSweepMs = Math.min(nextSweepMs, clock.monotonicMs() + FAILED_SWEEP_MS);
            isFailing = true;
            schedule();
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

  /** One round over some of the site's queues; returns true if the next round may find more. */
  async function claimFor(site: string): Promise<boolean> {
    // Critical mail is read beside what waits in memory.
    const isUrgent = due.hasLane(site, 'critical') && window.waiting(site).critical === 0;
    if (!running || deps.closed(site) || !(isLow(site) || isUrgent)) return false;
    const allowed = deps.allowance(site);
    const { critical, normal, bulk } = window.waiting(site);
    const free = allowed - (critical + normal + bulk) - deps.reserved().at.of(site) - promised.at.of(site);
    let rowsLeft = Math.min(isUrgent ? Math.max(1, free) : free, options.maxRows - usedRows());
    const roomOf = (lane: Lane, senderDomain: string) =>
      window.room({ site, lane, senderDomain, siteRows: allowed }, taken());
    const chosen = new Set<DueQueue>();
    const fits = (lane: Lane, senderDomain: string, onlyLarge: boolean) => {
      if (free <= 0 && lane !== 'critical') return false;
      const room = roomOf(lane, senderDomain);
      if (room.crowdedOut === 'by its sender') waitsAt(site, fullSenders, senderDomain);
      if (room.rows <= 0 || room.bytes <= 0) return false;
      if (onlyLarge && !room.takesLarge) waitsAt(site, largeOut, senderDomain);
      return room.takesLarge || !onlyLarge;
    };
    if (due.hasLane(site, 'critical') && window.isFull('critical', taken())) urgentOut.add(site);
    else if (window.isFull('normal', taken())) crowdedOut.add(site);
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
      rows = await asking(() => store.claimDue(claim));
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
