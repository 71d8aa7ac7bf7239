/**
 * The doctor's checks of this server itself (delivery.md §14): the addresses mail leaves from and their names, port 25
 * outwards and inwards, the resolver, block lists, the clock, the disk and the data folder, and what a person must do.
 *
 * Given: what the server is configured to be, a resolver, and probes for what is not DNS. Leaves behind: checks in the
 * shape of those of domains. Nobody outside is contacted but by DNS and by what the operator named.
 */
import type { CertificateFacts } from '../../../net/certificate-probe.ts';
import type { DnsAnswer, Resolver } from '../../../net/dns-types.ts';
import { reverseName } from '../../../net/ip-address.ts';
import { checkOf, type DomainCheck, type Finding, showable, unanswered } from './check.ts';
import { day } from './hosts.ts';
import { evaluateSpf, walkSpf } from './spf.ts';

/** An address that mail leaves from, and the name it gives in EHLO. */
export interface SendingAddress {
  address: string;
  ehlo: string;
}

export interface InstanceFacts {
  hostname: string;
  bounceDomain: string;
  /** Mail goes straight to the recipients' servers, or some of it does. */
  direct: boolean;
  /** Empty where nothing is sent directly, or no public address is known. */
  addresses: readonly SendingAddress[];
  /** Where bounces listen; `elsewhere`: in a process that is not this one. */
  returns: { host: string; port: number } | 'off' | 'elsewhere';
  operatorAddress: string | null;
  /** Zones of block lists that the operator may ask, keys included. */
  blockLists: readonly string[];
  dataFolder: string;
}

/** What is not DNS. Each answers in bounded time and never rejects. */
export interface InstanceProbes {
  port25(): Promise<{ kind: 'open' | 'blocked' | 'unknown'; detail: string }>;
  /** STARTTLS at the listener for bounces, from this machine. */
  returns(): Promise<CertificateFacts | { kind: 'no-tls'; detail: string }>;
  /** This clock minus a clock that the operator named; null = none named, or it did not answer. */
  clockOffsetMs(): Promise<number | null>;
  freeSpace(): Promise<{ bytes: number; share: number } | null>;
  /** Of the data folder and the secrets in it, those that others than the owner can read. */
  readableByOthers(): Promise<readonly string[]>;
}

const OFFSET_FAIL_MS = 300_000;
const OFFSET_WARN_MS = 10_000;
const SOON_MS = 14 * 86_400_000;
const LEAST_FREE_SHARE = 0.05;
const LOW_FREE_SHARE = 0.15;
/** Names that providers give to addresses nobody asked a name for. */
const GENERIC_WORDS =
  /(?:^|[.-])(?:(?:dyn(?:amic)?|dhcp|a?dsl|pool|ppp|cable|unassigned|generic)(?=[.\d]|-\d|-ip)|(?:customers?|clients?|static|rev)(?=\d|-\d|-ip))/i;

/** Every check of the instance. */
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
    ...(facts.direct ? [checkPort25(probes)] : []),
    checkReturns(probes, facts, now),
    checkResolver(resolver, facts),
    ...facts.addresses.map(({ address }) => checkBlockLists(resolver, address, facts.blockLists)),
    checkClock(probes),
    checkOperator(facts),
    checkDisk(probes, facts),
    checkFolder(probes, facts),
    checkTransportReports(resolver, facts),
    feedbackLoops(facts),
  ]);
  return several.filter((check) => check !== null);
}

function checkName({ hostname, direct, addresses }: InstanceFacts): DomainCheck {
  const findings: Finding[] = [];
  if (!hostname.includes('.') || /\.(?:local|localdomain|internal|lan|home)$/i.test(hostname)) {
    findings.push({
      severity: direct ? 'fail' : 'warn',
      message: `This server calls itself "${showable(hostname)}", which is not a name that others can look up.`,
      fix: 'Set the key hostname to its full public name, for example mail.example.com.',
    });
  }
  if (direct && addresses.length === 0) {
    findings.push({
      severity: 'warn',
      message: 'No public address of this machine is known, so its name and SPF could not be checked.',
      fix: `Publish an A record for ${showable(hostname)} with the address that mail leaves from.`,
    });
  }
  const record = {
    type: 'HOST',
    name: hostname,
    expected: '',
    found: addresses.map(({ address }) => address),
  } as const;
  return checkOf('name', record, findings, `This server is called ${hostname}.`);
}

