/**
 * Which path a recipient's mail uses: a source sending to a site. A domain's site follows from its MX hosts, so it is
 * known only after a DNS look-up; until then it is unresolved, and its mail waits under the name `?domain`. A DNS
 * answer is cached for its TTL and then looked up again while mail continues; if a domain turns out to belong to
 * another site, `moved` names the old one, and no rows are rewritten.
 */
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock } from '../../../lib/clock.ts';
import { createSharedWork } from '../../../lib/shared-work.ts';
import { isHostName } from '../../../net/dns-name.ts';
import type { ResolverByAsker } from '../../../net/dns-types.ts';
import { type EgressMemory, readText } from '../../../policy/limits/shaping/egress-memory.ts';
import { pathKey, type Shaping } from '../../../policy/limits/shaping/types.ts';
import type { Warmup } from '../../../policy/limits/warmup/warmup.ts';
import type { SiteQuestion } from '../../queue/gate.ts';
import type { SmtpEgress } from './connector.ts';
import { type EgressSource, type Routes, SANDBOX_SITE } from './routes.ts';
import { type SiteName, siteNameOf } from './site-key.ts';

/** The meaning of a name from `nameOf`. */
export type Site =
  | { kind: 'sandbox' }
  /** Not known yet: call `lookUp` for the domain. `sender`: the sender domain that asked first; others look it up themselves. */
  | { kind: 'unresolved'; domain: string; sender: string }
  | SitePath;

/** The path that mail of a site takes. */
export interface SitePath {
  kind: 'path';
  egress: SmtpEgress;
  source: string;
  site: string;
  provider: string | null;
  /** The site without the relays behind it. */
  hosts: string;
}

export interface Sites {
  /** Name of the path, the unresolved domain or the sandbox that a recipient belongs to now. Never waits. */
  nameOf(recipient: SiteQuestion): string;
  /** Every name of a recipient's site, including the provider's; none while it is unknown. */
  sitesOf(recipient: SiteQuestion): string[];
  /** The meaning of a name; null if it was forgotten. */
  siteNamed(name: string): Site | null;
  /** Looks up where a domain belongs, for a sender domain. Never rejects; afterwards `nameOf` knows. */
  lookUp(domain: string, sender: string): Promise<void>;
  /**
   * Whether a host takes mail of the domain by its latest MX records, or as one of its provider's; null: not known. DNS may
   * answer otherwise each time, so neither a site's name nor an earlier answer is evidence.
   */
  takes(domain: string, host: string): boolean | null;
  /** For a time the domain is a separate site, because DNS answers for it and for its site contradict each other. */
  isolate(domain: string): void;
  /** Calls the listener with the old site name of a domain's mail. */
  onMoved(listener: (name: string) => void): void;
  /** Sources came or went with their nodes. */
  sourcesChanged(): void;
  /** No mail uses this name any more. */
  forget(name: string): void;
}

interface Known extends SiteName {
  /** Its MX hosts, itself without MX; null: not known, or more than `MOST_HOSTS`. */
  hosts: readonly string[] | null;
  /** Monotonic. After the first the DNS is asked again, after the second mail waits for the answer. */
  freshUntilMs: number;
  usableUntilMs: number;
  /** The path observed something that MX records do not show, so no DNS answer ends the isolation before its time. */
  isolated: boolean;
}

const MAX_DOMAINS = 50_000;
/** No more are tried, either. */
const MOST_HOSTS = 30;
const MAX_TTL_MS = 3_600_000;
const MIN_TTL_MS = 60_000;
/** A domain whose MX could not be looked up is a separate site for this time. */
const ISOLATED_MS = 30_000;
const GRACE_MS = 300_000;
const DAY_MS = 86_400_000;
/** A stored provider is used for this long after it was last confirmed. */
const PROVIDER_KEPT_MS = 7 * DAY_MS;

