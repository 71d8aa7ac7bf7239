/**
 * The doctor's checks of this server itself, in order: addresses that mail leaves from and their names
 * (instance-addresses.ts), the bounce domain (instance-bounce-domain.ts), port 25 in both directions, the resolver,
 * block lists, the machine (instance-host.ts) and what a person must do.
 *
 * Takes the configuration, a resolver, and the checks that are not DNS; returns checks in the form of those of domains.
 * Other machines are contacted only by DNS and as far as the operator configured them.
 */

import { capital } from '../../../lib/capital.ts';
import { dayOf } from '../../../lib/instant.ts';
import type { DnsAnswer, DnsFailureReason, Resolver } from '../../../net/dns-types.ts';
import { type DomainCheck, openCheck, showable } from './check.ts';
import { checkAddress, checkBlockLists, checkServerSpf } from './instance-addresses.ts';
import { checkBounceDomain } from './instance-bounce-domain.ts';
import type { InstanceFacts, InstanceProbes } from './instance-facts.ts';
import {
  checkClock,
  checkDatabase,
  checkDisk,
  checkFolder,
  checkIdentityProvider,
  checkLinks,
  checkName,
  checkNodes,
  checkOperator,
  checkSources,
  feedbackLoops,
} from './instance-host.ts';
import { checkRelay } from './instance-relay.ts';

const SOON_MS = 14 * 86_400_000;
const RESOLVER = 'resolver';

/** Every check of the instance, at last those of `examineHere`. */
export async function examineInstance(
  deps: {
    resolver: Resolver & { ns?(name: string): Promise<DnsAnswer<string>> };
    probes: InstanceProbes;
    now: number;
  },
  facts: InstanceFacts,
): Promise<DomainCheck[]> {
  const { resolver, probes, now } = deps;
  const several = await Promise.all([
    checkName(facts),
    ...facts.addresses.map((address) => checkAddress(resolver, address)),
    ...(facts.addresses.length === 0 ? [] : [checkServerSpf(resolver, facts)]),
    checkBounceDomain(resolver, facts),
    ...(facts.direct ? [checkPort25(probes)] : []),
    ...facts.relays.map((relay) => checkRelay(probes, relay)),
    checkReturns(probes, facts, now),
    checkHttps(probes, facts, now),
    checkLinks(facts),
    checkResolver(resolver, facts),
    ...facts.addresses.map(({ address }) => checkBlockLists(resolver, address, facts.blockLists)),
    checkClock(probes),
    checkOperator(facts),
    checkFolder(probes, facts),
    checkIdentityProvider(probes, facts),
    checkNodes(probes, facts),
    checkDatabase(probes),
    checkTransportReports(resolver, facts),
    feedbackLoops(facts),
  ]);
  return [...several.filter((check) => check !== null), ...(await examineHere(probes, facts))];
}

/** The checks of `examineHere`. */
export const CHECKED_HERE: ReadonlySet<string> = new Set(['certificates', 'disk', 'sources']);

/**
 * Where somebody looks at what needs attention, as alerts always do, the server is examined again after so long. That the
 * DNS gave no answer is often over before anybody is alerted.
 */
export function goodForMs(checks: readonly DomainCheck[]): number {
  return checks.some(({ id, severity }) => id === RESOLVER && severity === 'fail') ? 60_000 : 3_600_000;
}

/** Of these checks the ones that cost little and contact nobody: what they found may be over in a minute. */
export async function examineHere(
  probes: InstanceProbes,
  facts: Pick<InstanceFacts, 'dataFolder' | 'unusedIpv6'>,
): Promise<DomainCheck[]> {
  const checks = await Promise.all([
    checkCertificateFiles(probes),
    checkDisk(probes, facts),
    checkSources(probes, facts),
  ]);
  return checks.filter((check) => check !== null);
}

async function checkPort25(probes: InstanceProbes): Promise<DomainCheck> {
  const { kind, detail } = await probes.port25();
  const check = openCheck('port25', 'SMTP', 'port 25 outwards', { found: [detail] });
  if (kind === 'blocked') {
    check.fail(
      sentenceOf(detail),
      'Ask the provider to open port 25 outwards, or send through a relay (key route, for example smtp://user:password@relay.example:587).',
    );
  }
  if (kind === 'unknown') {
    check.unknown(
      `It is not known whether outgoing port 25 is open: ${showable(detail)}.`,
      'Set operator-address to an address at another provider: its mail server is then tried. Or name one of yours elsewhere in doctor-probe.',
    );
  }
  return check.done(`Port 25 is open outwards: ${showable(detail)}.`);
}

async function checkReturns(
  probes: InstanceProbes,
  { returns, bounceDomain }: InstanceFacts,
  now: number,
): Promise<DomainCheck | null> {
  if (returns === 'elsewhere') return null;
  const at = returns === 'off' ? 'off' : `${returns.host}:${returns.port}`;
  const check = openCheck('returns', 'SMTP', bounceDomain, { found: [at] });
  if (returns === 'off') {
    check.warn(
      'Bounces and complaints that come back later are not received: the key returns is off.',
      'Set the key returns, for example 0.0.0.0:25, and let the MX record of the bounce domain lead here.',
    );
    return check.done();
  }
  const facts = await probes.returns();
  const certificate = 'Set tls-cert and tls-key to a certificate for the name in the MX record.';
  switch (facts.kind) {
    case 'unreachable':
      check.fail(
        `The listener for bounces at ${at} does not answer (${showable(facts.detail)}).`,
        'Look at the log of this server, and whether another program holds the port.',
      );
      break;
    case 'no-tls':
      check.warn(`The listener for bounces offers no TLS (${showable(facts.detail)}).`, certificate);
      break;
    case 'invalid':
      check.warn(
        `The listener for bounces shows a certificate that is not trusted (${showable(facts.detail)}); bounces still arrive, except from servers that require a trusted one.`,
        certificate,
      );
      break;
    case 'valid':
      if (facts.validUntil - now < SOON_MS) {
        check.warn(
          `The certificate of the listener for bounces ends on ${dayOf(facts.validUntil)}.`,
          'Renew it; it is read again when the file changes.',
        );
      }
  }
  return check.done(`Bounces are taken at ${at}, with a good certificate.`);
}

