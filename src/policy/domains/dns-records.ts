/**
 * The DNS records that a sender domain publishes: what to enter in a DNS panel, and the same as lines of a zone file.
 * Takes the domain's row and the host of return paths; looks nothing up. Verification uses the same names and values,
 * so what is shown is what is checked.
 */
import { isAtOrBelow } from '../../mail/address-text.ts';
import type { DkimKey } from '../../model/domain.ts';
import { spfText } from './relay-spf.ts';

/** The purpose of a record, for the owner and the dashboard. */
export type DnsRecordPurpose = 'Ownership' | 'DKIM' | 'SPF' | 'DMARC' | 'ReturnPath' | 'Tracking';

/** Required: without it the domain is not verified, or its mail is held. Recommended: mail fares worse without it. */
export type DnsRecordNeed = 'Required' | 'Recommended' | 'Optional';

/** One record as the API and the dashboard show it. */
export interface DnsRecord {
  Type: 'TXT' | 'MX' | 'CNAME';
  /** Full name without trailing dot; `relativeHost` returns the form that most panels need. */
  Host: string;
  /**
   * MX: preference and host. CNAME: the target. TXT: the whole text in one piece, without quotes, however long; a panel
   * or `zoneSnippet` splits it.
   */
  Value: string;
  Purpose: DnsRecordPurpose;
  /** If the domain already has a record that is not required, it stays and ours is merged into it. */
  Need: DnsRecordNeed;
  /** What it is for, and what follows without it. */
  Why: string;
}

/** RFC 1035 §3.3: a character-string holds at most 255 octets. */
const STRING_OCTETS = 255;
const ZONE_TTL_SECONDS = 3600;

/** Name of the ownership record. */
export function ownershipHost(domain: string): string {
  return `_postrider-verify.${domain}`;
}

/** Text of the ownership record; `verifyToken`: 32 hexadecimal digits. */
export function ownershipValue(verifyToken: string): string {
  return `postrider-verify=${verifyToken}`;
}

/** Name of a selector's key record (RFC 6376 §3.6.2.1). */
export function dkimHost(selector: string, domain: string): string {
  return `${selector}._domainkey.${domain}`;
}

/** Text of a selector's key record; `publicKey`: the `p=` value of an RSA key. */
export function dkimValue(publicKey: string): string {
  return `v=DKIM1; k=rsa; p=${publicKey}`;
}

/**
 * The records of a domain: ownership, one per DKIM key in the given order, where bounces of its own return path go,
 * then suggestions for SPF and DMARC. `bounceDomain`: the host in return paths. SPF is checked there (RFC 7208 §2.4);
 * if that host is not under the domain, the suggestion is for the domain itself, which some receivers check as well.
 */
export function domainRecords(params: {
  domain: string;
  verifyToken: string;
  keys: readonly Pick<DkimKey, 'selector' | 'role' | 'publicKey'>[];
  /** The operator vouches for it: it sends whatever is published. */
  vouched?: boolean;
  bounceDomain: string;
  /** The domain's own host for return paths, or null. */
  returnPathHost: string | null;
  /** The host that takes the mail of the bounce domain; absent: that domain itself. */
  returnServer?: string;
  /** The domain's own host for personal links, and the server's name that it must point to; absent or null = none. */
  tracking?: { host: string; target: string } | null;
  /** Where this server takes DMARC reports about the domain; absent or null = nowhere. */
  reportsTo?: string | null;
  /** Names that SPF must include for the relays in use; absent = none. */
  spfIncludes?: readonly string[];
}): readonly DnsRecord[] {
  const { domain, verifyToken, keys, bounceDomain, returnPathHost } = params;
  const tracking = params.tracking ?? null;
  const reportsTo = params.reportsTo ?? null;
  const returnServer = params.returnServer ?? bounceDomain;
  const spfHost = returnPathHost ?? (isAtOrBelow(bounceDomain, domain) ? bounceDomain : domain);
  return [
    {
      Type: 'TXT',
      Host: ownershipHost(domain),
      Value: ownershipValue(verifyToken),
      Purpose: 'Ownership',
      Need: 'Optional',
      Why: 'Proves that the domain is yours. The DKIM record of the active key proves it too, and only that one is needed.',
    },
    ...keys.map(
      (key): DnsRecord => ({
        Type: 'TXT',
        Host: dkimHost(key.selector, domain),
        Value: dkimValue(key.publicKey),
        Purpose: 'DKIM',
        ...needOfKey(key.role, params.vouched ?? false),
      }),
    ),
    ...(returnPathHost === null || returnPathHost === bounceDomain || returnPathHost === returnServer
      ? []
      : [
          {
            Type: 'MX',
            Host: returnPathHost,
            Value: `10 ${returnServer}`,
            Purpose: 'ReturnPath',
            Need: 'Recommended',
            Why: `Bounces of its mail come back by it: without it they are lost, and many receivers refuse the mail. A CNAME to ${bounceDomain} does the same.`,
          } as const,
        ]),
    ...(tracking === null || tracking.host === tracking.target
      ? []
      : [
          {
            Type: 'CNAME',
            Host: tracking.host,
            Value: tracking.target,
            Purpose: 'Tracking',
            Need: 'Recommended',
            Why: 'Personal links and pixels in its mail use this host: without it they lead nowhere.',
          } as const,
        ]),
    {
      Type: 'TXT',
      Host: spfHost,
      Value: spfText(bounceDomain, params.spfIncludes),
      Purpose: 'SPF',
      ...needOfSpf(spfHost, returnPathHost ?? bounceDomain),
    },
    {
      Type: 'TXT',
      Host: `_dmarc.${domain}`,
      Value: dmarcValue(reportsTo),
      Purpose: 'DMARC',
      Need: 'Recommended',
      Why: `Says what receivers do with forged mail. Large receivers refuse or delay newsletters of domains without it.${reportsTo === null ? '' : ' Their reports come to this server, which shows them.'}`,
    },
  ];
}

