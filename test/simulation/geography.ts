/**
 * Where the mail of a simulated run may go, as its plan says it: which far ends are a domain's hosts at an instant, which
 * relays its sender's route names, whose DNS fails. Given the plan; holds what the far ends saw against it.
 */
import type { Clock } from '../../src/lib/clock.ts';
import type { Wire } from '../../src/simulation/wire.ts';
import type { Plan } from './plan.ts';
import type { Room } from './room.ts';

export interface Geography {
  readonly relays: ReadonlySet<string>;
  /** Mail for a site's hosts may also go by a path of its own, behind relays that come first. */
  readonly mixed: boolean;
  targetsOf(tenant: string): Plan['extras']['targets'];
  isWayTo(site: string, domain: string): boolean;
  gone(wire: Wire): string[];
  isUnresolved(domain: string): boolean;
  mayHang(deliveryId: number): boolean;
  isSameSite(one: string, other: string): boolean;
}

const MINUTE = 60_000;

/** `engineSites`: what the engine calls each of the plan's sites. */
export function createGeography(
  plan: Plan,
  {
    room,
    clock,
    engineSites,
  }: { room: Room; clock: Pick<Clock, 'monotonicMs'>; engineSites: ReadonlyMap<string, string> },
): Geography {
  const { extras } = plan;
  const relayNames = new Set(extras.relays.map(({ name }) => name));
  const mixed = [extras.targets, ...extras.rules.map((rule) => rule.targets)].some(
    (targets) => targets.length > 1 && targets.some(({ kind }) => kind === 'mx'),
  );
  return { relays: relayNames, mixed, targetsOf, isWayTo, gone, isUnresolved, mayHang, isSameSite };

  function isSameSite(one: string, other: string): boolean {
    return engineSites.get(one) === engineSites.get(other);
  }

  /** As far as the world knows, and it knows of every move. */
  function isWayTo(site: string, domain: string): boolean {
    if (site === domain || site.startsWith('relay:')) return true;
    const places = plan.timeline.flatMap(({ action }) =>
      action.kind === 'move' && action.domain === domain ? [action.toSite] : [],
    );
    const home = plan.domains.find(({ name }) => name === domain)?.site;
    return [...places, ...(home === undefined ? [] : [home])].some(
      (place) => engineSites.get(plan.sites[place]?.name ?? '') === site,
    );
  }

  /** Mail at a site that its domain never named. */
  function gone(wire: Wire): string[] {
    return wire.transactions.flatMap(({ address, site, deliveryId, atMs }) => {
      const may = targetsOf(room.mailOf(deliveryId)?.tenant ?? '');
      if (relayNames.has(site) ? !relaysAmong(may).includes(site) : !may.some(({ kind }) => kind === 'mx'))
        return [`delivery ${deliveryId} went to ${site}, which its sender's route does not name`];
      if (relayNames.has(site)) return [];
      const domain = address?.slice(address.indexOf('@') + 1);
      const home = plan.domains.find(({ name }) => name === domain)?.site;
      const moves = plan.timeline.flatMap(({ atMs: movedMs, action }) =>
        action.kind === 'move' && action.domain === domain && movedMs <= atMs ? [action.toSite] : [],
      );
      const named = [...moves, ...(home === undefined ? [] : [home])].map((place) => plan.sites[place]?.name);
      // Domains of one provider's site share their hosts.
      return address === null || named.some((one) => one !== undefined && isSameSite(one, site))
        ? []
        : [`delivery ${deliveryId} to ${address} went to ${site}, which is none of its hosts`];
    });
  }

  function targetsOf(tenant: string): Plan['extras']['targets'] {
    return extras.rules.find(({ senderDomain }) => senderDomain?.includes(tenant))?.targets ?? extras.targets;
  }

  function relaysAmong(targets: Plan['extras']['targets']): string[] {
    return targets.flatMap((target) =>
      target.kind === 'relay'
        ? extras.relays.filter(({ hosts }) => hosts[0]?.address === target.host).map(({ name }) => name)
        : [],
    );
  }

  function isUnresolved(domain: string): boolean {
    const nowMs = clock.monotonicMs();
    return plan.timeline.some(
      ({ atMs, action }) =>
        action.kind === 'dns' &&
        (action.domain === '*' || action.domain === domain) &&
        nowMs >= atMs &&
        nowMs < atMs + action.forMs + MINUTE,
    );
  }

  /** It may stand behind a message that its far end is silent about. */
  function mayHang(deliveryId: number): boolean {
    const domain = room.mailOf(deliveryId)?.domain;
    const site = plan.domains.find(({ name }) => name === domain)?.site;
    const home = plan.sites[site ?? -1]?.name;
    if (extras.relays.some(({ troubles }) => troubles.some(({ kind }) => kind === 'mute-after-dot')))
      return true;
    return plan.sites.some(
      ({ name, troubles }) =>
        home !== undefined &&
        isSameSite(name, home) &&
        troubles.some(({ kind }) => kind === 'mute-after-dot'),
    );
  }
}
