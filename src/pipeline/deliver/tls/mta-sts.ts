/**
 * The MTA-STS policies of recipient domains (RFC 8461): found, fetched, stored, renewed in time.
 *
 *   TXT _mta-sts.<domain> ──new id──► https://mta-sts.<domain>/.well-known/mta-sts.txt ──► store, for max_age
 *        │ same id, no record, or no answer
 *        └──► the stored policy, as long as it is in force
 *
 * A policy that was fetched is in force for its maximum age, whatever happens to its record and web server, and only a
 * newer one replaces it: an attacker who can prevent encryption of mail can also block these. Fetching uses the guarded
 * client, follows no redirect and reads at most 64 KiB. A domain whose policy cannot be fetched and that had none
 * before is delivered to as if it had none (§3.3), and asked again five minutes later.
 *
 * Whoever receives mail chooses the policy hosts of their domains, and may have thousands that do not answer. So only so many
 * are asked at once, and nobody waits for a place: where there is none, the fetch that has taken most of what all have ends.
 */
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import { createRounds } from '../../../lib/rounds.ts';
import type { Service } from '../../../lib/service.ts';
import { createSharedWork } from '../../../lib/shared-work.ts';
import { createTally } from '../../../lib/tally.ts';
import { zoneOf } from '../../../net/dns-name.ts';
import type { DnsAnswer, ResolverByAsker } from '../../../net/dns-types.ts';
import type { GuardedHttp, HttpOutcome } from '../../../net/guarded-http.ts';
import { type MtaStsPolicy, parseMtaStsPolicy, readMtaStsRecord } from '../../../net/mta-sts.ts';
import type { Store } from '../../../store/store.ts';
import type { StoredMtaSts } from '../../../store/topics/tls.ts';
import type { TlsResult } from './counters.ts';

export interface MtaSts extends Service {
  /** The policy in force for a recipient domain (lower-case A-label), or null, for mail of `sender`. Never rejects. */
  policyOf(domain: string, sender: string): Promise<MtaStsPolicy | null>;
}

interface MtaStsDeps {
  store: Pick<Store, 'getMtaSts' | 'putMtaSts' | 'staleMtaSts'>;
  resolver: ResolverByAsker<'txt'>;
  http: Pick<GuardedHttp, 'get'>;
  clock: Clock;
  log: Logger;
  /** A policy was announced and could not be fetched. */
  failed(result: TlsResult): void;
}

interface MtaStsOptions {
  /** Default 443; tests use another. */
  port?: number;
}

const MAX_POLICY_BYTES = 64 * 1024;
const FETCH_MS = 15_000;
/** Fetches at once: one takes a third of a MiB while its host does not answer (measured). */
const MOST_FETCHES = 128;
/** After a failed fetch, the domain is not asked again before this time (RFC 8461 §3.3). */
const RETRY_MS = 5 * 60_000;
/**
 * A policy is renewed at this age, or half its maximum age, even if its id has not changed, so that it does not expire.
 */
const RENEW_AFTER_MS = 24 * 3_600_000;
/**
 * Interval of searching for policies to renew; after a failed renewal the next is due after this time, then twice this
 * time, up to a day.
 */
const RENEW_EVERY_MS = 3_600_000;
const RENEW_AT_ONCE = 8;
const MAX_REMEMBERED = 10_000;
/** Renewals are nobody's mail. */
const OWN = '';

interface Fetch {
  zone: string;
  startedMs: number;
  stop: AbortController;
}

interface Known {
  stored: StoredMtaSts | null;
  /** No fetch before this time (monotonic). */
  notBeforeMs: number;
}

type Fetched =
  | { kind: 'policy'; policy: MtaStsPolicy }
  /** `result` null: this machine could not ask. */
  | { kind: 'failed'; result: TlsResult | null; detail: string };