/** Forward-confirmed reverse DNS, and the EHLO name. */
async function checkAddress(
  resolver: Pick<Resolver, 'ptr' | 'a' | 'aaaa'>,
  { address, ehlo }: SendingAddress,
): Promise<DomainCheck> {
  const id = `ptr ${address}`;
  const answer = await resolver.ptr(address);
  const names = answer.kind === 'found' ? answer.records : [];
  const record = {
    type: 'PTR',
    name: reverseName(address) ?? address,
    expected: ehlo,
    found: names,
  } as const;
  const setIt = `Let the provider of ${address} set its PTR record (reverse DNS) to ${ehlo}.`;
  if (answer.kind === 'failure') return checkOf(id, record, [unanswered(record.name, answer.reason)], '');
  const findings: Finding[] = [];
  if (names.length === 0) {
    findings.push({
      severity: 'fail',
      message: `${address} has no PTR record: large receivers refuse mail from such addresses.`,
      fix: setIt,
    });
  } else if (!names.some((name) => same(name, ehlo))) {
    findings.push({
      severity: 'warn',
      message: `${address} is called ${showable(names.slice(0, 3).join(', '))}, but says ${ehlo} in EHLO; receivers compare the two.`,
      fix: `${setIt} Or set the key hostname (or the source's ehlo) to that name.`,
    });
  }
  const generic = names.find((name) => isGeneric(name, address));
  if (generic !== undefined) {
    findings.push({
      severity: 'warn',
      message: `${showable(generic)} looks like a name for customers' lines, which many receivers refuse.`,
      fix: setIt,
    });
  }
  for (const name of new Set([...names.slice(0, 3), ehlo])) {
    const back = await (address.includes(':') ? resolver.aaaa(name) : resolver.a(name));
    if (back.kind === 'failure') findings.push(unanswered(name, back.reason));
    else if (back.kind !== 'found' || !back.records.includes(address)) {
      findings.push({
        severity: 'fail',
        message: `${showable(name)} does not lead back to ${address}${back.kind === 'found' ? ` but to ${showable(back.records.slice(0, 3).join(', '))}` : ''}, so nothing confirms the name.`,
        fix: `Publish an ${address.includes(':') ? 'AAAA' : 'A'} record for ${showable(name)} with ${address}.`,
      });
    }
  }
  return checkOf(id, record, findings, `${address} is called ${ehlo}, and that name leads back to it.`);
}

/** A name made of the address, or of words for customers' lines. */
export function isGeneric(name: string, address: string): boolean {
  if (GENERIC_WORDS.test(name)) return true;
  const parts = address.split('.');
  if (parts.length !== 4) return false;
  const numbers = (name.match(/\d+/g) ?? []).map(Number);
  // At least three of the four numbers, in whatever order.
  return parts.filter((part) => numbers.includes(Number(part))).length >= 3 && numbers.length >= 3;
}

function same(a: string, b: string): boolean {
  return a.toLowerCase().replace(/\.$/, '') === b.toLowerCase().replace(/\.$/, '');
}

