/** Items of `GET /attention` of paths that take no mail: sites and relays, at this node and at others. */
import { isRelaySite, relayOfSite, siteOfRelay } from '../../../model/route.ts';
import type { PathRef } from '../../../pipeline/deliver/path/state.ts';
import type { RelayState } from '../../../pipeline/deliver/routing/relay-health.ts';
import { siteNames } from '../../../policy/limits/holds.ts';
import type { Store } from '../../../store/store.ts';
import type { WaitingCount } from '../../../store/topics/queue.ts';
import type { HttpDeps } from '../deps.ts';
import { isoTime, isoTimeOrNull } from '../route.ts';
import {
  type AttentionItem,
  MAX_OF_A_KIND,
  NOTHING_ELSE,
  SHOWN_REPLY,
  sentence,
} from './attention-answer.ts';
import type { Traffic } from './traffic.ts';
import { waitingByPath } from './waiting-mail.ts';

interface BlockedDeps extends Pick<HttpDeps, 'store' | 'nodes'> {
  traffic: Pick<Traffic, 'paths' | 'pathOf' | 'relays'>;
}

/** A path that takes no mail, at this node or at another one. */
interface BlockedPath extends Pick<PathRef, 'key' | 'site' | 'provider' | 'domains'> {
  reason: string | null;
  waitsUntil: number | null;
  /** Another node sends on it, and has some of its mail in memory. */
  isElsewhere: boolean;
}

const MAX_CHANGES = 200;
/** Stored paths that are looked at, the last changed first. */
const MAX_PATHS = 1_000;
/** After its pause a path is tested; the result is known within this time. */
const TESTED_WITHIN_MS = 2 * 60_000;
/** Recipients that wait for one site: from here on it concerns much of the mail. */
const GRAVE_WAITING = 100;

/** Sites that accept no mail while mail waits for them. `noDns`: nothing can be learned of any domain, which is told once. */
export async function siteItems(
  deps: BlockedDeps,
  queues: readonly WaitingCount[],
  now: number,
  noDns: boolean,
): Promise<AttentionItem[]> {
  const { store, traffic } = deps;
  const blocked = [...blockedHere(traffic, noDns), ...(await blockedElsewhere(deps, now))];
  const sites = Map.groupBy(blocked, ({ site }) => site);
  if (sites.size === 0) return [];
  const { byPath, unknown } = waitingByPath(queues, traffic);
  const waiting = [...sites]
    .map(([site, paths]) => {
      const sum = paths.reduce((n, { key }) => n + (byPath.get(key) ?? 0), 0);
      const named = new Set([...siteNames(site), ...paths.flatMap(({ domains }) => domains)]);
      const isCountedElsewhere = sum === 0 && paths.some(({ isElsewhere }) => isElsewhere);
      // The site was blocked before the start, and the DNS has not said yet which mail goes there.
      const mayBe =
        sum === 0 &&
        unknown.size > 0 &&
        (paths.every(({ domains }) => domains.length === 0) || [...named].some((name) => unknown.has(name)));
      return { site, paths, waiting: mayBe || isCountedElsewhere ? null : sum };
    })
    .filter((one) => one.waiting !== 0)
    .sort((a, b) => (b.waiting ?? 0) - (a.waiting ?? 0))
    .slice(0, MAX_OF_A_KIND + 1);
  if (waiting.length === 0) return [];
  const since = await failingSince(
    store,
    waiting.map(({ site }) => site),
    now,
  );
  return waiting.flatMap(({ site, paths: [path], waiting: count }): AttentionItem[] => {
    if (path === undefined) return [];
    const { reason, waitsUntil } = path;
    return [
      {
        ...(relayItemOf(relayOfSite(site)) ?? { Kind: 'site', Subject: site }),
        ...{ Severity: isGrave(path, count) ? 'Failing' : 'Warning', Waiting: count },
        Message: sentence((reason ?? `${site} takes no mail`).slice(0, SHOWN_REPLY)),
        Fix: 'It is tried again by itself. If you mended the reason, try it now.',
        ...{ Since: isoTimeOrNull(since(site)), Until: ahead(waitsUntil, now) },
        ...{ Action: tryNow(site), Command: `postrider queue try ${site}` },
      },
    ];
  });
}

/** Not those that only this machine or its resolver keeps from sending: the problem of the server is told once. */
function blockedHere({ paths }: Pick<Traffic, 'paths'>, noDns: boolean): BlockedPath[] {
  return paths()
    .filter(({ blocked }) => blocked)
    .flatMap(({ key, site, provider, domains, snapshot }) => {
      const { reason, waitsUntil, waitsFor, withoutDns } = snapshot();
      return waitsFor === 'local' || (withoutDns && noDns)
        ? []
        : [{ key, site, provider, domains, reason, waitsUntil, isElsewhere: false }];
    });
}

