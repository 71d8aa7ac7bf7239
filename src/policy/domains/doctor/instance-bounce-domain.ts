/**
 * The doctor's check of the bounce domain, the host of this server's own return paths: whether bounces have a place to
 * go, which many receivers require of a sender's domain too, and whether that place is this server. Takes look-ups and
 * the configuration; returns one check, or null if no mail leaves this server.
 */
import type { DnsAnswer, MxRecord, Resolver } from '../../../net/dns-types.ts';
import { type DomainCheck, type Finding, openCheck, showable, unanswered } from './check.ts';
import type { InstanceFacts } from './instance-facts.ts';

/** A host that takes mail. */
interface MailHost {
  name: string;
  addresses: readonly string[];
  /** That an address could not be looked up. */
  silence: readonly Finding[];
}

const MAX_HOSTS = 10;

/** Where mail to the bounce domain goes. */
export async function checkBounceDomain(
  resolver: Pick<Resolver, 'mx' | 'a' | 'aaaa'>,
  facts: InstanceFacts,
): Promise<DomainCheck | null> {
  const { bounceDomain, hostname, direct, relays } = facts;
  if (!direct && relays.length === 0) return null;
  const mx = await resolver.mx(bounceDomain);
  const records = mx.kind === 'found' ? mx.records.slice(0, MAX_HOSTS) : [];
  const found = records.map(({ preference, exchange }) => `${preference} ${exchange || '.'}`);
  const open = openCheck('bounce-domain', 'MX', bounceDomain, { expected: `10 ${hostname}`, found });
  const check = (findings: readonly Finding[], fine = '') => {
    open.add(findings);
    return open.done(fine);
  };
  if (mx.kind === 'failure') return check([unanswered(bounceDomain, mx.reason)]);
  // Without MX, mail goes to the address of the name itself (RFC 5321 §5.1).
  const names = mx.kind === 'found' ? records.map(({ exchange }) => exchange) : [bounceDomain];
  const [server, ...hosts] = await Promise.all([
    lookUp(resolver, hostname),
    ...names.filter((name) => name !== '').map((name) => lookUp(resolver, name)),
  ]);
  if (hosts.every(({ addresses }) => addresses.length === 0)) {
    const silence = hosts.flatMap((host) => host.silence);
    return check(silence.length > 0 ? silence : [nowhere(facts, mx, hosts)]);
  }
  const own = [...facts.addresses.map(({ address }) => address), ...server.addresses];
  const shown = shownNames(hosts);
  const here = hosts.some(({ addresses }) => addresses.some((address) => own.includes(address)));
  if (here || typeof facts.returns === 'string')
    return check([], `Bounces to ${bounceDomain} go to ${shown}.`);
  const silence = [server, ...hosts].flatMap((host) => host.silence);
  if (silence.length > 0) return check(silence);
  return check([
    {
      severity: 'warn',
      message: `Bounces to ${bounceDomain} go to ${shown}, which has no address that is known as one of this server.`,
      fix: `${publish(facts)} Nothing needs to be done if ${shown} passes this mail on to the listener for bounces.`,
    },
  ]);
}

async function lookUp(resolver: Pick<Resolver, 'a' | 'aaaa'>, name: string): Promise<MailHost> {
  const answers = await Promise.all([resolver.a(name), resolver.aaaa(name)]);
  return {
    name,
    addresses: answers.flatMap((answer) => (answer.kind === 'found' ? answer.records : [])),
    silence: answers.flatMap((answer) => (answer.kind === 'failure' ? unanswered(name, answer.reason) : [])),
  };
}

function shownNames(hosts: readonly MailHost[]): string {
  return hosts
    .slice(0, 3)
    .map(({ name }) => showable(name))
    .join(', ');
}

/** The finding for a bounce domain to which no mail can be sent. */
function nowhere(facts: InstanceFacts, mx: DnsAnswer<MxRecord>, hosts: readonly MailHost[]): Finding {
  const { bounceDomain, hostname, direct } = facts;
  const what =
    mx.kind !== 'found'
      ? `${bounceDomain}, the host of the return paths, has neither an MX record nor an address`
      : hosts.length === 0
        ? `${bounceDomain}, the host of the return paths, has a null MX, which says that it takes no mail`
        : `The MX records of ${bounceDomain}, the host of the return paths, name ${shownNames(hosts)}, without an address`;
  const fix = hosts.some(({ name }) => name === hostname)
    ? `Publish an A record at ${hostname} with the address of this server.`
    : publish(facts);
  return {
    severity: direct ? 'fail' : 'warn',
    message: `${what}: bounces cannot arrive, and many receivers refuse mail from such senders.`,
    fix: direct ? fix : `${fix} A relay that puts its own return path in place of ours needs nothing here.`,
  };
}

function publish({ bounceDomain, hostname }: InstanceFacts): string {
  return `Publish an MX record at ${bounceDomain} with the value 10 ${hostname}.`;
}
