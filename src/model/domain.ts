/** A sender domain. Tokens decide who may send from it; its keys sign its mail. */

import { NO_QUOTA, type QuotaLimits } from './quota.ts';

export type DomainStatus = 'Pending' | 'Verified' | 'Failing' | 'Suspended';

export interface DkimKey {
  selector: string;
  /**
   * `active` signs; `standby` is published and waits for the next rotation; `retired` no longer signs, but stays
   * published so that mail on its way can still be verified.
   */
  role: 'active' | 'standby' | 'retired';
  /** PKCS#8 DER, encrypted (lib/seal.ts). */
  privateSealed: Uint8Array;
  /** SubjectPublicKeyInfo DER in base64: the `p=` of the record. */
  publicKey: string;
  createdAt: number;
  /** When it stopped signing; null for the other roles. */
  retiredAt: number | null;
}

/** What an owner can set for a domain. */
export interface DomainSettings {
  /** Whether sub-domains of it may send too. */
  subdomains: boolean;
  /** How long its mail is kept, in days; null = the server's setting. */
  retention: { contentDays: number | null; eventDays: number | null };
  /** Its mail waits if verified TLS is not available. */
  requireTls: boolean;
  /** A recipient with an unknown outcome counts as failed and is not tried again. */
  atMostOnce: boolean;
  /** How many recipients it may send to; null in a member = the server's setting. */
  quota: QuotaLimits;
  /** Host of the return paths of its mail; null = the server's. */
  returnPathHost: string | null;
  /** Which opens and clicks are tracked if a message does not say. */
  tracking: { opens: boolean; clicks: boolean };
  /** Whether its normal mail has the unsubscribe header if a message does not say. */
  listUnsubscribe: boolean;
  /** Host of its personal links, reached over https; null = the server's public URL. */
  trackingHost: string | null;
}

/** Members that are absent keep their value, also inside a group such as `retention`. */
export type DomainSettingsPatch = {
  [Name in keyof DomainSettings]?: DomainSettings[Name] extends object
    ? Partial<DomainSettings[Name]>
    : DomainSettings[Name];
};

/** The settings of a domain without any choice of its owner. */
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

/** `base` with the members of `patch`. */
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
  /** Who verified it: the `dns` checks, the `operator` (--verified), or nobody yet. */
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
  /** Recent changes between checks, newest first, as JSON text, or null. */
  changes: string | null;
  keys: DkimKey[];
}