/** Those that other nodes have stored as failing, unless this one knows better. */
async function blockedElsewhere({ store, traffic, nodes }: BlockedDeps, now: number): Promise<BlockedPath[]> {
  if (nodes() === 1) return [];
  const here = new Map(traffic.paths().map((path) => [path.key, path]));
  const stored = await store.listPathStates({ limit: MAX_PATHS });
  return stored.flatMap(({ key, site, failures, reason, blockedUntil, updatedAt }) => {
    if (failures === 0 || blockedUntil === null || blockedUntil + TESTED_WITHIN_MS < now) return [];
    const own = here.get(key);
    if (own?.blocked === true || (own?.snapshot().lastSuccess?.at ?? 0) > updatedAt) return [];
    const said = `${site} takes no mail: ${reason}`;
    return [
      { key, site, provider: null, domains: [], reason: said, waitsUntil: blockedUntil, isElsewhere: true },
    ];
  });
}

/** When the last closing of each site began, as it is stored, also before this start; null: not known. */
async function failingSince(
  store: Pick<Store, 'listPathChanges'>,
  sites: readonly string[],
  now: number,
): Promise<(site: string) => number | null> {
  const changes = await store.listPathChanges({ sites, since: 0, until: now, limit: MAX_CHANGES });
  return (site) => {
    const own = changes.filter((change) => change.site === site);
    const opened = own.findIndex((change) => change.reason === null);
    return (opened < 0 ? own : own.slice(0, opened)).at(-1)?.at ?? null;
  };
}

/** A single domain whose servers are dead concerns little of all mail. */
function isGrave({ site, provider }: BlockedPath, waiting: number | null): boolean {
  if (waiting === null) return false;
  return isRelaySite(site) || provider !== null || waiting >= GRAVE_WAITING;
}

export function relayItemOf(relay: string | null) {
  return relay === null ? null : ({ Kind: 'relay', Subject: relay } as const);
}

/** One item for each relay: the worst of them, then the first, with the times and the number that only another knows. */
export function mergedRelays(items: readonly AttentionItem[]): AttentionItem[] {
  const found = new Map<string, AttentionItem>();
  for (const item of items) {
    if (item.Kind !== 'relay') continue;
    const known = found.get(item.Subject);
    const [shown, other] =
      known === undefined || (known.Severity === 'Warning' && item.Severity === 'Failing')
        ? [item, known]
        : [known, item];
    found.set(item.Subject, {
      ...shown,
      Since: earlierOf(shown.Since, other?.Since ?? null),
      Until: laterOf(shown.Until, other?.Until ?? null),
      Waiting: shown.Waiting ?? other?.Waiting ?? null,
    });
  }
  return [...found.values()];
}

/** ISO times. */
function earlierOf(one: string | null, other: string | null): string | null {
  return one === null || (other !== null && other < one) ? other : one;
}

function laterOf(one: string | null, other: string | null): string | null {
  return one === null || (other !== null && other > one) ? other : one;
}

/** null: it is not ahead. */
function ahead(at: number | null, now: number): string | null {
  return at === null || at <= now ? null : isoTime(at);
}

export async function relayItems(
  { store, traffic }: Pick<BlockedDeps, 'store' | 'traffic'>,
  now: number,
): Promise<AttentionItem[]> {
  const relays = traffic.relays();
  if (relays.length === 0) return [];
  const since = await failingSince(
    store,
    relays.map(({ relay }) => siteOfRelay(relay)),
    now,
  );
  return relays.map((state) => relayItem(state, since(siteOfRelay(state.relay)), now));
}

const UNREACHED =
  'Check its host and port (key `route`), and whether a firewall lets this machine connect there (often 587 where 25 is closed).';
const NOT_GREETED =
  'It answers, but not as a relay that takes mail of this server: where its port begins with TLS (mostly 465), write smtps:// in the key `route`; otherwise ask its provider about this address.';
const NOT_SECURE =
  'Check its certificate and port (key `route`), and the clock of this machine: `postrider doctor` says which.';
const RELAY_FIXES: Readonly<Record<RelayState['at'], string>> = {
  connect: UNREACHED,
  banner: NOT_GREETED,
  ehlo: NOT_GREETED,
  starttls: NOT_SECURE,
  tls: NOT_SECURE,
  auth: 'Correct its user name and password (key `route`), then restart this server; `postrider doctor` tries them.',
  mail: 'It refuses the mail: ask its provider about this account, its limits, and the senders that it takes.',
};

function relayItem(
  { relay, at, why, until, failures }: RelayState,
  since: number | null,
  now: number,
): AttentionItem {
  return {
    ...NOTHING_ELSE,
    ...{ Kind: 'relay', Severity: 'Failing', Subject: relay },
    Message: sentence(
      `The relay ${relay} failed ${failures === 1 ? 'once' : `${failures} times`}: ${why.slice(0, SHOWN_REPLY)}`,
    ),
    Fix: `${RELAY_FIXES[at]} Other relays of the list are used meanwhile, where there are any.`,
    ...{
      Since: isoTimeOrNull(since),
      Until: ahead(until, now),
      Action: tryNow(relay),
      Command: `postrider queue try ${relay}`,
    },
  };
}

function tryNow(site: string): AttentionItem['Action'] {
  return { Label: 'Try now', Method: 'POST', Path: `/queue/paths/${encodeURIComponent(site)}/try`, Body: {} };
}
