/** A sender domain: who may send from it is decided by tokens, how it is signed by its keys. */

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

export interface Domain {
  id: number;
  /** Lower-case A-label. */
  name: string;
  status: DomainStatus;
  /** Who vouched: `dns` look-ups, the `operator` (--verified), or nobody yet. */
  verifiedBy: 'dns' | 'operator' | null;
  /** 32 hexadecimal digits, published in the ownership record. */
  verifyToken: string;
  /** Whether sub-domains of it may send too. */
  subdomains: boolean;
  createdAt: number;
  updatedAt: number;
  verifiedAt: number | null;
  failingSince: number | null;
  lastCheckedAt: number | null;
  /** The last check's results as JSON text, or null. */
  lastChecks: string | null;
  keys: DkimKey[];
}
