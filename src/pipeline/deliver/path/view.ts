/** What a path shows of itself (path-state.ts): remembers the last words and the last reason to wait, in plain words. */
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock } from '../../../lib/clock.ts';
import { maskAddresses } from '../../../lib/log.ts';
import type { Lane } from '../../../model/message.ts';
import { type Overrides, pathKey, type Shaping } from '../../../policy/limits/shaping/types.ts';
import type { KeptBack } from '../../queue/gate.ts';
import type { Queue } from '../../queue/queue.ts';
import type { Site } from '../routing/sites.ts';
import type { PathGates } from './limits.ts';
import type { Links } from './links.ts';
import type { PathRef, PathWord, WaitKind } from './state.ts';
import { type Closed, ELSEWHERE, type PathState } from './states.ts';

export interface PathView extends PathRef {
  /** What mail that is in memory for this path waits for; null: it is about to go. */
  waitNow(): KeptBack | null;
  /** Mail for this domain came by. */
  met(recipientDomain: string): void;
  /** `why`: in words, where the kind does not say it. */
  waits(kind: WaitKind, forMs?: number, why?: string): void;
  succeeded(word: PathWord): void;
  failed(detail: string): void;
}

interface Deps {
  name: string;
  place: Extract<Site, { kind: 'path' }>;
  route: 'mx' | 'relay';
  queue: Pick<Queue, 'waiting' | 'heldBy' | 'hasMail'>;
  gates: PathGates;
  state: Pick<PathState, 'closed' | 'breaker'>;
  links: Links;
  overrides: Pick<Overrides, 'of'>;
  clock: Clock;
}

const MAX_DOMAINS = 20;

export function createPathView(
  { name, place, route, queue, gates, state, links, overrides, clock }: Deps,
  now: { usable(): number; inFlight(): number; opening(): number; ready(lane: Lane): number },
): PathView {
  const { source, site, provider } = place;
  const domains = new BoundedMap<string, true>(MAX_DOMAINS);
  let waitsFor: WaitKind = 'none';
  let waitsWhy = '';
  let waitsUntil: number | null = null;
  let lastSuccess: PathWord | null = null;
  let lastFailure: PathWord | null = null;

  const key = pathKey(source, site);

  return {
    ...{ key, site, provider },
    get domains() {
      return [...domains.keys()];
    },
    snapshot() {
      const effective = gates.effective();
      const lanes = queue.waiting(name);
      const waiting = {
        critical: lanes.critical + now.ready('critical'),
        normal: lanes.normal + now.ready('normal'),
        bulk: lanes.bulk + now.ready('bulk'),
      };
      const why = reason(waiting.critical + waiting.normal + waiting.bulk > 0);
      return {
        ...{ key, source, site, provider, route },
        domains: [...domains.keys()],
        connections: {
          open: links.size,
          busy: links.busyCount,
          opening: now.opening(),
        },
        window: now.usable(),
        effective,
        overrides: overrides.of('path', pathKey(source, site)),
        // A site that failed and that nobody writes to is not being asked.
        breaker:
          state.breaker.kind === 'half-open' && !queue.hasMail(name)
            ? { kind: 'closed' as const }
            : state.breaker,
        reason: why.text,
        waitsFor: why.kind,
        waitsUntil: why.until,
        waiting,
        held: queue.heldBy(name),
        inFlight: now.inFlight(),
        lastSuccess,
        lastFailure,
      };
    },
    waitNow() {
      const { text, until } = reason(true);
      return text === null ? null : { reason: text, until };
    },
    met(recipientDomain) {
      domains.set(recipientDomain, true);
    },
    waits(kind, forMs, why = '') {
      waitsFor = kind;
      waitsWhy = why;
      waitsUntil = forMs === undefined ? null : clock.now() + Math.ceil(forMs);
    },
    succeeded(word) {
      lastSuccess = word;
    },
    failed(detail) {
      lastFailure = { at: clock.now(), text: maskAddresses(detail).slice(0, 512) };
    },
  };

  function reason(anybodyWaits: boolean): { kind: WaitKind; text: string | null; until: number | null } {
    const { closed } = state;
    if (closed !== null) return { kind: closed.kind, text: closedText(site, closed), until: closed.until };
    if (waitsFor === 'lease') return { kind: 'lease', text: words(), until: null };
    // What waits for the outcome of the one that is tried is mostly not in memory.
    if (state.breaker.kind === 'half-open' && queue.hasMail(name)) {
      return { kind: 'breaker', text: `${site} failed and is tried again with one message`, until: null };
    }
    if (!anybodyWaits || waitsFor === 'none') return { kind: 'none', text: null, until: null };
    return { kind: waitsFor, text: words(), until: waitsUntil };
  }

  function words(): string {
    const { limits } = gates.effective();
    switch (waitsFor) {
      case 'message-rate':
        return `rate limit of ${site}: ${rate(limits.messagesPerSecond ?? 0)}`;
      case 'connection-rate':
        return `${site} gets at most ${limits.newConnectionsPerMinute ?? 0} new connections a minute`;
      case 'provider-connections':
        return `all ${limits.providerConnections ?? 0} connections to ${provider ?? site} are in use`;
      case 'warm-up':
        return waitsWhy;
      case 'resolving':
        return `DNS is asked for the hosts of ${site}`;
      case 'connecting':
        return `a connection to ${site} is being opened`;
      case 'lease':
        return ELSEWHERE;
      case 'store':
        return 'outcomes cannot be stored at the moment, so nothing is sent';
      default:
        return `all connections to ${site} are in use (${now.usable()}${hanging()})`;
    }
  }

  function hanging(): string {
    return links.hanging === 0 ? '' : ` and ${links.hanging} that have not answered for long`;
  }
}

/** A path that is closed, and that nothing was sent by since the start. */
export function closedPath(
  { shaping, overrides }: { shaping: Pick<Shaping, 'limitsFor'>; overrides: Pick<Overrides, 'of'> },
  { source, site, closed, breaker }: PathState,
): PathRef {
  const key = pathKey(source, site);
  const route = site.startsWith('relay:') ? 'relay' : 'mx';
  const ref = { key, site, provider: null, domains: [] };
  return {
    ...ref,
    snapshot: () => ({
      ...ref,
      ...{ source, route, breaker, window: 1, held: 0, inFlight: 0, lastSuccess: null, lastFailure: null },
      connections: { open: 0, busy: 0, opening: 0 },
      waiting: { critical: 0, normal: 0, bulk: 0 },
      effective: shaping.limitsFor({ source, site, provider: null, route }),
      overrides: overrides.of('path', key),
      reason: closed === null ? null : closedText(site, closed),
      waitsFor: closed?.kind ?? 'none',
      waitsUntil: closed?.until ?? null,
    }),
  };
}

/** Why nothing goes to a site, in words. */
export function closedText(site: string, { kind, why, until }: Closed): string {
  if (until === null) return why;
  return kind === 'suspended'
    ? `${site} is suspended until ${iso(until)}: ${why}`
    : `${site} takes no mail until ${iso(until)}: ${why}`;
}

function rate(perSecond: number): string {
  return perSecond >= 1 ? `${round(perSecond)}/s` : `${round(perSecond * 60)}/min`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
