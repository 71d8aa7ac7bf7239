/**
 * One path's delivery: takes its work from the queue, prepares it, keeps connections and sends.
 *
 *   queue ──take──► preparing (read, sign) ──► picked ──► a connection with room ──► outcome ──► settled
 *
 * Two stages, so that signing (on the thread pool) runs while connections are busy. A connection takes a second message
 * of the same lane while one is in flight: its envelope then travels with the first one's last bytes. Connections open
 * one at a time, only while something that may use one finds none. What a failure says about the path goes to its
 * health (path-health.ts), what a reply teaches to the overrides; a message whose connection ends under it is charged
 * unless the fault was plainly the connection's.
 * It is one piece because every function in it looks at the same few variables of what is open and in flight.
 */
import type { Clock, Timer } from '../../../lib/clock.ts';
import type { Failpoints } from '../../../lib/failpoints.ts';
import { type Logger, maskAddresses } from '../../../lib/log.ts';
import type { ClaimedDelivery } from '../../../model/delivery.ts';
import type { PathMemory } from '../../../policy/limits/shaping/path-memory.ts';
import {
  type EffectiveLimits,
  MOST_SMALL_MESSAGES,
  type OverrideNote,
  type Overrides,
  type PathQuery,
  pathKey,
  type Shaping,
} from '../../../policy/limits/shaping/types.ts';
import type { Warmup } from '../../../policy/limits/warmup/warmup.ts';
import type { SessionClose } from '../../../smtp/client-types.ts';
import type { KeptBack } from '../../queue/gate.ts';
import type { Lease, LeaseListener } from '../../queue/membership.ts';
import type { Queue } from '../../queue/queue.ts';
import type { ReadyItem } from '../../queue/ready-item.ts';
import type { RetrySchedule } from '../../queue/retry-schedule.ts';
import type { DeliverMetrics } from '../deliver-metrics.ts';
import type { Outcome, ReplyFacts } from '../outcome/outcome.ts';
import { logOutcome } from '../outcome/outcome-log.ts';
import type { SettlementRules } from '../outcome/settlement.ts';
import type { Prepared, Preparer } from '../prepare/prepared.ts';
import { egressFingerprint } from '../routing/egress-fingerprint.ts';
import type { Endpoint } from '../routing/endpoints.ts';
import type { Site } from '../routing/sites.ts';
import { createTriedHosts } from '../routing/tried-hosts.ts';
import { mayCarry } from '../tls/plan.ts';
import { createPathEgress } from './egress.ts';
import { createPathFailures } from './failures.ts';
import type { FarEnds } from './far-ends.ts';
import { createPathHealth } from './health.ts';
import { createPathIntake } from './intake.ts';
import { createPathGates, type ProviderGate } from './limits.ts';
import { createLinks, type Link } from './links.ts';
import { type Opened, type OpeningDeps, openForHead, pathOutcome } from './opening.ts';
import { createPicker } from './picker.ts';
import type { PathRef, PathWord } from './state.ts';
import type { PathStates } from './states.ts';
import { createPathTenants } from './tenants.ts';
import { createThroughput } from './throughput.ts';
import { transact } from './transaction.ts';
import { createPathView } from './view.ts';
import { createPathVolume } from './volume.ts';
import { createPathWarmup } from './warmup.ts';

export interface Path {
  /** There may be work, or a reason to look again. */
  wake(): void;
  /** Some domain may belong to another site now: what waits here for a connection is looked at again. */
  regroup(): void;
  /** Rows it can use within the next seconds. */
  demand(): number;
  /** Messages it got through within about the last second. */
  throughput(): number;
  /** What is shown of it. */
  readonly ref: PathRef;
  /** What this item, which is in memory, waits for; null: it is about to go. */
  waitOf(item: ReadyItem): KeptBack | null;
  /** Its connections take nothing new: the next message opens one. */
  reconnect(): void;
  /** Finishes what is in flight until `deadlineMs`, gives everything else back. */
  stop(deadlineMs: number): Promise<void>;
  /** It is not used any more: another node may send in its place. */
  forget(): void;
  /** Nothing is in flight, prepared or connected: the path may be forgotten. */
  readonly idle: boolean;
}