/** SPF of the server's own return-path host and of its EHLO names (RFC 7208 §2.3). */
async function checkServerSpf(
  resolver: Resolver,
  { bounceDomain, addresses }: InstanceFacts,
): Promise<DomainCheck> {
  const { root, failure } = await walkSpf(resolver, resolver, bounceDomain);
  const record = { type: 'TXT', name: bounceDomain, expected: '', found: root.texts } as const;
  if (failure !== null && root.state === 'unanswered') {
    return checkOf('spf', record, [unanswered(bounceDomain, failure.reason)], '');
  }
  const missing = addresses.filter(({ address }) => {
    const result = evaluateSpf(root, address);
    return result !== '+' && result !== 'unknown';
  });
  const terms = missing.map(({ address }) => `${address.includes(':') ? 'ip6' : 'ip4'}:${address}`).join(' ');
  const findings: Finding[] =
    missing.length === 0
      ? []
      : [
          {
            severity: 'fail',
            message:
              root.state === 'none'
                ? `${bounceDomain}, where return paths are, has no SPF record.`
                : `The SPF record of ${bounceDomain}, where return paths are, does not cover ${missing.map(({ address }) => address).join(', ')}.`,
            fix:
              root.state === 'none'
                ? `Publish a TXT record at ${bounceDomain}: v=spf1 ${terms} ~all`
                : `Add ${terms} before its end.`,
          },
        ];
  return checkOf(
    'spf',
    record,
    findings,
    `The SPF record of ${bounceDomain} covers every address mail leaves from.`,
  );
}

async function checkPort25(probes: InstanceProbes): Promise<DomainCheck> {
  const { kind, detail } = await probes.port25();
  const record = { type: 'SMTP', name: 'port 25 outwards', expected: '', found: [detail] } as const;
  const fix =
    'Ask the provider to open port 25 outwards, or send through a relay (key route, for example smtp://user:password@relay.example:587).';
  const findings: Finding[] =
    kind === 'blocked' ? [{ severity: 'fail', message: sentenceOf(detail), fix }] : [];
  const fine =
    kind === 'open'
      ? `Port 25 is open outwards: ${showable(detail)}.`
      : `Whether port 25 is open outwards is not known: ${showable(detail)}. The key doctor-probe names a host to try.`;
  return checkOf('port25', record, findings, fine);
}

async function checkReturns(
  probes: InstanceProbes,
  { returns, bounceDomain }: InstanceFacts,
  now: number,
): Promise<DomainCheck | null> {
  if (returns === 'elsewhere') return null;
  const at = returns === 'off' ? 'off' : `${returns.host}:${returns.port}`;
  const record = { type: 'SMTP', name: bounceDomain, expected: '', found: [at] } as const;
  if (returns === 'off') {
    const finding = {
      severity: 'warn',
      message: 'Bounces and complaints that come back later are not received: the key returns is off.',
      fix: 'Set the key returns, for example 0.0.0.0:25, and let the MX record of the bounce domain lead here.',
    } as const;
    return checkOf('returns', record, [finding], '');
  }
  const facts = await probes.returns();
  const findings: Finding[] = [];
  const certificate = 'Set tls-cert and tls-key to a certificate for the name in the MX record.';
  switch (facts.kind) {
    case 'unreachable':
      findings.push({
        severity: 'fail',
        message: `The listener for bounces at ${at} does not answer (${showable(facts.detail)}).`,
        fix: 'Look at the log of this server, and whether another program holds the port.',
      });
      break;
    case 'no-tls':
      findings.push({
        severity: 'warn',
        message: `The listener for bounces offers no TLS (${showable(facts.detail)}).`,
        fix: certificate,
      });
      break;
    case 'invalid':
      findings.push({
        severity: 'warn',
        message: `The listener for bounces shows a certificate that is not trusted (${showable(facts.detail)}); bounces come all the same, but not from who insists on a good one.`,
        fix: certificate,
      });
      break;
    case 'valid':
      if (facts.validUntil - now < SOON_MS) {
        findings.push({
          severity: 'warn',
          message: `The certificate of the listener for bounces ends on ${day(facts.validUntil)}.`,
          fix: 'Renew it; it is read again when the file changes.',
        });
      }
  }
  return checkOf('returns', record, findings, `Bounces are taken at ${at}, with a good certificate.`);
}

