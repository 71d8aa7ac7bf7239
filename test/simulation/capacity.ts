/**
 * One installation at full size on the virtual clock: so many sites, one newsletter to all of them, and three providers
 * that misbehave for hours (one throttles, one answers as slowly as it may, one refuses us). Given the size, plays it
 * until everything has come to an end, and leaves figures: how the others fared, what the store was asked to rewrite,
 * how long a claim took, what it cost. The promises of every run are held here too (`wrong`).
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createVirtualClock } from '../../src/lib/virtual-clock.ts';
import { createReturnPathTokens } from '../../src/mail/verp.ts';
import { SUBMISSION_DEFAULTS, type Submission, sendingCaller } from '../../src/model/submission.ts';
import { siteNameOf } from '../../src/pipeline/deliver/routing/site-key.ts';
import { QUEUE_DEFAULTS } from '../../src/pipeline/queue/queue.ts';
import { createShaping } from '../../src/policy/limits/shaping/shaping.ts';
import { createFarEnd, type FarEnd } from '../../src/simulation/far-end.ts';
import type { SitePlan } from '../../src/simulation/far-end-connection.ts';
import { createNames } from '../../src/simulation/names.ts';
import { createNetwork } from '../../src/simulation/network.ts';
import { startProcess } from '../../src/simulation/process.ts';
import { createDice } from '../../src/simulation/seeded.ts';
import type { Trouble, TroubleKind } from '../../src/simulation/troubles.ts';
import { createWire } from '../../src/simulation/wire.ts';
import type { Store } from '../../src/store/store.ts';
import { checkStopped } from './checks.ts';
import { PARTS } from './parts.ts';
import { openRoom } from './room.ts';
import { createWireRules } from './wire-rules.ts';

export interface CapacityOptions {
  sites: number;
  recipients: number;
  seed: number;
  /** false = everybody behaves, to compare with. */
  troubled: boolean;
  /** Told now and then how far it is. */
  progress?: (line: string) => void;
}