export interface PathDeps extends Omit<OpeningDeps, 'tried'> {
  name: string;
  place: Extract<Site, { kind: 'path' }>;
  queue: Queue;
  preparer: Preparer;
  rules: SettlementRules;
  retry: RetrySchedule;
  clock: Clock;
  log: Logger;
  mailLog: Logger;
  metrics: DeliverMetrics;
  failpoints: Failpoints;
  shaping: Pick<Shaping, 'limitsFor'>;
  overrides: Overrides;
  memory: Pick<PathMemory, 'recall'>;
  states: Pick<PathStates, 'of'>;
  farEnds: FarEnds;
  provider: ProviderGate | null;
  warmup: Warmup;
  /** Who may send, where several nodes share the source: told of every change. Left out: this node may. */
  egress?(listener: LeaseListener): Lease | null;
  /** Whether a recipient's mail goes by another path than this one now. */
  elsewhere(delivery: ClaimedDelivery): boolean;
  /** A relay does not take our mail, and another one of its list is to take the message. */
  refusedBy(endpoint: Endpoint, outcome: Outcome, messageId: string): boolean;
  /** The far end gets one message at a time. */
  halfOpen(endpoint: Endpoint): boolean;
  /** Where the domain's mail goes by what DNS says now is known when this resolves; never rejects. */
  placed(recipientDomain: string): Promise<void>;
  /** An attempt ended: what it teaches about the way there is remembered elsewhere. */
  onOutcome(endpoint: Endpoint, outcome: Outcome, senderDomain: string): void;
  /** The first message of a session under TLS was answered, or the session ended before that. */
  firstUnderTls(endpoint: Endpoint, why: string | null): void;
  /** A domain of this site has DNS of its own mind: it goes by a path of its own. */
  isolate(recipientDomain: string): void;
}

/** Nearer far ends: one write and one reply a message beat spreading over idle connections (a fifth less CPU). */
const NEAR_MS = 20;
/** Slower far ends get a connection a message: nothing should wait behind them. */
const QUICK_MS = 1_000;
const ROWS_PER_CONNECTION = 32;
/** What waits behind another message for less is passing through. */
const NAMED_AFTER_MS = 250;
const RATE_AHEAD_SECONDS = 5;

