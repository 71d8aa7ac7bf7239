/**
 * Sender domains: adding, looking up, verifying, changing and removing them, and the keys that sign for them.
 * Acceptance asks whether a caller may send from a domain, delivery asks which keys sign; both are answered from a
 * small cache, because both ask once per message. A domain that no longer passes its DNS check may send for two more
 * days (`Failing`). Mail of a domain that was removed or never verified is held, not sent unsigned.
 */
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Random } from '../../lib/random.ts';
import type { Sealer } from '../../lib/seal.ts';
import { toALabelDomain } from '../../mail/address.ts';
import {
  DEFAULT_DOMAIN_SETTINGS,
  type DkimKey,
  type Domain,
  type DomainSettings,
  type DomainSettingsPatch,
  mergeSettings,
} from '../../model/domain.ts';
import { effectiveQuota, NO_QUOTA, type QuotaLimits } from '../../model/quota.ts';
import type { Resolver } from '../../net/dns-types.ts';
import type { Store } from '../../store/store.ts';
import type { IdempotencyEntry } from '../../store/topics/acceptance.ts';
import { generateDkimKeyPair } from './dkim-keys.ts';
import type { DnsRecord } from './dns-records.ts';
import { changesBetween, keepChanges } from './doctor/changes.ts';
import type { DomainCheck } from './doctor/check.ts';
import { reportedSources } from './doctor/dmarc-reports.ts';
import { createDomainDoctor, type DomainDoctor } from './doctor/domain-doctor.ts';
import { createDomainCache } from './domain-cache.ts';
import { createSenderFor, type SenderFor } from './domain-sender.ts';
import { createDomainSigners, DKIM_SEAL, type DomainSigners } from './domain-signers.ts';
import { checksOf, nextStatus } from './domain-status.ts';
import { createDomainZones } from './domain-zones.ts';
import { mayRotate, needsNewStandby, nextSelector, RETIRED_FOR_MS } from './key-rotation.ts';

interface NewDomain {
  name: string;
  operatorVerified: boolean;
  settings?: DomainSettingsPatch;
  /** Its selectors are `<prefix>1`, `<prefix>2` and so on; default: that of the options. */
  selectorPrefix?: string;
  idempotency?: (domain: Domain) => IdempotencyEntry;
}

export interface DomainService {
  /** New domain with two DKIM keys. AppError domain-invalid, domain-exists. */
  add(params: NewDomain): Promise<Domain>;
  get(name: string): Promise<Domain | null>;
  list(
    domains: readonly string[] | undefined,
    part: { after?: string; limit: number },
  ): Promise<readonly Domain[]>;
  search: Store['searchDomains'];
  /** Every domain by name, read in portions. */
  all(): AsyncIterable<Domain>;
  /**
   * Looks up the records now and stores the result. `fresh`: somebody waits for it who may just have changed a record, so
   * answers from before are not used; limit how often. AppError not-found.
   */
  verify(
    name: string,
    options?: { fresh: boolean },
  ): Promise<{ domain: Domain; checks: readonly DomainCheck[] }>;
  /** Changes settings. AppError not-found. */
  update(name: string, settings: DomainSettingsPatch): Promise<Domain>;
  /**
   * Makes the standby key sign from now on, if the DNS showed it within the last hour; otherwise looks once more first.
   * AppError not-found, or key-not-published with a sentence that says what is missing. `takeTurn` is called first where the
   * last look-up does not show it, and may throw.
   */
  rotateKey(name: string, takeTurn?: () => void): Promise<Domain>;
  /** Creates a new standby key if the retired one has been kept for its week; null if not yet. */
  renewStandby(domain: Domain): Promise<Domain | null>;
  remove(name: string): Promise<boolean>;
  records(domain: Domain): readonly DnsRecord[];
  senderFor: SenderFor;
  /** The mail quota in force of a domain that was read; null = none. */
  quotaIn(domain: Domain): QuotaLimits | null;
  /** The settings in force; the defaults if the domain was removed. */
  settingsOf(domain: string): Promise<DomainSettings>;
  /** Another node has changed domains: all are read again. */
  readAgain(): void;
  /** Whether a domain sends at most once, from memory; only for domains that this process has looked up. */
  sendsAtMostOnce(domain: string): boolean;
  signersFor: DomainSigners['signersFor'];
}

