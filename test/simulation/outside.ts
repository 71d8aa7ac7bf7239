/**
 * What simulated worlds have around the engine: the limits and the sites of a plan as the engine sees them, the network on
 * which its far ends answer, and the list of what went wrong.
 */
import type { Clock } from '../../src/lib/clock.ts';
import { siteNameOf } from '../../src/pipeline/deliver/routing/site-key.ts';
import { createShaping } from '../../src/policy/limits/shaping/shaping.ts';
import type { Shaping } from '../../src/policy/limits/shaping/types.ts';
import type { FarEnd } from '../../src/simulation/far-end.ts';
import type { Names } from '../../src/simulation/names.ts';
import { createNetwork, type Network } from '../../src/simulation/network.ts';
import type { Plan } from './plan.ts';

/** A world stops here: what follows is mostly a consequence. */
export const MAX_WRONG = 20;

/** `note` adds a sentence with its time to `wrong`; what goes on is told once. */
export function createNotes(clock: Pick<Clock, 'monotonicMs'>) {
  const wrong: string[] = [];
  const note = (what: string): void => {
    const told = `at ${Math.round(clock.monotonicMs() / 1000)} s: ${what}`;
    if (wrong.length < MAX_WRONG && !wrong.includes(told)) wrong.push(told);
  };
  return { wrong, note };
}

/** The limits of a plan, worked out again: a world would not see a mistake of the engine's own. */
export function limitsOf(
  plan: Plan,
  overrides: Parameters<typeof createShaping>[0] = { of: () => [] },
): Shaping {
  const sourceIds = new Set(plan.sources.map(({ id }) => id));
  const shaping = createShaping(overrides, { maxConnections: null, sourceIds });
  const used = shaping.useOperatorFile(JSON.stringify(plan.shaping), 'shaping.json');
  if (used.kind === 'refused') throw new Error(used.problems.join('; '));
  return shaping;
}

export function hostsOf(plan: Plan, site: number): readonly string[] {
  return plan.sites[site]?.hosts.map(({ name }) => name) ?? [];
}

/** What the engine calls each of the plan's sites. */
export function engineSitesOf(plan: Plan, written: Shaping): ReadonlyMap<string, string> {
  return new Map(
    plan.sites.map(({ name }, i) => {
      const hosts = hostsOf(plan, i);
      return [name, siteNameOf(name, hosts, written.groupingOf(name, hosts)).site];
    }),
  );
}

/**
 * Publishes the names of the plan's hosts and domains, and lets a far end answer at each host. Returns the network as
 * `process` sees it.
 */
export function openFarEnds(
  plan: Plan,
  { clock, names }: { clock: Clock; names: Names },
  farEndOf: (site: Plan['sites'][number]) => FarEnd,
): (process: () => number) => Network {
  const farEnds = new Map<string, FarEnd>();
  for (const site of [...plan.sites, ...plan.extras.relays]) {
    const farEnd = farEndOf(site);
    for (const host of site.hosts) {
      names.setAddress(host.name, host.address);
      farEnds.set(host.address, farEnd);
    }
  }
  for (const { name, site } of plan.domains) names.setMx(name, hostsOf(plan, site));
  const sourceIds = new Map(plan.sources.map(({ id, address }) => [address, id]));
  return (process) =>
    createNetwork(clock, ({ address, localAddress }) => {
      const source = sourceIds.get(localAddress ?? '') ?? '';
      return farEnds.get(address)?.answer(source, process()) ?? { kind: 'silent' };
    });
}
