/** What GET /doctor answers: every check of this server and its sender domains. Types only. */
import type { DomainStatus } from '../../../../model/domain.ts';
import type { DomainChangeItem, DomainCheckItem } from './domains.ts';

/** One domain of GET /doctor. */
export interface DoctorDomainItem {
  Domain: string;
  Status: DomainStatus;
  CheckedAt: string | null;
  Checks: readonly DomainCheckItem[];
  /** Newest first. */
  Changes: readonly DomainChangeItem[];
  /** Its records as lines of a zone file. */
  Zone: string;
}

/** GET /doctor. */
export interface DoctorAnswer {
  CheckedAt: string;
  /** This server itself. */
  Instance: readonly DomainCheckItem[];
  Domains: readonly DoctorDomainItem[];
}
