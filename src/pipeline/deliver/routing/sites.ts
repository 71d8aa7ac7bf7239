/**
 * Where recipients belong: from a recipient to the path its mail goes by, an egress source towards a site. A domain's
 * site follows from its MX hosts, so it is known only once DNS was asked; until then it is unresolved and its mail waits
 * under the name `?domain`. What DNS said is kept for its TTL and asked again behind the mail that goes on; when a domain turns out
 * to belong elsewhere, `moved` says from where, and rows are never rewritten for it.
 */
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Resolver } from '../../../net/dns-types.ts';
import { type EgressMemory, readText } from '../../../policy/limits/shaping/egress-memory.ts';
import { pathKey, type Shaping } from '../../../policy/limits/shaping/types.ts';
import type { Warmup } from '../../../policy/limits/warmup/warmup.ts';
import type { SiteQuestion } from '../../queue/gate.ts';
import type { SmtpEgress } from './connector.ts';
import { type Routes, SANDBOX_SITE } from './routes.ts';
import { type SiteName, siteNameOf } from './site-key.ts';

/** What a name that `nameOf` gave stands for. */
export type Site =
  | { kind: 'sandbox' }
  /** Not known yet: `lookUp` the domain. */
  | { kind: 'unresolved'; domain: string }
  | {
      kind: 'path';
      egress: SmtpEgress;
      source: string;
      site: string;
      provider: string | null;
      /** The site without the relays behind it. */
      hosts: string;
    };

export interface Sites {
  /** Name of the path, the unresolved domain or the sandbox that a recipient belongs to now. Never waits. */
  nameOf(recipient: SiteQuestion): string;
  /** Every name that a recipient's site goes by, the provider's included; none while it is not known. */
  sitesOf(recipient: SiteQuestion): string[];
  /** What a name stands for; null for one that was forgotten. */
  siteNamed(name: string): Site | null;
  /** Asks DNS where a domain belongs. Never rejects; afterwards `nameOf` knows. */
  lookUp(domain: string): Promise<void>;
  /** For a while the domain is a site of its own: what DNS says of it and of its site do not fit together. */
  isolate(domain: string): void;
  /** Told the name that a domain's mail was filed under before it moved. */
  onMoved(listener: (name: string) => void): void;
  /** Nothing is filed under this name any more. */
  forget(name: string): void;
}

interface Known extends SiteName {
  /** On the monotonic clock. After the first DNS is asked again, after the second mail waits for the answer. */
  freshUntilMs: number;
  usableUntilMs: number;
  /** Its path found out more than its MX says: no answer of DNS ends that before its time. */
  isolated: boolean;
}

const MAX_DOMAINS = 50_000;
const MAX_TTL_MS = 3_600_000;
const MIN_TTL_MS = 60_000;
/** A domain whose MX could not be learned stands for itself so long. */
const ISOLATED_MS = 30_000;
const GRACE_MS = 300_000;
const DAY_MS = 86_400_000;
/** A provider is believed so long without having been seen. */
const PROVIDER_KEPT_MS = 7 * DAY_MS;

