/**
 * Makes the running half of the queue: fills the bounded window from the store (claims.ts), hands rows to delivery, and
 * stores their outcomes (settler.ts). Given a store, a clock and a function that names the site of a recipient.
 * Every row in the window is leased to this node's epoch and leaves memory only when its outcome, or its return to the
 * store, is stored. While the store cannot write, no row is handed out, because a success that cannot be recorded
 * would become a duplicate. The regular sweep finds every due row; hints and wake-ups only make this faster.
 */
import { atMost, type Clock, sleep } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import { createRounds } from '../../lib/rounds.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { Lane } from '../../model/message.ts';
import type { NodeLease } from '../../model/node.ts';
import type { Store } from '../../store/store.ts';
import type { Settlement } from '../../store/topics/queue.ts';
import { rowsAllowed } from './allowance.ts';
import { createChanging } from './changing.ts';
import { createClaims } from './claims.ts';
import { createDueQueues, type QueueRef, questionOf } from './due-queues.ts';
import type { Gate, KeptBack, SiteQuestion } from './gate.ts';
import { hurry } from './hurry.ts';
import { createLastCheck } from './last-check.ts';
import { createMemorySuppressions } from './memory-suppressions.ts';
import type { ExpirySettler, Queue, QueueOptions, Reservation, SuppressionSettler, Worker } from './queue.ts';
import type { ReadyItem, SharedContent } from './ready-item.ts';
import { createReadyWindow } from './ready-window.ts';
import { createReservations } from './reservations.ts';
import { createSettler } from './settler.ts';
import { takeOver } from './take-over.ts';

interface Deps {
  store: Store;
  clock: Clock;
  random: Random;
  log: Logger;
  node: NodeLease;
  /** The result for a recipient may change; `regroup` is called then. */
  siteOf(question: SiteQuestion): string;
  expire: ExpirySettler;
  suppressed: SuppressionSettler;
  /** Rows for which it gives a reason stay in the store; those already in memory go back with the reason. */
  gate: Gate;
  /** Called when events were stored: webhook calls may be due. */
  eventsStored(): void;
  /** Tags that routes name: if they have changed, waiting rows are moved to other queues. Absent = unknown. */
  routeTags?: readonly string[];
  /** Whether mail must not be given up for its age now. Absent = never. */
  suspectsClock?: () => boolean;
}

const ROW_OVERHEAD_BYTES = 1024;
/** Longer is not waited for outcomes that are being stored. */
const SETTLING_MS = 1_000;

