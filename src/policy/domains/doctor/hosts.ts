/**
 * Checks of the other hosts of a sender domain: the return-path host, the MX of the domain itself, the tracking host
 * with its certificate, and wildcards or loops that make other answers meaningless (rp, from-mx, track, bimi,
 * cname-loop, wildcard). Pure: given the look-ups, each function returns one check.
 */

import { dayOf } from '../../../lib/instant.ts';
import type { CertificateFacts } from '../../../net/certificate-probe.ts';
import type { CaaRecord, DnsAnswer, MxRecord } from '../../../net/dns-types.ts';
import { parseIp } from '../../../net/ip-address.ts';
import { mayIssue } from './authorities.ts';
import { type DomainCheck, type OpenCheck, openCheck, showable } from './check.ts';

export interface Aliases {
  chain: readonly string[];
  loop: boolean;
}

const DAY_MS = 86_400_000;
const SOON_MS = 14 * DAY_MS;

/**
 * Where bounces of the domain's mail arrive. It fails only if they arrive nowhere, because many receivers then refuse
 * the mail itself.
 */
export function judgeReturnPath(params: {
  host: string;
  /** The host of the server's own return paths. */
  bounceDomain: string;
  /** Hosts that take its mail: those of its MX, and itself if it has an address. */
  servers: readonly string[];
  mx: DnsAnswer<MxRecord>;
  /** `host` has an address, or may have one. */
  hasAddress: boolean;
  aliases: Aliases;
  /** The name has a CNAME together with other records. */
  besideAlias: boolean;
  /** Whether an MX host is itself an alias, for each host. */
  aliasedExchanges: readonly string[];
}): DomainCheck {
  const { host, bounceDomain, servers, mx, hasAddress, aliases, besideAlias, aliasedExchanges } = params;
  const [server = bounceDomain] = servers;
  const records = mx.kind === 'found' ? mx.records : [];
  const found = [
    ...aliases.chain.map((target) => `CNAME ${target}`),
    ...records.map(({ preference, exchange }) => `${preference} ${exchange}`),
  ];
  const check = openCheck('rp', 'MX', host, { expected: `10 ${server}`, found });
  const fix =
    servers.length === 0
      ? `Publish an A record at ${bounceDomain} with the address of this server, and an MX record at ${host} with the value 10 ${bounceDomain}.`
      : `Publish an MX record at ${host} with the value 10 ${server}.`;
  const byAlias = servers.length > 0 && aliases.chain.includes(bounceDomain);
  const byMx = records.some(({ exchange }) => servers.includes(exchange));
  // It is the server itself, by its own address.
  const isServer = records.length === 0 && hasAddress && servers.includes(host);
  const toNowhere = records.some(({ exchange }) => exchange === bounceDomain);
  if (besideAlias) {
    check.warn(
      `${host} has a CNAME beside other records, which no name may have: some resolvers see one, some the other.`,
      `Remove the CNAME at ${host}.`,
    );
  }
  const literal = records.find(({ exchange }) => parseIp(exchange) !== undefined);
  if (literal !== undefined) {
    check.warn(
      `The MX record of ${host} holds the address ${literal.exchange}; it must hold a name (RFC 5321 §5.1).`,
      fix,
    );
  }
  for (const exchange of aliasedExchanges) {
    check.warn(
      `The MX record of ${host} names ${showable(exchange)}, which is an alias (CNAME); some servers refuse that (RFC 2181 §10.3).`,
      'Name the host itself in the MX record.',
    );
  }
  if (!byAlias && !byMx && !isServer) {
    const takesMail = records.length === 0 ? hasAddress : records.some(({ exchange }) => exchange !== '');
    if (mx.kind === 'failure') check.unanswered(host, mx.reason);
    else if (!takesMail) {
      check.fail(
        `${host} has ${records.length === 0 ? 'neither an MX record nor an address' : 'a null MX'}, so bounces of this domain's mail are lost, and many receivers refuse it.`,
        fix,
      );
    } else {
      check.warn(
        records.length === 0
          ? `${host} has no MX record, so bounces go to its own address, which may be another server.`
          : toNowhere
            ? `The MX record of ${host} names ${bounceDomain}, which has no address, so bounces of this domain's mail are lost.`
            : `The MX records of ${host} do not name ${server}, so bounces go elsewhere.`,
        records.length === 0 || toNowhere
          ? fix
          : // One more record beside them would lead a part of the other mail here.
            `Replace the MX records of ${host} by one with the value 10 ${server}. If other mail goes there, set ReturnPathHost to a host that takes no other mail.`,
      );
    }
  }
  return check.done(`Bounces to ${host} come to this server.`);
}

