/**
 * Collects the figures of a simulated plan and makes the forecast. Accepted mail is reported to it; it sees outcomes
 * because it wraps the store of each node; and it looks at the paths regularly to find out why the rest waits.
 */
import type { Engine } from '../engine.ts';
import type { Clock } from '../lib/clock.ts';
import type { DeliveryState } from '../model/delivery.ts';
import type { PathSnapshot } from '../pipeline/deliver/path/state.ts';
import type { Store } from '../store/store.ts';
import type { Forecast, GroupForecast } from './forecast.ts';
import type { FarEndHabits, PlannedMail, SimulationPlan } from './plan/plan.ts';
import { recipientsOf } from './sampling.ts';
import { createSeries } from './series.ts';
import { createWaits } from './waits.ts';
import type { Wire } from './wire.ts';

export interface Ledger {
  /** Wraps the store of a node to see the outcomes that its engine stores. */
  watch(store: Store, node: number): Store;
  /** A message is passed to the node: its recipients get the next ids. */
  accepts(mail: PlannedMail, domain: string, count: number, node: number): void;
  /** It was accepted, or the queue was full. */
  accepted(mail: PlannedMail, count: number, node: number, ok: boolean): void;
  opened(wire: Wire): void;
  waiting(): number;
  ended(): number;
  /** Virtual time of the next look. */
  nextLookMs(): number;
  /** Does nothing before `nextLookMs`, unless this is the last look. */
  look(engines: readonly Engine[], isLast?: boolean): void;
  forecast(end: { simulated: number; interrupted: boolean; tookMs: number }): Forecast;
}

/** Recipients of one provider, lane and sender. Counts are those of the sample. */
interface Group {
  provider: string;
  lane: PlannedMail['lane'];
  sender: string;
  /** Some domain of its recipients. */
  domain: string;
  planned: number;
  came: number;
  waiting: number;
  deferred: number;
  deferredBy: string;
  ends: Partial<Record<DeliveryState | 'refused', number>>;
  lastAtMs: number | null;
  deliveredAfterMs: number[];
  peak: { waiting: number; atMs: number };
}

/** One recipient of the sample. */
interface Row {
  group: Group;
  acceptedAtMs: number;
  isDeferred: boolean;
  hasEnded: boolean;
}

const DAY_MS = 86_400_000;
const BEFORE_MIDNIGHT_MS = 60_000;
/**
 * Memory of a node at full load without mail (bench/RESULTS.md). A content counts twice, because signing copies it.
 */
const BASE_MIB = 180;
const CONNECTION_MIB = 0.1;
const WINDOW_MIB = 64;
const WINDOW_ROWS = 4096;
const MIB = 2 ** 20;
/** Transactions until a path has all its connections. In a sample, each takes longer, and so does this. */
const RAMP = 8;

