/**
 * Simulates a plan: the delivery engine with a real database for each node, on a virtual clock, with the DNS, network
 * and far ends of outside.ts. Takes the plan and returns a forecast. All decisions are those of the engine. A plan
 * with too many recipients is simulated by a sample (sampling.ts). After an abort, the forecast contains what is
 * known by then.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import { createVirtualClock } from '../lib/virtual-clock.ts';
import { createReturnPathTokens } from '../mail/verp.ts';
import { SUBMISSION_DEFAULTS, type Submission, sendingCaller } from '../model/submission.ts';
import { QUEUE_DEFAULTS } from '../pipeline/queue/queue.ts';
import { newWarmup } from '../policy/limits/warmup/budget.ts';
import { STEPS } from '../policy/limits/warmup/steps.ts';
import { type Arrival, arrivalsOf } from './arrivals.ts';
import { openPassingDatabase, openStoreOver } from './database.ts';
import type { Forecast } from './forecast.ts';
import { createLedger } from './ledger.ts';
import { createOutside, habitsOf } from './outside.ts';
import type { SimulationPlan } from './plan/plan.ts';
import { createProcessParts, type Process, startProcess } from './process.ts';
import { recipientsOf, sampledRows, weightOf } from './sampling.ts';
import { createDice } from './seeded.ts';
import { createWire } from './wire.ts';

export interface SimulateOptions {
  /** The most recipients to simulate; a sample represents larger plans. */
  most: number;
  /** Of the real world: how long it takes. */
  clock: Pick<Clock, 'monotonicMs'>;
  signal?: AbortSignal;
  /** Called often, with the recipients that have ended and their total. */
  progress?(done: number, total: number): void;
}

interface Node {
  process: Process;
  close(): void;
}

const SECOND = 1000;
const DAY_MS = 86_400_000;
/**
 * The simulation may continue this long after the last day of the plan. By default, mail is given up after three
 * days.
 */
const MOST_DAYS_AFTER = 10;
const STEP_MS = 60 * SECOND;
/** Size of the bodies that are really sent; the memory for contents of the planned size is calculated. */
const BODY_BYTES = 400;
/** For plans of several days: frequent searches for due and expired rows would be most of the work. */
const SELDOM = { lookAheadMs: 60 * SECOND, checkMs: 60 * SECOND };
const SEED = 1;
const CALLER = sendingCaller('simulate');
const STOP_MS = SECOND;
const ENDS_WITHIN_MS = 60 * SECOND;

