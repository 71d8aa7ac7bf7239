/**
 * All paths: one per source and site with mail, created when its first mail comes, and dropped when there are many and
 * it has none.
 */
import type { Timer } from '../../../lib/clock.ts';
import { sweepSome } from '../../../lib/sweep-some.ts';
import { pathKey } from '../../../policy/limits/shaping/types.ts';
import type { Lease, LeaseListener } from '../../queue/leases.ts';
import type { Category } from '../outcome/classifier/categories.ts';
import type { Connectors } from '../routing/connector.ts';
import type { SitePath, Sites } from '../routing/sites.ts';
import { createPathDomains } from './domains.ts';
import type { ProviderGate } from './limits.ts';
import type { BlockedFacts, PathDeps } from './parts.ts';
import { createPath, type Path } from './path.ts';
import type { PathRef, PathsView } from './state.ts';
import type { PathStates } from './states.ts';
import { blockedPath } from './view.ts';

export interface Paths extends PathsView {
  /** The path of this name, if there is one. */
  known(name: string): Path | undefined;
  /** The path of this name, created if necessary. */
  of(name: string, sitePath: SitePath): Path;
  stop(deadlineMs: number): Promise<void>;
}

/** Requests the lease for a path's source, if several nodes may send from it; null = only this node does. */
export type WantEgress = (sitePath: SitePath, listener: LeaseListener) => Lease | null;

const FORGET_IDLE_ABOVE = 256;
/** For each new path; more than one, so that the idle ones become fewer. */
const FORGET_LOOKS = 4;
/** When no new path comes, as after mail to many sites; forgetting 900 in one turn of the event loop took up to 40 ms. */
const FORGET_EVERY_MS = 1_000;
const FORGET_LOOKS_THEN = 256;
const FAULT_EVERY_MS = 60_000;
/** Sites without an answer of the DNS that are named one by one in the log; it is the same fault for more, until none came for a minute. */
const NAMED_UNRESOLVED = 5;

export function createPaths(
  shared: PathDeps,
  own: {
    sites: Sites;
    connectors: Connectors;
    states: Pick<PathStates, 'list'>;
    wantEgress: WantEgress | undefined;
  },
  options: { maxConnections: number },
): Paths {
  const { sites, connectors, states, wantEgress } = own;
  const paths = new Map<string, Path>();
  const providerGates = new Map<string, ProviderGate>();
  let later: Timer | null = null;
  let nextFaultMs = Number.NEGATIVE_INFINITY;
  let nextUnresolvedMs = Number.NEGATIVE_INFINITY;
  let lastUnresolvedMs = Number.NEGATIVE_INFINITY;
  let namedUnresolved = 0;

  return {
    known: (name) => paths.get(name),
    of: (name, sitePath) => paths.get(name) ?? made(name, sitePath),
    async stop(deadlineMs) {
      later?.cancel();
      await Promise.all([...paths.values()].map((path) => path.stop(deadlineMs)));
    },
    paths(): PathRef[] {
      const used = [...paths.values()].map(({ ref }) => ref);
      // Blocked since the last run, before anything was sent to them.
      const others = states.list().filter(({ source, site }) => !paths.has(pathKey(source, site)));
      return [...used, ...others.map((state) => blockedPath(shared, state))];
    },
  };

  function made(name: string, sitePath: SitePath): Path {
    forgetIdle(FORGET_LOOKS);
    const path = createPath(
      shared,
      {
        ...{ name, sitePath },
        connector: connectors.of(sitePath.egress, sitePath.site),
        domains: createPathDomains(sites, name, sitePath),
        providerGate: sitePath.provider === null ? null : gateOf(`${sitePath.source} ${sitePath.provider}`),
        egress: (listener) => wantEgress?.(sitePath, listener) ?? null,
        tellFault,
        tellBlocked,
      },
      options,
    );
    paths.set(name, path);
    forgetLater();
    return path;
  }

  /** What this machine lacks, it lacks for many sites. */
  function tellFault(site: string, reason: string): void {
    const nowMs = shared.clock.monotonicMs();
    if (nowMs < nextFaultMs) return;
    nextFaultMs = nowMs + FAULT_EVERY_MS;
    shared.log.warn({ site, reason }, 'this machine cannot open a connection');
  }

  function tellBlocked(facts: BlockedFacts, cause: Category): void {
    if (cause === 'dns_failure') {
      const nowMs = shared.clock.monotonicMs();
      if (nowMs - lastUnresolvedMs > FAULT_EVERY_MS) namedUnresolved = 0;
      lastUnresolvedMs = nowMs;
      namedUnresolved += 1;
      if (namedUnresolved > NAMED_UNRESOLVED) {
        shared.log.debug(facts, 'site blocked');
        if (nowMs < nextUnresolvedMs) return;
        nextUnresolvedMs = nowMs + FAULT_EVERY_MS;
        shared.log.warn({ reason: facts.reason }, 'the DNS fails for many sites: more of them are blocked');
        return;
      }
    }
    shared.log.warn(facts, 'site blocked');
  }

  function gateOf(provider: string): ProviderGate {
    let gate = providerGates.get(provider);
    if (gate === undefined) {
      gate = { open: 0, waiting: new Set() };
      providerGates.set(provider, gate);
    }
    return gate;
  }

  function forgetLater(): void {
    if (paths.size > FORGET_IDLE_ABOVE)
      later ??= shared.clock.setTimer(FORGET_EVERY_MS, () => {
        later = null;
        forgetIdle(FORGET_LOOKS_THEN);
        forgetLater();
      });
  }

  function forgetIdle(most: number): void {
    const looks = Math.min(most, paths.size - FORGET_IDLE_ABOVE);
    const isUnused = (path: Path, name: string): boolean => path.isIdle() && shared.queue.rowsOf(name) === 0;
    for (const [name, path] of sweepSome(paths, looks, isUnused)) {
      path.forget();
      sites.forget(name);
    }
  }
}