export function createPath(deps: PathDeps, options: { maxConnections: number }): Path {
  const { name, place, queue, preparer, rules, clock, log, mailLog, metrics, failpoints } = deps;
  const { source, site, provider } = place;
  const route = place.egress.targets[0]?.kind === 'relay' ? ('relay' as const) : ('mx' as const);
  // The same object again and again: shaping answers it without building anything.
  let asked: PathQuery = { source, site, provider, route };
  const mayBeSmall = route === 'mx' && provider === null;
  const gates = createPathGates(clock, () => limitsOf(), deps.provider);
  const recalled = deps.memory.recall(source, site);
  const volume = createPathVolume(clock, recalled);
  const startAt = route === 'relay' ? capNow() : null;
  const state = deps.states.of(source, site, egressFingerprint(place.egress));
  const health = createPathHealth({ clock, state, recalled, startAt });
  state.attach(() => ({ concurrency: health.window.size, ...volume.state() }));
  const links = createLinks({ clock, closed: linkClosed, hangs: pump });
  const ready = createPicker();
  let abort = new AbortController();
  const tried = createTriedHosts(clock);
  const view = createPathView(
    { name, place, queue, gates, state, links, clock, overrides: deps.overrides, route },
    {
      usable,
      inFlight: () => inFlight,
      opening: () => Number(stage !== null),
      ready: (lane) => ready.count(lane) + intake.preparingOf(lane),
    },
  );
  const warm = createPathWarmup(
    { warmup: deps.warmup, name, now: clock.now, wake: pump },
    { source, provider },
  );
  const throughput = createThroughput(clock);
  const tenants = createPathTenants(
    { clock, overrides: deps.overrides, limits: (senderDomain) => limitsOf(senderDomain) },
    site,
  );
  const intake = createPathIntake({
    ...{ name, queue, preparer, clock, log, ready, tenants, warm, view, finish, demand, pump, wakeAfter },
    connections: () => links.size,
    recipientsInOne: (senderDomain) => limitsOf(senderDomain).limits.recipientsPerTransaction,
  });
  const failures = createPathFailures({
    ...deps,
    ...{ source, site, gates, health, state, links, tried, ready, view, finish },
    stopping: () => stopping,
    pauseOpening(forMs) {
      noOpenBeforeMs = clock.monotonicMs() + forMs;
    },
  });
  const transaction = {
    ...{ queue, state, preparer, clock, metrics, failpoints, failures, ready, finish },
    classifier: deps.classifier,
    stopping: () => stopping,
    note: (limit: Pick<OverrideNote, 'param' | 'value' | 'until' | 'rule' | 'why'>) =>
      deps.overrides.note({ scope: 'path', key: pathKey(source, site), ...limit }),
    onOutcome(endpoint: Endpoint, outcome: Outcome, senderDomain: string, reached: boolean) {
      deps.onOutcome(endpoint, outcome, senderDomain);
      if (reached) warm.onOutcome(outcome);
    },
    refusedBy: deps.refusedBy,
    firstUnderTls: deps.firstUnderTls,
    leave: ({ host, port }: Endpoint) =>
      links.leaveThose(({ endpoint }) => endpoint.host === host && endpoint.port === port),
    cameBack(items: readonly ReadyItem[], sent: boolean) {
      warm.cameBack(items.length);
      for (const { delivery } of items) tenants.cameBack(delivery.senderDomain);
      if (!sent) gates.messageNotSent();
    },
    replied({ endpoint }: Link, delivered: ReplyFacts | null) {
      throughput.ended();
      health.succeeded(`${endpoint.address}:${endpoint.port}`, links.busyCount, capNow());
      if (delivered === null) return;
      view.succeeded(word(delivered));
      if (volume.took()) state.remember();
    },
  };
  let inFlight = 0;
  /** Of the connection that is being opened. */
  let stage: 'resolving' | 'connecting' | null = null;
  /** A further connection was refused while others work: not asked for again before this (monotonic) time. */
  let noOpenBeforeMs = 0;
  let stopping = false;
  let drained: (() => void) | null = null;
  let wakeTimer: Timer | null = null;
  let wakeAtMs = Number.POSITIVE_INFINITY;

  const egress = createPathEgress({ clock, state, links, view }, deps.egress, {
    lost() {
      // An opening that is under way ends here.
      abort.abort();
      abort = new AbortController();
    },
    changed: pump,
  });

  return {
    wake: pump,
    regroup,
    demand,
    throughput: throughput.perSecond,
    ref: view,
    waitOf: (item) => waitBehind(item) ?? tenants.waitOf(item.delivery.senderDomain) ?? view.waitNow(),
    reconnect: links.leaveAll,
    stop,
    forget() {
      keep();
      warm.release();
      egress.end();
      state.detach();
    },
    get idle() {
      return (
        links.all === 0 && stage === null && intake.preparing === 0 && ready.size === 0 && inFlight === 0
      );
    },
  };

  // ── how much ────────────────────────────────────────────────────────────────────────────────────────────

  function queryNow(): PathQuery {
    if (!mayBeSmall) return asked;
    const messagesLastDay = Math.min(volume.lastDay, MOST_SMALL_MESSAGES);
    if (asked.messagesLastDay !== messagesLastDay) asked = { ...asked, messagesLastDay };
    return asked;
  }

  function limitsOf(senderDomain?: string): EffectiveLimits {
    const query = queryNow();
    return deps.shaping.limitsFor(senderDomain === undefined ? query : { ...query, senderDomain });
  }

  function capNow(): number {
    return Math.max(1, Math.min(gates.effective().limits.connections, options.maxConnections));
  }

  /** Connections that may be in use at a time. */
  function usable(): number {
    return state.breaker.kind === 'closed' ? Math.min(capNow(), health.window.size) : 1;
  }

  function demand(): number {
    if (state.breaker.kind !== 'closed') return 1;
    const { messagesPerSecond } = gates.effective().limits;
    const byRate =
      messagesPerSecond === null
        ? Number.POSITIVE_INFINITY
        : Math.ceil(messagesPerSecond * RATE_AHEAD_SECONDS);
    return Math.max(1, Math.min(Math.max(ROWS_PER_CONNECTION * usable(), throughput.lately()), byRate));
  }

  /** A token, a connection or a pause comes at a known time: nothing is polled for. */
  function wakeAfter(ms: number): void {
    const atMs = clock.monotonicMs() + ms;
    if (stopping || atMs >= wakeAtMs) return;
    wakeTimer?.cancel();
    wakeAtMs = atMs;
    wakeTimer = clock.setTimer(ms, () => {
      wakeAtMs = Number.POSITIVE_INFINITY;
      pump();
    });
  }

  // ── work in ─────────────────────────────────────────────────────────────────────────────────────────────

  function pump(): void {
    if (!stopping && mayWork()) intake.take(state.breaker.kind === 'half-open' ? 1 - moving() : null);
    dispatch();
    if (drained !== null && inFlight === 0 && intake.preparing === 0 && stage === null) drained();
  }

  /** Messages in flight, but for those whose far end has not answered for long. */
  function moving(): number {
    return inFlight - health.excuses(links.hangingMessages);
  }

  /** Connections that count against the window. */
  function counted(): number {
    return links.size - health.excuses(links.hanging);
  }

  function mayWork(): boolean {
    return egress.may() && state.closed === null;
  }

  // ── which next, and over what ───────────────────────────────────────────────────────────────────────────

  function dispatch(): void {
    // What was being prepared when the path closed waits with the rest.
    if (stopping || !egress.may() || state.closed !== null) {
      for (const { item } of ready.remove(() => true)) {
        queue.giveBack(item, clock.now(), state.closed?.reason ?? null);
      }
      return;
    }
    // However long it has waited for a connection.
    ready.remove(({ item }) => !queue.mayGoOn(item));
    if (ready.size > 0 && !queue.recordable()) {
      view.waits('store');
      return;
    }
    view.waits('none');
    while (ready.size > 0 && sendNext()) {
      // One at a time: every message changes what the next one may.
    }
  }

  function sendNext(): boolean {
    const rateMs = gates.messageWaitMs();
    if (rateMs > 0) {
      view.waits('message-rate', rateMs);
      wakeAfter(rateMs);
      return false;
    }
    // A probe is one message.
    if (state.breaker.kind === 'half-open' && moving() > 0) return false;
    const heads = ready.heads();
    const near = behindAnother(heads, NEAR_MS);
    if (near !== null) return send(near.link, near.prepared);
    const allows = (tenant: string) => {
      const most = tenants.connections(tenant);
      return most === Number.POSITIVE_INFINITY || links.busyOf(tenant) < most;
    };
    const slots = { ...links.slots(), usable: usable(), othersWait, allows };
    const candidates = ready.candidates(slots).filter(isWarm);
    const fresh = candidates.find(({ item }) => item.fresh);
    if (fresh !== undefined) {
      const link = links.idle((candidate) => carries(candidate, fresh));
      if (link !== null) return send(link, fresh);
      // Before others use what is idle: a path that is in full use would never have a connection for it.
      if (stage === null) openFor(fresh);
    }
    for (const prepared of candidates) {
      const link = links.idle((candidate) => carries(candidate, prepared));
      if (link !== null) return send(link, prepared);
    }
    const quick = behindAnother(heads, QUICK_MS);
    if (quick !== null) return send(quick.link, quick.prepared);
    const [first] = candidates;
    if (first === undefined) {
      if (!heads.every(isWarm)) return waitForWarmup();
      view.waits('slots');
      return false;
    }
    openFor(first);
    if (stage !== null && links.size === 0) view.waits(stage);
    return false;
  }

  function openFor(prepared: Prepared): void {
    // An unused connection that may not carry what waits makes room for one that may.
    if (counted() >= usable()) links.leaveOneIdle();
    if (mayOpen()) openLink(prepared).catch(openingBroke);
  }

  /** Of an item that a connection has already, behind another message; null: it does not wait, or not for long. */
  function waitBehind(item: ReadyItem): KeptBack | null {
    const link = links.behind(item);
    if (link?.behind == null || clock.monotonicMs() - link.behind.sinceMs < NAMED_AFTER_MS) return null;
    const reason = `it waits behind another message that ${link.endpoint.host} has not answered yet`;
    return { reason, until: null };
  }

  function regroup(): void {
    const leaving = ready.remove(({ item }) => deps.elsewhere(item.delivery));
    for (const { item } of leaving) queue.putBack(item);
    if (leaving.length > 0) queue.regroup(name);
  }

  function isWarm({ item }: Prepared): boolean {
    return warm.mayGo(item.delivery.lane);
  }

  /** A new source has sent what it may: what waits goes another way where there is one, or later. */
  function waitForWarmup(): false {
    const { forMs = null, reason = '' } = warm.waiting ?? {};
    view.waits('warm-up', forMs ?? 0, reason);
    if (forMs === null) return false;
    wakeAfter(forMs);
    const leaving = ready.remove((prepared) => !isWarm(prepared) && deps.elsewhere(prepared.item.delivery));
    for (const { item } of leaving) queue.putBack(item);
    if (leaving.length > 0) queue.regroup(name);
    return false;
  }

  /**
   * A message that may travel behind another of its lane, on a connection that answered within `latencyMs`; never past
   * one whose turn comes first: a connection that always gets more of its own lane would not come free for it.
   */
  function behindAnother(
    heads: readonly Prepared[],
    latencyMs: number,
  ): { link: Link; prepared: Prepared } | null {
    for (const prepared of heads) {
      if (!isWarm(prepared)) continue;
      const { lane } = prepared.item.delivery;
      // Critical mail does not wait behind another message while a connection of its own can be had.
      if (lane === 'critical' && mayOpen()) continue;
      const link = links.busy(lane, latencyMs, carries, prepared);
      return link === null ? null : { link, prepared };
    }
    return null;
  }

  function carries(link: Link, { item, requireTls, asksForTls }: Prepared): boolean {
    const { recipientDomain } = item.delivery;
    if (item.fresh && link.taken > 0) return false;
    if (link.inFlight > 0 && deps.halfOpen(link.endpoint)) return false;
    return mayCarry(link.endpoint, { recipientDomain, requireTls, asksForTls });
  }

  function othersWait(tenant: string): boolean {
    const { normal, bulk } = queue.waiting(name);
    if (normal + bulk + ready.count('normal') + ready.count('bulk') > 0) return true;
    return ready.heads().some(({ item }) => item.delivery.senderDomain !== tenant);
  }

  function mayOpen(): boolean {
    if (stage !== null || counted() >= usable() || links.all >= capNow()) {
      view.waits('slots');
      return false;
    }
    const pauseMs = noOpenBeforeMs - clock.monotonicMs();
    const rateMs = Math.max(pauseMs, gates.connectionWaitMs());
    if (rateMs > 0) {
      view.waits(pauseMs > 0 ? 'slots' : 'connection-rate', rateMs);
      wakeAfter(rateMs);
      return false;
    }
    if (gates.providerHasRoom(pump)) return true;
    view.waits('provider-connections');
    return false;
  }

  // ── sending ─────────────────────────────────────────────────────────────────────────────────────────────

  function send(link: Link, prepared: Prepared): true {
    if (intake.renewed(prepared)) return true;
    ready.took(prepared);
    const { item } = prepared;
    if (!queue.mayGoOn(item)) return true;
    gates.messageSent();
    warm.went(item.delivery.lane);
    inFlight += 1;
    if (link.inFlight > 0) link.behind = { item, sinceMs: clock.monotonicMs() };
    links.take(link, item.delivery);
    const sameTransaction = intake.takeForSameTransaction(prepared);
    transact(transaction, link, prepared, sameTransaction)
      .catch((cause: unknown) => {
        for (const broken of [item, ...sameTransaction]) failures.attemptBroke(broken, cause);
      })
      .then(() => {
        inFlight -= 1;
        links.done(link, item.delivery, gates.effective().limits.idleMs);
        pump();
      });
    const { messagesPerConnection, connectionAgeMs } = gates.effective().limits;
    if (link.taken >= messagesPerConnection || clock.monotonicMs() - link.openedAtMs > connectionAgeMs) {
      links.leave(link);
    }
    return true;
  }

  /** Stores an outcome. The window keeps the item until then. */
  function finish(
    item: ReadyItem,
    outcome: Exclude<Outcome, { kind: 'again' }>,
    blockedUntil?: number,
  ): void {
    const settlement = rules.settle(item.delivery, outcome, blockedUntil);
    logOutcome(mailLog, item, outcome, settlement);
    void queue.settle(item, settlement);
  }

  // ── connections ─────────────────────────────────────────────────────────────────────────────────────────

  async function openLink(head: Prepared): Promise<void> {
    stage = 'resolving';
    gates.connectionOpened();
    const { recipientDomain, lane } = head.item.delivery;
    const wish = {
      recipientDomain,
      critical: lane === 'critical',
      requireTls: head.requireTls,
      providerRequiresTls: gates.effective().limits.tls === 'required',
    };
    await deps.placed(recipientDomain);
    // Its domain has moved: a connection to its new host would carry the mail of this site's other domains there.
    if (deps.elsewhere(head.item.delivery)) {
      stage = null;
      gates.connectionEnded();
      regroup();
      pump();
      return;
    }
    let connections = 0;
    const opened = await openForHead({ ...deps, tried }, wish, {
      signal: abort.signal,
      connecting() {
        stage = 'connecting';
        if (links.size === 0) view.waits('connecting');
        connections += 1;
        if (connections > 1) gates.connectedAgain();
      },
    });
    stage = null;
    if (opened.kind !== 'open') gates.connectionEnded();
    act(opened, recipientDomain);
    pump();
  }

  function act(opened: Opened, recipientDomain: string): void {
    switch (opened.kind) {
      case 'open': {
        const { endpoint, session } = opened;
        links.add(endpoint, deps.farEnds.of(endpoint), session, gates.effective().limits.idleMs);
        if (stopping || !egress.may()) opened.session.quit();
        return;
      }
      case 'permanent':
        failures.refuseDomain(opened.answer, recipientDomain);
        return;
      case 'unresolved':
        // The others of the site need not wait for one domain's DNS.
        if (route === 'mx' && recipientDomain !== place.hosts) failures.isolate(recipientDomain);
        else failures.failed(opened.outcome);
        return;
      case 'without-tls':
        failures.withoutTls(opened.outcome);
        return;
      case 'failed':
        failures.failed(opened.outcome, { timedOut: opened.timedOut });
        return;
      case 'stopped':
    }
  }

  function linkClosed(link: Link, { reason }: SessionClose): void {
    gates.connectionEnded();
    const byFarEnd = reason === 'closed' || reason === 'reset' || reason === '421';
    if (byFarEnd && link.inFlight === 0 && link.taken > 0) failures.endedBetween(link);
    if (links.size === 0) noOpenBeforeMs = 0;
    egress.linkEnded();
    pump();
  }

  /** A bug while opening: the path rests like after any failed opening, so that it is not met in a loop. */
  function openingBroke(cause: unknown): void {
    // One that had ended already is not counted down twice.
    if (stage !== null) gates.connectionEnded();
    stage = null;
    log.error({ err: cause, site }, 'a connection could not be opened for an internal error');
    failures.failed(pathOutcome('connect', 'unreachable', 'an internal error ended the opening'));
    pump();
  }

  async function stop(deadlineMs: number): Promise<void> {
    stopping = true;
    abort.abort();
    wakeTimer?.cancel();
    warm.release();
    const finished = new Promise<void>((resolve) => {
      drained = resolve;
    });
    const timer = clock.setTimer(deadlineMs, () => links.destroyAll());
    pump();
    await finished;
    timer.cancel();
    links.quitAll();
    keep();
    // The lease goes to another node next.
    await egress.cleared();
  }

  function keep(): void {
    if (volume.lastDay > 0) state.remember();
  }

  function word(reply: ReplyFacts): PathWord {
    const text = maskAddresses(`${reply.code} ${reply.text}`).slice(0, 512);
    return { at: clock.now(), text };
  }
}
