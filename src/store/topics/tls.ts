/** MTA-STS policies of other servers (RFC 8461). Part of the Store (`../store.ts` has the promises of all its operations). */

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

export interface TlsStore {
  /** Stores a policy and replaces the previous one. */
  putMtaSts(params: StoredMtaSts): Promise<void>;
  /** The policy of a domain, expired or not; null if none is stored. */
  getMtaSts(params: { domain: string }): Promise<StoredMtaSts | null>;
  /** Policies in force at `now` that are due for renewal, the first due first; never those of mode `none`. */
  staleMtaSts(params: { now: number; limit: number }): Promise<readonly StoredMtaSts[]>;
  /** Deletes policies that ended before `now`, at most `limit`; returns how many. */
  purgeMtaSts(params: { now: number; limit: number }): Promise<number>;
}
