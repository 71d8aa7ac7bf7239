/**
 * Examines one sender domain: every check that docs/howto/dns-and-doctor.md lists, looked up together and judged one by
 * one.
 *
 * Takes look-ups (limited, the zone's own servers first), the domain's row and the names of this server. Returns the
 * verdict of `verifyDomain`, on which sending depends, and the checks, which only advise: nothing but the DKIM
 * record of the active key prevents sending. Stores nothing. Never rejects because of a DNS answer.
 */
import { isAtOrBelow } from '../../../mail/address-text.ts';
import type { DkimKey } from '../../../model/domain.ts';
import type { CertificateFacts } from '../../../net/certificate-probe.ts';
import type { CaaRecord, DnsAnswer } from '../../../net/dns-types.ts';
import { dkimHost, ownershipValue } from '../dns-records.ts';
import { type DomainVerification, verifyDomain } from '../verify.ts';
import { type DomainCheck, openCheck, showable } from './check.ts';
import { climbDmarc, judgeAlignment, judgeDmarc, policyOf, reportAuthorisations } from './dmarc.ts';
import { judgeReports, type ReportedSource } from './dmarc-reports.ts';
import {
  type Aliases,
  judgeAliasLoops,
  judgeBimi,
  judgeFromMx,
  judgeReturnPath,
  judgeTracking,
  judgeWildcard,
} from './hosts.ts';
import type { SendingAddress } from './instance-facts.ts';
import type { Difference, Lookups, Remembered } from './lookups.ts';
import { returnServers } from './return-servers.ts';
import { walkSpf } from './spf.ts';
import { judgeSpf, type SpfRelay } from './spf-check.ts';

export interface ExaminedDomain {
  domain: string;
  verifyToken: string;
  keys: readonly Pick<DkimKey, 'selector' | 'role' | 'publicKey'>[];
  /** The server's host in return paths, and the domain's own or null. */
  bounceDomain: string;
  returnPathHost: string | null;
  /** The domain's host for personal links, and the name that it must point to; null = none. */
  tracking: { host: string; target: string } | null;
  /** Where this server takes DMARC reports about the domain; null = nowhere. */
  reportsTo: string | null;
  /** It sends bulk mail, such as newsletters. */
  bulk: boolean;
  /** Mail is also sent from sub-domains. */
  subdomains: boolean;
  /** Where mail in its name came from, as receivers report; absent = unknown. */
  reported?: readonly ReportedSource[];
}

export interface ExamineOptions {
  /** What mail leaves from; empty = unknown, for example behind a relay. */
  addresses: readonly SendingAddress[];
  /** The SPF record that this server recommends. */
  spf: string;
  /** Relays in use. */
  relays: readonly SpfRelay[];
  /** A label that nobody has used, to find wildcards. */
  unusedLabel: string;
  now: number;
  /** Checks a host's certificate; absent = certificates are not checked. */
  certificate?: ((host: string) => Promise<CertificateFacts | null>) | undefined;
}

const MAX_CAA_CLIMB = 5;

/** One complete examination. */
export async function examineDomain(
  lookups: Lookups,
  examined: ExaminedDomain,
  options: ExamineOptions,
): Promise<DomainVerification> {
  const { domain, verifyToken, keys } = examined;
  const returnHost = examined.returnPathHost ?? examined.bounceDomain;
  const [verification, spf, dmarc, names] = await Promise.all([
    verifyDomain({ resolver: lookups, domain, verifyToken, keys }),
    examineSpf(lookups, examined, returnHost, options),
    examineDmarc(lookups, examined, returnHost),
    examineNames(lookups, examined, options),
  ]);
  const signed = verification.checks.some(
    ({ id, severity, record }) =>
      id.startsWith('dkim') &&
      severity !== 'fail' &&
      keys.some(({ role, selector }) => role === 'active' && record.name === dkimHost(selector, domain)),
  );
  const alignment = judgeAlignment({
    domain,
    climb: dmarc.climb,
    subdomains: examined.subdomains,
    returnHost,
    returnOrganisation: dmarc.returnOrganisation,
    signed,
    covered: !spf.some(({ id, severity }) => id === 'spf' && severity === 'fail'),
  });
  const checks = [
    ...verification.checks,
    ...names.returnPath,
    ...spf,
    dmarc.check,
    alignment,
    ...present([
      judgeReports(
        domain,
        examined.reported ?? [],
        options.addresses.map(({ address }) => address),
      ),
    ]),
    ...names.others,
  ];
  return {
    ...verification,
    checks: checks.map((check) => withMemory(withDifference(check, lookups.differences), lookups.remembered)),
  };
}

