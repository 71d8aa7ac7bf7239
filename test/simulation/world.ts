/**
 * One simulated run: days of one installation within milliseconds. Given a plan (plan.ts), plays it on a virtual clock
 * with the real engine over a real database: far ends, DNS and network are in memory, processes die and come back,
 * and whatever the engine promises is held against the far ends' own notes (wire.ts) and the store (checks.ts). The
 * same seed makes the same run.
 */
import { createHash } from 'node:crypto';
import { AppError } from '../../src/lib/errors.ts';
import { createVirtualClock } from '../../src/lib/virtual-clock.ts';
import { createReturnPathTokens } from '../../src/mail/verp.ts';
import { sendingCaller } from '../../src/model/submission.ts';
import { QUEUE_DEFAULTS } from '../../src/pipeline/queue/queue.ts';
import { pathKey } from '../../src/policy/limits/shaping/types.ts';
import { createFarEnd } from '../../src/simulation/far-end.ts';
import type { SitePlan } from '../../src/simulation/far-end-connection.ts';
import { createNames } from '../../src/simulation/names.ts';
import { type Process, startProcess } from '../../src/simulation/process.ts';
import { createDice } from '../../src/simulation/seeded.ts';
import type { TroubleKind } from '../../src/simulation/troubles.ts';
import { createWire, type Wire } from '../../src/simulation/wire.ts';
import type { Connection } from '../../src/store/sqlite/engine/connection.ts';
import type { FailStoreWrites } from '../../src/store/sqlite/engine/protocol.ts';
import { createAwaited, submissionOf } from './asking.ts';
import { checkEnd, checkStarted, checkStopped, checkWaiting, type Diary, momentOf } from './checks.ts';
import { secureHalf, TLS_TURNS } from './far-end-tls.ts';
import { createGeography } from './geography.ts';
import { createInMemory } from './in-memory.ts';
import type { Mutation } from './mutations.ts';
import { createOperators } from './operators.ts';
import { engineSitesOf, hostsOf, limitsOf, MAX_WRONG, openFarEnds } from './outside.ts';
import { PARTS } from './parts.ts';
import { type Action, type Plan, planOf } from './plan.ts';
import { answersOf } from './plan-extras.ts';
import { openRoom } from './room.ts';
import { createSecondThoughts } from './second-thoughts.ts';
import { createSenderKeys } from './sender-keys.ts';
import { createTlsWatch } from './tls-watch.ts';
import { createWarmupWatch } from './warmup-watch.ts';
import { createWireRules } from './wire-rules.ts';

