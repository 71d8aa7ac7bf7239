/**
 * The delivery role: one `Site` per destination that has work, the sandbox, and the rules they share. Given the
 * queue's window and ways out (DNS, sockets); leaves settled recipients. Stops by finishing what is under way and
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
import type { TlsContexts } from '../../smtp/client-tls.ts';
import type { Store } from '../../store/store.ts';
import type { Queue } from '../queue/queue.ts';
import type { RetrySchedule } from '../queue/retry-schedule.ts';
import type { Classifier } from './classifier/classify.ts';
import type { DeliverMetrics } from './deliver-metrics.ts';
import { createEndpoints } from './endpoints.ts';
import type { Port25Watch } from './port-25.ts';
import { createPreparer, type SenderSettings } from './prepared.ts';
import type { RelayHealth } from './relay-health.ts';
import { learnFromOpening, learnFromOutcome } from './reply-lessons.ts';
import { type Routes, SANDBOX_SITE } from './routes.ts';
import { createSandboxRoute } from './sandbox.ts';
import type { SettlementRules } from './settlement.ts';
import { createSigning, type SignerSource } from './signing.ts';
import { createSite, type Site, type SiteLimits } from './site.ts';
import type { TlsCounters } from './tls-counters.ts';
import type { MtaSts } from './tls-mta-sts.ts';
import { createOpener } from './tls-opening.ts';
import { createWayOut } from './way-out.ts';

export interface DeliverDeps {
  store: Store;
  queue: Queue;
  routes: Routes;
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
  port25: Port25Watch;
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
const FORGET_IDLE_SITES_ABOVE = 256;

export function createDeliver(deps: DeliverDeps, options: DeliverOptions): Service {
  const { queue, routes, rules, retry, clock, random, log, mailLog, metrics, failpoints } = deps;
  const signing = createSigning({ clock, signers: deps.signers });
  const sandbox = createSandboxRoute({ clock, random, rules, classifier: deps.classifier });
  const counters = deps.tlsCounters;
  const endpoints = createEndpoints({ ...deps, counters }, options);
  const opener = createOpener({ ...deps, counters }, options);
  const wayOut = createWayOut({ endpoints, opener, relays: deps.relays, port25: deps.port25 });
  const asksForTls = async (delivery: ClaimedDelivery): Promise<boolean> => {
    const way = routes.wayOf(delivery);
    return way.kind === 'smtp' && way.direct && endpoints.asksForTls(delivery.recipientDomain);
  };
  const preparer = createPreparer({ ...deps, signing, asksForTls }, options);
  const sites = new Map<string, Site>();
  let playing = 0;
  let stopping = false;
  let sandboxIdle: (() => void) | null = null;

  return {
    async start() {
      queue.onWork(wake);
    },
    async stop(deadlineMs) {
      stopping = true;
      await Promise.all([...[...sites.values()].map((site) => site.stop(deadlineMs)), playedOut(deadlineMs)]);
    },
  };

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
    if (name === SANDBOX_SITE) {
      pumpSandbox();
      return;
    }
    let site = sites.get(name);
    if (site === undefined) {
      forgetIdleSites();
      const way = routes.wayOfSite(name);
      site = createSite(
        {
          name,
          queue,
          preparer,
          rules,
          retry,
          clock,
          log,
          mailLog,
          metrics,
          failpoints,
          classifier: deps.classifier,
          endpoints: async (recipientDomain, wish) =>
            way?.kind === 'smtp'
              ? wayOut.endpointsOf(way, recipientDomain, wish)
              : { kind: 'temporary', detail: `no way leads to ${name}` },
          open: (endpoint, signal) =>
            way?.kind === 'smtp'
              ? wayOut.open(way, endpoint, name, { signal })
              : opener.open(endpoint, { signal }),
          heard: (endpoint, outcome) => learnFromOutcome({ endpoints, opener }, endpoint, outcome),
          notOpened: (endpoint, result, category) =>
            learnFromOpening({ endpoints, opener }, endpoint, result, category),
        },
        siteLimits(name, options),
      );
      sites.set(name, site);
    }
    site.wake();
  }

  function forgetIdleSites(): void {
    if (sites.size < FORGET_IDLE_SITES_ABOVE) return;
    for (const [name, site] of sites) if (site.idle && queue.blocked(name) === null) sites.delete(name);
  }

  // ── the sandbox ─────────────────────────────────────────────────────────────────────────────────────────

  function pumpSandbox(): void {
    while (!stopping && playing < SANDBOX_CONCURRENCY) {
      const item = queue.take(SANDBOX_SITE);
      if (item === null) break;
      playing += 1;
      void play(item).then(() => {
        playing -= 1;
        pumpSandbox();
        if (playing === 0) sandboxIdle?.();
      });
    }
  }

  async function play(item: Parameters<typeof preparer.prepare>[0]): Promise<void> {
    try {
      const result = await preparer.prepare(item);
      const settlement =
        result.kind === 'ready'
          ? sandbox.play(item.delivery, result.prepared)
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

/** A relay takes more over one connection than a stranger's server (delivery.md §8). */
function siteLimits(name: string, options: DeliverOptions): SiteLimits {
  const relay = name.startsWith('relay:');
  return {
    maxConnections: options.maxConnections,
    maxMessagesPerConnection: relay ? 1000 : 100,
    maxConnectionAgeMs: 300_000,
    idleConnectionMs: 15_000,
  };
}