/** Whether answers are validated: asked of a zone that is signed for ever and belongs to nobody here. */
async function checkResolver(
  resolver: { ns?(name: string): Promise<DnsAnswer<string>> },
  { direct }: InstanceFacts,
): Promise<DomainCheck | null> {
  const answer = await resolver.ns?.('org');
  if (answer === undefined) return null;
  const record = { type: 'HOST', name: 'resolver', expected: '', found: [] } as const;
  if (answer.kind === 'failure') {
    const finding = {
      severity: 'fail',
      message: `The resolver of this server does not answer (${answer.reason}).`,
      fix: 'Correct the key dns, or the resolvers of the system.',
    } as const;
    return checkOf('resolver', record, [finding], '');
  }
  const validates = answer.kind === 'found' && answer.secure;
  const finding: Finding = {
    severity: 'warn',
    message: 'The resolver does not validate DNSSEC, or is not on this machine, so DANE cannot protect mail.',
    fix: 'Run a validating resolver on this machine and name it in the key dns, for example 127.0.0.1.',
  };
  return checkOf(
    'resolver',
    record,
    validates || !direct ? [] : [finding],
    validates ? 'The resolver validates DNSSEC, so DANE works.' : 'The resolver answers.',
  );
}

/** `127.255.255.x` says that the list does not answer us, not that the address is listed. */
async function checkBlockLists(
  resolver: Pick<Resolver, 'a'>,
  address: string,
  zones: readonly string[],
): Promise<DomainCheck | null> {
  const reversed = reverseName(address)?.replace(/\.(?:in-addr|ip6)\.arpa$/, '');
  if (zones.length === 0 || reversed === undefined) return null;
  const findings: Finding[] = [];
  const found: string[] = [];
  let clear = 0;
  for (const zone of zones) {
    // The first labels may be a key, which is nobody else's to see.
    const shown = zone.split('.').slice(-3).join('.');
    const answer = await resolver.a(`${reversed}.${zone}`);
    if (answer.kind === 'failure') {
      findings.push({ severity: 'warn', message: `The block list ${shown} did not answer.`, fix: '' });
      continue;
    }
    const codes = answer.kind === 'found' ? answer.records : [];
    found.push(...codes.map((code) => `${shown} ${code}`));
    if (codes.some((code) => code.startsWith('127.255.255.'))) {
      findings.push({
        severity: 'warn',
        message: `The block list ${shown} refuses to answer this resolver (${codes.join(', ')}); that says nothing about ${address}.`,
        fix: 'Ask it through a resolver of your own, with the key that the list gave you (key doctor-dnsbl).',
      });
    } else if (codes.some((code) => code.startsWith('127.'))) {
      findings.push({
        severity: 'fail',
        message: `${address} is listed at ${shown} (${codes.join(', ')}).`,
        fix: 'Find out why at the site of the list, end it, and then ask for removal.',
      });
    } else clear += 1;
  }
  const record = { type: 'A', name: address, expected: 'not listed', found } as const;
  return checkOf(
    `dnsbl ${address}`,
    record,
    findings,
    `${address} is not listed (${clear} of ${zones.length} block lists asked answered so).`,
  );
}

async function checkClock(probes: InstanceProbes): Promise<DomainCheck> {
  const offset = await probes.clockOffsetMs();
  const record = { type: 'HOST', name: 'clock', expected: '', found: [] } as const;
  if (offset === null) {
    return checkOf(
      'clock',
      record,
      [],
      'Whether the clock is right is not known; the key doctor-clock names one to compare with.',
    );
  }
  const seconds = Math.round(Math.abs(offset) / 1000);
  const finding: Finding = {
    severity: Math.abs(offset) >= OFFSET_FAIL_MS ? 'fail' : 'warn',
    message: `The clock is ${seconds} s ${offset > 0 ? 'ahead' : 'behind'}: dates, tokens and signatures are wrong by that.`,
    fix: 'Let the system set its clock (NTP).',
  };
  return checkOf(
    'clock',
    record,
    Math.abs(offset) >= OFFSET_WARN_MS ? [finding] : [],
    `The clock is right to ${seconds} s.`,
  );
}

