/**
 * Everything outside of the server in a plan: providers, domains and relays with their behaviour and faults, the DNS
 * that names their hosts, and the network on which they answer. Takes the plan and how many messages each of the
 * sample represents.
 */
import type { Clock } from '../lib/clock.ts';
import type { ReturnPathTokens } from '../mail/verp.ts';
import { createShaping } from '../policy/limits/shaping/shaping.ts';
import { createFarEnd, type FarEnd } from './far-end.ts';
import type { SitePlan } from './far-end-connection.ts';
import { createNames, type Names } from './names.ts';
import { createNetwork, type Network } from './network.ts';
import { FAULTS, type FarEndHabits, OTHER, type PlannedMail, type SimulationPlan } from './plan/plan.ts';
import { providersOf, relaysOf } from './plan/read-plan.ts';
import { connectionsOf } from './sampling.ts';
import type { Dice } from './seeded.ts';
import type { Wire } from './wire.ts';

export interface Outside {
  names: Names;
  network: Network;
  /** The recipient domain of the n-th message of this mail. */
  domainOf(mail: PlannedMail, n: number): string;
}

const PROVIDER_HABITS: FarEndHabits = { roundTripMs: 40, answerMs: 300, chunking: false };
const RELAY_HABITS: FarEndHabits = { roundTripMs: 20, answerMs: 20, chunking: true };
/** Round trips before a connection can carry mail: TCP, greeting, EHLO, STARTTLS, handshake, EHLO. */
const SETUP_TRIPS = 6;
/** Of these, the round trips that the simulated far end really makes. */
const PLAYED_TRIPS = 3;
const PORT = 25;

/** How each provider with mail and each relay answers, by its name in the plan. */
export function habitsOf(plan: SimulationPlan): ReadonlyMap<string, FarEndHabits> {
  const providers = [...new Set(plan.mail.map(({ provider }) => provider))];
  return new Map([
    ...providers.map((name) => [name, { ...PROVIDER_HABITS, ...plan.farEnds.get(name) }] as const),
    ...relaysOf(plan).map((name) => [name, { ...RELAY_HABITS, ...plan.farEnds.get(name) }] as const),
  ]);
}

export function createOutside(
  plan: SimulationPlan,
  deps: { clock: Clock; dice: Dice; wire: Wire; tokens: ReturnPathTokens },
  weight: number,
): Outside {
  const names = createNames(deps.clock, 3600);
  const providers = providersOf(plan.limits);
  const relays = relaysOf(plan);
  const shaping = createShaping({ of: () => [] }, { maxConnections: null, sourceIds: new Set() });
  shaping.useOperatorFile(JSON.stringify(plan.limits.map(({ sources: _, ...row }) => row)), 'limits');
  const farEnds = new Map<string, FarEnd>();
  const sources = new Map(
    plan.sources.flatMap(({ id, address, ipv6 }) => [address, ipv6 ?? address].map((each) => [each, id])),
  );
  let hosts = 0;

  for (const [name, habits] of habitsOf(plan)) {
    const farEnd = createFarEnd(siteOf(name, habits), deps);
    if (relays.includes(name)) {
      const [, host = '', port = ''] = /^(.*):(\d+)$/.exec(name) ?? [];
      const address = /^[\d.]+$|:/.test(host) ? host : newAddress();
      names.setAddress(host, address);
      farEnds.set(`${address}:${port}`, farEnd);
    } else {
      for (const domain of domainsOf(name)) {
        const { host, address } = hostOf(name, domain);
        names.setMx(domain, [host]);
        names.setAddress(host, address);
        farEnds.set(`${address}:${PORT}`, farEnd);
      }
    }
  }

  return {
    names,
    network: createNetwork(
      deps.clock,
      ({ address, port, localAddress }) =>
        farEnds.get(`${address}:${port}`)?.answer(sources.get(localAddress ?? '') ?? '', 1) ?? {
          kind: 'silent',
        },
    ),
    domainOf: (mail, n) => domainName(mail.provider, n % mail.domains),
  };

  function siteOf(name: string, { roundTripMs, answerMs, chunking }: FarEndHabits): SitePlan {
    const isRelay = relays.includes(name);
    const { messagesPerConnection } = shaping.limitsFor({
      ...{ source: '', site: isRelay ? `relay:${name}` : name, provider: isRelay ? null : name },
      route: isRelay ? 'relay' : 'mx',
    }).limits;
    const setups = connectionsOf(messagesPerConnection, weight);
    return {
      ...{ name, provider: null, hosts: [], pipelining: true, chunking, weight },
      latencyMs: roundTripMs,
      dotMs: answerMs,
      setupMs: Math.max(0, SETUP_TRIPS * setups - PLAYED_TRIPS) * roundTripMs,
      troubles: plan.faults
        .filter(({ at }) => at === name || at === '*')
        .map(({ what, fromMs, untilMs, share, most }) => {
          const { kind } = FAULTS[what];
          return { kind, fromMs, untilMs, share, most: kind === 'slow-down' ? most / weight : most };
        }),
    };
  }

  function domainsOf(provider: string): readonly string[] {
    const most = Math.max(...plan.mail.map((mail) => (mail.provider === provider ? mail.domains : 0)));
    return Array.from({ length: most }, (_, i) => domainName(provider, i));
  }

  function domainName(provider: string, i: number): string {
    const own = providers.get(provider)?.domains?.[i];
    return own ?? `d${i + 1}.${provider.toLowerCase().replaceAll('_', '-')}.example`;
  }

  /** The domains of one site share a host, whose name identifies the site; other domains have their own hosts. */
  function hostOf(provider: string, domain: string): { host: string; address: string } {
    const row = providers.get(provider);
    const suffix = row?.mx?.[0];
    const isOneSite = provider !== OTHER && row?.oneSite !== false;
    const label = isOneSite ? 'mx' : `mx-${domain.split('.')[0]}`;
    return { host: suffix === undefined ? `mx.${domain}` : `${label}${suffix}`, address: newAddress() };
  }

  function newAddress(): string {
    hosts += 1;
    return `20.${1 + (hosts >> 16)}.${(hosts >> 8) & 255}.${hosts & 255}`;
  }
}