/** Whether mail to the From domain can be delivered. */
export function judgeFromMx(params: {
  domain: string;
  mx: DnsAnswer<MxRecord>;
  /** Answers of A and AAAA; only looked up without MX. */
  addresses: readonly DnsAnswer<string>[];
}): DomainCheck {
  const { domain, mx, addresses } = params;
  const records = mx.kind === 'found' ? mx.records : [];
  const hosts = addresses.flatMap((answer) => (answer.kind === 'found' ? answer.records : []));
  const found = [...records.map(({ preference, exchange }) => `${preference} ${exchange || '.'}`), ...hosts];
  const check = openCheck('from-mx', 'MX', domain, { found });
  if (mx.kind === 'failure') check.unanswered(domain, mx.reason);
  else if (records.length > 0 && records.every(({ exchange }) => exchange === '')) {
    check.fail(
      `${domain} has a null MX, which says that it takes no mail: many receivers refuse such senders, and replies fail.`,
      `Publish an MX record at ${domain} that names a server for its mail.`,
    );
  } else if (
    records.length === 0 &&
    addresses.every(({ kind }) => kind === 'no-data' || kind === 'no-name')
  ) {
    check.fail(
      `${domain} has neither an MX record nor an address: many receivers refuse such senders, and replies fail.`,
      `Publish an MX record at ${domain} that names a server for its mail.`,
    );
  } else if (records.length === 0 && hosts.length === 0) {
    check.unanswered(domain, 'timeout');
  }
  return check.done(
    records.length > 0
      ? `Replies to ${domain} have a place to go.`
      : `${domain} has no MX record; replies go to its own address, which works.`,
  );
}

/** Where personal links of the domain point, and whether browsers trust the certificate there. */
export function judgeTracking(params: {
  host: string;
  /** Name of this server. */
  target: string;
  cname: DnsAnswer<string>;
  aliases: Aliases;
  caa: readonly CaaRecord[];
  /** null: not checked. */
  certificate: CertificateFacts | null;
  now: number;
}): DomainCheck {
  const { host, target, cname, aliases, caa, certificate, now } = params;
  const check = openCheck('track', 'CNAME', host, { expected: target, found: aliases.chain });
  const leadsHere = aliases.chain.includes(target);
  const publish = `Publish a CNAME record at ${host} with the value ${target}, and a certificate for ${host} in front of this server.`;
  if (!leadsHere) {
    if (cname.kind === 'failure') check.unanswered(host, cname.reason);
    else if (aliases.chain.length === 0) {
      check.warn(
        `${host} has no CNAME record, so links and pixels in this domain's mail lead nowhere.`,
        publish,
      );
    } else {
      check.warn(
        `The CNAME record of ${host} does not name ${target}, so links and pixels lead elsewhere.`,
        publish,
      );
    }
  }
  const issuers = caa
    .filter(({ tag }) => tag === 'issue')
    .map(({ value }) => value.split(';')[0]?.trim() ?? '');
  if (issuers.length > 0 && issuers.every((issuer) => issuer === '')) {
    check.warn(
      `The CAA record for ${host} forbids every authority to issue a certificate, so links cannot use https.`,
      `Name your authority in a CAA record at ${host}, for example: 0 issue "letsencrypt.org"`,
    );
  }
  if (leadsHere && certificate !== null) judgeCertificate(host, certificate, now, issuers, check);
  return check.done(
    certificate?.kind === 'valid'
      ? `Links on ${host} lead to this server, with a certificate until ${dayOf(certificate.validUntil)}.`
      : `Links on ${host} lead to this server.`,
  );
}

