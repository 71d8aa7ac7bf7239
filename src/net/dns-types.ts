/**
 * Results of DNS look-ups. The four kinds are separate because mail treats them differently (RFC 5321 §5.1): only
 * NODATA allows the implicit MX, only NXDOMAIN is permanent, a failure is always temporary.
 */

/** `local`: this machine could not ask; the detail says what to do. */
export type DnsFailureReason =
  | 'timeout'
  | 'servfail'
  | 'refused'
  | 'denied'
  | 'malformed'
  | 'network'
  | 'local';

export type DnsAnswer<T> =
  /**
   * At least one record. `secure`: the AD bit of a resolver that is trusted to validate. `alias`: the name is an alias, and the
   * records are those of this name.
   */
  | ({ kind: 'found'; records: readonly T[]; secure: boolean; alias?: string } & Lifetime)
  /** NODATA: the name exists, this type does not. */
  | ({ kind: 'no-data'; secure: boolean } & Lifetime)
  /** NXDOMAIN: the name does not exist. */
  | ({ kind: 'no-name'; secure: boolean } & Lifetime)
  /** No usable answer: SERVFAIL, REFUSED, time-out, malformed. Says nothing about the name. */
  | { kind: 'failure'; reason: DnsFailureReason; detail: string };

/** How long an answer may be used. */
interface Lifetime {
  /** Here: between the limits of the cache. */
  ttlSeconds: number;
  /**
   * How long the resolver that was asked may go on giving this answer: the TTL, or for a missing record the SOA's (RFC 2308 §5).
   * Absent: not known, or a server of the zone answered.
   */
  resolverTtlSeconds?: number;
}

export interface MxRecord {
  preference: number;
  /** Lower case, no trailing dot; '' for the root, i.e. a null MX (RFC 7505). */
  exchange: string;
}

/** A TLSA record: which TLS certificate is valid for a name (RFC 6698 §2.1). */
export interface TlsaRecord {
  /** 0–3; only 2 (DANE-TA) and 3 (DANE-EE) are used for SMTP (RFC 7672 §3.1). */
  usage: number;
  /** 0 the whole certificate, 1 its public key. */
  selector: number;
  /** 0 exact, 1 SHA-256, 2 SHA-512. */
  matching: number;
  data: Uint8Array;
}

/** Who may issue certificates for a name (RFC 8659 §4). */
export interface CaaRecord {
  /** Lower case: `issue`, `issuewild`, `iodef`, … */
  tag: string;
  value: string;
}

/** Look-ups of one type each. Names are A-labels, case-insensitive, without trailing dot. None throws. */
export interface Resolver {
  mx(name: string): Promise<DnsAnswer<MxRecord>>;
  /** Each record's character-strings joined into one string (RFC 7208 §3.3). */
  txt(name: string): Promise<DnsAnswer<string>>;
  /** IPv4 addresses in dotted form. */
  a(name: string): Promise<DnsAnswer<string>>;
  /** IPv6 addresses in compressed form. */
  aaaa(name: string): Promise<DnsAnswer<string>>;
  cname(name: string): Promise<DnsAnswer<string>>;
  /** Names of an address. */
  ptr(address: string): Promise<DnsAnswer<string>>;
}

/** Look-ups for a sender domain, the asker; '' = for this server itself. Where many wait, askers take turns. */
export interface ResolverByAsker<Names extends keyof Resolver> {
  of(asker: string): Pick<Resolver, Names>;
}