export function createSites(deps: {
  routes: Pick<Routes, 'egressOf'>;
  resolver: Pick<Resolver, 'mx'>;
  shaping: Pick<Shaping, 'groupingOf'>;
  warmup: Pick<Warmup, 'warms' | 'isFull'>;
  /** Which provider each domain had, for a start while DNS is away. */
  egressMemory: Pick<EgressMemory, 'facts'>;
  clock: Clock;
}): Sites {
  const { routes, resolver, shaping, warmup, clock } = deps;
  const providers = deps.egressMemory.facts('provider', readText, PROVIDER_KEPT_MS);
  const domains = new BoundedMap<string, Known>(MAX_DOMAINS);
  const asking = new Map<string, Promise<void>>();
  const names = new Map<string, Site>();
  const egressesByRelays = new Map<string, SmtpEgress[]>();
  let moved: (name: string) => void = () => {};

  return {
    nameOf,
    sitesOf(recipient) {
      const place = names.get(nameOf(recipient));
      if (place?.kind !== 'path') return [];
      return place.provider === null ? [place.site] : [place.site, place.provider];
    },
    siteNamed: (name) => (name === SANDBOX_SITE ? { kind: 'sandbox' } : (names.get(name) ?? null)),
    lookUp,
    isolate(domain) {
      // Its provider, where one is known, goes on counting its connections.
      keep(domain, { site: domain, provider: lastProvider(domain) }, ISOLATED_MS, true);
    },
    onMoved(listener) {
      moved = listener;
    },
    forget: (name) => void names.delete(name),
  };

  function nameOf(recipient: SiteQuestion): string {
    const { recipientDomain } = recipient;
    const egress = routes.egressOf(recipient);
    if (egress.kind === 'sandbox') return SANDBOX_SITE;
    if (!egress.direct) return named(egress, { site: relaysOf(egress), provider: null });
    // Behind relays that come first, the domain's own hosts are only the last resort.
    if (egress.targets[0]?.kind === 'relay')
      return named(egress, { site: `${relaysOf(egress)}|${recipientDomain}`, provider: null });
    const known = usable(recipientDomain);
    if (known !== null) {
      const other = instead(egress, recipient, known.provider);
      if (!other.direct) return named(other, { site: relaysOf(other), provider: null });
      // With relays to fall back on it is a path of its own, for the same provider.
      return named(
        other,
        other.relays === '' ? known : { ...known, site: `${known.site}|${relaysOf(other)}` },
        known.site,
      );
    }
    const unresolved = unresolvedName(recipientDomain);
    if (!names.has(unresolved)) names.set(unresolved, { kind: 'unresolved', domain: recipientDomain });
    return unresolved;
  }

  /** Another way while the warm-up of the source has no room for more at the provider, where there is one. */
  function instead(egress: SmtpEgress, recipient: SiteQuestion, provider: string | null): SmtpEgress {
    if (provider === null || !warmup.warms(egress.source.id)) return egress;
    const other = routes.egressOf(recipient, ({ id }) => warmup.isFull(id, provider, recipient.lane));
    return other.kind === 'smtp' ? other : egress;
  }

  /** The relays' name; two ways over the same ones may differ in how they log in. */
  function relaysOf(egress: SmtpEgress): string {
    const same = egressesByRelays.get(egress.relays) ?? [];
    if (same.length === 0) egressesByRelays.set(egress.relays, same);
    let place = same.indexOf(egress);
    if (place < 0) place = same.push(egress) - 1;
    return place === 0 ? egress.relays : `${egress.relays}#${place + 1}`;
  }

  function named(egress: SmtpEgress, { site, provider }: SiteName, hosts = site): string {
    const key = pathKey(egress.source.id, site);
    if (!names.has(key))
      names.set(key, { kind: 'path', egress, source: egress.source.id, site, provider, hosts });
    return key;
  }

  function usable(domain: string): Known | null {
    const known = domains.get(domain);
    const nowMs = clock.monotonicMs();
    if (known === undefined || known.usableUntilMs < nowMs) return null;
    if (known.freshUntilMs < nowMs) void lookUp(domain);
    return known;
  }

  function lookUp(domain: string): Promise<void> {
    let answer = asking.get(domain);
    if (answer === undefined) {
      answer = ask(domain).finally(() => asking.delete(domain));
      asking.set(domain, answer);
    }
    return answer;
  }

  async function ask(domain: string): Promise<void> {
    const answer = await resolver.mx(domain);
    const known = domains.get(domain);
    if (known?.isolated === true && known.freshUntilMs > clock.monotonicMs()) return;
    if (answer.kind !== 'found') {
      // Without an MX it stands for itself; so it does where DNS gave no answer, and its path says why.
      const ttlMs = answer.kind === 'failure' ? ISOLATED_MS : answer.ttlSeconds * 1000;
      if (answer.kind === 'failure' && (domains.get(domain)?.usableUntilMs ?? 0) > clock.monotonicMs())
        return;
      // A name that is gone for a moment comes back to the provider it had, perhaps before this is asked again.
      const provider = answer.kind === 'no-data' ? null : lastProvider(domain);
      keep(domain, { site: domain, provider }, answer.kind === 'no-data' ? ttlMs : ISOLATED_MS);
      return;
    }
    const hosts = [...answer.records]
      .sort((a, b) => a.preference - b.preference)
      .flatMap(({ exchange }) => (exchange === '' ? [] : exchange.toLowerCase()));
    const name = siteNameOf(domain, hosts, shaping.groupingOf(domain, hosts));
    remember(domain, name.provider);
    keep(domain, name, Math.min(MAX_TTL_MS, Math.max(MIN_TTL_MS, answer.ttlSeconds * 1000)));
  }

  function lastProvider(domain: string): string | null {
    const known = domains.get(domain);
    return known === undefined ? (providers.get(domain)?.split(' ')[0] ?? null) : known.provider;
  }

  /** Written once a day for a domain, not at every look-up. */
  function remember(domain: string, provider: string | null): void {
    const today = Math.floor(clock.now() / DAY_MS);
    const text = provider === null ? null : `${provider} ${today}`;
    const before = providers.get(domain);
    if (before === text) return;
    if (text === null) providers.forget(domain);
    else providers.set(domain, text, clock.now() + PROVIDER_KEPT_MS);
  }

  function keep(domain: string, name: SiteName, ttlMs: number, isolated = false): void {
    const before = domains.get(domain);
    const freshUntilMs = clock.monotonicMs() + ttlMs;
    domains.set(domain, { ...name, freshUntilMs, usableUntilMs: freshUntilMs + GRACE_MS, isolated });
    moved(unresolvedName(domain));
    if (before === undefined || before.site === name.site) return;
    for (const [key, place] of names) {
      if (place.kind === 'path' && place.hosts === before.site) moved(key);
    }
  }
}

function unresolvedName(domain: string): string {
  return `?${domain}`;
}