function judgeCertificate(
  host: string,
  certificate: CertificateFacts,
  now: number,
  issuers: readonly string[],
  check: OpenCheck,
): void {
  switch (certificate.kind) {
    case 'unreachable':
      check.warn(
        `${host} cannot be reached by https from here (${showable(certificate.detail)}), so links may not open.`,
        `Let a web server with a certificate for ${host} pass requests on to this server.`,
      );
      return;
    case 'invalid':
      check.warn(
        `The certificate of ${host} is not valid (${showable(certificate.detail)}), so browsers stop readers before the link.`,
        `Get a certificate for ${host}${issuers.some((name) => name !== '') ? ` from ${issuers.filter((name) => name !== '').join(' or ')}, which its CAA record allows` : ''}.`,
      );
      return;
    case 'valid':
      if (issuers.length > 0 && certificate.issuer !== undefined) {
        if (mayIssue(certificate.issuer, issuers) === false) {
          const { issuer } = certificate;
          check.warn(
            `The certificate of ${host} was issued by ${showable(issuer)}, which its CAA records do not allow, so it cannot be renewed there.`,
            `Name that authority in a CAA record too, or get the next certificate from ${issuers.join(' or ')}.`,
          );
        }
      }
      if (certificate.validUntil - now < SOON_MS) {
        check.warn(
          `The certificate of ${host} ends on ${dayOf(certificate.validUntil)}.`,
          'Renew it, and see why that does not happen by itself.',
        );
      }
  }
}

/** Information only: the logo that some receivers show beside the mail. */
export function judgeBimi(domain: string, answer: DnsAnswer<string>): DomainCheck {
  const name = `default._bimi.${domain}`;
  const found = answer.kind === 'found' ? answer.records.filter((text) => /^v=BIMI1\b/i.test(text)) : [];
  const check = openCheck('bimi', 'TXT', name, { found });
  if (answer.kind === 'failure') check.unanswered(name, answer.reason);
  return check.done(
    found.length > 0
      ? 'A logo is published (BIMI); receivers show it where DMARC refuses or quarantines forgeries.'
      : 'No logo is published (BIMI); nothing is wrong with that.',
  );
}

/** CNAMEs that form a loop. */
export function judgeAliasLoops(hosts: ReadonlyMap<string, Aliases>): DomainCheck | null {
  const loops = [...hosts].filter(([, { loop }]) => loop);
  const [first] = loops;
  if (first === undefined) return null;
  const check = openCheck('cname-loop', 'CNAME', first[0], { found: first[1].chain });
  for (const [host, { chain }] of loops) {
    check.fail(
      `The CNAME of ${showable(host)} is a loop or too long (${[host, ...chain].slice(0, 6).map(showable).join(' → ')}), so nothing can be found there.`,
      `Let the CNAME at ${showable(host)} name its target directly.`,
    );
  }
  return check.done();
}

/** `name`: a random name; a record there means that every name has one. */
export function judgeWildcard(
  domain: string,
  name: string,
  answer: DnsAnswer<string>,
  ownership: string,
): DomainCheck | null {
  const texts = answer.kind === 'found' ? answer.records : [];
  if (texts.length === 0) return null;
  const ours = texts.some((text) => text.includes(ownership));
  const check = openCheck('wildcard', 'TXT', name, { expected: 'no record', found: texts });
  check[ours ? 'fail' : 'warn'](
    `A wildcard TXT record of ${domain} answers every name${ours ? ', even with our own record: verification would be meaningless' : ', so a missing record looks like a wrong one'}.`,
    `Remove the record *.${domain} of type TXT, or give it a name of its own.`,
  );
  return check.done();
}