/** The DMARC record to begin with. `reportsTo`: where this server takes reports about the domain; null = nowhere. */
export function dmarcValue(reportsTo: string | null): string {
  return `v=DMARC1; p=none${reportsTo === null ? '' : `; rua=mailto:${reportsTo}`}`;
}

const WHY_KEY = {
  active: 'The active key: the domain is verified by it, and its mail is held two days after it is gone.',
  vouched:
    'The active key: receivers check signatures with it. Mail is sent without it too, because an operator vouched for the domain, until a check sees it.',
  standby: 'The next key. Keys can be rotated only while it is published; mail does not wait for it.',
  retired: 'The key before this one: signatures of mail on its way are still checked with it.',
} as const;

/** Verification asks for the active key alone (verify.ts). */
function needOfKey(role: DkimKey['role'], vouched: boolean): Pick<DnsRecord, 'Need' | 'Why'> {
  const Why = WHY_KEY[role === 'active' && vouched ? 'vouched' : role];
  return { Need: role === 'active' && !vouched ? 'Required' : 'Recommended', Why };
}

function needOfSpf(host: string, returnHost: string): Pick<DnsRecord, 'Need' | 'Why'> {
  return host === returnHost
    ? {
        Need: 'Recommended',
        Why: 'Says which servers may send with this host in the return path. Many receivers look for it.',
      }
    : {
        Need: 'Optional',
        Why: `Return paths use ${returnHost}, where receivers look for SPF; some look here as well.`,
      };
}

/**
 * `host` as a panel for `zone` expects it: only the part before the zone, `@` for the zone itself. A name outside the
 * zone is returned complete with a trailing dot, which panels and zone files read as absolute.
 */
export function relativeHost(host: string, zone: string): string {
  if (host === zone) return '@';
  return isAtOrBelow(host, zone) ? host.slice(0, -(zone.length + 1)) : `${host}.`;
}

/** The records as lines of a zone file (RFC 1035 §5.1) with complete names, texts in quoted strings of ≤ 255 octets. */
export function zoneSnippet(records: readonly Pick<DnsRecord, 'Type' | 'Host' | 'Value'>[]): string {
  return records
    .map(({ Type, Host, Value }) => {
      const data = Type === 'MX' || Type === 'CNAME' ? `${Value}.` : quotedStrings(Value);
      return `${Host}. ${ZONE_TTL_SECONDS} IN ${Type} ${data}\n`;
    })
    .join('');
}

/** A text as quoted character-strings, each of at most 255 octets before escaping (RFC 1035 §5.1). */
export function quotedStrings(value: string): string {
  const octets = Buffer.from(value);
  const strings: string[] = [];
  for (let at = 0; at < octets.length || at === 0; at += STRING_OCTETS) {
    let text = '';
    for (const octet of octets.subarray(at, at + STRING_OCTETS)) {
      const char = String.fromCharCode(octet);
      if (char === '"' || char === '\\') text += `\\${char}`;
      else if (octet < 0x20 || octet > 0x7e) text += `\\${String(octet).padStart(3, '0')}`;
      else text += char;
    }
    strings.push(`"${text}"`);
  }
  return strings.length === 1 ? (strings[0] as string) : `( ${strings.join(' ')} )`;
}
