/**
 * Delivery on one path: takes messages from the queue, prepares them, keeps connections and sends.
 *
 *   queue ──take──► preparing (read, sign) ──► ready ──► a free connection ──► outcome ──► settled
 *
 * There are two stages, so that signing (on the thread pool) runs while connections are busy. A connection accepts a
 * second message of the same lane while one is being sent: its envelope is then sent with the first one's last bytes.
 * To a far end that is far away and takes whole messages, several are sent without waiting for replies (in-flight.ts).
 * Connections are opened only if waiting messages find none (connecting.ts). Each part beside this file owns one thing
 * and reports to this file, which decides what follows.
 */

import { createAlarm } from '../../../lib/alarm.ts';
import { afterInput } from '../../../lib/turns.ts';
import type { SessionClose } from '../../../smtp/client-types.ts';
import type { KeptBack } from '../../queue/gate.ts';
import type { ReadyItem } from '../../queue/ready-item.ts';
import type { Prepared } from '../prepare/prepared.ts';
import { egressFingerprint } from '../routing/egress-fingerprint.ts';
import { createTriedHosts } from '../routing/tried-hosts.ts';
import { createCapacity } from './capacity.ts';
import { createChoice } from './choice.ts';
import { createConnecting, type OpeningEnd } from './connecting.ts';
import { createPathEgress } from './egress.ts';
import { createPathFailures } from './failures.ts';
import { createInFlight } from './in-flight.ts';
import { createPathIntake } from './intake.ts';
import { createLinks, type Link } from './links.ts';
import { createPathNotes } from './notes.ts';
import type { PathDeps, PathOwn, PathParts } from './parts.ts';
import { createPicker } from './picker.ts';
import { createSenderLimits } from './sender-limits.ts';
import type { PathRef } from './state.ts';
import { createTransact } from './transaction.ts';
import { createPathView } from './view.ts';
import { createPathWarmup } from './warmup.ts';

export interface Path {
  /** There may be work, or a reason to look again. */
  wake(): void;
  /** Some domain may belong to another site now: mail that waits here for a connection is checked again. */
  regroup(): void;
  /** Rows that it can use within the next seconds. */
  demand(): number;
  /** Messages sent within about the last second. */
  throughput(): number;
  /** Its view, for display. */
  readonly ref: PathRef;
  /** What this item in memory waits for; null: it will be sent next. */
  waitOf(item: ReadyItem): KeptBack | null;
  /** Its connections accept nothing new: the next message opens one. */
  reconnect(): void;
  /** A connection that this machine could not open is tried at once; false if it waits for none. */
  connectNow(): boolean;
  /** Finishes current transactions until `deadlineMs`, gives everything else back. */
  stop(deadlineMs: number): Promise<void>;
  /** It is no longer used: another node may send instead. */
  forget(): void;
  /** Nothing is being sent, prepared or connected: the path may be dropped. */
  isIdle(): boolean;
}

/** A shorter wait behind another message is not shown. */
const NAMED_AFTER_MS = 250;

