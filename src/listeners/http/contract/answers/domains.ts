/** Sender domains: their DNS records, what checks of them found, their settings. Types only. */
import type { DomainStatus } from '../../../../model/domain.ts';

/** A DNS record to publish, and how it was found at the last check. */
export interface DnsRecordItem {
  Type: string;
  Host: string;
  Value: string;
  Purpose: string;
  Required: boolean;
  /** `Unknown` before the first check, and for records that are only suggested. */
  Status: 'Unknown' | 'Ok' | 'Warning' | 'Failed';
}

/** One check of a domain and what it found. */
export interface DomainCheckItem {
  Name: string;
  /** `Unknown`: the check could not be made. */
  Status: 'Ok' | 'Unknown' | 'Warning' | 'Failed';
  /** Kind of record that was looked up. */
  Type: string;
  Host: string;
  Expected: string;
  Found: readonly string[];
  /** What was found, in plain words. */
  Message: string;
  /** What to do, '' where nothing is. */
  Fix: string;
  /** Mail of the domain does not leave until this is ok. */
  BlocksSending: boolean;
}

/** One check that came, went, became better or worse, or whose record reads otherwise. */
export interface DomainChangeItem {
  Name: string;
  /** null: it came. */
  From: DomainCheckItem['Status'] | null;
  /** null: it went. */
  To: DomainCheckItem['Status'] | null;
  Message: string;
  At: string;
}

/** What its owner chose for a domain: shown with it, read by POST /domains and PATCH /domains/{name}. */
export interface DomainSettingsAnswer {
  /** Its sub-domains may send too. */
  Subdomains: boolean;
  /** Days; null = as the server is set. */
  Retention: { ContentDays: number | null; EventDays: number | null };
  RequireTls: boolean;
  AtMostOnce: boolean;
  /** Recipients; null = as the server is set. */
  Quota: { PerMinute: number | null; PerHour: number | null; PerDay: number | null };
  /** '' = the server's. */
  ReturnPathHost: string;
  Tracking: { Opens: boolean; Clicks: boolean };
  ListUnsubscribe: boolean;
  /** '' = the server's public URL. */
  TrackingHost: string;
}

/** What came back of a domain's last 1000 outcomes. */
export interface DomainReturns {
  /** `Hold`: its bulk mail waits. */
  Level: 'Ok' | 'Warn' | 'Hold';
  Outcomes: number;
  Bounced: number;
  Complained: number;
  /** '' for Ok. */
  Reason: string;
}

/** One item of GET /domains; answer of POST /domains. */
export interface DomainAnswer extends DomainSettingsAnswer {
  Domain: string;
  Status: DomainStatus;
  VerifiedBy: 'dns' | 'operator' | null;
  CreatedAt: string;
  UpdatedAt: string;
  VerifiedAt: string | null;
  FailingSince: string | null;
  LastCheckedAt: string | null;
  DnsRecords: readonly DnsRecordItem[];
  /** What the last check found, item by item; empty before the first. */
  Checks: readonly DomainCheckItem[];
  /** What changed between checks lately, newest first. */
  Changes: readonly DomainChangeItem[];
  /** null: nothing came back lately. */
  Returns: DomainReturns | null;
}
