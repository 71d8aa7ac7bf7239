/**
 * One simulated run of several nodes on one store that send from the same sources: days within milliseconds, as world.ts
 * plays them with one process. Nodes die, stop, come back, and stand still while the others go on, and the clocks of their
 * machines are wrong; answers of the store are lost. Held against what the far ends saw: every promise about recipients (checks.ts), and that two nodes never send from one source to one site.
 */
import type { Clock } from '../../src/lib/clock.ts';
import { AppError } from '../../src/lib/errors.ts';
import { createVirtualClock } from '../../src/lib/virtual-clock.ts';
import { createReturnPathTokens } from '../../src/mail/verp.ts';
import { sendingCaller } from '../../src/model/submission.ts';
import { NODE_TIMES } from '../../src/pipeline/queue/membership.ts';
import { QUEUE_DEFAULTS } from '../../src/pipeline/queue/queue.ts';
import { createFarEnd } from '../../src/simulation/far-end.ts';
import { createNames } from '../../src/simulation/names.ts';
import { type Process, startProcess } from '../../src/simulation/process.ts';
import { createDice } from '../../src/simulation/seeded.ts';
import { createWire, type OpenConnection } from '../../src/simulation/wire.ts';
import type { Store } from '../../src/store/store.ts';
import { createAwaited, submissionOf } from './asking.ts';
import { checkEnd, checkWaiting, type Diary, momentOf } from './checks.ts';
import { secureHalf, TLS_TURNS } from './far-end-tls.ts';
import { createGeography } from './geography.ts';
import { losingAnswers } from './lost-answers.ts';
import type { Mutation } from './mutations.ts';
import { createOperators } from './operators.ts';
import { createNotes, engineSitesOf, hostsOf, limitsOf, MAX_WRONG, openFarEnds } from './outside.ts';
import { PARTS } from './parts.ts';
import { type Action, type Plan, planOf } from './plan.ts';
import { answersOf } from './plan-extras.ts';
import { createPurges } from './purges.ts';
import { createReturns } from './returns.ts';
import { openRoom } from './room.ts';
import { createSecondThoughts } from './second-thoughts.ts';
import { createWarmupWatch } from './warmup-watch.ts';
import { digestOf, type RunResult } from './world.ts';