export interface DomainOptions {
  /** In development with the sandbox as the only route: unknown domains count as verified and are captured unsigned. */
  anyDomain: boolean;
  /** Selectors of a new domain that chose none are `<prefix>1` and `<prefix>2`. */
  selectorPrefix: string;
  bounceDomain: string;
  /** For domains without their own; absent = none. */
  quota?: QuotaLimits;
  /** The name of this server that tracking hosts must point to; default: the bounce domain. */
  trackingTarget?: string;
  /** Mail to `dmarc@` the host of return paths is read here; absent = no. */
  takesReports?: boolean;
  /** Names that SPF must include for the relays in use; absent = none. */
  spfIncludes?: readonly string[];
  /** false: the operator's relay signs, so nothing is signed here. */
  dkim: boolean;
  /** Sender domain whose key signs every message a second time, while it may send; absent or null = none. */
  serviceDomain?: string | null;
}

interface Deps {
  store: Store;
  resolver: Resolver;
  sealer: Sealer;
  clock: Clock;
  random: Random;
  /** Examines domains; default: a doctor with only the resolver. */
  doctor?: DomainDoctor;
}

/** Domains read in one query, with their keys. */
const AT_ONCE = 100;
const BULK_LATELY_MS = 30 * 86_400_000;
/** DMARC reports that a check looks at. */
const REPORTED_LATELY_MS = 7 * 86_400_000;
const MAX_REPORTS = 100;