export function createSites(deps: {
  routes: Pick<Routes, 'egressOf'>;
  resolver: ResolverByAsker<'mx'>;
  shaping: Pick<Shaping, 'groupingOf'>;
  warmup: Pick<Warmup, 'warms' | 'isFull'>;
  /** Sources that no living node has. */
  absent?(source: EgressSource): boolean;
  /** Which provider each domain had, for a start while the DNS is unavailable. */
  egressMemory: Pick<EgressMemory, 'facts'>;
  clock: Clock;
}): Sites {
  const { routes, resolver, shaping, warmup, clock } = deps;
  const providers = deps.egressMemory.facts('provider', readText, PROVIDER_KEPT_MS);
  const domains = new BoundedMap<string, Known>(MAX_DOMAINS);
  const asking = createSharedWork<void>();
  const names = new Map<string, Site>();
  let moved: (name: string) => void = () => {};

  return {
    nameOf,
    sitesOf(recipient) {
      const site = names.get(nameOf(recipient));
      if (site?.kind !== 'path') return [];
      return site.provider === null ? [site.site] : [site.site, site.provider];
    },
    siteNamed: (name) => (name === SANDBOX_SITE ? { kind: 'sandbox' } : (names.get(name) ?? null)),
    lookUp,
    takes(domain, host) {
      const known = domains.get(domain);
      if (known === undefined || known.hosts === null) return null;
      if (known.hosts.includes(host)) return true;
      const { site, provider } = known;
      return provider !== null && site === provider && shaping.groupingOf('', [host]).provider === provider;
    },
    isolate(domain) {
      // If its provider is known, its connections still count there.
      keep(domain, { ...alone(domain, lastProvider(domain)), hosts: null }, ISOLATED_MS, true);
    },
    onMoved(listener) {
      moved = listener;
    },
    sourcesChanged() {
      for (const [key, { kind }] of [...names]) if (kind === 'path') moved(key);
    },
    forget: (name) => void names.delete(name),
  };

  function nameOf(recipient: SiteQuestion): string {
    const { recipientDomain } = recipient;
    const egress = routes.egressOf(recipient, deps.absent);
    if (egress.kind === 'sandbox') return SANDBOX_SITE;
    if (!egress.direct) return named(egress, { site: egress.relays, provider: null });
    // After relays, the domain's own hosts are only the last resort.
    if (egress.targets[0]?.kind === 'relay')
      return named(egress, { site: `${egress.relays}|${recipientDomain}`, provider: null });
    const known = usable(recipientDomain, recipient.senderDomain);
    if (known !== null) {
      const other = instead(egress, recipient, known.provider);
      if (!other.direct) return named(other, { site: other.relays, provider: null });
      // With relays to fall back on, it has a separate path, for the same provider.
      return named(
        other,
        other.relays === '' ? known : { ...known, site: `${known.site}|${other.relays}` },
        known.site,
      );
    }
    const { senderDomain: sender } = recipient;
    const unresolved = unresolvedName(recipientDomain);
    const there = names.get(unresolved);
    if (there === undefined) names.set(unresolved, { kind: 'unresolved', domain: recipientDomain, sender });
    // Its mail must not wait behind all that the first sender looks up.
    else if (there.kind === 'unresolved' && there.sender !== sender) void lookUp(recipientDomain, sender);
    return unresolved;
  }

  /** Another egress if the source's warm-up budget at the provider is used up, if there is one. */
  function instead(egress: SmtpEgress, recipient: SiteQuestion, provider: string | null): SmtpEgress {
    if (provider === null || !warmup.warms(egress.source.id)) return egress;
    const other = routes.egressOf(
      recipient,
      (source) => deps.absent?.(source) === true || warmup.isFull(source.id, provider, recipient.lane),
    );
    return other.kind === 'smtp' ? other : egress;
  }

  function named(egress: SmtpEgress, { site, provider }: SiteName, hosts = site): string {
    const key = pathKey(egress.source.id, site);
    if (!names.has(key))
      names.set(key, { kind: 'path', egress, source: egress.source.id, site, provider, hosts });
    return key;
  }

  function usable(domain: string, sender: string): Known | null {
    const known = domains.get(domain);
    const nowMs = clock.monotonicMs();
    if (known === undefined || known.usableUntilMs < nowMs) return null;
    if (known.freshUntilMs < nowMs) void lookUp(domain, sender);
    return known;
  }

  function lookUp(domain: string, sender: string): Promise<void> {
    return asking.of(`${sender} ${domain}`, () => ask(domain, sender));
  }

  async function ask(domain: string, sender: string): Promise<void> {
    const answer = await resolver.of(sender).mx(domain);
    const before = domains.get(domain);
    if (before?.isolated === true && before.freshUntilMs > clock.monotonicMs()) return;
    if (answer.kind !== 'found') {
      // A domain without MX, or without a DNS answer, is a separate site, and its path shows the reason.
      const ttlMs = answer.kind === 'failure' ? ISOLATED_MS : answer.ttlSeconds * 1000;
      if (answer.kind === 'failure' && (domains.get(domain)?.usableUntilMs ?? 0) > clock.monotonicMs())
        return;
      // A name that is missing for a moment gets its provider back, maybe before the next look-up.
      const provider = answer.kind === 'no-data' ? null : lastProvider(domain);
      const isItself = answer.kind === 'no-data';
      const hosts = isItself ? [domain] : null;
      keep(domain, { ...alone(domain, provider), hosts }, isItself ? ttlMs : ISOLATED_MS);
      return;
    }
    const hosts = [...answer.records]
      .sort((a, b) => a.preference - b.preference)
      .flatMap(({ exchange }) => (isHostName(exchange) ? exchange.toLowerCase() : []));
    const name = siteNameOf(domain, hosts, shaping.groupingOf(domain, hosts));
    remember(domain, name.provider);
    const known = { ...name, hosts: hosts.length > MOST_HOSTS ? null : hosts };
    keep(domain, known, Math.min(MAX_TTL_MS, Math.max(MIN_TTL_MS, answer.ttlSeconds * 1000)));
  }

  function lastProvider(domain: string): string | null {
    const known = domains.get(domain);
    return known === undefined ? (providers.get(domain)?.split(' ')[0] ?? null) : known.provider;
  }

  /** Written once per day for a domain, not at every look-up. */
  function remember(domain: string, provider: string | null): void {
    const today = Math.floor(clock.now() / DAY_MS);
    const text = provider === null ? null : `${provider} ${today}`;
    const before = providers.get(domain);
    if (before === text) return;
    if (text === null) providers.forget(domain);
    else providers.set(domain, text, clock.now() + PROVIDER_KEPT_MS);
  }

  function keep(
    domain: string,
    name: Pick<Known, 'site' | 'provider' | 'hosts'>,
    ttlMs: number,
    isolated = false,
  ): void {
    const before = domains.get(domain);
    const freshUntilMs = clock.monotonicMs() + ttlMs;
    domains.set(domain, { ...name, freshUntilMs, usableUntilMs: freshUntilMs + GRACE_MS, isolated });
    moved(unresolvedName(domain));
    if (before === undefined || before.site === name.site) return;
    for (const [key, site] of names) {
      if (site.kind === 'path' && site.hosts === before.site) moved(key);
    }
  }
}

/** A domain that is a site of its own. */
function alone(domain: string, provider: string | null): SiteName {
  return { ...siteNameOf(domain, [], { provider: null, oneSite: false }), provider };
}

function unresolvedName(domain: string): string {
  return `?${domain}`;
}
