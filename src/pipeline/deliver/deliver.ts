/**
 * The delivery role: one `Path` per destination that has work, the sandbox, and the rules they share. Given the
 * queue's window and outgoing network (DNS, sockets); leaves settled recipients. Stops by finishing what is under way and
 * giving the rest back.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Failpoints } from '../../lib/failpoints.ts';
import type { Logger } from '../../lib/log.ts';
import type { Service } from '../../lib/loop.ts';
import type { Random } from '../../lib/random.ts';
import type { PersonalTokens } from '../../mail/personal-token.ts';
import type { ReturnPathTokens } from '../../mail/verp.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { AddressCheck } from '../../net/address-filter.ts';
import type { CachingResolver } from '../../net/resolver.ts';
import type { Connect } from '../../net/sockets.ts';
import type { EgressMemory } from '../../policy/limits/shaping/egress-memory.ts';
import type { PathMemory } from '../../policy/limits/shaping/path-memory.ts';
import { type Overrides, pathKey, type Shaping } from '../../policy/limits/shaping/types.ts';
import type { Warmup } from '../../policy/limits/warmup/warmup.ts';
import type { SandboxRules } from '../../policy/sandbox/sandbox-rules.ts';
import type { TlsContexts } from '../../smtp/client-tls.ts';
import type { Store } from '../../store/store.ts';
import type { Gate, KeptBack } from '../queue/gate.ts';
import type { Lease, LeaseListener } from '../queue/membership.ts';
import type { Queue } from '../queue/queue.ts';
import type { ReadyItem } from '../queue/ready-item.ts';
import type { RetrySchedule } from '../queue/retry-schedule.ts';
import type { DeliverMetrics } from './deliver-metrics.ts';
import { createMemoryWaits, type MemoryWaits } from './memory-waits.ts';
import type { Classifier } from './outcome/classifier/classify.ts';
import { learnFromOpening, learnFromOutcome } from './outcome/reply-facts.ts';
import type { SettlementRules } from './outcome/settlement.ts';
import type { TenantLimits } from './outcome/tenant-limits.ts';
import { createFarEnds } from './path/far-ends.ts';
import type { ProviderGate } from './path/limits.ts';
import { createPath, type Path } from './path/path.ts';
import type { PathsView } from './path/state.ts';
import type { PathStates } from './path/states.ts';
import { closedPath } from './path/view.ts';
import { createPreparer, type SenderSettings } from './prepare/prepared.ts';
import { createSigning, type SignerSource } from './prepare/signing.ts';
import { createConnector } from './routing/connector.ts';
import { createEndpoints } from './routing/endpoints.ts';
import type { Port25Watch } from './routing/port-25.ts';
import type { RelayHealth } from './routing/relay-health.ts';
import { SANDBOX_SITE } from './routing/routes.ts';
import type { Site, Sites } from './routing/sites.ts';
import { createSandboxRoute } from './sandbox.ts';
import type { TlsCounters } from './tls/counters.ts';
import type { MtaSts } from './tls/mta-sts.ts';
import { createOpener } from './tls/opener.ts';

export interface Deliver extends Service, PathsView {
  /** Why mail in memory waits. */
  readonly waits: MemoryWaits;
  /** Connections of this path take nothing new. */
  reconnect(name: string): void;
}

export interface DeliverDeps {
  store: Store;
  queue: Queue;
  sites: Sites;
  shaping: Pick<Shaping, 'limitsFor'>;
  overrides: Overrides;
  memory: PathMemory;
  states: PathStates;
  gate: Pick<Gate, 'mail'>;
  rules: SettlementRules;
  classifier: Pick<Classifier, 'classify'>;
  retry: RetrySchedule;
  signers: SignerSource;
  senders: SenderSettings;
  tokens: ReturnPathTokens;
  personalTokens: PersonalTokens;
  resolver: CachingResolver;
  filter: AddressCheck;
  tlsContexts: TlsContexts;
  mtaSts: MtaSts;
  tlsCounters: TlsCounters;
  clock: Clock;
  random: Random;
  log: Logger;
  mailLog: Logger;
  metrics: DeliverMetrics;
  failpoints: Failpoints;
  relays: RelayHealth;
  /** What was learned about far ends. */
  egressMemory: Pick<EgressMemory, 'facts'>;
  port25: Port25Watch;
  /** What replies teach about one sender domain. */
  tenantLimits: TenantLimits;
  warmup: Warmup;
  /** Faults that are played on demand. */
  faults: Pick<SandboxRules, 'faultFor'>;
  /** Asks for the lease on what a path sends by, where several nodes may; null = this node may anyway. */
  egress?(place: Extract<Site, { kind: 'path' }>, listener: LeaseListener): Lease | null;
  /** Where connections come from; TCP where left out. */
  connect?: Connect;
}