export function createDomainService(deps: Deps, options: DomainOptions): DomainService {
  const { store, sealer, clock, random } = deps;
  const doctor = deps.doctor ?? createDomainDoctor(deps);
  const cache = createDomainCache(deps);
  const { known, lookUp, forget } = cache;
  const { signersFor } = createDomainSigners({ cache, sealer, clock }, options);
  const zones = createDomainZones(deps.resolver, options);
  const quota = options.quota ?? NO_QUOTA;

  return {
    add,
    get: (name) => store.getDomain({ name }),
    list,
    search: (params) => store.searchDomains(params),
    all,
    verify,
    update,
    rotateKey,
    renewStandby,
    remove,
    records: zones.records,
    senderFor: createSenderFor({ cache, clock }, { anyDomain: options.anyDomain, quota }),
    settingsOf: async (name) =>
      (known(name) ?? (await lookUp(name))).domain?.settings ?? DEFAULT_DOMAIN_SETTINGS,
    quotaIn: ({ settings }) => effectiveQuota(settings.quota, quota),
    sendsAtMostOnce: cache.sendsAtMostOnce,
    readAgain: cache.readAgain,
    signersFor,
  };

  async function add(params: NewDomain): Promise<Domain> {
    const name = toALabelDomain(params.name);
    if (name === null) {
      throw new AppError('domain-invalid', {
        field: '/Domain',
        message: `"${params.name.slice(0, 100)}" is not a domain name such as example.com`,
      });
    }
    if ((await store.getDomain({ name })) !== null) throw exists(name);
    await zones.learnReturnServer(params.settings);
    const now = clock.now();
    const { selectorPrefix = options.selectorPrefix } = params;
    const keys = await Promise.all(
      (['active', 'standby'] as const).map((role, i) => newKey(`${selectorPrefix}${i + 1}`, role, now)),
    );
    const wanted = {
      name,
      status: params.operatorVerified ? 'Verified' : 'Pending',
      verifiedBy: params.operatorVerified ? 'operator' : null,
      verifyToken: Buffer.from(random.bytes(16)).toString('hex'),
      keys,
    } as const;
    const added = await store.addDomain({
      ...wanted,
      settings: params.settings ?? {},
      now,
      ...(params.idempotency === undefined
        ? {}
        : {
            // The row as it will be stored, without its number.
            idempotency: params.idempotency({
              ...wanted,
              id: 0,
              settings: mergeSettings(DEFAULT_DOMAIN_SETTINGS, params.settings ?? {}),
              createdAt: now,
              updatedAt: now,
              verifiedAt: params.operatorVerified ? now : null,
              failingSince: null,
              lastCheckedAt: null,
              lastChecks: null,
              changes: null,
            }),
          }),
    });
    forget(name);
    if (added.kind === 'exists') throw exists(name);
    return added.domain;
  }

  async function newKey(selector: string, role: DkimKey['role'], now: number): Promise<DkimKey> {
    const pair = await generateDkimKeyPair();
    return {
      selector,
      role,
      privateSealed: sealer.seal(pair.privateDer, DKIM_SEAL),
      publicKey: pair.publicKey,
      createdAt: now,
      retiredAt: null,
    };
  }

  function list(
    domains: readonly string[] | undefined,
    part: { after?: string; limit: number },
  ): Promise<readonly Domain[]> {
    return store.listDomains({ ...(domains === undefined ? {} : { domains }), ...part });
  }

  async function* all(): AsyncGenerator<Domain> {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const part: readonly Domain[] = await store.listDomains({ after, limit: AT_ONCE });
      yield* part;
      after = part.length < AT_ONCE ? undefined : part.at(-1)?.name;
    }
  }

  async function verify(
    name: string,
    { fresh } = { fresh: false },
  ): Promise<{ domain: Domain; checks: readonly DomainCheck[] }> {
    const domain = await store.getDomain({ name });
    if (domain === null) throw unknownDomain(name);
    const bulk = await sendsBulk(domain);
    const since = clock.now() - REPORTED_LATELY_MS;
    const reports = await store.listDmarcReports({ domain: name, since, limit: MAX_REPORTS });
    const examined = {
      ...{ ...zones.of(domain), bulk, subdomains: domain.settings.subdomains },
      reported: reportedSources(reports),
    };
    const found = await doctor.examine(examined, { fresh });
    const result = options.anyDomain ? { ...found, checks: found.checks.map(withoutBlock) } : found;
    // Apart from the check: the DNS of one domain may use up its time, and the answer is for all domains.
    await zones.learnReturnServer(domain.settings);
    const now = clock.now();
    const next = nextStatus(domain, result, now);
    const changes = changesBetween(checksOf(domain), result.checks, now);
    const changed = next.status !== domain.status;
    const kind =
      changed && next.status === 'Verified'
        ? 'domain.verified'
        : changed && next.status === 'Failing'
          ? 'domain.failing'
          : null;
    const stored = await store.setDomainStatus({
      name,
      verifyToken: domain.verifyToken,
      ...next,
      checks: JSON.stringify(result.checks),
      changes: changes.length === 0 ? null : JSON.stringify(keepChanges(domain.changes, changes)),
      now,
      events: kind === null ? [] : [{ id: uuidv7(clock, random), kind, at: now, detail: null }],
    });
    forget(name);
    if (stored === null) throw unknownDomain(name);
    return { domain: stored, checks: result.checks };
  }

  /** Its settings say so, or there is bulk mail among its latest messages. */
  async function sendsBulk({ name, settings }: Domain): Promise<boolean> {
    if (settings.listUnsubscribe) return true;
    const { messages } = await store.listMessages({
      domains: [name],
      lane: 'bulk',
      since: clock.now() - BULK_LATELY_MS,
      limit: 100,
      look: 2_000,
    });
    return messages.some(({ sandbox }) => !sandbox);
  }

  async function update(name: string, settings: DomainSettingsPatch): Promise<Domain> {
    await zones.learnReturnServer(settings);
    const changed = await store.updateDomain({ name, settings, now: clock.now() });
    forget(name);
    if (changed === null) throw unknownDomain(name);
    return changed;
  }

  async function rotateKey(name: string, takeTurn?: () => void): Promise<Domain> {
    let domain = await store.getDomain({ name });
    if (domain === null) throw unknownDomain(name);
    let verdict = mayRotate(domain, clock.now());
    if (verdict.kind !== 'ready') takeTurn?.();
    if (verdict.kind === 'unseen') {
      ({ domain } = await verify(name, { fresh: true }));
      verdict = mayRotate(domain, clock.now());
    }
    if (verdict.kind !== 'ready') {
      const why = verdict.kind === 'refused' ? verdict.why : 'The standby key was not seen in the DNS.';
      throw new AppError('key-not-published', { message: why });
    }
    const rotated = await store.rotateDomainKey({ name, selector: verdict.selector, now: clock.now() });
    forget(name);
    // Another process rotated the key, or removed the domain, meanwhile: the standby key no longer exists.
    if (rotated === null) throw new AppError('key-not-published', { message: 'The keys have just changed.' });
    return rotated;
  }

  async function renewStandby(domain: Domain): Promise<Domain | null> {
    const now = clock.now();
    if (!needsNewStandby(domain, now)) return null;
    const key = await newKey(nextSelector(domain), 'standby', now);
    const renewed = await store.replaceRetiredKey({
      name: domain.name,
      retiredBefore: now - RETIRED_FOR_MS,
      key,
      now,
    });
    forget(domain.name);
    return renewed;
  }

  async function remove(name: string): Promise<boolean> {
    const removed = await store.removeDomain({ name });
    forget(name);
    return removed;
  }
}

/** Where mail of any domain is taken, no check stops it. */
function withoutBlock({ blocks: _, ...check }: DomainCheck): DomainCheck {
  return check;
}

function unknownDomain(name: string): AppError {
  return new AppError('not-found', { message: `The domain ${name} is not registered` });
}

function exists(name: string): AppError {
  return new AppError('domain-exists', { field: '/Domain', message: `The domain ${name} exists already` });
}
