/**
 * Fills the window from the store: knows what is due per site (due-queues.ts), and decides when rows are claimed for
 * which site (site-claims.ts claims them). A sweep every five seconds asks the store what becomes due within the next
 * ten, and finds rows that were not announced. Expired rows are settled here, whether their site is blocked or not.
 */
import type { Timer } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import { createReruns } from '../../lib/shared-work.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { Store } from '../../store/store.ts';
import type { Hint } from '../../store/topics/hints.ts';
import type { QueueHint, Settlement } from '../../store/topics/queue.ts';
import { dueQueuePages } from './due-pages.ts';
import type { QueueOptions } from './queue.ts';
import { CLAIM_ROWS, createSiteClaims, type SiteClaims, type SiteClaimsDeps } from './site-claims.ts';
import type { Holding } from './strays.ts';

export interface Claims extends Pick<SiteClaims, 'isLow' | 'refill' | 'underWay' | 'promised'> {
  /** Due times were noted, which may have come. */
  look(): void;
  /** Something may be due that was not announced. */
  sweepSoon(): void;
  /** Other nodes have stored rows in these queues, or in any. */
  hinted(queues: Hint['queues']): void;
  /** Expired rows that are leased, and since when claims are under way. */
  holding(): Holding;
  start(): void;
  stop(): Promise<void>;
  /** Waiting recipients, as last counted. */
  queued(): number;
  /** Counts them; a sweep does so too. */
  count(): Promise<void>;
}

interface Deps extends SiteClaimsDeps {
  store: Pick<
    Store,
    'hearsHints' | 'dueQueues' | 'dueAmong' | 'claimDue' | 'claimExpired' | 'settle' | 'queueCounts'
  >;
  log: Logger;
  /** Nothing may be given up for its age now. */
  suspectsClock(): boolean;
  /** Critical mail waits for a blocked site. */
  urgent(site: string): void;
  /** There is work for a site, or a reason to look again. */
  wake(site: string): void;
  expire(delivery: ClaimedDelivery, now: number): Settlement;
  /** Settles expired mail that waits in memory, which the search in the store does not find. */
  expireHeld(now: number): void;
}

const QUEUES_PER_SWEEP = 20_000;
const FAILED_SWEEP_MS = 1_000;

export function createClaims(
  deps: Deps,
  options: Pick<QueueOptions, 'lookAheadMs' | 'lookAheadWithoutHintsMs' | 'checkMs' | 'maxRows'>,
): Claims {
  const { store, clock, random, log, node, due } = deps;
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
  /** When the running claims began (monotonic), the oldest first. */
  const asked = new Set<{ sinceMs: number }>();
  const sites = createSiteClaims(
    {
      ...deps,
      store: { claimDue: (claim) => asking(() => store.claimDue(claim)) },
      failed(site, cause) {
        log.warn({ err: cause, site }, 'due mail could not be claimed; it will be tried again');
        nextSweepMs = Math.min(nextSweepMs, clock.monotonicMs() + FAILED_SWEEP_MS);
        schedule();
      },
    },
    options,
  );

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
    isLow: sites.isLow,
    refill: sites.refill,
    underWay: sites.underWay,
    promised: sites.promised,
    count,
    holding() {
      const [oldest] = asked;
      return { ids: expiring.map(({ deliveryId }) => deliveryId), sinceMs: oldest?.sinceMs ?? null };
    },
    start() {
      running = true;
      sites.start();
      nextSweepMs = 0;
      void tick();
    },
    async stop() {
      running = false;
      timer?.cancel();
      await Promise.all([sweeping, sites.stop()]);
    },
    queued: () => queued,
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
      sites.refill(site);
      return;
    }
    deps.wake(site);
    if (due.hasCritical(site)) deps.urgent(site);
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
    sites.swept();
    // Sites that wait for a place, and were woken while there was none.
    for (const site of [...due.sites()]) {
      if (!deps.closed(site)) {
        if (!sites.waitsForPlaces(site)) sites.refill(site);
      } else if (due.hasCritical(site)) deps.urgent(site);
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
}
