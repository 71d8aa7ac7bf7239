/**
 * The queue's running half: keeps the bounded window filled from the store, hands work to delivery, and records what
 * became of it. Given a store, a clock and a function that names the site of a recipient; leaves behind settled rows.
 *
 * Every row in the window is leased to this node's epoch. A row leaves memory only when its outcome (or its return) is
 * stored; while the store cannot write, nothing new is handed out, because a success that cannot be recorded would
 * become a duplicate (reliability.md §1.4). Correctness rests on polling: wake-ups only make things sooner.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import type { Service } from '../../lib/loop.ts';
import type { Random } from '../../lib/random.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { Lane, SandboxResult } from '../../model/message.ts';
import { type Store, StoreUnavailable } from '../../store/store.ts';
import type { Settlement } from '../../store/topics/queue.ts';
import { createReadyWindow, type ReadyItem, type WindowLimits } from './ready-window.ts';

/** What decides a site, known before and after a row exists. */
export interface SiteQuestion {
  recipientDomain: string;
  senderDomain: string;
  lane: Lane;
  sandbox: SandboxResult | null;
}

export interface QueueOptions extends WindowLimits {
  /** Sweep interval when nothing else wakes the queue. */
  sweepMs: number;
  /** Waiting recipients above which `backlogged` says so. */
  highWaterMark: number;
}

export const QUEUE_DEFAULTS: QueueOptions = {
  maxRows: 4096,
  maxBytes: 64 * 1024 * 1024,
  maxRowsPerSite: 2048,
  sweepMs: 10_000,
  highWaterMark: 5_000_000,
};

/** Settles a claimed row that may not go any more for another reason; null = it may go. */
export type SuppressionSettler = (delivery: ClaimedDelivery, now: number) => Settlement | null;

/** Settles a claimed row whose time is over; the events say so. */
export type ExpirySettler = (delivery: ClaimedDelivery, now: number) => Settlement;

export interface Queue extends Service {
  /**
   * Asks for room in memory before a message is committed. Per recipient: true = insert the row leased, it will be
   * admitted; false = insert it queued. Every true must be followed by `admit` or `unreserve`.
   */
  reserve(recipients: readonly SiteQuestion[], bytes: number): boolean[];
  unreserve(rows: number, bytes: number): void;
  /** The committed, leased rows of one message with their content. */
  admit(deliveries: readonly ClaimedDelivery[], content: Uint8Array, bytes: number): void;
  /** Rows were stored as queued and may be due at that instant; without one, now. */
  wake(at?: number): void;
  /** What is held has changed: what waits, in memory too, is looked at again. */
  holdsChanged(): void;
  /** Called with a site that has work to take. */
  onWork(listener: (site: string) => void): void;
  /** Next item of a site; null where none waits, the site is blocked, or the store cannot record an outcome. */
  take(site: string): ReadyItem | null;
  /** Whether an outcome could be stored now. Where not, nothing may be sent; the sites are woken when it can. */
  recordable(): boolean;
  putBack(item: ReadyItem): void;
  /** Records an outcome; the item leaves memory when it is stored. Resolves then. */
  settle(item: ReadyItem, settlement: Settlement): Promise<void>;
  /** Gives an item's lease back. */
  giveBack(item: ReadyItem, dueAt: number, waitReason: string | null): void;
  /** Nothing of this site is handed out until `until`; what waits in memory is given back with the reason. */
  block(site: string, until: number, reason: string): void;
  unblock(site: string): void;
  blocked(site: string): { until: number; reason: string } | null;
  waiting(site: string): number;
  /** Whether new mail must wait outside: too much is queued or outcomes cannot be stored. */
  backlogged(): string | null;
  readonly held: { rows: number; bytes: number };
}

interface Deps {
  store: Store;
  clock: Clock;
  random: Random;
  log: Logger;
  epoch: number;
  siteOf(question: SiteQuestion): string;
  expire: ExpirySettler;
  suppressed: SuppressionSettler;
  /** Mail that a person keeps back stays in the store; what is in memory already goes back with the reason. */
  heldBy?(question: SiteQuestion, site: string): { reason: string; until: number | null } | null;
  /** Events were stored: webhook calls may be due. */
  eventsStored(): void;
}

/** An outcome that is not stored yet. */
interface Unsettled {
  item: ReadyItem;
  settlement: Settlement;
  resolve: () => void;
}

const CLAIM_ROWS = 64;
const QUEUES_PER_SWEEP = 10_000;
const SETTLE_RETRY_MS = 250;
const EXPIRY_CHECK_MS = 5_000;
const COUNT_MS = 5_000;
const ROW_OVERHEAD_BYTES = 1024;