export function createQueue(deps: Deps, options: QueueOptions): Queue {
  const { store, clock, random, log, node, siteOf, expire, eventsStored, gate } = deps;
  const { routeTags = null, suspectsClock = () => false } = deps;
  const window = createReadyWindow(options);
  const due = createDueQueues(siteOfQueue);
  let worker: Worker = { wake() {}, demand: () => options.maxRowsPerSite, throughput: () => 0 };
  let running = false;
  const settler = createSettler({
    ...{ store, clock, log, node, eventsStored },
    isClaimedAgain(item) {
      const held = window.itemOf(item.delivery.id);
      return held !== null && held !== item;
    },
    arriving: () => claims.underWay(),
    left: leave,
    resumed() {
      wakeAll();
      claims.sweepSoon();
    },
  });
  const claims = createClaims(
    {
      ...{ store, clock, random, log, node, window, due, eventsStored },
      reserved: () => reservations.reserved,
      suspectsClock,
      closed: (site) =>
        settler.isPaused() ||
        settler.mayHaveGivenBack() ||
        !node.valid ||
        (site !== null && gate.site(site) !== null),
      keptBack: (queue) => gate.mail(questionOf(queue), queue.site) !== null,
      urgent: gate.urgent,
      allowance,
      add: (deliveries, sinceMs) => addRows(deliveries, null, sinceMs),
      wake: (site) => worker.wake(site),
      expire: (delivery, now) => expire(delivery, now, gate.site(siteOf(delivery))?.reason ?? null),
      expireHeld(now) {
        for (const item of window.remove(({ delivery }) => delivery.expiresAt <= now))
          void settle(item, expire(item.delivery, now, null));
        // Items that were taken and wait for a connection are checked by the one that took them.
        wakeAll();
      },
    },
    options,
  );

  const reservations = createReservations({
    clock,
    window,
    due,
    claims: () => claims,
    siteOf,
    isOpen: (recipient, site) =>
      running && !settler.isPaused() && node.valid && keptBack(recipient, site) === null,
    allowance,
  });
  const changes = createChanging(
    { clock, window },
    {
      wake: (site) => worker.wake(site),
      leave: (item) => leave(item, null),
      giveBack: (item) => release([item], clock.now(), null),
      arriving: claims.underWay,
    },
  );

  const lastCheck = createLastCheck({
    ...{ clock, node, suspectsClock, expire, settle },
    suppressed: deps.suppressed,
    keptBack: ({ delivery, site }) => keptBack(delivery, site),
    giveBack: (item, dueAt, waitReason) => release([item], dueAt, waitReason),
  });
  const suppressions = createMemorySuppressions(
    {
      ...{ store, clock, log, underWaySinceMs },
      items: window.items,
      arriving: claims.underWay,
      changed(sites) {
        lastCheck.reasonsChanged();
        for (const site of sites) worker.wake(site);
      },
    },
    options.lookAheadWithoutHintsMs !== undefined,
  );

  return {
    reserve: reservations.reserve,
    unreserve: reservations.unreserve,
    admit,
    wake(at) {
      // A later time is found by a sweep before it comes.
      if (at === undefined || at <= clock.now() + options.lookAheadMs) claims.sweepSoon();
    },
    hinted: claims.hinted,
    suppressionsChanged: suppressions.read,
    stored(rows) {
      const now = clock.now();
      for (const row of rows) due.note(row, row.dueAt, now);
      claims.look();
    },
    gateChanged(site) {
      lastCheck.reasonsChanged();
      if (site !== undefined) {
        arrived(site);
        claims.refill(site);
        return;
      }
      wakeAll();
      for (const each of [...due.sites()]) claims.refill(each);
    },
    changing: changes.changing,
    async hurry(mail) {
      // What has just failed for the path is not in the store yet, and would keep its later time.
      await atMost(clock, SETTLING_MS, settler.stored());
      const hurried = await hurry({ store, clock, siteOfQueue }, mail);
      claims.sweepSoon();
      return hurried;
    },
    mayGoOn: lastCheck.mayGoOn,
    onWork(other) {
      worker = other;
    },
    take,
    recordable: settler.recordable,
    epochChanged() {
      lastCheck.reasonsChanged();
      for (const site of window.sites()) {
        release(window.drain(site), clock.now(), null);
        worker.wake(site);
      }
      claims.sweepSoon();
    },
    putBack(item) {
      if (item.withdrawn) return;
      item.underWay = null;
      const blocked = gate.site(item.site);
      if (blocked === null) window.putBack(item);
      else release([item], clock.now(), blocked.reason);
    },
    settle,
    giveBack: (item, dueAt, waitReason) => release([item], dueAt, waitReason),
    waiting: (site) => window.waiting(site),
    rowsOf: (site) => window.rowsOf(site),
    hasMail: (site) => window.rowsOf(site) > 0 || due.count(site) > 0,
    regroup,
    counting: createRounds({ clock, everyMs: options.checkMs, work: claims.count, failed() {} }),
    backlogged() {
      if (settler.isPaused()) return 'outcomes cannot be stored';
      return claims.queued() > options.highWaterMark ? `${claims.queued()} recipients are waiting` : null;
    },
    inMemory: () => ({ rows: window.rows(), bytes: window.bytes() }),
    holding() {
      const ids = [...window.ids(), ...claims.holding().ids, ...settler.refused()];
      return { ids, sinceMs: underWaySinceMs() };
    },
    items: window.items,
    itemOf: window.itemOf,

    async start() {
      running = true;
      suppressions.start();
      await takeOver({ store, clock, log }, routeTags);
      claims.start();
    },

    async stop(deadlineMs) {
      running = false;
      await claims.stop();
      await suppressions.stop();
      const until = clock.monotonicMs() + deadlineMs;
      for (const site of window.sites()) release(window.drain(site), clock.now(), null);
      while (window.rows() > 0 && clock.monotonicMs() < until) await sleep(clock, 10);
      settler.stop();
    },
  };

  /** When the oldest claim or commit began whose answer has not come. */
  function underWaySinceMs(): number | null {
    const since = [claims.holding().sinceMs ?? [], reservations.sinceMs() ?? []].flat();
    return since.length === 0 ? null : Math.min(...since);
  }

  // ── into the window ─────────────────────────────────────────────────────────────────────────────────────

  /** The rows that a site should hold, by what it can use soon and what other sites need. */
  function allowance(site: string): number {
    return rowsAllowed(options, window.rows(), worker.demand(site), worker.throughput(site));
  }

  function admit(
    deliveries: readonly ClaimedDelivery[],
    content: Uint8Array,
    reservation: Reservation,
  ): void {
    reservations.unreserve(reservation);
    const shared = { bytes: content, size: content.length, mayFree: deliveries.length === 1, sharers: 0 };
    addRows(deliveries, shared, reservation.sinceMs);
  }

  /** Rows arrived, or the gate has changed. A site may close while a message is committed or rows are claimed. */
  function arrived(site: string): void {
    const closed = gate.site(site);
    if (closed !== null) release(window.drain(site), clock.now(), closed.reason);
    worker.wake(site);
  }

  function wakeAll(): void {
    for (const site of window.sites()) worker.wake(site);
  }

  function keptBack(mail: SiteQuestion, site: string): KeptBack | null {
    return gate.site(site) ?? gate.mail(mail, site);
  }

  /** `content`: null = read later, but its size counts from now on. */
  function addRows(
    deliveries: readonly ClaimedDelivery[],
    content: SharedContent | null,
    sinceMs: number,
  ): void {
    const touched = new Set<string>();
    for (const delivery of deliveries) {
      const site = siteOf(delivery);
      suppressions.note(delivery, sinceMs);
      window.add({
        delivery,
        content,
        site,
        heldBytes: ROW_OVERHEAD_BYTES + (content === null ? delivery.size : 0),
        redispatched: 0,
        fresh: false,
        underWay: null,
        leaving: false,
        withdrawn: false,
        checked: -1,
      });
      touched.add(site);
    }
    for (const site of touched) arrived(site);
  }

  function siteOfQueue(queue: QueueRef): string {
    return siteOf(questionOf(queue));
  }

  function regroup(site: string): void {
    for (const reached of window.regroup(site, ({ delivery }) => siteOf(delivery))) arrived(reached);
    for (const reached of due.regroup(site)) {
      if (gate.site(reached) !== null) worker.wake(reached);
      else claims.refill(reached);
    }
  }

  // ── out of the window ───────────────────────────────────────────────────────────────────────────────────

  function take(site: string, lane?: Lane, admits?: (item: ReadyItem) => boolean): ReadyItem | null {
    if (gate.site(site) !== null || !settler.recordable()) return null;
    for (;;) {
      const item = window.take(site, lane ?? null, admits);
      if (item === null) return null;
      if (!lastCheck.mayGoOn(item)) continue;
      // The far end may be silent about all that it got, and other connections wait for mail.
      if (due.count(site) > 0 && !window.hasWaiting(site)) claims.refill(site);
      return item;
    }
  }

  function settle(item: ReadyItem, settlement: Settlement): Promise<void> {
    if (item.withdrawn) return Promise.resolve();
    leaves(item);
    return settler.settle(item, settlement);
  }

  /** Until its outcome is stored it needs no content, which V8 would count as old by then and keep for long. */
  function leaves(item: ReadyItem): void {
    item.leaving = true;
    window.dropContent(item);
  }

  function release(items: readonly ReadyItem[], dueAt: number, waitReason: string | null): void {
    const held = items.some(({ withdrawn }) => withdrawn) ? items.filter((one) => !one.withdrawn) : items;
    for (const item of held) leaves(item);
    settler.release(held, dueAt, waitReason);
  }

  function leave(item: ReadyItem, dueAt: number | null): void {
    window.done(item);
    changes.left();
    const { delivery } = item;
    if (dueAt !== null) {
      due.note({ ...delivery, sandbox: delivery.sandbox !== null }, dueAt, clock.now());
      claims.look();
    }
    claims.refill(item.site);
  }
}