export function createPath(deps: PathDeps, own: PathOwn, options: { maxConnections: number }): Path {
  const { clock, queue } = deps;
  const { name, sitePath, connector, domains } = own;
  const { source, site, provider } = sitePath;
  const route = sitePath.egress.targets[0]?.kind === 'relay' ? ('relay' as const) : ('mx' as const);
  const life = { stopping: false, inFlight: 0 };
  let drained: (() => void) | null = null;

  const state = deps.states.of(source, site, egressFingerprint(sitePath.egress));
  const notes = createPathNotes(clock);
  const alarm = createAlarm(clock, pump);
  const ready = createPicker();
  const links = createLinks({ clock, total: deps.total, closed: linkClosed, hangs: pump });
  const capacity = createCapacity(
    {
      ...{ clock, state, shaping: deps.shaping, total: deps.total },
      providerGate: own.providerGate,
    },
    { source, site, provider, route },
    options,
  );
  const { gates, health } = capacity;
  const warm = createPathWarmup(
    { warmup: deps.warmup, name, now: clock.now, wake: pump },
    { source, provider },
  );
  const senderLimits = createSenderLimits(
    { clock, overrides: deps.overrides, limits: capacity.limitsOf },
    site,
  );
  const parts: PathParts = {
    ...deps,
    ...own,
    ...{ route, state, notes, alarm, ready, links, capacity, warm, senderLimits, life },
    tried: createTriedHosts(clock),
    addresses: deps.addresses.of(source, capacity.cap),
  };
  const connecting = createConnecting(parts, { ended: openingEnded, room: pump });
  const egress = createPathEgress(parts, own.egress, {
    // A running opening ends here.
    lost: connecting.abort,
    elsewhere: connector.leftToOthers,
    changed: pump,
  });
  const intake = createPathIntake(parts, { prepared: pump });
  const inFlight = createInFlight(parts);
  const choice = createChoice({ ...parts, connecting, inFlight }, { warmupFull: leaveToOthers });
  const failures = createPathFailures({ ...parts, connecting });
  const transact = createTransact({ ...parts, inFlight, failures });
  const view = createPathView({ ...parts, connecting, intake });

  return {
    wake: pump,
    regroup,
    demand: capacity.demand,
    throughput: capacity.throughput.perSecond,
    ref: view,
    waitOf: (item) => waitBehind(item) ?? senderLimits.waitOf(item.delivery.senderDomain) ?? view.waitNow(),
    reconnect: links.leaveAll,
    connectNow() {
      const waited = connecting.tryNow();
      if (waited) pump();
      return waited;
    },
    stop,
    forget() {
      life.stopping = true;
      alarm.stop();
      capacity.keep();
      warm.release();
      egress.end();
      state.detach();
    },
    isIdle: () => links.all() === 0 && life.inFlight === 0 && ready.size() === 0 && isQuiet(),
  };

  /** Nothing is being read, signed or connected to. */
  function isQuiet(): boolean {
    return connecting.stage() === null && intake.preparing() === 0;
  }

  // ── work in, work out ───────────────────────────────────────────────────────────────────────────────────

  function pump(): void {
    if (maySend()) {
      // However long it has waited for a connection. Before others are taken in its place.
      ready.remove(({ item }) => !queue.mayGoOn(item));
      take();
    }
    // Checked again: taking messages may have blocked the path.
    if (maySend()) {
      dispatch();
      if (ready.size() > 0 && links.busyCount() < links.size()) take(true);
    } else giveBackReady();
    if (drained !== null && life.inFlight === 0 && isQuiet()) drained();
  }

  function maySend(): boolean {
    return !life.stopping && egress.may() && state.blocked() === null;
  }

  /** `isIdle`: a connection has nothing to do, and nothing that is prepared may go on it. */
  function take(isIdle = false): void {
    intake.take(state.breaker().kind === 'half-open' ? 1 - moving() : null, isIdle);
  }

  /** Messages that were being prepared when the path was blocked wait with the others. */
  function giveBackReady(): void {
    for (const { item } of ready.remove(() => true))
      queue.giveBack(item, clock.now(), state.blocked()?.reason ?? null);
  }

  function dispatch(): void {
    if (ready.size() > 0 && !queue.recordable()) {
      notes.waits('store');
      return;
    }
    notes.waits('none');
    while (ready.size() > 0) {
      // A half-open path tests with one message.
      if (state.breaker().kind === 'half-open' && moving() > 0) return;
      // One at a time: every message changes what is possible for the next.
      const chosen = choice.next();
      if (chosen === null) return;
      send(chosen.link, chosen.prepared);
    }
  }

  /** Messages being sent, without those whose far end has not answered for long. */
  function moving(): number {
    return life.inFlight - health.excuses(links.hangingMessages());
  }

  function send(link: Link, prepared: Prepared): void {
    if (intake.renewed(prepared)) return;
    ready.took(prepared);
    const { item } = prepared;
    if (!queue.mayGoOn(item)) return;
    gates.messageSent();
    warm.went(item.delivery.lane);
    life.inFlight += 1;
    if (link.inFlight > 0) link.behind = { item, sinceMs: clock.monotonicMs() };
    links.take(link, item.delivery);
    const sameTransaction = intake.takeForSameTransaction(prepared);
    transact(link, prepared, sameTransaction)
      .catch((cause: unknown) => {
        for (const broken of [item, ...sameTransaction]) failures.attemptBroke(broken, cause);
      })
      .then(() => {
        life.inFlight -= 1;
        links.done(link, gates.effective().limits.idleMs);
        pump();
        links.offer(link);
      });
    const { messagesPerConnection, connectionAgeMs } = gates.effective().limits;
    if (link.taken >= messagesPerConnection || clock.monotonicMs() - link.openedAtMs > connectionAgeMs)
      links.leave(link);
  }

  // ── what the parts tell ─────────────────────────────────────────────────────────────────────────────────

  function openingEnded(end: OpeningEnd, recipientDomain: string): void {
    switch (end.kind) {
      case 'open':
        if (life.stopping || !egress.may()) links.leaveAll();
        break;
      case 'moved':
        regroup();
        break;
      case 'permanent':
        failures.refuseDomain(end.answer, recipientDomain);
        break;
      case 'unresolved':
        // Other domains of the site need not wait for one domain's DNS.
        if (route === 'mx' && recipientDomain !== sitePath.hosts) failures.isolate(recipientDomain);
        else failures.failed(end.outcome);
        break;
      case 'without-tls':
        failures.withoutTls(end.outcome);
        break;
      case 'failed':
        failures.failed(end.outcome, { timedOut: end.timedOut });
        break;
      // It asks again, and waits for one of the addresses, or until this machine may be able to.
      case 'full':
      case 'local':
      case 'stopped':
    }
    pump();
    links.offerUnused();
  }

  function linkClosed(link: Link, { reason }: SessionClose): void {
    gates.connectionEnded();
    link.shared?.ended();
    const byFarEnd = reason === 'closed' || reason === 'reset' || reason === '421';
    if (byFarEnd && link.inFlight === 0 && link.taken > 0) failures.endedBetween(link);
    if (links.size() === 0) connecting.unpause();
    egress.linkEnded();
    pump();
  }

  /** Mail that belongs to another path now is moved there. */
  function regroup(leaves: (prepared: Prepared) => boolean = () => true): void {
    const leaving = ready.remove((prepared) => leaves(prepared) && !domains.isHere(prepared.item.delivery));
    for (const { item } of leaving) queue.putBack(item);
    if (leaving.length > 0) queue.regroup(name);
  }

  /** A new source has used its budget: waiting mail uses another route if there is one. */
  function leaveToOthers(): void {
    regroup((prepared) => !choice.isWarm(prepared));
  }

  /** For an item that is on a connection behind another message; null: it does not wait, or not for long. */
  function waitBehind(item: ReadyItem): KeptBack | null {
    const link = links.behind(item);
    if (link?.behind == null || clock.monotonicMs() - link.behind.sinceMs < NAMED_AFTER_MS) return null;
    const reason = `it waits behind another message that ${link.endpoint.host} has not answered yet`;
    return { reason, until: null };
  }

  async function stop(deadlineMs: number): Promise<void> {
    life.stopping = true;
    connecting.abort();
    alarm.stop();
    warm.release();
    const finished = new Promise<void>((resolve) => {
      drained = resolve;
    });
    const timer = clock.setTimer(deadlineMs, () => afterInput(() => links.destroyAll()));
    pump();
    await finished;
    timer.cancel();
    links.quitAll();
    capacity.keep();
    // The lease goes to another node next.
    await egress.cleared();
  }
}