function checkOperator({ operatorAddress, bounceDomain, returns }: InstanceFacts): DomainCheck {
  const record = {
    type: 'HOST',
    name: `postmaster@${bounceDomain}`,
    expected: '',
    found: operatorAddress === null ? [] : [operatorAddress],
  } as const;
  const finding: Finding = {
    severity: 'warn',
    message: `Nobody reads postmaster@${bounceDomain} and abuse@${bounceDomain}, which every mail domain must have (RFC 2142).`,
    fix: 'Set the key operator-address to the address of a person.',
  };
  return checkOf(
    'operator',
    record,
    operatorAddress === null ? [finding] : [],
    returns === 'off'
      ? `Mail for postmaster and abuse goes to ${operatorAddress} once the key returns is set.`
      : `Mail for postmaster and abuse goes to ${operatorAddress}.`,
  );
}

async function checkDisk(probes: InstanceProbes, { dataFolder }: InstanceFacts): Promise<DomainCheck> {
  const free = await probes.freeSpace();
  const record = { type: 'HOST', name: dataFolder, expected: '', found: [] } as const;
  if (free === null) return checkOf('disk', record, [], 'How much disk is free could not be found out.');
  const share = `${(free.share * 100).toFixed(0)} % (${(free.bytes / 2 ** 30).toFixed(1)} GiB)`;
  const finding: Finding = {
    severity: free.share < LEAST_FREE_SHARE ? 'fail' : 'warn',
    message:
      free.share < LEAST_FREE_SHARE
        ? `Only ${share} of the disk is free: no mail is accepted.`
        : `Only ${share} of the disk is free; below 5 % no mail is accepted.`,
    fix: 'Make room, or shorten retain-content and retain-events.',
  };
  return checkOf(
    'disk',
    record,
    free.share < LOW_FREE_SHARE ? [finding] : [],
    `${share} of the disk is free.`,
  );
}

async function checkFolder(probes: InstanceProbes, { dataFolder }: InstanceFacts): Promise<DomainCheck> {
  const open = await probes.readableByOthers();
  const record = { type: 'HOST', name: dataFolder, expected: '', found: open } as const;
  const finding: Finding = {
    severity: 'fail',
    message: `Others on this machine can read ${showable(open.slice(0, 5).join(', '))}, where keys and tokens lie.`,
    fix: `chmod -R go-rwx ${showable(dataFolder)}`,
  };
  return checkOf('data', record, open.length === 0 ? [] : [finding], 'Nobody else can read the data folder.');
}

/** Whether this server's own mail domain asks for TLS towards it; advice only. */
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
  const record = {
    type: 'TXT',
    name: `_mta-sts.${bounceDomain}`,
    expected: '',
    found: sts.kind === 'found' ? sts.records : [],
  } as const;
  return checkOf('transport', record, [], `For ${bounceDomain}, ${parts.join(' and ')}; both are optional.`);
}

/** What no program can look up. */
function feedbackLoops({ direct, operatorAddress }: InstanceFacts): DomainCheck | null {
  if (!direct) return null;
  const record = { type: 'HOST', name: 'feedback loops', expected: '', found: [] } as const;
  return checkOf(
    'feedback',
    record,
    [],
    `Enrol once, by hand: Yahoo's Complaint Feedback Loop (by DKIM domain), Microsoft's SNDS and JMRP (by address), Google Postmaster Tools (by domain). Reports go to ${operatorAddress ?? 'the address in the key operator-address'} or to abuse@ of the bounce domain.`,
  );
}

function sentenceOf(text: string): string {
  const shown = showable(text);
  return `${shown.charAt(0).toUpperCase()}${shown.slice(1)}${shown.endsWith('.') ? '' : '.'}`;
}