export interface RunResult {
  seed: number;
  /** Broken promises; empty where all was well. */
  wrong: readonly string[];
  recipients: number;
  transactions: number;
  processes: number;
  virtualMs: number;
  /** Of everything the far ends saw and the store kept: two runs of one seed have the same. */
  digest: string;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** Not a whole minute: looks at the pace of a rate limit would see one short moment again and again. */
const STEP_MS = 59_023;
/** Nothing lives longer than its expiry, its last transaction and a clock set back. */
const OVERTIME_MS = 6 * 60 * MINUTE;
const CRITICAL_MS = MINUTE;
/** They keep a connection for long. */
const SILENT: ReadonlySet<TroubleKind> = new Set([
  ...(['black-hole', 'mute', 'tls-mute', 'mute-after-dot', 'bdat-unanswered', 'tarpits'] as const),
]);
/** After the clock went forward that far, the process gives up nothing for its age that long. */
const FORWARD_MS = 10 * MINUTE;
const SUSPECT_MS = 15 * MINUTE;

const CALLER = sendingCaller('simulated');

/** Typed so that what a function assigns later is not overlooked. */
const noProcess = (): Process | null => null;

/** `mutation`: with this bug in the engine. */
export async function runSeed(seed: number, mutation: Mutation | null = null): Promise<RunResult> {
  return runPlan(planOf(seed), mutation);
}

export async function runPlan(plan: Plan, mutation: Mutation | null = null): Promise<RunResult> {
  const { seed } = plan;
  const wrong: string[] = [];
  const said = new Set<string>();
  const note = (what: string) => {
    // What goes on is told once.
    const kind = what.replaceAll(/\d+ m?s\b/g, '');
    if (said.has(kind)) return;
    said.add(kind);
    if (wrong.length < MAX_WRONG) wrong.push(`at ${Math.round(clock.monotonicMs() / 1000)} s: ${what}`);
  };
  const clock = createVirtualClock(undefined, () =>
    plan.sites.some(({ tls }) => tls === true) ? TLS_TURNS : 1,
  );
  const dice = createDice(seed, 2);
  const tokens = createReturnPathTokens([{ id: 1, secret: Buffer.from('simulated return path') }]);
  const outage: FailStoreWrites & { as: 'full' | 'io' } = { from: 0, count: 0, as: 'full' };
  const room = openRoom({ shaping: plan.shaping, failStoreWrites: outage });
  const diary: Diary = { crashes: [], outages: [], accepted: [], canceled: new Map(), moved: new Map() };
  const { extras } = plan;
  const awaited = createAwaited(clock);
  const keys = extras.signs ? createSenderKeys({ clock, sealer: PARTS.sealer }, plan.tenants) : null;
  const thoughts = createSecondThoughts({ room, diary, clock, random: dice }, note);
  const inMemory = createInMemory();
  const operators = createOperators(
    { plan, room, clock, awaited, siteOf: (site) => engineSites.get(site) ?? site },
    note,
  );
  // Where sessions under TLS keep ending at the first message, mail may go in the clear for an hour.
  const endsSessions = ({ troubles }: SitePlan) => troubles.some(({ kind }) => kind === 'drops-in-data');
  const tls = createTlsWatch(
    clock,
    new Set(plan.sites.flatMap((site) => (site.tls && !endsSessions(site) ? [site.name] : []))),
    note,
  );
  /** Periods in which nobody can be prompt. */
  const disturbed: { fromMs: number; untilMs: number }[] = [];
  const urgent: { id: number; site: number; atMs: number }[] = [];
  /** Far ends that are silent may hold the few connections that there are in all. */
  const mayRunOut =
    extras.maxConnectionsInAll !== null &&
    [...plan.sites, ...extras.relays].some(({ troubles }) => troubles.some(({ kind }) => SILENT.has(kind)));

  // ── the world outside ───────────────────────────────────────────────────────────────────────────────────
  const names = createNames(clock, plan.ttlSeconds);
  const written = limitsOf(plan);
  const learned = limitsOf(plan, {
    of: (scope, key) => process?.engine.traffic.overrides.of(scope, key) ?? [],
  });
  const engineSites = engineSitesOf(plan, written);
  const geography = createGeography(plan, { room, clock, engineSites });
  const { relays, mixed, isSameSite, isUnresolved } = geography;
  const providerOf = new Map(plan.sites.map(({ name, provider }) => [name, provider]));
  const where = (site: string, source: string) => ({
    site: engineSites.get(site) ?? site,
    source,
    provider: providerOf.get(site) ?? null,
  });
  const warmup = createWarmupWatch(
    clock,
    {
      providerOf: (site) => providerOf.get(site) ?? null,
      isCritical: (deliveryId) => room.mailOf(deliveryId)?.lane === 'critical',
    },
    note,
  );
  let process = noProcess();
  let processes = 0;
  const rules = createWireRules(
    {
      nowMs: () => clock.monotonicMs(),
      wallMs: () => clock.now(),
      written: (site, source) => written.limitsFor({ ...where(site, source), route: 'mx' }).limits,
      inForce: (site, source) => learned.limitsFor({ ...where(site, source), route: 'mx' }).limits,
      overrides: (site, source) =>
        process?.engine.traffic.overrides.of('path', pathKey(source, where(site, source).site)) ?? [],
      process: () => processes,
      isApart(site) {
        const home = plan.sites.flatMap(({ name }, i) => (isSameSite(site, name) ? [i] : []));
        return plan.domains.some((domain) => home.includes(domain.site) && isUnresolved(domain.name));
      },
      opensAgain: (site) =>
        plan.sites.some(
          ({ name, hosts, troubles }) =>
            isSameSite(name, site) &&
            (hosts.length > 1 || troubles.some(({ kind }) => kind.startsWith('tls-'))),
        ),
      heldForMs: ({ deliveryId }) => operators.heldForMs(deliveryId),
    },
    note,
  );
  // Sites of one provider may share its connections, or be one site altogether.
  const beside = (site: string) => {
    const provider = providerOf.get(site);
    return plan.sites
      .filter((other) => provider !== null && other.provider === provider)
      .map(({ name }) => name);
  };
  const wire = createWire(
    {
      opened: (connection, open) => {
        // The far ends may not have noticed yet that those of an earlier process are gone.
        if (processes === 1 && wire.open.size > (extras.maxConnectionsInAll ?? wire.open.size))
          note(`${wire.open.size} connections are open, ${extras.maxConnectionsInAll} are allowed in all`);
        // Lists of relays may share hosts, and each list has limits of its own.
        if (relays.has(connection.site) || mixed) return;
        const same = beside(connection.site).filter(
          (other) => engineSites.get(other) === engineSites.get(connection.site),
        );
        const path =
          same.length < 2
            ? open.path
            : same.reduce((sum, other) => sum + wire.openNow(other, connection.source), 0);
        rules.opened({ ...connection, site: same[0] ?? connection.site }, { ...open, path });
      },
      mail: (connection) => rules.mail(connection, relays.has(connection.site) || mixed),
      envelope(transaction) {
        tls.mail(transaction);
        rules.envelope(transaction, relays.has(transaction.site) || mixed);
      },
      taken: extras.newSources && !mixed ? warmup.taken : () => {},
    },
    beside,
    { keep: true },
  );
  const networkOf = openFarEnds(plan, { clock, names }, (site) =>
    createFarEnd(site, {
      ...{ clock, dice, wire, tokens, secureHalf },
      tls: tls.heard,
      deliveryOf: room.deliveryTo,
      ...(keys === null ? {} : { took: keys.took }),
    }),
  );
  const network = networkOf(() => processes);

  // ── a run ───────────────────────────────────────────────────────────────────────────────────────────────
  let downUntilMs = 0;
  let diesAfter: number | null = null;
  let steadySinceMs = 0;
  let suspectUntilMs = 0;
  /** When something was last sent on the paths of each. */
  let unexplained: ReadonlyMap<number, number> = new Map();
  let lastLookMs = 0;
  await boot();
  for (const { atMs, action } of plan.timeline) {
    await advanceTo(atMs);
    await act(action);
  }
  await advanceTo(plan.loadUntilMs);
  const overMs = clock.monotonicMs() + OVERTIME_MS;
  while (room.unfinished() > 0 && clock.monotonicMs() < overMs && wrong.length < MAX_WRONG) {
    await advanceTo(clock.monotonicMs() + STEP_MS);
  }
  const held = process?.engine.queue.inMemory();
  if (room.unfinished() === 0 && held !== undefined && (held.rows > 0 || held.bytes > 0)) {
    // What ended a moment ago may still be being removed from memory.
    await clock.advance(SECOND + 2 * extras.storeMs);
    const left = process?.engine.queue.inMemory();
    if (left !== undefined && (left.rows > 0 || left.bytes > 0))
      note(`${left.rows} rows, ${left.bytes} octets are left in memory when all is done`);
  }
  await stopProcess(30 * SECOND);
  for (const what of checkEnd(room.db, wire, diary)) note(what);
  for (const what of geography.gone(wire)) note(what);
  for (const what of thoughts.checkEnd(wire)) note(what);
  const senderOf = (id: number) => room.mailOf(id)?.tenant ?? '';
  for (const what of (await keys?.check(wire.transactions, senderOf)) ?? []) note(what);
  for (const what of lateCritical()) note(what);
  if (wire.open.size > 0) note(`${wire.open.size} connections are open after the end`);
  const recipients = room.recipients();
  const digest = digestOf(room.db, wire);
  const virtualMs = clock.monotonicMs();
  room.close();
  return {
    seed,
    wrong,
    recipients,
    transactions: wire.transactions.length,
    processes,
    virtualMs,
    digest,
  };

  async function boot(): Promise<void> {
    processes += 1;
    const started = startProcess(
      {
        ...{ parts: PARTS, clock, names, network, tokens, openStore: room.openStore },
        random: createDice(seed, 100 + processes),
      },
      {
        folder: room.folder,
        sources: plan.sources,
        queue: {
          ...QUEUE_DEFAULTS,
          maxRows: plan.windowRows,
          lookAheadMs: plan.lookAheadMs,
          checkMs: plan.lookAheadMs / 2,
        },
        ipv6: false,
        diesAfter,
        change: mutation,
        ...{ targets: extras.targets, rules: extras.rules, signs: extras.signs },
        storeMs: answersOf(extras.storeMs, createDice(seed, 10_000 + processes)),
        newSources: extras.newSources,
        ...(extras.maxConnectionsInAll === null ? {} : { maxConnectionsInAll: extras.maxConnectionsInAll }),
      },
    );
    diesAfter = null;
    try {
      process = await started;
      if (keys !== null) await awaited(keys.install(process.store)).catch(() => {});
      for (const what of checkStarted(process.engine.deliver)) note(what);
      steadySinceMs = clock.monotonicMs();
      suspectUntilMs = 0;
    } catch {
      // The store cannot be written: whoever supervises tries again.
      process = null;
      downUntilMs = clock.monotonicMs() + 5 * SECOND;
    }
  }

  /** On in steps, looking at everything after each; a process that is down comes back in its time. */
  async function advanceTo(untilMs: number): Promise<void> {
    while (clock.monotonicMs() < untilMs) {
      const nowMs = clock.monotonicMs();
      if (process === null && nowMs >= downUntilMs) await boot();
      const next = Math.min(
        untilMs,
        nowMs + STEP_MS,
        process === null ? Math.max(downUntilMs, nowMs + 1) : untilMs,
      );
      await clock.advance(next - nowMs);
      if (process !== null && !process.alive) down(5 * SECOND);
      look();
    }
  }

  function down(forMs: number): void {
    const nowMs = clock.monotonicMs();
    diary.crashes.push(momentOf(process?.diedAtMs ?? nowMs));
    disturbed.push({ fromMs: nowMs - STEP_MS, untilMs: nowMs + forMs + 30 * SECOND });
    process?.die();
    process = null;
    downUntilMs = nowMs + forMs;
  }

  async function stopProcess(deadlineMs: number): Promise<void> {
    if (process === null) return;
    const ending = process;
    let stopped = false;
    const stopping = ending.stop(deadlineMs).then(() => {
      stopped = true;
    });
    const lastMs = clock.monotonicMs() + 2 * deadlineMs + 10 * SECOND;
    while (!stopped && clock.monotonicMs() < lastMs) await clock.advance(100);
    if (!stopped) note(`a stop within ${deadlineMs} ms has not ended`);
    else await stopping;
    ending.die();
    process = null;
    const unwritable = outage.count > 0;
    // What could not be written by then is gone, as after a crash.
    if (unwritable) diary.crashes.push(momentOf(clock.monotonicMs()));
    if (stopped && !unwritable) for (const what of checkStopped(room.db)) note(what);
  }

  function look(): void {
    const nowMs = clock.monotonicMs();
    const settledMs = 30 * SECOND + plan.lookAheadMs;
    const quietSinceMs = Math.max(steadySinceMs, suspectUntilMs);
    if (process === null || outage.count > 0 || nowMs - quietSinceMs < settledMs) return;
    const { epoch } = process;
    const { queue, deliver } = process.engine;
    const paths = deliver.paths().map((path) => path.snapshot());
    // With so many rows, one sender domain may have all that it is allowed.
    const full = queue.inMemory().rows >= 0.66 * plan.windowRows;
    const now = { wallMs: clock.now(), monotonicMs: nowMs, epoch };
    // For the instant in which a path takes its mail anew, the connection that is being opened is the reason.
    const explains = ({ reason, connections }: (typeof paths)[number]) =>
      reason !== null || connections.opening > 0;
    const hasReason = (domain: string) =>
      full ||
      paths.some((path) => explains(path) && geography.isWayTo(path.site, domain)) ||
      isUnresolved(domain);
    for (const what of inMemory.look(process.engine, nowMs)) note(what);
    const found = checkWaiting(room.db, wire, now, plan.lookAheadMs, hasReason, geography.mayHang);
    for (const what of found.wrong) note(what);
    // At one instant a path may stand between two reasons; not at two looks in a row with nothing sent in between.
    if (nowMs - lastLookMs >= 10 * SECOND) {
      const without = new Map(
        found.unexplained.filter((id) => !isHeld(id)).map((id) => [id, lastSentAt(id)] as const),
      );
      for (const [id, sentAt] of without)
        if (unexplained.get(id) === sentAt) note(`delivery ${id} is due and waits for no reason`);
      unexplained = without;
      lastLookMs = nowMs;
    }
    if (queue.inMemory().rows > plan.windowRows)
      note(`${queue.inMemory().rows} rows in memory, ${plan.windowRows} are allowed`);

    function lastSentAt(deliveryId: number): number {
      const domain = room.mailOf(deliveryId)?.domain ?? '';
      return paths
        .filter(({ site }) => geography.isWayTo(site, domain))
        .reduce((at, path) => Math.max(at, path.lastSuccess?.at ?? 0, path.lastFailure?.at ?? 0), 0);
    }
  }

  function isHeld(deliveryId: number): boolean {
    const mail = room.mailOf(deliveryId);
    if (mail === null || process === null) return false;
    const { tenant: senderDomain, domain: recipientDomain, lane } = mail;
    return process.engine.traffic.holds.heldBy({ senderDomain, recipientDomain, lane }) !== null;
  }

  function disturb(forMs: number): void {
    const nowMs = clock.monotonicMs();
    disturbed.push({ fromMs: nowMs, untilMs: nowMs + forMs });
  }

  async function act(action: Action): Promise<void> {
    const now = clock.now();
    const nowMs = clock.monotonicMs();
    switch (action.kind) {
      case 'send':
        return send(action);
      case 'cancel':
      case 'reschedule':
      case 'suppress':
      case 'suppress-waiting':
        if (process !== null) await awaited(thoughts.act(action, process));
        return;
      case 'hold':
      case 'override':
        disturb(action.forMs + MINUTE);
        if (process !== null) await operators.act(action, process);
        return;
      case 'release':
      case 'try-now':
      case 'end-overrides':
        if (process !== null) await operators.act(action, process);
        return;
      case 'rotate':
      case 'remove-domain':
      case 'add-domain': {
        if (process === null || keys === null) return;
        await awaited(keys.act(action, process.store)).catch(() => {});
        if (action.kind === 'remove-domain') disturb(2 * 60 * MINUTE);
        return;
      }
      case 'crash':
        if (process !== null) down(action.downMs);
        return;
      case 'crash-after':
        diesAfter = action.replies;
        return;
      case 'restart':
        disturbed.push({
          fromMs: nowMs - MINUTE,
          untilMs: nowMs + action.deadlineMs + action.downMs + 30 * SECOND,
        });
        await stopProcess(action.deadlineMs);
        downUntilMs = clock.monotonicMs() + action.downMs;
        return;
      case 'outage':
        if (outage.count > 0) return;
        Object.assign(outage, { count: Number.POSITIVE_INFINITY, as: action.as });
        disturb(action.forMs + MINUTE);
        diary.outages.push({ fromMs: nowMs, untilMs: nowMs + action.forMs + 5 * SECOND });
        clock.setTimer(action.forMs, () => {
          outage.count = 0;
          steadySinceMs = clock.monotonicMs();
        });
        return;
      case 'jump':
        clock.jumpWallTo(now + action.byMs);
        warmup.clockSet();
        steadySinceMs = nowMs;
        if (action.byMs > FORWARD_MS) suspectUntilMs = nowMs + SUSPECT_MS;
        disturb(2 * 60 * MINUTE);
        // Of holds and times that were given it is no longer known on which clock they end.
        operators.forgetHolds();
        diary.moved.clear();
        return;
      case 'move':
        names.setMx(action.domain, hostsOf(plan, action.toSite));
        disturb(10 * MINUTE);
        return;
      case 'dns':
        names.fault(action.domain, action.fault, nowMs, nowMs + action.forMs);
        disturb(action.forMs + 5 * MINUTE);
    }
  }

  async function send(mail: Extract<Action, { kind: 'send' }>): Promise<void> {
    if (process === null) return;
    const accepting = process.engine.acceptance;
    const now = clock.now();
    const submission = submissionOf(mail, now);
    const nowMs = clock.monotonicMs();
    try {
      const result = await awaited(accepting.accept({ caller: CALLER, submission, idempotency: null }));
      if (result.kind !== 'accepted') return;
      const { messageId } = result;
      diary.accepted.push({ messageId, recipients: new Set(mail.recipients).size });
      if (mail.lane !== 'critical' || mail.sendInMs !== null) return;
      if (geography.targetsOf(mail.tenant).some(({ kind }) => kind !== 'mx')) return;
      for (const { id, domain } of room.deliveriesOf(messageId)) {
        const site = plan.domains.find(({ name }) => name === domain)?.site;
        if (site !== undefined) urgent.push({ id, site, atMs: nowMs });
      }
    } catch (cause) {
      // Refused: nothing was promised.
      if (!(cause instanceof AppError) && process?.alive !== false) throw cause;
    }
  }

  /** Where a site has no trouble and nobody disturbs, a one-time code goes at once, whatever else waits. */
  function lateCritical(): string[] {
    if (mayRunOut) return [];
    return urgent.flatMap(({ id, site, atMs }) => {
      const plain = plan.sites[site];
      if (plain === undefined || plain.troubles.length > 0 || plain.provider !== null) return [];
      const company = urgent.filter(
        (other) => other.site === site && Math.abs(other.atMs - atMs) < MINUTE,
      ).length;
      const withinMs = CRITICAL_MS + company * 12 * SECOND;
      if (disturbed.some(({ fromMs, untilMs }) => fromMs < atMs + withinMs && untilMs > atMs)) return [];
      if (diary.canceled.has(id) || diary.moved.has(id)) return [];
      const [first] = wire.of(id);
      if (first !== undefined && first.atMs - atMs <= withinMs) return [];
      if (room.stateOf(id) === 'suppressed') return [];
      const waited =
        first === undefined ? 'never went' : `waited ${Math.round((first.atMs - atMs) / 1000)} s`;
      return [`critical delivery ${id} to ${plain.name} ${waited}, at most ${withinMs / 1000} s are allowed`];
    });
  }
}

/** The same for two runs in which the same was seen and stored. */
export function digestOf(db: Connection, wire: Wire): string {
  const hash = createHash('sha256');
  for (const { deliveryId, atMs, takenAtMs, messageId } of wire.transactions)
    hash.update(`${deliveryId} ${atMs} ${takenAtMs} ${messageId}\n`);
  for (const row of db.all('SELECT id, state, attempts, updated_at, last_reply FROM delivery ORDER BY id'))
    hash.update(JSON.stringify(row));
  for (const row of db.all('SELECT delivery_id, kind, at, detail FROM event ORDER BY seq'))
    hash.update(JSON.stringify(row));
  return hash.digest('hex').slice(0, 16);
}
