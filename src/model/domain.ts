/** A sender domain: who may send from it is decided by tokens, how it is signed by its keys. */

import { NO_QUOTA, type QuotaLimits } from './quota.ts';

export type DomainStatus = 'Pending' | 'Verified' | 'Failing' | 'Suspended';

export interface DkimKey {
  selector: string;
  /**
   * `active` signs; `standby` is published and waits for the next rotation; `retired` signs no more, and stays
   * published so that mail under way can still be verified.
   */
  role: 'active' | 'standby' | 'retired';
  /** PKCS#8 DER, sealed at rest. */
  privateSealed: Uint8Array;
  /** SubjectPublicKeyInfo DER in base64: the `p=` of the record. */
  publicKey: string;
  createdAt: number;
  /** When it stopped signing; null for the other roles. */
  retiredAt: number | null;
}

/** What its owner may choose for a domain; the words of the API are in `listeners/http/contract/domain-settings.ts`. */
export interface DomainSettings {
  /** Whether sub-domains of it may send too. */
  subdomains: boolean;
  /** How long its mail is kept, in days; null = as the server is set. */
  retention: { contentDays: number | null; eventDays: number | null };
  /** Its mail waits where verified TLS cannot be had. */
  requireTls: boolean;
  /** A recipient whose outcome is unknown has failed, and is not tried again. */
  atMostOnce: boolean;
  /** Recipients it may send to; null in a member = as the server is set. */
  quota: QuotaLimits;
  /** Host of the return paths of its mail; null = the server's. */
  returnPathHost: string | null;
  /** What is told about its readers where a message says nothing. */
  tracking: { opens: boolean; clicks: boolean };
  /** Its normal mail has the unsubscribe header where a message says nothing. */
  listUnsubscribe: boolean;
  /** Host of its personal links, reached over https; null = the server's public URL. */
  trackingHost: string | null;
}

/** Members that are not named keep their value, also inside a group such as `retention`. */
export type DomainSettingsPatch = {
  [Name in keyof DomainSettings]?: DomainSettings[Name] extends object
    ? Partial<DomainSettings[Name]>
    : DomainSettings[Name];
};

/** The settings of a domain for which nothing was chosen. */
export const DEFAULT_DOMAIN_SETTINGS: DomainSettings = {
  subdomains: false,
  retention: { contentDays: null, eventDays: null },
  requireTls: false,
  atMostOnce: false,
  quota: NO_QUOTA,
  returnPathHost: null,
  tracking: { opens: false, clicks: false },
  listUnsubscribe: false,
  trackingHost: null,
};

/** `base` with what `patch` names. */
export function mergeSettings(base: DomainSettings, patch: DomainSettingsPatch): DomainSettings {
  return {
    ...base,
    ...patch,
    retention: { ...base.retention, ...patch.retention },
    quota: { ...base.quota, ...patch.quota },
    tracking: { ...base.tracking, ...patch.tracking },
  };
}

export interface Domain {
  id: number;
  /** Lower-case A-label. */
  name: string;
  status: DomainStatus;
  /** Who vouched: `dns` look-ups, the `operator` (--verified), or nobody yet. */
  verifiedBy: 'dns' | 'operator' | null;
  /** 32 hexadecimal digits, published in the ownership record. */
  verifyToken: string;
  settings: DomainSettings;
  createdAt: number;
  updatedAt: number;
  verifiedAt: number | null;
  failingSince: number | null;
  lastCheckedAt: number | null;
  /** The last check's results as JSON text, or null. */
  lastChecks: string | null;
  /** What changed between checks lately, newest first, as JSON text, or null. */
  changes: string | null;
  keys: DkimKey[];
}