export interface DeliverOptions {
  heloName: string;
  bounceDomain: string;
  mxPort: number;
  /** Mail may go out by IPv6 too. */
  ipv6: boolean;
  maxConnections: number;
}

const SANDBOX_CONCURRENCY = 32;
const FORGET_IDLE_PATHS_ABOVE = 256;
/** Rows that wait in memory for DNS, at most, for one domain. */
const ROWS_WITHOUT_SITE = 32;

export function createDeliver(deps: DeliverDeps, options: DeliverOptions): Deliver {
  const { queue, sites, rules, clock, random, log, mailLog, metrics } = deps;
  const signing = createSigning({ clock, signers: deps.signers });
  const sandbox = createSandboxRoute({ clock, random, rules, classifier: deps.classifier });
  const counters = deps.tlsCounters;
  const endpoints = createEndpoints({ ...deps, counters }, options);
  const opener = createOpener({ ...deps, counters }, options);
  const connector = createConnector({ endpoints, opener, relays: deps.relays, port25: deps.port25 });
  const asksForTls = async (delivery: ClaimedDelivery): Promise<boolean> => {
    const place = sites.siteNamed(sites.nameOf(delivery));
    return place?.kind === 'path' && place.egress.direct && endpoints.asksForTls(delivery.recipientDomain);
  };
  const farEnds = createFarEnds({ clock, egressMemory: deps.egressMemory });
  const preparer = createPreparer({ ...deps, signing, asksForTls }, options);
  const paths = new Map<string, Path>();
  const providers = new Map<string, ProviderGate>();
  let playing = 0;
  let stopping = false;
  let sandboxIdle: (() => void) | null = null;

  return {
    async start() {
      queue.onWork(wake, demand, (name) => paths.get(name)?.throughput() ?? 0);
      sites.onMoved((name) => {
        queue.regroup(name);
        paths.get(name)?.regroup();
      });
    },
    async stop(deadlineMs) {
      stopping = true;
      await Promise.all([...[...paths.values()].map((path) => path.stop(deadlineMs)), playedOut(deadlineMs)]);
    },
    waits: createMemoryWaits(queue, waitOf),
    reconnect: (name) => paths.get(name)?.reconnect(),
    paths() {
      const used = [...paths.values()].map(({ ref }) => ref);
      // Closed before anything was sent to them since the start.
      const others = deps.states.list().filter(({ source, site }) => !paths.has(pathKey(source, site)));
      return [...used, ...others.map((state) => closedPath(deps, state))];
    },
  };

  function waitOf(item: ReadyItem): KeptBack {
    const { site, delivery } = item;
    const kept = deps.gate.mail(delivery, site);
    if (kept !== null) return kept;
    const place = sites.siteNamed(site);
    if (place?.kind === 'unresolved')
      return { reason: `DNS is asked where mail for ${place.domain} goes`, until: null };
    const said = paths.get(site)?.waitOf(item) ?? null;
    if (said !== null) return said;
    const where = place?.kind === 'path' ? place.site : site;
    // Checked when it was taken: it is on its way to a connection.
    const reason = item.checked < 0 ? `its turn at ${where}` : `it is made ready to be sent to ${where}`;
    return { reason, until: null };
  }

  /** An outcome that cannot be stored is no reason to stay: the next start takes its lease back. */
  function playedOut(deadlineMs: number): Promise<void> {
    if (playing === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = clock.setTimer(deadlineMs, resolve);
      sandboxIdle = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  function wake(name: string): void {
    if (stopping) return;
    const known = paths.get(name);
    if (known !== undefined) {
      known.wake();
      return;
    }
    if (sites.siteNamed(name) === null) queue.regroup(name);
    const place = sites.siteNamed(name);
    switch (place?.kind) {
      case 'sandbox':
        pumpSandbox();
        return;
      case 'unresolved':
        void sites.lookUp(place.domain).then(() => {
          queue.regroup(name);
          sites.forget(name);
        });
        return;
      case 'path':
        pathOf(name, place).wake();
    }
  }

  function demand(name: string): number {
    const path = paths.get(name);
    if (path !== undefined) return path.demand();
    return sites.siteNamed(name)?.kind === 'unresolved' ? ROWS_WITHOUT_SITE : Number.POSITIVE_INFINITY;
  }

  function pathOf(name: string, place: Extract<Site, { kind: 'path' }>): Path {
    forgetIdlePaths();
    const path = createPath(
      {
        ...deps,
        name,
        place,
        preparer,
        farEnds,
        provider: place.provider === null ? null : providerOf(`${place.source} ${place.provider}`),
        endpoints: (recipientDomain, wish) => connector.endpointsOf(place.egress, recipientDomain, wish),
        refusedBy: (endpoint, outcome, messageId) =>
          connector.replied(place.egress, endpoint, outcome, messageId),
        halfOpen: connector.halfOpen,
        open: (endpoint, wish) => connector.open(place.egress, endpoint, place.site, wish),
        onOutcome: (endpoint, outcome, senderDomain) => {
          learnFromOutcome({ endpoints, opener }, endpoint, outcome);
          deps.tenantLimits.onOutcome(place, senderDomain, outcome);
        },
        notOpened: (endpoint, result, category) =>
          learnFromOpening({ endpoints, opener }, endpoint, result, category),
        egress: (listener) => deps.egress?.(place, listener) ?? null,
        firstUnderTls: opener.firstUnderTls,
        isolate: sites.isolate,
        elsewhere: (delivery) => sites.nameOf(delivery) !== name,
        // The names of relays are looked up on their way.
        placed: (domain) => (place.egress.direct ? sites.lookUp(domain) : Promise.resolve()),
      },
      options,
    );
    paths.set(name, path);
    return path;
  }

  function providerOf(key: string): ProviderGate {
    let gate = providers.get(key);
    if (gate === undefined) {
      gate = { open: 0, waiting: new Set() };
      providers.set(key, gate);
    }
    return gate;
  }

  function forgetIdlePaths(): void {
    if (paths.size < FORGET_IDLE_PATHS_ABOVE) return;
    for (const [name, path] of paths) {
      if (!path.idle || queue.heldBy(name) > 0) continue;
      path.forget();
      paths.delete(name);
      sites.forget(name);
    }
  }

  // ── the sandbox ─────────────────────────────────────────────────────────────────────────────────────────

  function pumpSandbox(): void {
    while (!stopping && playing < SANDBOX_CONCURRENCY) {
      const item = queue.take(SANDBOX_SITE);
      if (item === null) break;
      playing += 1;
      item.underWay = true;
      void play(item).then(() => {
        playing -= 1;
        pumpSandbox();
        if (playing === 0) sandboxIdle?.();
      });
    }
  }

  async function play(item: Parameters<typeof preparer.prepare>[0]): Promise<void> {
    try {
      // What was asked for by name, a result or a magic recipient, stays as it is.
      const fault = item.delivery.sandbox === 'deliver' ? await deps.faults.faultFor(item.delivery) : null;
      const delayedUntil = fault === null ? 0 : fault.since + fault.rule.delayMs;
      if (delayedUntil > clock.now()) {
        queue.giveBack(item, Math.min(delayedUntil, item.delivery.expiresAt), 'delayed by a sandbox rule');
        return;
      }
      const result = await preparer.prepare(item);
      const settlement =
        result.kind === 'ready'
          ? sandbox.play(item.delivery, result.prepared, fault?.rule ?? null)
          : rules.settle(item.delivery, result.outcome);
      const { messageId, id, address } = item.delivery;
      metrics.attempted(settlement.state, 0);
      mailLog.info(
        { messageId, deliveryId: id, to: address, route: 'sandbox' },
        sandboxWord(settlement.state),
      );
      await queue.settle(item, settlement);
    } catch (cause) {
      log.warn(
        { err: cause, deliveryId: item.delivery.id },
        'a sandbox delivery failed; it will be tried again',
      );
      queue.giveBack(item, clock.now() + 500, null);
    }
  }
}

function sandboxWord(state: string): string {
  return state === 'queued' ? 'deferred' : state;
}