export function createMtaSts(deps: MtaStsDeps, options: MtaStsOptions = {}): MtaSts {
  const { store, resolver, http, clock, log } = deps;
  const port = options.port ?? 443;
  /** The stored policies, and when each may be fetched again. */
  const known = new BoundedMap<string, Known>(MAX_REMEMBERED);
  const looking = createSharedWork<MtaStsPolicy | null>();
  const renewing = createSharedWork<boolean>();
  const fetches = new Set<Fetch>();
  const renewals = createRounds({
    clock,
    everyMs: RENEW_EVERY_MS,
    firstAfterMs: RENEW_EVERY_MS,
    work: renewDue,
    failed: (cause) => log.warn({ err: cause }, 'MTA-STS policies could not be renewed'),
  });

  return {
    policyOf(domain, sender) {
      return looking.of(`${sender} ${domain}`, () =>
        look(domain, sender).catch((cause: unknown) => {
          // The store cannot be read: neither the current announcement nor an earlier policy is known.
          log.warn({ domain, err: cause }, 'the MTA-STS policy of a domain could not be looked up');
          return inForce(known.get(domain)?.stored ?? null);
        }),
      );
    },
    start: renewals.start,
    stop: renewals.stop,
  };

  async function look(domain: string, sender: string): Promise<MtaStsPolicy | null> {
    const [answer, entry] = await Promise.all([announced(domain, sender), remembered(domain)]);
    const id = answer.kind === 'found' ? readMtaStsRecord(answer.records) : null;
    // A policy with mode "none" requires nothing, and is kept like any other until it expires.
    const isKnown = entry.stored?.policyId === id && isCurrent(entry.stored);
    if (id !== null && !isKnown && clock.monotonicMs() >= entry.notBeforeMs)
      await renewing.of(domain, () => renew(domain, id, entry, sender));
    return inForce(entry.stored);
  }

  function announced(domain: string, sender: string): Promise<DnsAnswer<string>> {
    return resolver.of(sender).txt(`_mta-sts.${domain}`);
  }

  /** Fetches and stores; false if the old policy, or none, stays. */
  async function renew(domain: string, id: string, entry: Known, sender: string): Promise<boolean> {
    const fetched = await fetchPolicy(domain, sender);
    if (fetched.kind === 'failed') {
      entry.notBeforeMs = clock.monotonicMs() + RETRY_MS;
      const { detail, result } = fetched;
      if (result !== null) deps.failed(result);
      log.info(
        { domain, result, detail, kept: inForce(entry.stored) !== null },
        'no MTA-STS policy could be fetched',
      );
      return false;
    }
    const now = clock.now();
    const { mode, mx, maxAgeSeconds } = fetched.policy;
    const stored: StoredMtaSts = {
      domain,
      policyId: id,
      mode,
      mx,
      maxAgeSeconds,
      fetchedAt: now,
      expiresAt: now + maxAgeSeconds * 1000,
      renewAt: now + Math.min(RENEW_AFTER_MS, (maxAgeSeconds * 1000) / 2),
      renewFailures: 0,
    };
    entry.notBeforeMs = 0;
    await keep(entry, stored);
    return true;
  }

  /** A policy that cannot be stored is used until the process ends. */
  async function keep(entry: Known, stored: StoredMtaSts): Promise<void> {
    entry.stored = stored;
    const { domain } = stored;
    await store
      .putMtaSts(stored)
      .catch((cause: unknown) => log.warn({ domain, err: cause }, 'an MTA-STS policy could not be stored'));
  }

  async function remembered(domain: string): Promise<Known> {
    const stored = known.has(domain) ? null : await store.getMtaSts({ domain });
    const found = known.get(domain);
    if (found !== undefined) return found;
    const entry: Known = { stored, notBeforeMs: 0 };
    known.set(domain, entry);
    const now = clock.now();
    // It was fetched while the clock was ahead: its time counts from now.
    if (stored !== null && stored.fetchedAt > now) {
      const expiresAt = now + stored.maxAgeSeconds * 1000;
      await keep(entry, { ...stored, fetchedAt: now, expiresAt, renewAt: now });
    }
    return entry;
  }

  function isCurrent(stored: StoredMtaSts): boolean {
    return stored.expiresAt > clock.now();
  }

  function inForce(stored: StoredMtaSts | null): MtaStsPolicy | null {
    if (stored === null || !isCurrent(stored) || stored.mode === 'none') return null;
    return { mode: stored.mode, mx: stored.mx, maxAgeSeconds: stored.maxAgeSeconds };
  }

  async function fetchPolicy(domain: string, sender: string): Promise<Fetched> {
    const at = port === 443 ? '' : `:${port}`;
    if (fetches.size >= MOST_FETCHES) endGreediest();
    const fetch = { zone: zoneOf(domain), startedMs: clock.monotonicMs(), stop: new AbortController() };
    fetches.add(fetch);
    const outcome = await http.get(`https://mta-sts.${domain}${at}/.well-known/mta-sts.txt`, {
      timeoutMs: FETCH_MS,
      maxResponseBytes: MAX_POLICY_BYTES,
      asker: sender,
      signal: fetch.stop.signal,
    });
    fetches.delete(fetch);
    return readAnswer(outcome);
  }

  /** Ends the one of the longest time, counted for all fetches of its zone: one that is answered soon is safe from many of others. */
  function endGreediest(): void {
    const perZone = createTally();
    for (const { zone } of fetches) perZone.add(zone, 1);
    const now = clock.monotonicMs();
    const takes = ({ zone, startedMs }: Fetch) => (now - startedMs + 1) * perZone.of(zone);
    let greediest: Fetch | null = null;
    for (const fetch of fetches) if (greediest === null || takes(fetch) > takes(greediest)) greediest = fetch;
    if (greediest === null) return;
    fetches.delete(greediest);
    greediest.stop.abort();
  }

  // ── renewing ────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Renews due policies, earliest first, until none is due: one that cannot be fetched is due again later and delays no
   * other. One that is due again in the same round could not be stored; the rest waits for the next round.
   */
  async function renewDue(): Promise<void> {
    const seen = new Set<string>();
    while (renewals.isRunning()) {
      const due = await store.staleMtaSts({ now: clock.now(), limit: RENEW_AT_ONCE });
      if (due.length === 0 || due.some(({ domain }) => seen.has(domain))) return;
      for (const { domain } of due) seen.add(domain);
      await Promise.all(due.map(renewOne));
    }
  }

  async function renewOne(found: StoredMtaSts): Promise<void> {
    const { domain } = found;
    const [answer, entry] = await Promise.all([announced(domain, OWN), remembered(domain)]);
    // Another process on the same store may have found it first, or a newer one.
    if (entry.stored === null || entry.stored.fetchedAt < found.fetchedAt) entry.stored = found;
    const id = answer.kind === 'found' ? readMtaStsRecord(answer.records) : null;
    const mayFetch = id !== null && clock.monotonicMs() >= entry.notBeforeMs;
    if (mayFetch && (await renewing.of(domain, () => renew(domain, id, entry, OWN)))) return;
    const { stored } = entry;
    const renewFailures = stored.renewFailures + 1;
    const waitMs = Math.min(RENEW_AFTER_MS, RENEW_EVERY_MS * 2 ** Math.min(stored.renewFailures, 10));
    await keep(entry, { ...stored, renewFailures, renewAt: clock.now() + waitMs });
  }
}

function readAnswer(outcome: HttpOutcome): Fetched {
  if (outcome.kind === 'failed' && outcome.reason === 'local') return failed(null, outcome.detail);
  if (outcome.kind === 'blocked') return failed('sts-policy-fetch-error', outcome.detail);
  if (outcome.kind === 'failed') {
    if (outcome.reason === 'aborted')
      return failed(
        'sts-policy-fetch-error',
        'it did not answer, and the policies of other domains were asked for',
      );
    return failed(outcome.reason === 'tls' ? 'sts-webpki-invalid' : 'sts-policy-fetch-error', outcome.detail);
  }
  if (outcome.status !== 200) return failed('sts-policy-fetch-error', `answered ${outcome.status}`);
  const type = (outcome.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'text/plain') return failed('sts-policy-invalid', `the content type is ${type || 'missing'}`);
  if (outcome.isCut) return failed('sts-policy-invalid', 'longer than 64 KiB');
  const parsed = parseMtaStsPolicy(outcome.body);
  return parsed.kind === 'policy' ? parsed : failed('sts-policy-invalid', parsed.detail);
}

function failed(result: TlsResult | null, detail: string): Fetched {
  return { kind: 'failed', result, detail };
}