async function examineSpf(
  lookups: Lookups,
  { domain }: ExaminedDomain,
  returnHost: string,
  options: ExamineOptions,
): Promise<DomainCheck[]> {
  const judge = async (host: string, id: string, informational: boolean): Promise<DomainCheck> => {
    const addresses = informational ? [] : options.addresses;
    const own = isAtOrBelow(host, domain) ? lookups : lookups.others;
    const report = await walkSpf(own, lookups.others, host, addresses);
    const relays = informational ? [] : options.relays;
    return judgeSpf(report, {
      id,
      expected: informational ? '' : options.spf,
      relays,
      informational,
    });
  };
  return Promise.all([
    judge(returnHost, 'spf', false),
    ...(returnHost === domain ? [] : [judge(domain, 'spf-from', true)]),
  ]);
}

async function examineDmarc(lookups: Lookups, examined: ExaminedDomain, returnHost: string) {
  const { domain, bulk, reportsTo } = examined;
  const climb = await climbDmarc(lookups.txt, domain);
  const policy = policyOf(climb);
  const [authorisations, returnClimb] = await Promise.all([
    policy === null
      ? new Map<string, null>()
      : reportAuthorisations(lookups.others.txt, policy, climb.organisation),
    isAtOrBelow(returnHost, climb.organisation) ? null : climbDmarc(lookups.others.txt, returnHost),
  ]);
  return {
    climb,
    returnOrganisation: returnClimb?.organisation ?? climb.organisation,
    check: judgeDmarc(climb, { domain, bulk, reportsTo, authorisations }),
  };
}

async function examineNames(
  lookups: Lookups,
  examined: ExaminedDomain,
  options: ExamineOptions,
): Promise<{ returnPath: DomainCheck[]; others: DomainCheck[] }> {
  const { domain, bounceDomain, returnPathHost, tracking, keys, verifyToken } = examined;
  const unused = `${options.unusedLabel}._domainkey.${domain}`;
  const ownHosts = [
    ...(returnPathHost === null || returnPathHost === domain ? [] : [returnPathHost]),
    ...(tracking === null ? [] : [tracking.host]),
    ...keys.map(({ selector }) => dkimHost(selector, domain)),
  ];
  const [mx, a, aaaa, bimi, unusedTexts, aliases] = await Promise.all([
    lookups.mx(domain),
    lookups.a(domain),
    lookups.aaaa(domain),
    lookups.txt(`default._bimi.${domain}`),
    lookups.txt(unused),
    Promise.all(ownHosts.map(async (host) => [host, await lookups.aliases(host)] as const)),
  ]);
  const byHost = new Map<string, Aliases>(aliases);
  const [returnPath, track] = await Promise.all([
    returnPathHost === null || returnPathHost === bounceDomain
      ? null
      : examineReturnPath(lookups, returnPathHost, bounceDomain, byHost.get(returnPathHost)),
    tracking === null || tracking.host === tracking.target
      ? null
      : examineTracking(lookups, tracking, byHost.get(tracking.host), options),
  ]);
  const wildcard = judgeWildcard(domain, unused, unusedTexts, ownershipValue(verifyToken));
  return {
    returnPath: present([returnPath]),
    others: present([
      judgeFromMx({ domain, mx, addresses: [a, aaaa] }),
      track,
      judgeBimi(domain, bimi),
      judgeAliasLoops(byHost),
      wildcard,
    ]),
  };
}

function present(checks: readonly (DomainCheck | null)[]): DomainCheck[] {
  return checks.filter((check) => check !== null);
}

const NO_ALIASES: Aliases = { chain: [], loop: false };

