/**
 * What is remembered about TLS at other servers: MTA-STS policies and the days' counters (RFC 8461, RFC 8460). Part of
 * the Store (`../store.ts` says what all its operations promise).
 */

/** An MTA-STS policy as it was fetched. */
export interface StoredMtaSts {
  /** Lower case. */
  domain: string;
  /** Of the TXT record that announced it. */
  policyId: string;
  mode: 'enforce' | 'testing' | 'none';
  mx: readonly string[];
  maxAgeSeconds: number;
  fetchedAt: number;
  /** fetchedAt and max_age; afterwards it means nothing. */
  expiresAt: number;
  /** When it is to be fetched again although nobody asks. */
  renewAt: number;
  /** How often in a row that has failed. */
  renewFailures: number;
}

/** RFC 8460 §4.2. */
export type TlsPolicyType = 'tlsa' | 'sts' | 'no-policy-found';

/** Success, or the failures of RFC 8460 §4.3. */
export type TlsResult =
  | 'success'
  | 'starttls-not-supported'
  | 'certificate-host-mismatch'
  | 'certificate-expired'
  | 'certificate-not-trusted'
  | 'validation-failure'
  | 'tlsa-invalid'
  | 'dnssec-invalid'
  | 'sts-policy-fetch-error'
  | 'sts-policy-invalid'
  | 'sts-webpki-invalid';

/** How many sessions of one day (UTC) ended how. */
export interface TlsCount {
  /** `2026-05-31`. */
  day: string;
  /** The recipient domain whose policy it was. */
  domain: string;
  policy: TlsPolicyType;
  /** '' where no server was reached. */
  mxHost: string;
  result: TlsResult;
  sessions: number;
}

export interface TlsStore {
  /** Remembers a policy in place of the one before. */
  putMtaSts(params: StoredMtaSts): Promise<void>;
  /** The policy of a domain, expired or not; null where none is remembered. */
  getMtaSts(params: { domain: string }): Promise<StoredMtaSts | null>;
  /** Policies in force at `now` that are to be renewed by then, the first due first; never those of mode `none`. */
  staleMtaSts(params: { now: number; limit: number }): Promise<readonly StoredMtaSts[]>;
  /** Adds to the counters of their days. */
  addTlsCounts(params: { counts: readonly TlsCount[] }): Promise<void>;
  /** Counters from a day on, of one domain or of all; by day, domain, policy, host and result. */
  tlsCounts(params: { fromDay: string; domain?: string; limit: number }): Promise<readonly TlsCount[]>;
  /** Forgets policies that ended before `now` and counters of days before `beforeDay`; how many of both, at most `limit` each. */
  purgeTls(params: { now: number; beforeDay: string; limit: number }): Promise<number>;
}