export function createLedger(
  plan: SimulationPlan,
  deps: { clock: Clock; weight: number; habits: ReadonlyMap<string, FarEndHabits> },
): Ledger {
  const { clock, weight } = deps;
  const groups = new Map<string, Group>();
  const byMail = new Map<PlannedMail, Group>();
  for (const mail of plan.mail) {
    const key = `${mail.provider} ${mail.lane} ${mail.sender}`;
    const group = groups.get(key) ?? newGroup(mail);
    group.planned += mail.recipients * (mail.days?.length ?? plan.days);
    groups.set(key, group);
    byMail.set(mail, group);
  }
  /** Recipients of each node by id, from 1. */
  const rows: Row[][] = Array.from({ length: plan.nodes }, () => []);
  const waits = createWaits(plan, weight);
  const series = createSeries([...new Set(plan.mail.map(({ provider }) => provider))]);
  let nextLookMs = 0;
  const connections = { peak: 0, peakAtMs: 0, lately: 0, places: new Map<string, number>() };
  let heldRows = 0;
  const warmup: Forecast['warmup'][number][] = [];
  let warmupDay = 1;
  let came = 0;
  let ended = 0;

  return {
    watch: (store, node) => ({
      ...store,
      settle(params) {
        const answer = store.settle(params);
        for (const { deliveryId, state, lastReply, waitReason } of params.settlements)
          settled(node, deliveryId, state, lastReply ?? waitReason ?? '');
        return answer;
      },
    }),
    accepts(mail, domain, count, node) {
      const group = groupOf(mail);
      group.domain = domain;
      const acceptedAtMs = clock.monotonicMs();
      for (let i = 0; i < count; i++)
        rows[node]?.push({ group, acceptedAtMs, isDeferred: false, hasEnded: false });
      group.came += count;
      group.waiting += count;
      came += count;
    },
    accepted(mail, count, node, ok) {
      if (ok) return;
      rows[node]?.splice(-count);
      const group = groupOf(mail);
      group.waiting -= count;
      group.ends.refused = (group.ends.refused ?? 0) + count;
      ended += count;
    },
    opened(wire) {
      connections.lately = Math.max(connections.lately, wire.open.size);
      if (wire.open.size > connections.peak) {
        connections.peak = wire.open.size;
        connections.peakAtMs = clock.monotonicMs();
      }
      for (const name of deps.habits.keys())
        connections.places.set(name, Math.max(connections.places.get(name) ?? 0, wire.openNow(name)));
    },
    waiting: () => came - ended,
    ended: () => ended,
    nextLookMs: () => nextLookMs,
    look(engines, isLast = false) {
      const nowMs = clock.monotonicMs();
      if (nowMs < nextLookMs && !isLast) return;
      if (nowMs >= warmupDay * DAY_MS - BEFORE_MIDNIGHT_MS) lookAtWarmup(engines);
      nextLookMs = Math.min(nowMs + series.everyMs(), warmupDay * DAY_MS - BEFORE_MIDNIGHT_MS);
      const snapshots = engines.flatMap(({ deliver }) => deliver.paths().map((path) => path.snapshot()));
      const open = snapshots.reduce((sum, path) => sum + path.connections.open, 0);
      series.add(
        {
          atMs: nowMs,
          accepted: real(came - refusedSoFar()),
          ended: real(ended - refusedSoFar()),
          // Many connections are open for seconds only, so this is the maximum since the last look.
          connections: Math.max(open, connections.lately),
        },
        waitingAt,
      );
      connections.lately = open;
      for (const engine of engines) heldRows = Math.max(heldRows, engine.queue.inMemory().rows);
      for (const group of groups.values()) lookAt(group, engines, snapshots, nowMs);
    },
    forecast({ simulated, interrupted, tookMs }) {
      const isDone = came === ended && !interrupted;
      const lastAtMs = Math.max(0, ...[...groups.values()].map((group) => group.lastAtMs ?? 0));
      const slowest = Math.max(
        0,
        ...[...deps.habits.values()].map(({ roundTripMs, answerMs }) => 2 * roundTripMs + answerMs),
      );
      return {
        ...{ startAt: plan.startAt, days: plan.days, nodes: plan.nodes },
        recipients: recipientsOf(plan),
        ...{ simulated, weight, interrupted, tookMs, warmup },
        exactToMs: weight === 1 ? 0 : RAMP * weight * slowest,
        doneAtMs: isDone ? lastAtMs : null,
        untilMs: clock.monotonicMs(),
        groups: [...groups.values()].map((group) => groupForecast(group, interrupted)),
        waits: waits.list(),
        connections: {
          peak: connections.peak,
          peakAtMs: connections.peakAtMs,
          places: [...connections.places].map(([place, peak]) => ({ place, peak })),
        },
        memory: memory(),
        faults: plan.faults.map(({ at, what, fromMs, untilMs }) => ({ at, what, fromMs, untilMs })),
        series: series.list(),
      };
    },
  };

  function groupOf(mail: PlannedMail): Group {
    const group = byMail.get(mail);
    if (group === undefined) throw new Error('mail of another plan');
    return group;
  }

  function settled(node: number, deliveryId: number, state: DeliveryState, why: string): void {
    const row = rows[node]?.[deliveryId - 1];
    if (row === undefined || row.hasEnded || state === 'sending') return;
    const { group } = row;
    if (state === 'queued') {
      if (row.isDeferred) return;
      row.isDeferred = true;
      group.deferred += 1;
      group.deferredBy = why;
      return;
    }
    if (row.isDeferred) group.deferred -= 1;
    row.hasEnded = true;
    const nowMs = clock.monotonicMs();
    group.waiting -= 1;
    group.ends[state] = (group.ends[state] ?? 0) + 1;
    group.lastAtMs = nowMs;
    if (state === 'delivered') group.deliveredAfterMs.push(nowMs - row.acceptedAtMs);
    ended += 1;
  }

  function waitingAt(provider: string): number {
    let sum = 0;
    for (const group of groups.values()) if (group.provider === provider) sum += real(group.waiting);
    return sum;
  }

  function refusedSoFar(): number {
    let sum = 0;
    for (const group of groups.values()) sum += group.ends.refused ?? 0;
    return sum;
  }

  function lookAt(
    group: Group,
    engines: readonly Engine[],
    snapshots: readonly PathSnapshot[],
    nowMs: number,
  ): void {
    const waiting = real(group.waiting);
    if (waiting > group.peak.waiting) group.peak = { waiting, atMs: nowMs };
    if (waiting === 0) return;
    waits.look(
      {
        ...{ provider: group.provider, lane: group.lane, waiting },
        deferred: real(group.deferred),
        deferredBy: group.deferredBy,
      },
      pathsOf(group, engines, snapshots),
      nowMs,
    );
  }

  /** The paths that this mail uses: its relays, or those to its provider's hosts. */
  function pathsOf(
    { provider, domain, sender, lane }: Group,
    engines: readonly Engine[],
    snapshots: readonly PathSnapshot[],
  ): readonly PathSnapshot[] {
    const question = { senderDomain: sender, recipientDomain: domain, lane, routeKey: '', sandbox: null };
    const egress = engines[0]?.routes.egressOf(question);
    if (egress?.kind !== 'smtp') return [];
    const { relays, direct } = egress;
    if (!direct) return snapshots.filter(({ site }) => site === relays);
    return snapshots.filter((path) =>
      path.provider === null
        ? path.route === 'mx' &&
          path.domains.some((name) => name.endsWith(`.${provider.toLowerCase()}.example`))
        : path.provider === provider,
    );
  }

  function lookAtWarmup(engines: readonly Engine[]): void {
    for (const { warmup: book } of engines)
      for (const { source, provider, budget, used } of book.list())
        if (used > 0) warmup.push({ day: warmupDay, source, provider, budget, sent: used });
    warmupDay = Math.floor((clock.monotonicMs() + BEFORE_MIDNIGHT_MS) / DAY_MS) + 1;
  }

  /** The number of recipients of the plan that this number of the sample represents. */
  function real(count: number): number {
    return Math.round(count * weight);
  }

  function groupForecast(group: Group, interrupted: boolean): GroupForecast {
    const { provider, lane, sender, ends, deliveredAfterMs, lastAtMs, peak } = group;
    const after = Float64Array.from(deliveredAfterMs).sort();
    const at = (share: number) => after[Math.min(after.length - 1, Math.floor(share * after.length))] ?? 0;
    // Scaled to the planned number, because rounding makes the sample slightly larger or smaller.
    const each = interrupted ? weight : group.planned / Math.max(1, group.came);
    const of = (count = 0) => Math.round(count * each);
    const [bounced, expired] = [of((ends.bounced ?? 0) + (ends.suppressed ?? 0)), of(ends.failed)];
    return {
      ...{ provider, lane, sender, lastAtMs, peak, bounced, expired },
      recipients: group.planned,
      delivered: of(ends.delivered),
      refused: of(ends.refused),
      waiting: of(group.waiting),
      delivery: after.length === 0 ? null : { halfMs: at(0.5), mostMs: at(0.99), longestMs: at(1) },
    };
  }

  function memory(): Forecast['memory'] {
    const held = Math.min(WINDOW_ROWS, heldRows * weight);
    const contents = Math.min(WINDOW_MIB, (held * plan.messageBytes) / MIB);
    const links = (connections.peak / plan.nodes) * CONNECTION_MIB;
    return { mebibytes: Math.round((BASE_MIB + 2 * contents + links) / 10) * 10, rows: held };
  }
}

function newGroup({ provider, lane, sender }: PlannedMail): Group {
  return {
    ...{ provider, lane, sender, domain: '', planned: 0, came: 0, waiting: 0, deferred: 0, deferredBy: '' },
    ...{ ends: {}, lastAtMs: null, deliveredAfterMs: [], peak: { waiting: 0, atMs: 0 } },
  };
}
