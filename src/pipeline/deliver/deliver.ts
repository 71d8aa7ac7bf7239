/**
 * The steps of a delivery from the queue to the outcome. The folders beside this file are put together here.
 *
 *   claim ──► route ──► prepare ──► connect ──► transact ──► settle
 *   queue     routing   prepare     path, tls   path, smtp   outcome ──► queue
 *
 * Rows that the queue has claimed wake their site (`wake`). Routing says what the site is: a path (path/path.ts, which
 * continues from there), the sandbox, or a domain that must be looked up in the DNS first. A stop finishes running
 * transactions and gives the rest back.
 */
import type { Service } from '../../lib/service.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { DeliverDeps, DeliverOptions } from './deliver-deps.ts';
import { createMemoryWaits, type MemoryWaits } from './memory-waits.ts';
import { createFinish } from './outcome/finish.ts';
import { createAddressConnections } from './path/address-connections.ts';
import { createConnectionTotal } from './path/connection-total.ts';
import { createFarEnds } from './path/far-ends.ts';
import { createPaths } from './path/paths.ts';
import type { PathsView } from './path/state.ts';
import { createPreparer } from './prepare/prepared.ts';
import { createSigning } from './prepare/signing.ts';
import { createConnectors } from './routing/connector.ts';
import { createEndpoints } from './routing/endpoints.ts';
import { createSandboxRoute } from './sandbox.ts';
import { createSandboxWorker } from './sandbox-worker.ts';
import { createOpener } from './tls/opener.ts';

export interface Deliver extends Service, PathsView {
  /** Why mail in memory waits. */
  readonly waits: MemoryWaits;
  /** Connections of this path accept no more messages. */
  reconnect(name: string): void;
  /** A path whose last connection this machine could not open tries it now; false if it does not wait for one. */
  connectNow(name: string): boolean;
}

/** The most rows of one domain that wait in memory for DNS. */
const ROWS_WITHOUT_SITE = 32;

export function createDeliver(deps: DeliverDeps, options: DeliverOptions): Deliver {
  const { clock, random, log, mailLog, metrics, failpoints, queue, sites, states, gate } = deps;
  const { store, senders, signers, tokens, personalTokens, rules, retry, classifier, senderEffects } = deps;
  const { resolver, filter, mtaSts, tlsContexts, countTls, connect, relays, port25, egressMemory } = deps;
  const { shaping, overrides, warmup, sandboxRules } = deps;

  const endpoints = createEndpoints(
    { resolver, filter, mtaSts, clock, random, countTls, egressMemory },
    options,
  );
  const opener = createOpener({ clock, log, tlsContexts, countTls, egressMemory, connect }, options);
  const connectors = createConnectors({ endpoints, opener, relays, port25 });
  const signing = createSigning({ clock, signers });
  const reading = { clock, store, signing, senders, tokens, personalTokens, asksForTls };
  const preparer = createPreparer(reading, options);
  const finish = createFinish({ queue, rules, mailLog });
  const farEnds = createFarEnds({ clock, egressMemory });
  const paths = createPaths(
    {
      ...{ clock, log, metrics, failpoints, queue, preparer, finish, retry, classifier, senderEffects },
      ...{ shaping, overrides, states, farEnds, warmup },
      total: createConnectionTotal(options.maxConnectionsInAll),
      addresses: createAddressConnections(),
    },
    { sites, connectors, states, wantEgress: deps.egress },
    options,
  );
  const route = createSandboxRoute({ clock, random, rules, classifier });
  const playing = { clock, log, mailLog, metrics, queue, preparer, rules, sandboxRules };
  const sandbox = createSandboxWorker({ ...playing, sandbox: route });
  let stopping = false;

  return {
    async start() {
      queue.onWork({ wake, demand, throughput: (name) => paths.known(name)?.throughput() ?? 0 });
      sites.onMoved((name) => {
        queue.regroup(name);
        paths.known(name)?.regroup();
      });
    },
    async stop(deadlineMs) {
      stopping = true;
      await Promise.all([paths.stop(deadlineMs), sandbox.stop(deadlineMs)]);
    },
    waits: createMemoryWaits({ queue, gate, sites, paths }),
    reconnect: (name) => paths.known(name)?.reconnect(),
    connectNow: (name) => paths.known(name)?.connectNow() ?? false,
    paths: paths.paths,
  };

  /** A site has work, or a reason to look again. */
  function wake(name: string): void {
    if (stopping) return;
    const known = paths.known(name);
    if (known !== undefined) {
      known.wake();
      return;
    }
    if (sites.siteNamed(name) === null) queue.regroup(name);
    const site = sites.siteNamed(name);
    switch (site?.kind) {
      case 'sandbox':
        sandbox.wake();
        return;
      case 'unresolved':
        void sites.lookUp(site.domain, site.sender).then(() => {
          queue.regroup(name);
          sites.forget(name);
        });
        return;
      case 'path':
        paths.of(name, site).wake();
    }
  }

  /** How many rows a site can use soon: no more are claimed for it. */
  function demand(name: string): number {
    const path = paths.known(name);
    if (path !== undefined) return path.demand();
    return sites.siteNamed(name)?.kind === 'unresolved' ? ROWS_WITHOUT_SITE : Number.POSITIVE_INFINITY;
  }

  /** Only mail to the domain's own hosts is subject to their TLS policies. */
  async function asksForTls(delivery: ClaimedDelivery): Promise<boolean> {
    const site = sites.siteNamed(sites.nameOf(delivery));
    if (site?.kind !== 'path' || !site.egress.direct) return false;
    return endpoints.asksForTls(delivery.recipientDomain, delivery.senderDomain);
  }
}
