/** The view of a path (state.ts) in sentences, made from its parts on request. */
import type { Lane } from '../../../model/message.ts';
import { isRelaySite } from '../../../model/route.ts';
import { type Overrides, pathKey, type Shaping } from '../../../policy/limits/shaping/types.ts';
import type { KeptBack } from '../../queue/gate.ts';
import type { Category } from '../outcome/classifier/categories.ts';
import type { Connecting } from './connecting.ts';
import type { PathIntake } from './intake.ts';
import type { PathParts } from './parts.ts';
import type { PathRef, WaitKind } from './state.ts';
import type { Block, PathState } from './states.ts';

interface PathView extends PathRef {
  /** What mail in memory for this path waits for; null: it will be sent next. */
  waitNow(): KeptBack | null;
}

export function createPathView(
  parts: PathParts & {
    connecting: Pick<Connecting, 'stage' | 'count'>;
    intake: Pick<PathIntake, 'preparingOf'>;
  },
): PathView {
  const { name, route, queue, state, capacity, links, ready, notes, total, connecting, intake } = parts;
  const { source, site, provider } = parts.sitePath;
  const key = pathKey(source, site);

  return {
    ...{ key, site, provider },
    get domains() {
      return notes.domains();
    },
    get blocked() {
      const failsHere = notes.waiting().kind === 'local' && links.size() === 0;
      return failsHere || isBlocked(state.blocked());
    },
    get elsewhere() {
      return state.blocked()?.kind === 'lease';
    },
    snapshot() {
      const lanes = queue.waiting(name);
      const waitingOf = (lane: Lane) => lanes[lane] + ready.count(lane) + intake.preparingOf(lane);
      const waiting = {
        critical: waitingOf('critical'),
        normal: waitingOf('normal'),
        bulk: waitingOf('bulk'),
      };
      const why = reason(waiting.critical + waiting.normal + waiting.bulk > 0);
      return {
        ...{ key, source, site, provider, route, waiting },
        domains: notes.domains(),
        connections: {
          open: links.size(),
          busy: links.busyCount(),
          hanging: links.hanging(),
          opening: connecting.count(),
        },
        window: capacity.usable(),
        effective: capacity.gates.effective(),
        overrides: parts.overrides.of('path', key),
        // A failed site without mail is not being tested.
        breaker:
          state.breaker().kind === 'half-open' && !queue.hasMail(name)
            ? { kind: 'closed' as const }
            : state.breaker(),
        reason: why.text,
        waitsFor: why.kind,
        withoutDns: isWithoutDns(state),
        waitsUntil: why.until,
        inMemory: queue.rowsOf(name),
        inFlight: parts.life.inFlight,
        lastSuccess: notes.lastSuccess(),
        lastFailure: notes.lastFailure(),
      };
    },
    waitNow() {
      const { text, until } = reason(true);
      return text === null ? null : { reason: text, until };
    },
  };

  function reason(anybodyWaits: boolean): { kind: WaitKind; text: string | null; until: number | null } {
    const block = state.blocked();
    if (block !== null) return { kind: block.kind, text: blockText(site, block), until: block.until };
    const { kind, why, until } = notes.waiting();
    if (kind === 'lease' || kind === 'local') return { kind, text: why, until };
    // Mail that waits for the result of the test is usually not in memory.
    if (state.breaker().kind === 'half-open' && queue.hasMail(name)) {
      return { kind: 'breaker', text: `${site} failed and is tried again with one message`, until: null };
    }
    if (!anybodyWaits || kind === 'none') return { kind: 'none', text: null, until: null };
    return { kind, text: words(kind, why), until };
  }

  function words(kind: WaitKind, why: string): string {
    const { limits } = capacity.gates.effective();
    switch (kind) {
      case 'message-rate':
        return `rate limit of ${site}: ${rate(limits.messagesPerSecond ?? 0)}`;
      case 'connection-rate':
        return `${site} gets at most ${limits.newConnectionsPerMinute ?? 0} new connections a minute`;
      case 'provider-connections':
        return `all ${limits.providerConnections ?? 0} connections to ${provider ?? site} are in use`;
      case 'address-connections':
        return `all connections to the mail server of ${site} are in use, also by mail to other domains`;
      case 'all-connections':
        return `all ${total.most} connections of this server are in use`;
      case 'warm-up':
        return why;
      case 'resolving':
        return `DNS is asked for the hosts of ${site}`;
      case 'connecting':
        return `a connection to ${site} is being opened`;
      case 'store':
        return 'outcomes cannot be stored at the moment, so nothing is sent';
      default:
        return slotsText(site, { open: links.size(), hanging: links.hanging(), allowed: capacity.usable() });
    }
  }
}

/** `open`: including those that hang; `allowed`: as far as is known of the site. */
export function slotsText(
  site: string,
  { open, hanging, allowed }: { open: number; hanging: number; allowed: number },
): string {
  const silent = hanging === 0 ? '' : `; ${hanging} ${hanging === 1 ? 'has' : 'have'} not answered for long`;
  return open < allowed
    ? `the open connections to ${site} are in use (${open} of ${allowed}${silent})`
    : `all connections to ${site} are in use (${open}${silent})`;
}

/** Not where another node sends. */
function isBlocked(block: Block | null): boolean {
  return block !== null && block.kind !== 'lease';
}

function isWithoutDns(state: Pick<PathState, 'blocked' | 'cause'>): boolean {
  return state.blocked()?.kind === 'breaker' && state.cause() === ('dns_failure' satisfies Category);
}

/** A path that is blocked and was not used since the start. */
export function blockedPath(
  { shaping, overrides }: { shaping: Pick<Shaping, 'limitsFor'>; overrides: Pick<Overrides, 'of'> },
  state: PathState,
): PathRef {
  const { source, site } = state;
  const [block, breaker] = [state.blocked(), state.breaker()];
  const key = pathKey(source, site);
  const route = isRelaySite(site) ? 'relay' : 'mx';
  const ref = { key, site, provider: null, domains: [] };
  return {
    ...ref,
    blocked: isBlocked(block),
    elsewhere: block?.kind === 'lease',
    snapshot: () => ({
      ...ref,
      ...{
        source,
        route,
        breaker,
        window: 1,
        inMemory: 0,
        inFlight: 0,
        lastSuccess: null,
        lastFailure: null,
      },
      connections: { open: 0, busy: 0, hanging: 0, opening: 0 },
      waiting: { critical: 0, normal: 0, bulk: 0 },
      effective: shaping.limitsFor({ source, site, provider: null, route }),
      overrides: overrides.of('path', key),
      reason: block === null ? null : blockText(site, block),
      waitsFor: block?.kind ?? 'none',
      withoutDns: isWithoutDns(state),
      waitsUntil: block?.until ?? null,
    }),
  };
}

/** Why nothing is sent to a site, as a sentence. */
function blockText(site: string, { kind, why, until }: Block): string {
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