export interface CapacityResult {
  wrong: string[];
  recipients: number;
  /** By final state. */
  states: Record<string, number>;
  /** From the first acceptance to the far end, virtual seconds, over the sites without trouble. */
  good: { p50: number; p99: number; last: number };
  /** Rows of each misbehaving site: recipients, and how often one was written back while it waited. */
  bad: {
    name: string;
    trouble: string;
    recipients: number;
    deferred: number;
    givenBack: number;
    took: number;
  }[];
  /** Of one `claimDue`, wall milliseconds. */
  claim: { calls: number; p50: number; p99: number; max: number };
  acceptSeconds: number;
  wallSeconds: number;
  cpuSeconds: number;
  virtualHours: number;
  peakRssMiB: number;
  peakHeapMiB: number;
  peakConnections: number;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const TROUBLED_FOR_MS = 2 * HOUR;
/** Each misbehaving provider has this share of all recipients. */
const BAD_SHARE = 0.1;
const A_MESSAGE = 100;
const MOST_HOURS = 80;
const PROGRESS_MS = 15 * SECOND;
/** The database is a file, but no disk is measured here. */
const MEMORY = '/dev/shm';

const BAD: readonly { name: string; kind: TroubleKind; most: number; trouble: string }[] = [
  { name: 'throttling', kind: 'slow-down', most: 600, trouble: 'takes 600 a minute, defers the rest' },
  { name: 'tarpitting', kind: 'tarpits', most: 10, trouble: 'answers each command after 10 s' },
  { name: 'blocking', kind: 'greets-554', most: 1, trouble: 'greets with 554' },
];

const CALLER = sendingCaller('capacity');

export async function runCapacity(options: CapacityOptions): Promise<CapacityResult> {
  const { seed, recipients, progress = () => {} } = options;
  const startedMs = performance.now();
  const startedCpu = process.cpuUsage();
  const wrong: string[] = [];
  const note = (what: string) => {
    if (wrong.length < 20) wrong.push(what);
  };
  const clock = createVirtualClock();
  const dice = createDice(seed, 2);
  const tokens = createReturnPathTokens([{ id: 1, secret: Buffer.from('simulated return path') }]);
  const sites = sitesOf(options);
  const shares = sharesOf(options);
  const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'postrider-capacity-'));
  const room = openRoom({ shaping: [], failStoreWrites: null, path: join(folder, 'capacity.db') });
  try {
    return await play();
  } finally {
    room.close();
    rmSync(folder, { recursive: true, force: true });
  }

  async function play(): Promise<CapacityResult> {
    const names = createNames(clock);
    const shaping = createShaping({ of: () => [] }, { maxConnections: null, sourceIds: new Set(['out1']) });
    const engineSites = new Map(
      sites.map(({ name, hosts }) => {
        const hostNames = hosts.map((host) => host.name);
        return [
          name,
          siteNameOf(`${name}.test`, hostNames, shaping.groupingOf(`${name}.test`, hostNames)).site,
        ];
      }),
    );
    const limits = (site: string) =>
      shaping.limitsFor({ source: 'out1', site: engineSites.get(site) ?? site, provider: null, route: 'mx' })
        .limits;
    /** When each delivery was first taken, by its id; 0 = not. */
    const takenAt = new Float64Array(recipients + 1);
    let taken = 0;
    const rules = createWireRules(
      {
        nowMs: () => clock.monotonicMs(),
        wallMs: () => clock.now(),
        written: limits,
        inForce: limits,
        overrides: () => [],
        isApart: () => false,
        opensAgain: () => false,
        process: () => 1,
        heldForMs: () => null,
      },
      note,
    );
    const wire = createWire(
      {
        ...rules,
        taken({ deliveryId }, atMs) {
          taken += 1;
          if (takenAt[deliveryId] !== 0) note(`delivery ${deliveryId} was taken twice`);
          takenAt[deliveryId] = atMs;
        },
      },
      () => [],
      { keep: false },
    );
    const farEnds = new Map<string, FarEnd>();
    for (const site of sites) {
      const farEnd = createFarEnd(site, { clock, dice, wire, tokens });
      for (const host of site.hosts) {
        names.setAddress(host.name, host.address);
        farEnds.set(host.address, farEnd);
      }
      names.setMx(
        `${site.name}.test`,
        site.hosts.map((host) => host.name),
      );
    }
    const network = createNetwork(
      clock,
      ({ address }) => farEnds.get(address)?.answer('out1', 1) ?? { kind: 'silent' },
    );

    // ── what the store is asked ─────────────────────────────────────────────────────────────────────────
    const claims: number[] = [];
    /** Site of each delivery, by its id. */
    const siteOf = new Uint16Array(recipients + 1);
    const deferred = new Uint32Array(sites.length);
    const givenBack = new Uint32Array(sites.length);
    const add = (counts: Uint32Array, deliveryId: number) => {
      const site = siteOf[deliveryId] ?? 0;
      counts[site] = (counts[site] ?? 0) + 1;
    };
    const watched = (store: Store): Store => ({
      ...store,
      async claimDue(params) {
        const from = performance.now();
        const rows = await store.claimDue(params);
        claims.push(performance.now() - from);
        return rows;
      },
      settle(params) {
        for (const { state, deliveryId } of params.settlements)
          if (state === 'queued') add(deferred, deliveryId);
        return store.settle(params);
      },
      release(params) {
        for (const deliveryId of params.deliveryIds) add(givenBack, deliveryId);
        return store.release(params);
      },
    });
    const started = await startProcess(
      {
        ...{ parts: PARTS, clock, names, network, tokens, openStore: room.openStore },
        random: createDice(seed, 101),
      },
      {
        folder: room.folder,
        sources: [{ id: 'out1', address: '20.0.0.1' }],
        queue: QUEUE_DEFAULTS,
        ipv6: false,
        diesAfter: null,
        change: { store: watched },
      },
    );

    // ── mail in ─────────────────────────────────────────────────────────────────────────────────────────
    let peakRss = 0;
    let peakHeap = 0;
    let toldMs = performance.now();
    const tell = (what: () => string) => {
      if (performance.now() - toldMs < PROGRESS_MS) return;
      toldMs = performance.now();
      progress(what());
    };
    const sample = () => {
      const { rss, heapUsed } = process.memoryUsage();
      peakRss = Math.max(peakRss, rss);
      peakHeap = Math.max(peakHeap, heapUsed);
    };
    let accepted = 0;
    // In turn, as a newsletter's list is: no site's mail comes in one piece.
    const left = [...shares];
    while (accepted < recipients) {
      for (let site = 0; site < sites.length; site++) {
        const count = Math.min(A_MESSAGE, left[site] ?? 0);
        if (count === 0) continue;
        left[site] = (left[site] ?? 0) - count;
        siteOf.fill(site, accepted + 1, accepted + count + 1);
        const result = await started.engine.acceptance.accept({
          caller: CALLER,
          submission: letter(`${sites[site]?.name}.test`, accepted, count),
          idempotency: null,
        });
        if (result.kind !== 'accepted') throw new Error(`not accepted: ${result.kind}`);
        accepted += count;
        sample();
        tell(() => `${accepted} recipients accepted`);
      }
    }
    const acceptSeconds = (performance.now() - startedMs) / 1000;

    // ── and out ─────────────────────────────────────────────────────────────────────────────────────────
    const unfinished = () =>
      started.engine.queue.inMemory().rows > 0 || (taken < recipients && room.unfinished() > 0);
    while (unfinished() && clock.monotonicMs() < MOST_HOURS * HOUR) {
      await clock.advance(10 * SECOND);
      sample();
      tell(
        () =>
          `${taken} taken after ${(clock.monotonicMs() / HOUR).toFixed(2)} h, ${wire.open.size} connections open`,
      );
    }
    const virtualHours = clock.monotonicMs() / HOUR;
    const stopping = started.stop(30 * SECOND);
    await clock.advance(60 * SECOND);
    await stopping;
    for (const what of checkStopped(room.db)) note(what);
    if (room.unfinished() > 0) note(`${room.unfinished()} recipients have come to no end`);

    const states = Object.fromEntries(
      room.db
        .all<{ kind: string; n: number }>(
          `SELECT CASE state WHEN 2 THEN 'delivered' ELSE 'other' END AS kind, count(*) AS n FROM delivery GROUP BY 1`,
        )
        .map(({ kind, n }) => [kind, n]),
    );
    if ((states.delivered ?? 0) !== taken) note(`${states.delivered} are delivered, far ends took ${taken}`);
    const bad = BAD.length;
    const good: number[] = [];
    for (let id = 1; id <= recipients; id++) {
      if ((siteOf[id] ?? 0) >= bad && takenAt[id] !== 0) good.push((takenAt[id] ?? 0) / SECOND);
    }
    good.sort((a, b) => a - b);
    claims.sort((a, b) => a - b);
    const cpu = process.cpuUsage(startedCpu);
    return {
      wrong,
      recipients,
      states,
      good: { p50: quantile(good, 0.5), p99: quantile(good, 0.99), last: quantile(good, 1) },
      bad: BAD.map(({ name, trouble }, site) => ({
        name,
        trouble: options.troubled ? trouble : 'none',
        recipients: shares[site] ?? 0,
        deferred: deferred[site] ?? 0,
        givenBack: givenBack[site] ?? 0,
        took: takenAt.reduce((sum, at, id) => sum + (at !== 0 && siteOf[id] === site ? 1 : 0), 0),
      })),
      claim: {
        calls: claims.length,
        p50: quantile(claims, 0.5),
        p99: quantile(claims, 0.99),
        max: quantile(claims, 1),
      },
      acceptSeconds,
      wallSeconds: (performance.now() - startedMs) / 1000,
      cpuSeconds: (cpu.user + cpu.system) / 1e6,
      virtualHours,
      peakRssMiB: peakRss / 2 ** 20,
      peakHeapMiB: peakHeap / 2 ** 20,
      peakConnections: wire.peak,
    };
  }
}