export function createQueue(
  { store, clock, random, log, epoch, siteOf, expire, suppressed, heldBy = () => null, eventsStored }: Deps,
  options: QueueOptions,
): Queue {
  const window = createReadyWindow(options);
  const blocks = new Map<string, { until: number; reason: string; timer: Timer }>();
  let listener: (site: string) => void = () => {};
  let reservedRows = 0;
  let reservedBytes = 0;
  let running = false;
  let sweepTimer: Timer | null = null;
  let sweepAt = Number.POSITIVE_INFINITY;
  let sweeping: Promise<void> | null = null;
  let sweepAgain = false;
  /** On the monotonic clock: a wall clock set back must not put these off. */
  let nextExpiryCheckMs = 0;
  let nextCountMs = 0;
  let queued = 0;
  /** Expired rows that are leased but not settled yet. */
  let expiring: Settlement[] = [];
  let pending: Unsettled[] = [];
  let flushing = false;
  let paused = false;
  let storeTimer: Timer | null = null;
  let retryPlanned = false;
  /** Sites with due rows in the store that memory had no room for. */
  const spilled = new Set<string>();

  // ── into the window ─────────────────────────────────────────────────────────────────────────────────────

  function reserve(recipients: readonly SiteQuestion[], bytes: number): boolean[] {
    const share = Math.ceil(bytes / Math.max(1, recipients.length));
    return recipients.map((recipient) => {
      const site = siteOf(recipient);
      if (!running || paused || blocks.has(site) || heldBy(recipient, site) !== null) return false;
      // Rows waiting in the store for a full site would be overtaken for ever; fresh mail joins their end.
      if (spilled.has(site) && recipient.lane !== 'critical') return false;
      if (!window.hasRoom(site, reservedRows + 1, reservedBytes + share)) {
        spilled.add(site);
        return false;
      }
      reservedRows += 1;
      reservedBytes += share;
      return true;
    });
  }

  function unreserve(rows: number, bytes: number): void {
    reservedRows -= rows;
    reservedBytes -= bytes;
  }

  function admit(deliveries: readonly ClaimedDelivery[], content: Uint8Array, bytes: number): void {
    unreserve(deliveries.length, bytes);
    const touched = new Set<string>();
    for (const delivery of deliveries) {
      const site = siteOf(delivery);
      window.add({ delivery, content, site, heldBytes: ROW_OVERHEAD_BYTES, redispatched: 0 });
      touched.add(site);
    }
    for (const site of touched) listener(site);
  }

  function schedule(at: number): void {
    if (!running || at >= sweepAt) return;
    sweepTimer?.cancel();
    sweepAt = at;
    sweepTimer = clock.setTimer(at - clock.now(), () => {
      sweepAt = Number.POSITIVE_INFINITY;
      void sweep();
    });
  }

  /** Claims what is due, queue by queue, until nothing is due or there is no room. */
  function sweep(): Promise<void> {
    if (!running) return Promise.resolve();
    if (sweeping !== null) {
      sweepAgain = true;
      return sweeping;
    }
    sweeping = sweepOnce()
      .catch((cause: unknown) => log.warn({ err: cause }, 'queue sweep failed; it will be tried again'))
      .then(() => {
        sweeping = null;
        if (sweepAgain) {
          sweepAgain = false;
          void sweep();
        }
      });
    return sweeping;
  }

  async function sweepOnce(): Promise<void> {
    let now = clock.now();
    schedule(now + options.sweepMs);
    if (clock.monotonicMs() >= nextExpiryCheckMs) {
      await settleExpired(now);
      nextExpiryCheckMs = clock.monotonicMs() + EXPIRY_CHECK_MS;
    }
    if (clock.monotonicMs() >= nextCountMs) {
      nextCountMs = clock.monotonicMs() + COUNT_MS;
      countQueued(now);
    }
    const left = new Set<string>();
    let held = false;
    for (let more = true; more && running && !paused; ) {
      more = false;
      left.clear();
      now = clock.now();
      for (const hint of await store.dueQueues({ dueBefore: now, limit: QUEUES_PER_SWEEP })) {
        if (!running || paused) break;
        const site = siteOf({ ...hint, sandbox: null });
        if (blocks.has(site)) continue;
        if (heldBy({ ...hint, sandbox: null }, site) !== null) {
          held = true;
          continue;
        }
        const room = window.room(site);
        const limit = Math.min(room.rows, CLAIM_ROWS);
        if (limit === 0 || room.bytes === 0) {
          left.add(site);
          continue;
        }
        const eventId = uuidv7(clock, random);
        const { queueId } = hint;
        const rows = await store.claimDue({ queueId, epoch, now, limit, maxBytes: room.bytes, eventId });
        for (const delivery of rows) addClaimed(delivery);
        if (rows.some((delivery) => delivery.wasScheduled)) eventsStored();
        // Rows, bytes or the end of the queue ended this claim: the next look says which.
        if (rows.length > 0) more = true;
      }
    }
    for (const site of left) spilled.add(site);
    for (const site of spilled) if (!left.has(site)) spilled.delete(site);
    const nextDueAt = held ? await nextDueNotHeld() : await store.nextDueAt();
    if (nextDueAt !== null) schedule(Math.max(nextDueAt, clock.now() + 200));
  }

  /** Queues that are held are due and stay so: they must not bring the next sweep about. */
  async function nextDueNotHeld(): Promise<number | null> {
    const dueBefore = clock.now() + options.sweepMs;
    const hints = await store.dueQueues({ dueBefore, limit: QUEUES_PER_SWEEP });
    const next = hints.find((hint) => {
      const question = { ...hint, sandbox: null };
      return heldBy(question, siteOf(question)) === null;
    });
    return next?.nextDueAt ?? null;
  }

  /** Not awaited: the store counts among searches that may take long, and no claim is to wait for those. */
  function countQueued(now: number): void {
    store.queueCounts({ now }).then(
      (counts) => {
        queued = counts.queued;
      },
      (cause: unknown) => log.debug({ err: cause }, 'the queue could not be counted'),
    );
  }

  function addClaimed(delivery: ClaimedDelivery): void {
    const site = siteOf(delivery);
    window.add({
      delivery,
      content: null,
      site,
      heldBytes: delivery.size + ROW_OVERHEAD_BYTES,
      redispatched: 0,
    });
    listener(site);
  }

  /** What was claimed but could not be settled goes first: it is leased already and would not be claimed again. */
  async function settleExpired(now: number): Promise<void> {
    for (;;) {
      if (expiring.length === 0) {
        const rows = await store.claimExpired({
          epoch,
          now,
          limit: CLAIM_ROWS,
          eventId: uuidv7(clock, random),
        });
        expiring = rows.map((row) => expire(row, now));
      }
      if (expiring.length === 0) return;
      await store.settle({ settlements: expiring, now });
      expiring = [];
      eventsStored();
    }
  }

  // ── out of the window ───────────────────────────────────────────────────────────────────────────────────

  function settle(item: ReadyItem, settlement: Settlement): Promise<void> {
    const stored = new Promise<void>((resolve) => pending.push({ item, settlement, resolve }));
    // While the store fails, the retry takes everything along.
    if (!paused) startFlush();
    return stored;
  }

  function startFlush(): void {
    if (flushing) return;
    flushing = true;
    queueMicrotask(() => void flush());
  }

  /** Stores outcomes as they come, one call at a time per tick; holds them while the store cannot write. */
  async function flush(): Promise<void> {
    while (pending.length > 0) {
      const batch = pending;
      pending = [];
      // The next outcomes form the next call while this one commits.
      void store.settle({ settlements: batch.map((entry) => entry.settlement), now: clock.now() }).then(
        (results) => {
          results.forEach((result, i) => {
            const entry = batch[i];
            if (entry !== undefined) finish(entry, result);
          });
          resume();
          eventsStored();
        },
        (cause: unknown) => {
          if (cause instanceof StoreUnavailable) keepForLater(batch, cause);
          else setAside(batch, cause);
        },
      );
      await Promise.resolve();
      // A store that is closed refuses at once: trying again in the same turn would never let go of it.
      if (paused) break;
    }
    flushing = false;
  }

  function keepForLater(batch: readonly Unsettled[], cause: unknown): void {
    if (!paused)
      log.error({ err: cause, outcomes: batch.length }, 'outcomes cannot be stored; delivery pauses');
    paused = true;
    pending = [...batch, ...pending];
    if (retryPlanned) return;
    retryPlanned = true;
    clock.setTimer(SETTLE_RETRY_MS, () => {
      retryPlanned = false;
      startFlush();
    });
  }

  /** An outcome the store refuses for what it is must not hold up all others: each is tried alone, and it is left. */
  function setAside(batch: readonly Unsettled[], cause: unknown): void {
    const [only] = batch;
    if (batch.length > 1 || only === undefined) {
      for (const entry of batch) {
        store.settle({ settlements: [entry.settlement], now: clock.now() }).then(
          ([result = 'settled']) => finish(entry, result),
          (why: unknown) =>
            why instanceof StoreUnavailable ? keepForLater([entry], why) : setAside([entry], why),
        );
      }
      return;
    }
    log.error(
      { err: cause, deliveryId: only.settlement.deliveryId },
      'an outcome cannot be stored; its recipient stays leased until the next start',
    );
    leave(only.item);
    only.resolve();
  }

  function finish(entry: Unsettled, result: string): void {
    if (result === 'fenced') {
      log.warn(
        { deliveryId: entry.settlement.deliveryId },
        'the lease was lost before the outcome was stored',
      );
    }
    const { state, dueAt } = entry.settlement;
    if (state === 'queued' && dueAt !== undefined) schedule(dueAt);
    leave(entry.item);
    entry.resolve();
  }

  function leave(item: ReadyItem): void {
    window.done(item);
    if (spilled.has(item.site) && window.room(item.site).rows > options.maxRowsPerSite / 2)
      schedule(clock.now());
  }

  function take(site: string): ReadyItem | null {
    if (blocks.has(site) || !recordable()) return null;
    for (;;) {
      const item = window.take(site);
      if (item === null) return null;
      const now = clock.now();
      // Its time may have gone by while it waited in memory, where the search for expired rows does not look.
      const ended =
        item.delivery.expiresAt <= now ? expire(item.delivery, now) : suppressed(item.delivery, now);
      const hold = ended === null ? heldBy(item.delivery, site) : null;
      if (ended !== null) void settle(item, ended);
      else if (hold === null) return item;
      // Due as before: as soon as it is released, it goes.
      else returnLeases([item], now, hold.reason);
    }
  }

  function recordable(): boolean {
    const can = !paused && store.writable().ok;
    if (!can) watchStore();
    return can;
  }

  /** Work was refused for the store's sake: nothing else may wake these sites when it can write again. */
  function watchStore(): void {
    if (!running) return;
    storeTimer ??= clock.setTimer(SETTLE_RETRY_MS, () => {
      storeTimer = null;
      if (recordable()) for (const site of window.sites()) listener(site);
    });
  }

  function resume(): void {
    if (!paused) return;
    paused = false;
    if (pending.length > 0) startFlush();
    log.info({}, 'outcomes are stored again; delivery goes on');
    for (const site of window.sites()) listener(site);
    schedule(clock.now());
  }

  function giveBack(item: ReadyItem, dueAt: number, waitReason: string | null): void {
    returnLeases([item], dueAt, waitReason);
  }

  function returnLeases(items: readonly ReadyItem[], dueAt: number, waitReason: string | null): void {
    if (items.length === 0) return;
    const deliveryIds = items.map((item) => item.delivery.id);
    const attempt = (): void => {
      store.release({ deliveryIds, epoch, dueAt, waitReason }).then(
        () => {
          for (const item of items) leave(item);
          schedule(dueAt);
        },
        (cause: unknown) => {
          log.warn({ err: cause, rows: items.length }, 'leases cannot be given back yet');
          if (running) clock.setTimer(SETTLE_RETRY_MS, attempt);
        },
      );
    };
    attempt();
  }

  function block(site: string, until: number, reason: string): void {
    blocks.get(site)?.timer.cancel();
    const timer = clock.setTimer(until - clock.now(), () => unblock(site));
    blocks.set(site, { until, reason, timer });
    returnLeases(window.drain(site), until, reason);
  }

  function unblock(site: string): void {
    const entry = blocks.get(site);
    if (entry === undefined) return;
    entry.timer.cancel();
    blocks.delete(site);
    listener(site);
    schedule(clock.now());
  }

  return {
    reserve,
    unreserve,
    admit,
    wake: (at) => schedule(Math.max(at ?? 0, clock.now())),
    holdsChanged() {
      for (const site of window.sites()) listener(site);
      schedule(clock.now());
    },
    onWork(fn) {
      listener = fn;
    },
    take,
    recordable,
    putBack: (item) => {
      window.putBack(item);
    },
    settle,
    giveBack,
    block,
    unblock,
    blocked: (site) => blocks.get(site) ?? null,
    waiting: (site) => window.waiting(site),
    backlogged() {
      if (paused) return 'outcomes cannot be stored';
      return queued > options.highWaterMark ? `${queued} recipients are waiting` : null;
    },
    get held() {
      return { rows: window.rows, bytes: window.bytes };
    },

    async start() {
      running = true;
      let reclaimed = 0;
      for (let n = -1; n !== 0; reclaimed += n) {
        n = await store.reclaim({ epoch, now: clock.now(), limit: 2000 });
      }
      if (reclaimed > 0) log.info({ rows: reclaimed }, 'took back what an earlier run held');
      schedule(clock.now());
    },

    async stop(deadlineMs) {
      running = false;
      sweepTimer?.cancel();
      storeTimer?.cancel();
      for (const entry of blocks.values()) entry.timer.cancel();
      await sweeping;
      const until = clock.monotonicMs() + deadlineMs;
      for (const site of window.sites()) returnLeases(window.drain(site), clock.now(), null);
      while (window.rows > 0 && clock.monotonicMs() < until) {
        await new Promise<void>((resolve) => {
          clock.setTimer(10, resolve);
        });
      }
    },
  };
}
