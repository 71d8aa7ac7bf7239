/** Sender domains and their DKIM keys. Part of the Store (`../store.ts` says what all its operations promise). */
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
    /** Over the defaults. */
    settings: DomainSettingsPatch;
    keys: readonly DkimKey[];
    now: number;
    /** Taken in the same transaction where something is made; rejects with KeyTaken where it is taken already. */
    idempotency?: IdempotencyEntry;
  }): Promise<{ kind: 'added'; domain: Domain } | { kind: 'exists' }>;
  getDomain(params: { name: string }): Promise<Domain | null>;
  /** By name ascending. `domains` undefined = all. */
  listDomains(params: {
    domains?: readonly string[];
    /** Only names behind this one. */
    after?: string;
    limit: number;
  }): Promise<readonly Domain[]>;
  /** Those that are Failing or Suspended, by name. `domains` undefined = all. */
  failingDomains(params: { domains?: readonly string[]; limit: number }): Promise<readonly FailingDomain[]>;
  /** Whether a domain names this host as its return-path host. */
  isReturnHost(params: { host: string }): Promise<boolean>;
  /**
   * null where the domain is gone, or is another one of that name by its token (then no event is stored either). `checks` null keeps the last ones and the time of
   * them; the first Verified sets verifiedAt; updatedAt moves with the status only.
   */
  setDomainStatus(params: {
    name: string;
    /** Of the domain that was looked at: it may have been removed and added again meanwhile. */
    verifyToken: string;
    status: DomainStatus;
    verifiedBy: 'dns' | 'operator' | null;
    failingSince: number | null;
    checks: string | null;
    /** Replaces those kept; null or left out keeps them. */
    changes?: string | null;
    now: number;
    events: readonly NewEvent[];
  }): Promise<Domain | null>;
  /** Changes the settings that are named and moves updatedAt; null where the domain is gone. */
  updateDomain(params: { name: string; settings: DomainSettingsPatch; now: number }): Promise<Domain | null>;
  /**
   * Lets the standby key `selector` sign from now on; the active one is retired. Moves updatedAt. null, and nothing
   * changes, where the domain has no standby key of that name.
   */
  rotateDomainKey(params: { name: string; selector: string; now: number }): Promise<Domain | null>;
  /**
   * Replaces a key that retired at or before `retiredBefore` by a new standby. Moves updatedAt. null, and nothing
   * changes, where there is no such key, or a standby already.
   */
  replaceRetiredKey(params: {
    name: string;
    retiredBefore: number;
    key: DkimKey;
    now: number;
  }): Promise<Domain | null>;
  /**
   * Takes its keys, webhooks and templates with it, so that whoever adds the name later inherits nothing; mail and events
   * stay.
   */
  removeDomain(params: { name: string }): Promise<boolean>;
}