/** A node, whichever of its processes runs now. */
interface Node {
  name: string;
  process: Process | null;
  /** Of that process, as far ends know it. */
  number: number;
  downUntilMs: number;
  pausedUntilMs: number | null;
  /** Until then answers of the store to it are lost, some or all. */
  losing: { untilMs: number; share: number };
  /** By how much the clock of its machine is ahead of that of the store. */
  aheadMs: number;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const STEP_MS = 59_023;
/** Nothing lives longer than its expiry and its last transaction. */
const OVERTIME_MS = 6 * 60 * MINUTE;
/** A node that was gone or stood still is noticed, and what it had is taken over. */
const TAKEN_OVER_MS = 2 * NODE_TIMES.deadMs + 30 * SECOND;
/** What was decided before a hold came has left by then, at every node. */
const HELD_MS = 30 * SECOND;
/** A clock may be wrong by so much; a node follows the store's, so after a step its time is wrong by twice as much for a while. */
const MOST_AHEAD_MS = 30 * SECOND;
/** What begins a moment before a node stands still. */
const MOMENT_MS = 1_000;

const CALLER = sendingCaller('simulated');

/** What may happen to a node, beside what happens in a world of one process. */
type Happening =
  | { kind: 'pause'; node: number; forMs: number }
  | { kind: 'crash'; node: number; forMs: number }
  | { kind: 'stop'; node: number; forMs: number }
  | { kind: 'lose'; node: number; forMs: number; share: number }
  | { kind: 'clock'; node: number; aheadMs: number };

/** The mail and the far ends of the world of that seed, without what is about one process. */
function nodesPlanOf(seed: number): {
  plan: Plan;
  /** For each node, by how much its machine's clock is ahead at first. */
  aheadMs: number[];
  happenings: { atMs: number; what: Happening }[];
} {
  const plan = planOf(seed);
  const dice = createDice(seed, 7);
  const nodes = dice.pick([1, 2, 2, 3]);
  const happenings: { atMs: number; what: Happening }[] = [];
  while (dice.chance(0.75))
    happenings.push({
      atMs: dice.ms(SECOND, plan.loadUntilMs + 5 * MINUTE),
      what: {
        kind: dice.pick(['pause', 'pause', 'crash', 'stop'] as const),
        node: dice.whole(0, nodes - 1),
        forMs: dice.pick([2, 7, 11, 15, 25, 60, 300]) * SECOND,
      },
    });
  const clocks = createDice(seed, 9);
  const isWrong = clocks.chance(0.5);
  const ahead = () => (isWrong ? clocks.ms(0, 2 * MOST_AHEAD_MS) - MOST_AHEAD_MS : 0);
  const aheadMs = Array.from({ length: nodes }, ahead);
  while (isWrong && clocks.chance(0.6))
    happenings.push({
      atMs: clocks.ms(SECOND, plan.loadUntilMs + 5 * MINUTE),
      what: { kind: 'clock', node: clocks.whole(0, nodes - 1), aheadMs: ahead() },
    });
  const lost = createDice(seed, 14);
  while (lost.chance(0.4))
    happenings.push({
      atMs: lost.ms(0, plan.loadUntilMs + 5 * MINUTE),
      what: {
        ...{ kind: 'lose', node: lost.whole(0, nodes - 1) },
        ...{ forMs: lost.pick([1, 5, 20, 60]) * SECOND, share: lost.pick([0.1, 0.5, 1]) },
      },
    });
  happenings.sort((a, b) => a.atMs - b.atMs);
  const kept = new Set<Action['kind']>([
    ...(['send', 'cancel', 'reschedule', 'suppress', 'suppress-waiting'] as const),
    ...(['hold', 'release', 'override', 'end-overrides', 'try-now', 'outage', 'move', 'dns'] as const),
  ]);
  return {
    plan: { ...plan, timeline: plan.timeline.filter(({ action }) => kept.has(action.kind)) },
    aheadMs,
    happenings,
  };
}

/** `mutation`: with this bug in every engine. `withReturns`: mail comes back. */
export async function runNodesSeed(
  seed: number,
  mutation: Mutation | null = null,
  withReturns = false,
): Promise<RunResult> {
  const { plan, aheadMs, happenings } = nodesPlanOf(seed);
  const areClocksWrong = aheadMs.some((ms) => ms !== 0);
  const mostSkewMs = areClocksWrong ? 2 * MOST_AHEAD_MS : 0;
  const turns = plan.sites.some(({ tls }) => tls === true) ? TLS_TURNS : 1;
  const clock = createVirtualClock(undefined, () => (returns?.busy() ? Number.POSITIVE_INFINITY : turns));
  const { wrong, note } = createNotes(clock);
  const awaited = createAwaited(clock);
  const dice = createDice(seed, 8);
  const tokens = createReturnPathTokens([{ id: 1, secret: Buffer.from('simulated return path') }]);
  const outage = { from: 0, count: 0, as: 'full' as 'full' | 'io' };
  const room = openRoom({ shaping: plan.shaping, failStoreWrites: outage, shared: true });
  const diary: Diary = {
    ...{ crashes: [], outages: [], accepted: [], canceled: new Map(), moved: new Map() },
    mostSkewMs,
  };
  const thoughts = createSecondThoughts({ room, diary, clock, random: dice }, note);
  const purges = createPurges(seed, { room, thoughts }, note);
  const returns = withReturns
    ? createReturns(
        seed,
        { room, clock, tokens },
        {
          isAwake: (one) => awakeNow().includes(one),
          canWrite: () => outage.count === 0,
          isErased: purges.isErased,
        },
        note,
      )
    : null;
  const written = limitsOf(plan);

  // ── the world outside ───────────────────────────────────────────────────────────────────────────────────
  const names = createNames(clock, plan.ttlSeconds);
  const engineSites = engineSitesOf(plan, written);
  const providerOf = new Map(plan.sites.map(({ name, provider }) => [name, provider]));
  /** What one lease is for. */
  const unitOf = (site: string) => providerOf.get(site) ?? engineSites.get(site) ?? site;
  const geography = createGeography(plan, { room, clock, engineSites });
  const operators = createOperators(
    { plan, room, clock, awaited, siteOf: (site) => engineSites.get(site) ?? site },
    note,
  );
  const warmup = createWarmupWatch(
    clock,
    {
      providerOf: (site) => providerOf.get(site) ?? null,
      isCritical: (deliveryId) => room.mailOf(deliveryId)?.lane === 'critical',
    },
    note,
  );
  const isMoving = plan.timeline.some(({ action }) => action.kind === 'move' || action.kind === 'dns');
  let disturbedMs = 0;
  const nodes: Node[] = aheadMs.map((ms, i) => ({
    ...{ name: `node${i}`, process: null, aheadMs: ms },
    ...{ number: 0, downUntilMs: 0, pausedUntilMs: null, losing: { untilMs: 0, share: 0 } },
  }));
  let processes = 0;
  const nodeWith = (number: number) => nodes.find((one) => one.number === number);
  /** A node that stands still cannot close its connections. */
  const isAwake = ({ process }: OpenConnection) => nodeWith(process)?.pausedUntilMs === null;
  const wire = createWire(
    {
      opened({ site, source, process }) {
        const others = [...wire.open].filter(
          (one) =>
            one.process !== process &&
            one.source === source &&
            unitOf(one.site) === unitOf(site) &&
            isAwake(one),
        );
        // A provider's hosts may also be reached by a path of its own behind relays, or be shared by relays.
        // Where DNS fails or names other hosts, a domain goes by a path of its own for a time.
        if (geography.relays.has(site) || geography.mixed || isMoving) return;
        if (others.length > 0)
          note(
            `node ${nodeWith(process)?.name} opens a connection from ${source} to ${site} beside another's`,
          );
        const most = written.limitsFor({
          ...{
            site: engineSites.get(site) ?? site,
            source,
            provider: providerOf.get(site) ?? null,
            route: 'mx',
          },
        }).limits.connections;
        const open = [...wire.open].filter(
          (one) =>
            one.source === source && engineSites.get(one.site) === engineSites.get(site) && isAwake(one),
        );
        if (open.length > most)
          note(`${open.length} connections from ${source} to ${site}, where ${most} are allowed`);
      },
      mail() {},
      envelope({ deliveryId }) {
        const heldMs = operators.heldForMs(deliveryId, mostSkewMs);
        if (heldMs !== null && heldMs > HELD_MS)
          note(`delivery ${deliveryId} went out ${Math.round(heldMs / SECOND)} s after it was held`);
      },
      taken(transaction) {
        if (plan.extras.newSources && !geography.mixed) warmup.taken(transaction);
        returns?.taken(transaction);
      },
    },
    () => [],
    { keep: true },
  );
  const networkOf = openFarEnds(plan, { clock, names }, (site) =>
    createFarEnd(site, { clock, dice, wire, tokens, secureHalf, deliveryOf: room.deliveryTo }),
  );

  // ── a run ───────────────────────────────────────────────────────────────────────────────────────────────
  let unexplained: ReadonlySet<number> = new Set();
  let lastLookMs = 0;
  let lastTransactions = 0;
  const timeline = [
    ...plan.timeline.map(({ atMs, action }) => ({ atMs, run: () => act(action) })),
    ...happenings.map(({ atMs, what }) => ({ atMs, run: () => happen(what) })),
    ...purges.times(plan.loadUntilMs + 30 * MINUTE).map((atMs) => ({ atMs, run: purge })),
  ].sort((a, b) => a.atMs - b.atMs);
  for (const node of nodes) await boot(node);
  for (const { atMs, run } of timeline) {
    await advanceTo(atMs);
    await run();
  }
  await advanceTo(plan.loadUntilMs);
  const overMs = clock.monotonicMs() + OVERTIME_MS;
  const unfinished = () => room.unfinished() + (returns?.unfinished() ?? 0);
  while (unfinished() > 0 && clock.monotonicMs() < overMs && wrong.length < MAX_WRONG)
    await advanceTo(clock.monotonicMs() + STEP_MS);
  await advanceTo(clock.monotonicMs() + TAKEN_OVER_MS);
  for (const node of nodes) {
    const held = node.process?.engine.queue.inMemory();
    if (held !== undefined && held.rows > 0) note(`${held.rows} rows are left in memory of ${node.name}`);
    await stop(node, 30 * SECOND);
  }
  if (returns !== null) diary.returned = returns.bounced();
  for (const what of checkEnd(room.db, wire, diary)) note(what);
  returns?.checkEnd(wire.of);
  purges.checkEnd();
  for (const what of geography.gone(wire)) note(what);
  for (const what of thoughts.checkEnd(wire)) note(what);
  if (wire.open.size > 0) note(`${wire.open.size} connections are open after the end`);
  const result = {
    ...{ seed, wrong, processes, recipients: room.recipients(), transactions: wire.transactions.length },
    ...{ virtualMs: clock.monotonicMs(), digest: digestOf(room.db, wire) },
  };
  room.close();
  return result;

  /** It starts at one instant: it reads files, which the virtual clock does not wait for. */
  async function boot(node: Node): Promise<void> {
    processes += 1;
    const number = processes;
    Object.assign(node, { number, pausedUntilMs: null });
    disturb();
    try {
      node.process = await startProcess(
        {
          ...{ parts: PARTS, clock: clockOf(node), names, network: networkOf(() => number), tokens },
          openStore: (own) => openStore(own, node),
          random: createDice(seed, 100 + processes),
        },
        {
          ...{ folder: room.folder, sources: plan.sources, node: node.name, ipv6: false, diesAfter: null },
          queue: {
            ...QUEUE_DEFAULTS,
            ...{ maxRows: plan.windowRows, lookAheadMs: plan.lookAheadMs, checkMs: plan.lookAheadMs / 2 },
            lookAheadWithoutHintsMs: SECOND,
          },
          change: mutation,
          storeMs: answersOf(plan.extras.storeMs, createDice(seed, 10_000 + processes)),
          newSources: plan.extras.newSources,
          ...{ targets: plan.extras.targets, rules: plan.extras.rules },
        },
      );
      await returns?.open(node.name, node.process);
    } catch {
      // The store cannot be written: whoever supervises tries again.
      node.downUntilMs = clock.monotonicMs() + 5 * SECOND;
    }
  }

  /** That of its machine. */
  function clockOf(node: Node): Clock {
    return { ...clock, now: () => clock.now() + node.aheadMs };
  }

  /** Its data have a clock of their own, as those of a database server. */
  async function openStore(own: Clock, node: Node): Promise<Store> {
    const strikes = () => clock.monotonicMs() < node.losing.untilMs && dice.chance(node.losing.share);
    const store = losingAnswers(await room.openStore(own), strikes);
    return {
      ...store,
      async heartbeat(params) {
        const answer = await store.heartbeat(params);
        return answer.kind === 'alive' ? { ...answer, now: clock.now() } : answer;
      },
    };
  }

  async function advanceTo(untilMs: number): Promise<void> {
    while (clock.monotonicMs() < untilMs) {
      const nowMs = clock.monotonicMs();
      for (const node of nodes) await comesBack(node, nowMs);
      const next = nodes
        .flatMap(({ process, downUntilMs, pausedUntilMs }) =>
          process === null ? downUntilMs : (pausedUntilMs ?? []),
        )
        .filter((atMs) => atMs > nowMs);
      await clock.advance(Math.min(untilMs, nowMs + STEP_MS, ...next) - nowMs);
      look();
    }
  }

  async function comesBack(node: Node, nowMs: number): Promise<void> {
    if (node.process === null) {
      if (nowMs >= node.downUntilMs) await boot(node);
    } else if (node.pausedUntilMs !== null && nowMs >= node.pausedUntilMs) {
      node.pausedUntilMs = null;
      node.process.resume();
      disturb();
    }
  }

  function disturb(): void {
    disturbedMs = clock.monotonicMs();
  }

  async function happen(what: Happening): Promise<void> {
    const node = nodes[what.node];
    if (node === undefined) return;
    if (what.kind === 'clock') {
      node.aheadMs = what.aheadMs;
      return;
    }
    if (node.process === null || node.pausedUntilMs !== null) return;
    const { kind, forMs } = what;
    const nowMs = clock.monotonicMs();
    disturb();
    if (what.kind === 'lose') {
      node.losing = { untilMs: nowMs + forMs, share: what.share };
      diary.outages.push({ fromMs: nowMs, untilMs: nowMs + forMs + 5 * SECOND });
      clock.setTimer(forMs, disturb);
      return;
    }
    if (kind === 'pause') {
      // Replies that arrive meanwhile are as good as unread, where others take over.
      diary.crashes.push({ fromMs: nowMs, untilMs: nowMs + forMs + MOMENT_MS });
      node.pausedUntilMs = nowMs + forMs;
      node.process.pause();
    } else if (kind === 'crash') {
      diary.crashes.push(momentOf(nowMs));
      node.process.die();
      returns?.gone(node.name);
      node.process = null;
      node.downUntilMs = nowMs + forMs;
    } else {
      await stop(node, 10 * SECOND);
      node.downUntilMs = clock.monotonicMs() + forMs;
    }
  }

  async function stop(node: Node, deadlineMs: number): Promise<void> {
    const { process } = node;
    if (process === null) return;
    if (node.pausedUntilMs !== null) process.resume();
    node.pausedUntilMs = null;
    let stopped = false;
    const stopping = Promise.resolve(returns?.stop(node.name))
      .then(() => process.stop(deadlineMs))
      .then(() => {
        stopped = true;
      });
    const lastMs = clock.monotonicMs() + 2 * deadlineMs + 10 * SECOND;
    while (!stopped && clock.monotonicMs() < lastMs) await clock.advance(100);
    if (!stopped) note(`a stop of ${node.name} within ${deadlineMs} ms has not ended`);
    else await stopping;
    if (outage.count > 0) diary.crashes.push(momentOf(clock.monotonicMs()));
    process.die();
    node.process = null;
    disturb();
  }

  function awakeNow(): Process[] {
    return nodes.flatMap(({ process, pausedUntilMs }) => (pausedUntilMs === null ? (process ?? []) : []));
  }

  function look(): void {
    const nowMs = clock.monotonicMs();
    const awake = awakeNow();
    if (awake.length < nodes.length || outage.count > 0 || nowMs - disturbedMs < TAKEN_OVER_MS) return;
    const epochs = new Set(awake.map(({ epoch }) => epoch));
    const rows = room.db.all<{ epoch: number; n: number }>(
      'SELECT epoch, count(*) AS n FROM delivery WHERE state = 1 GROUP BY epoch',
    );
    for (const { epoch, n } of rows)
      if (!epochs.has(epoch)) note(`${n} recipients are leased to a node that is gone`);
    const paths = awake.flatMap(({ engine }) => engine.deliver.paths().map((path) => path.snapshot()));
    const full = awake.some(({ engine }) => engine.queue.inMemory().rows >= 0.66 * plan.windowRows);
    // That another node sends is no reason: that node must have one.
    const hasReason = (domain: string) =>
      full ||
      geography.isUnresolved(domain) ||
      paths.some(
        ({ site, reason, waitsFor, connections }) =>
          ((reason !== null && waitsFor !== 'lease') || connections.opening > 0) &&
          geography.isWayTo(site, domain),
      );
    const [first] = epochs;
    const now = { wallMs: clock.now() - mostSkewMs, monotonicMs: nowMs, epoch: first ?? 0 };
    const isHeld = (id: number) => operators.heldForMs(id) !== null;
    const found = checkWaiting(room.db, wire, now, plan.lookAheadMs, hasReason, geography.mayHang);
    if (nowMs - lastLookMs < 10 * SECOND) return;
    const without = new Set(found.unexplained.filter((id) => !isHeld(id)));
    if (wire.transactions.length === lastTransactions)
      for (const id of without)
        if (unexplained.has(id)) note(`delivery ${id} is due and waits for no reason`);
    [unexplained, lastLookMs, lastTransactions] = [without, nowMs, wire.transactions.length];
  }

  async function purge(): Promise<void> {
    const awake = awakeNow();
    if (awake.length > 0) await awaited(purges.act(dice.pick(awake))).catch(() => {});
  }

  async function act(action: Action): Promise<void> {
    const nowMs = clock.monotonicMs();
    const awake = awakeNow();
    const process = awake.length === 0 ? undefined : dice.pick(awake);
    switch (action.kind) {
      case 'send':
        if (process !== undefined) await send(process, action);
        return;
      case 'cancel':
      case 'reschedule':
      case 'suppress':
      case 'suppress-waiting':
        if (process !== undefined) await awaited(thoughts.act(action, process));
        return;
      case 'hold':
      case 'release':
      case 'override':
      case 'end-overrides':
      case 'try-now':
        if (process !== undefined) await operators.act(action, process);
        return;
      case 'move':
        names.setMx(action.domain, hostsOf(plan, action.toSite));
        return;
      case 'dns':
        names.fault(action.domain, action.fault, nowMs, nowMs + action.forMs);
        return;
      case 'outage':
        if (outage.count > 0) return;
        Object.assign(outage, { count: Number.POSITIVE_INFINITY, as: action.as });
        diary.outages.push({ fromMs: nowMs, untilMs: nowMs + action.forMs + 5 * SECOND });
        disturb();
        clock.setTimer(action.forMs, () => {
          outage.count = 0;
          disturb();
        });
    }
  }

  async function send(process: Process, mail: Extract<Action, { kind: 'send' }>): Promise<void> {
    try {
      const submission = submissionOf(mail, clock.now());
      const result = await awaited(
        process.engine.acceptance.accept({ caller: CALLER, submission, idempotency: null }),
      );
      if (result.kind !== 'accepted') return;
      diary.accepted.push({ messageId: result.messageId, recipients: new Set(mail.recipients).size });
    } catch (cause) {
      // Refused: nothing was promised.
      if (!(cause instanceof AppError) && process.alive) throw cause;
    }
  }
}
