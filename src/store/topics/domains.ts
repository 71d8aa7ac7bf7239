/** Sender domains and their DKIM keys. Part of the Store (`../store.ts` has the promises of all its operations). */
import type { DkimKey, Domain, DomainSettingsPatch, DomainStatus } from '../../model/domain.ts';
import type { IdempotencyEntry } from './acceptance.ts';
import type { NewEvent } from './events.ts';

export interface FailingDomain
  extends Pick<Domain, 'name' | 'status' | 'failingSince' | 'updatedAt' | 'lastChecks'> {
  /** Recipients that wait or are being sent to. */
  unfinished: number;
}

export interface DomainStore {
  addDomain(params: {
    name: string;
    status: DomainStatus;
    verifiedBy: 'dns' | 'operator' | null;
    verifyToken: string;
    /** Changes to the defaults. */
    settings: DomainSettingsPatch;
    keys: readonly DkimKey[];
    now: number;
    /** Stored in the same transaction if something is created; rejects with KeyTaken if it is taken. */
    idempotency?: IdempotencyEntry | undefined;
  }): Promise<{ kind: 'added'; domain: Domain } | { kind: 'exists' }>;
  getDomain(params: { name: string }): Promise<Domain | null>;
  /** By name ascending. `domains` undefined = all. */
  listDomains(params: {
    domains?: readonly string[];
    /** Only names behind this one. */
    after?: string;
    limit: number;
  }): Promise<readonly Domain[]>;
  /**
   * At most `limit` whose names contain `search` (lower case), by name ascending, and `after` of the next look, null =
   * that was all. It may be empty and still continue, if `look` was reached first. `domains` undefined = of all.
   */
  searchDomains(params: {
    search: string;
    domains?: readonly string[];
    after?: string;
    limit: number;
    /** The most names that are examined. */
    look: number;
  }): Promise<{ domains: readonly Domain[]; next: string | null }>;
  /** Those that are Failing or Suspended, by name. `domains` undefined = all. */
  failingDomains(params: { domains?: readonly string[]; limit: number }): Promise<readonly FailingDomain[]>;
  /** Whether a domain names this host as its return-path host. */
  isReturnHost(params: { host: string }): Promise<boolean>;
  /**
   * null if the domain was removed, or the current domain with this name has another token (then no event is stored).
   * `checks` null keeps the last ones and their time; the first Verified sets verifiedAt; updatedAt changes only with
   * the status.
   */
  setDomainStatus(params: {
    name: string;
    /** Of the domain that was checked: it may have been removed and added again meanwhile. */
    verifyToken: string;
    status: DomainStatus;
    verifiedBy: 'dns' | 'operator' | null;
    failingSince: number | null;
    checks: string | null;
    /** Replaces the stored ones; null or absent keeps them. */
    changes?: string | null;
    now: number;
    events: readonly NewEvent[];
  }): Promise<Domain | null>;
  /** Changes the given settings and updates updatedAt; null if the domain was removed. */
  updateDomain(params: { name: string; settings: DomainSettingsPatch; now: number }): Promise<Domain | null>;
  /**
   * Makes the standby key `selector` sign from now on; the active one is retired. Updates updatedAt. null, without a
   * change, if the domain has no standby key of this name.
   */
  rotateDomainKey(params: { name: string; selector: string; now: number }): Promise<Domain | null>;
  /**
   * Replaces a key that retired at or before `retiredBefore` by a new standby key. Updates updatedAt. null, without a
   * change, if there is no such key, or already a standby key.
   */
  replaceRetiredKey(params: {
    name: string;
    retiredBefore: number;
    key: DkimKey;
    now: number;
  }): Promise<Domain | null>;
  /**
   * Also removes its keys, webhooks and templates, so that somebody who adds the name later inherits nothing; mail and
   * events stay.
   */
  removeDomain(params: { name: string }): Promise<boolean>;
}
