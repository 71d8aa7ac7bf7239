/**
 * Facts about TLS of other servers: MTA-STS policies and daily counters (RFC 8461, RFC 8460). Part of the Store
 * (`../store.ts` has the promises of all its operations).
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
  /** fetchedAt plus max_age; after that it is not used. */
  expiresAt: number;
  /** When it must be fetched again without a request for it. */
  renewAt: number;
  /** Consecutive failures of that. */
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

/** How many sessions of one day (UTC) had one result. */
export interface TlsCount {
  /** `2026-05-31`. */
  day: string;
  /** The recipient domain whose policy it was. */
  domain: string;
  policy: TlsPolicyType;
  /** '' if no server was reached. */
  mxHost: string;
  result: TlsResult;
  sessions: number;
}

export interface TlsStore {
  /** Stores a policy and replaces the previous one. */
  putMtaSts(params: StoredMtaSts): Promise<void>;
  /** The policy of a domain, expired or not; null if none is stored. */
  getMtaSts(params: { domain: string }): Promise<StoredMtaSts | null>;
  /** Policies in force at `now` that are due for renewal, the first due first; never those of mode `none`. */
  staleMtaSts(params: { now: number; limit: number }): Promise<readonly StoredMtaSts[]>;
  /** Adds to the counters of their days. */
  addTlsCounts(params: { counts: readonly TlsCount[] }): Promise<void>;
  /** Counters from a day on, of one domain or of all; by day, domain, policy, host and result. */
  tlsCounts(params: { fromDay: string; domain?: string; limit: number }): Promise<readonly TlsCount[]>;
  /**
   * Deletes policies that ended before `now` and counters of days before `beforeDay`; returns how many of both, at most
   * `limit` each.
   */
  purgeTls(params: { now: number; beforeDay: string; limit: number }): Promise<number>;
}