/** Files that became unusable: the certificate before stays in use, but the next start would fail. Null: all are good. */
async function checkCertificateFiles(probes: InstanceProbes): Promise<DomainCheck | null> {
  const problems = await probes.certificateProblems();
  if (problems.length === 0) return null;
  const check = openCheck('certificates', 'HOST', 'certificate files');
  for (const problem of problems) {
    check.fail(
      showable(problem),
      'The files are read again by themselves when they change; a server does not start with files that it cannot use.',
    );
  }
  return check.done();
}

/** Whether clients of the API accept its certificate, as one of them sees it. */
async function checkHttps(
  probes: InstanceProbes,
  { https }: InstanceFacts,
  now: number,
): Promise<DomainCheck | null> {
  if (https === null) return null;
  const check = openCheck('https', 'TLS', https.host);
  const seen = await probes.https();
  const again = 'The files are read again when they change.';
  switch (seen.kind) {
    case 'unreachable':
      check.fail(
        `The listener of the API does not answer over TLS (${showable(seen.detail)}).`,
        'Look at the log of this server.',
      );
      return check.done();
    case 'invalid':
      check[/EXPIRED|ALTNAME/.test(seen.detail) ? 'fail' : 'warn'](
        `Clients that call ${showable(https.host)} do not accept the certificate of the API (${showable(seen.detail)}).`,
        `Set http-certificate to the whole chain of one for ${showable(https.host)}, or renew it. ${again}`,
      );
      return check.done();
    case 'valid': {
      const ends = `The certificate of the API ends on ${dayOf(seen.validUntil)}.`;
      if (seen.validUntil - now < SOON_MS) check.warn(ends, `Renew it. ${again}`);
      return check.done(ends);
    }
  }
}

const NAME_ANOTHER = 'name another in the key dns, or in the resolvers of the system';

/** What a resolver does that tells nothing even of a top-level domain, and what to do. */
const RESOLVER_FAILURES: Readonly<Record<DnsFailureReason, readonly [does: string, fix: string]>> = {
  refused: [
    'refuses to look up names for it',
    `Allow this server to ask it (its list of clients, recursion), or ${NAME_ANOTHER}.`,
  ],
  denied: ['denies every domain', `See why it has no way to the DNS of the internet, or ${NAME_ANOTHER}.`],
  servfail: [
    'answers that it failed, even for org',
    `See in its log why it reaches no servers of the DNS, or cannot validate them (its clock), or ${NAME_ANOTHER}.`,
  ],
  malformed: ['answers what cannot be read', `Look at what answers there, or ${NAME_ANOTHER}.`],
  timeout: ['gives no answer', `See that it runs and can be reached, or ${NAME_ANOTHER}.`],
  network: ['gives no answer', `See that it runs and can be reached, or ${NAME_ANOTHER}.`],
  local: ['cannot be asked', `Correct what is wrong at this machine, or ${NAME_ANOTHER}.`],
};

/** Whether the resolver validates answers: it is asked for a signed zone that belongs to nobody here. */
async function checkResolver(
  resolver: { ns?(name: string): Promise<DnsAnswer<string>> },
  { direct }: InstanceFacts,
): Promise<DomainCheck | null> {
  const answer = await resolver.ns?.('org');
  if (answer === undefined) return null;
  const check = openCheck(RESOLVER, 'HOST', 'resolver');
  if (answer.kind === 'failure') {
    const [does, fix] = RESOLVER_FAILURES[answer.reason];
    check.fail(`The resolver of this server ${does} (${answer.detail}).`, fix);
    return check.done();
  }
  const validates = answer.kind === 'found' && answer.secure;
  if (!validates && direct) {
    check.warn(
      'The resolver does not validate DNSSEC, or is not on this machine, so DANE cannot protect mail.',
      'Run a validating resolver on this machine and name it in the key dns, for example 127.0.0.1.',
    );
  }
  return check.done(validates ? 'The resolver validates DNSSEC, so DANE works.' : 'The resolver answers.');
}

/** Whether this server's own mail domain announces TLS; advice only. */
async function checkTransportReports(
  resolver: Pick<Resolver, 'txt'>,
  { bounceDomain, returns }: InstanceFacts,
): Promise<DomainCheck | null> {
  if (returns === 'off') return null;
  const [sts, reports] = await Promise.all([
    resolver.txt(`_mta-sts.${bounceDomain}`),
    resolver.txt(`_smtp._tls.${bounceDomain}`),
  ]);
  const has = (answer: DnsAnswer<string>, version: string) =>
    answer.kind === 'found' && answer.records.some((text) => text.startsWith(version));
  const parts = [
    has(sts, 'v=STSv1') ? 'MTA-STS is published' : 'MTA-STS is not published',
    has(reports, 'v=TLSRPTv1') ? 'TLS reports are asked for' : 'TLS reports are not asked for',
  ];
  const found = sts.kind === 'found' ? sts.records : [];
  const check = openCheck('transport', 'TXT', `_mta-sts.${bounceDomain}`, { found });
  return check.done(`For ${bounceDomain}, ${parts.join(' and ')}; both are optional.`);
}

function sentenceOf(text: string): string {
  const shown = showable(text);
  return `${capital(shown)}${shown.endsWith('.') ? '' : '.'}`;
}