async function examineReturnPath(
  lookups: Lookups,
  host: string,
  bounceDomain: string,
  aliases: Aliases = NO_ALIASES,
): Promise<DomainCheck> {
  const [mx, hasAddress, besideAlias, servers] = await Promise.all([
    lookups.mx(host),
    mayHaveAddress(lookups, host),
    lookups.besideAlias(host, 'MX'),
    returnServers(lookups.others, bounceDomain),
  ]);
  if (servers === null) {
    const check = openCheck('rp', 'MX', host);
    check.unanswered(bounceDomain, 'timeout');
    return check.done();
  }
  const exchanges = mx.kind === 'found' && aliases.chain.length === 0 ? mx.records.slice(0, 3) : [];
  const aliased = await Promise.all(
    exchanges
      .filter(({ exchange }) => exchange !== '')
      .map(async ({ exchange }) =>
        (await lookups.others.cname(exchange)).kind === 'found' ? [exchange] : [],
      ),
  );
  return judgeReturnPath({
    host,
    bounceDomain,
    servers,
    mx,
    hasAddress,
    aliases,
    besideAlias,
    aliasedExchanges: aliased.flat(),
  });
}

async function examineTracking(
  lookups: Lookups,
  { host, target }: { host: string; target: string },
  aliases: Aliases = NO_ALIASES,
  { certificate, now }: ExamineOptions,
): Promise<DomainCheck> {
  const leadsHere = aliases.chain.includes(target);
  const [cname, caa, shown] = await Promise.all([
    lookups.cname(host),
    climbCaa(lookups, host),
    leadsHere && certificate !== undefined ? certificate(host) : null,
  ]);
  return judgeTracking({ host, target, cname, aliases, caa, certificate: shown, now });
}

/** The CAA records that apply to a name: those of the closest name upwards that has any (RFC 8659 §3). */
async function climbCaa(lookups: Lookups, host: string): Promise<readonly CaaRecord[]> {
  let at = host;
  for (let step = 0; step < MAX_CAA_CLIMB && at.includes('.'); step++) {
    const answer: DnsAnswer<CaaRecord> = await lookups.caa(at);
    if (answer.kind === 'failure') return [];
    if (answer.kind === 'found' && answer.records.length > 0) return answer.records;
    at = at.slice(at.indexOf('.') + 1);
  }
  return [];
}

/** Adds what others still see to the check of a record. */
function withDifference(check: DomainCheck, differences: ReadonlyMap<string, Difference>): DomainCheck {
  const difference = differences.get(`${check.record.type} ${check.record.name}`);
  if (difference === undefined) return check;
  const { others, ttlSeconds } = difference;
  const seen = others.length === 0 ? 'no record there' : `"${others.slice(0, 2).map(brief).join('", "')}"`;
  return {
    ...check,
    message: `${check.message} The name servers of the zone say this; others still see ${seen} for up to ${ttlSeconds} s.`,
  };
}

/** Adds to the check of a wrong record for how long the answer may be one from before the record was changed. */
function withMemory(check: DomainCheck, remembered: ReadonlyMap<string, Remembered>): DomainCheck {
  const memory = remembered.get(`${check.record.type} ${check.record.name}`);
  if (memory === undefined || memory.seconds === 0) return check;
  if (check.severity !== 'fail' && check.severity !== 'warn') return check;
  const [what, from] =
    memory.kind === 'missing' ? ['the missing record', 'SOA minimum'] : ['an earlier record', 'TTL'];
  const howLong = memory.seconds === null ? 'for a while' : `for up to ${memory.seconds} s (${from})`;
  return {
    ...check,
    message: `${check.message} This answer came from a resolver, which may remember ${what} ${howLong}.`,
  };
}

function brief(text: string): string {
  const shown = showable(text);
  return shown.length <= 60 ? shown : `${shown.slice(0, 57)}…`;
}

/** Whether a name has an address, or one that could not be looked up. */
async function mayHaveAddress(resolver: Pick<Lookups, 'a' | 'aaaa'>, name: string): Promise<boolean> {
  const answers = await Promise.all([resolver.a(name), resolver.aaaa(name)]);
  return answers.some(({ kind }) => kind === 'found' || kind === 'failure');
}