export async function simulate(plan: SimulationPlan, options: SimulateOptions): Promise<Forecast> {
  const startedMs = options.clock.monotonicMs();
  const habits = habitsOf(plan);
  const weight = weightOf(plan, [...habits.values()], options.most);
  const clock = createVirtualClock(plan.startAt);
  const folder = mkdtempSync(join(tmpdir(), 'postrider-simulate-'));
  const nodes: Node[] = [];
  try {
    return await play();
  } finally {
    for (const node of nodes) node.close();
    rmSync(folder, { recursive: true, force: true });
  }

  async function play(): Promise<Forecast> {
    const total = Math.max(1, Math.round(recipientsOf(plan) / weight));
    const ledger = createLedger(plan, { clock, weight, habits });
    const wire = createWire(
      {
        opened: () => ledger.opened(wire),
        mail() {},
        envelope() {},
      },
      () => [],
      { keep: false },
    );
    const tokens = createReturnPathTokens([{ id: 1, secret: Buffer.from('simulated return path') }]);
    const outside = createOutside(plan, { clock, dice: createDice(SEED, 2), wire, tokens }, weight);
    const parts = createProcessParts();
    writeFileSync(join(folder, 'shaping.json'), JSON.stringify(sampledRows(plan, weight)));
    for (let node = 1; node <= plan.nodes; node++) await startNode(node);

    const arrivals = arrivalsOf(plan, weight);
    let next = arrivals.next();
    let messages = 0;
    const lastMs = (plan.days + MOST_DAYS_AFTER) * DAY_MS;
    const isAborted = () => options.signal?.aborted === true;
    while (!isAborted() && clock.monotonicMs() < lastMs && (next.done !== true || ledger.waiting() > 0)) {
      const nowMs = clock.monotonicMs();
      ledger.look(nodes.map(({ process }) => process.engine));
      options.progress?.(ledger.ended(), total);
      const untilMs = Math.min(ledger.nextLookMs(), nowMs + STEP_MS);
      while (next.done !== true && next.value.atMs <= untilMs && !isAborted()) {
        await clock.advance(Math.max(0, next.value.atMs - clock.monotonicMs()));
        await accept(next.value, messages % plan.nodes);
        messages += 1;
        next = arrivals.next();
      }
      if (!isAborted()) await clock.advance(Math.max(0, untilMs - clock.monotonicMs()));
    }
    ledger.look(
      nodes.map(({ process }) => process.engine),
      true,
    );
    const forecast = ledger.forecast({
      simulated: total,
      interrupted: isAborted(),
      tookMs: options.clock.monotonicMs() - startedMs,
    });
    const stopping = nodes.map(({ process }) => process.stop(STOP_MS));
    await clock.advance(ENDS_WITHIN_MS);
    await Promise.all(stopping);
    return forecast;

    async function startNode(node: number): Promise<void> {
      const db = openPassingDatabase(join(folder, `node${node}.db`));
      const warming = plan.sources.filter(({ ageDays }) => ageDays !== null && ageDays < STEPS.length);
      const sources = plan.sources.filter((source) => source.node === node);
      const process = await startProcess(
        {
          ...{ parts, clock, tokens, names: outside.names, network: outside.network },
          random: createDice(SEED, 100 + node),
          async openStore(own) {
            const store = await openStoreOver(db, own);
            const epoch = await store.beginEpoch({ nodeId: 'before', now: own.now() });
            for (const { id, ageDays } of warming)
              for (const { provider } of plan.mail)
                await store.saveWarmup({
                  ...{ source: id, provider, epoch },
                  state: { ...newWarmup(own.now()), level: ageDays ?? 0 },
                });
            return store;
          },
        },
        {
          ...{ folder, weight, ipv6: false, diesAfter: null },
          sources: sources.map((source) => ({
            ...{ id: source.id, address: source.address, ipv6: source.ipv6, pool: source.pool },
            newSince: warming.includes(source) ? plan.startAt : null,
          })),
          queue: {
            ...QUEUE_DEFAULTS,
            ...(plan.days > 1 ? SELDOM : {}),
            maxBytes: Math.max(1, Math.round((QUEUE_DEFAULTS.maxBytes * BODY_BYTES) / plan.messageBytes)),
            highWaterMark: (plan.keys.queueLimit ?? QUEUE_DEFAULTS.highWaterMark) / weight,
          },
          change: { store: (store) => ledger.watch(store, node - 1) },
          keepsContent: false,
          // Logins are not played.
          targets: plan.targets.map((route) => plain(route)),
          rules: plan.rules.map((rule) => ({ ...rule, targets: rule.targets.map((route) => plain(route)) })),
          keys: plan.keys,
        },
      );
      nodes.push({ process, close: () => db.close() });
    }

    async function accept(arrival: Arrival, at: number): Promise<void> {
      const { mail, count } = arrival;
      const node = nodes[at];
      if (node === undefined) return;
      const domain = outside.domainOf(mail, arrival.n);
      const done = node.process.engine.acceptance
        .accept({ caller: CALLER, submission: letter(arrival, domain), idempotency: null })
        .then(
          (result) => result.kind === 'accepted',
          // The queue is full. A real client would try again later, which is not simulated.
          () => false,
        );
      ledger.accepts(mail, domain, count, at);
      ledger.accepted(mail, count, at, await done);
    }
  }
}

function plain<Target extends SimulationPlan['targets'][number]>(route: Target): Target {
  return route.kind === 'relay' ? { ...route, auth: null, implicitTls: false } : route;
}

function letter({ mail, count, n }: Arrival, domain: string): Submission {
  return {
    ...SUBMISSION_DEFAULTS,
    from: { name: '', address: `news@${mail.sender}` },
    fromDomain: mail.sender,
    recipients: Array.from({ length: count }, (_, i) => ({
      ...{ name: '', address: `${mail.lane}${n}.${i}@${domain}`, domain, kind: 'BCC' },
    })),
    subject: 'Simulated',
    body: { kind: 'text', text: `${'x'.repeat(60)}\n`.repeat(Math.ceil(BODY_BYTES / 61)) },
    lane: mail.lane,
  };
}