/** The misbehaving ones come first. */
function sitesOf({ sites, troubled, seed }: CapacityOptions): SitePlan[] {
  const dice = createDice(seed, 1);
  return Array.from({ length: sites }, (_, i) => {
    const bad = BAD[i];
    const name = bad?.name ?? `site${i}`;
    const troubles: Trouble[] =
      bad === undefined || !troubled
        ? []
        : [{ kind: bad.kind, fromMs: 0, untilMs: TROUBLED_FOR_MS, share: 1, most: bad.most }];
    return {
      name,
      provider: null,
      hosts: [{ name: `mx.${name}.net`, address: `20.1.${i >> 8}.${i & 255}` }],
      latencyMs: dice.pick([2, 10, 30, 80]),
      dotMs: 0,
      pipelining: true,
      troubles,
    };
  });
}

function sharesOf({ sites, recipients }: CapacityOptions): number[] {
  const each = Math.floor(BAD_SHARE * recipients);
  const rest = recipients - BAD.length * each;
  const others = sites - BAD.length;
  return Array.from({ length: sites }, (_, i) =>
    i < BAD.length ? each : Math.floor(rest / others) + (i - BAD.length < rest % others ? 1 : 0),
  );
}

function letter(domain: string, from: number, count: number): Submission {
  return {
    ...SUBMISSION_DEFAULTS,
    from: { name: '', address: 'news@sender.test' },
    fromDomain: 'sender.test',
    recipients: Array.from({ length: count }, (_, i) => ({
      name: '',
      address: `u${from + i}@${domain}`,
      domain,
      kind: 'BCC',
    })),
    subject: 'Simulated',
    body: { kind: 'text', text: 'x'.repeat(60).concat('\n').repeat(20) },
    lane: 'bulk',
  };
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}
