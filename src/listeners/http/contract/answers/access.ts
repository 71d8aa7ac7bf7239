/** Tokens, SMTP credentials and what a caller may know of itself. Types only. */
import type { DomainStatus } from '../../../../model/domain.ts';

/** One item of GET /tokens. */
export interface TokenAnswer {
  TokenID: string;
  Name: string;
  Domains: readonly string[];
  Scopes: readonly string[];
  Sandbox: boolean;
  IPAllowList: readonly string[];
  RateLimit: number | null;
  /** TokenID of the token that made it; null = the server itself, or unknown. */
  CreatedBy: string | null;
  CreatedAt: string;
  ExpiresAt: string | null;
  LastUsedAt: string | null;
  LastUsedIP: string | null;
  RevokedAt: string | null;
}

/** POST /tokens: `Token` is shown this once. */
export interface NewTokenAnswer {
  TokenID: string;
  Token: string;
}

/** POST /tokens/{ID}/rotate: the old token is good until then. */
export interface RotatedTokenAnswer extends NewTokenAnswer {
  PreviousValidUntil: string;
}

/** DELETE /tokens/{ID}: how many of those that were made with it ended too, with `Children=true`. */
export interface RevokedTokenAnswer {
  Tokens?: number;
  Credentials?: number;
  Webhooks?: number;
}

/** An item of GET /smtp-credentials. */
export interface SmtpCredentialAnswer {
  CredentialID: string;
  Username: string;
  Name: string;
  Domain: string;
  Sandbox: boolean;
  /** Who sends with it is told of failures by mail. */
  Notices: boolean;
  IPAllowList: readonly string[];
  RateLimit: number | null;
  /** TokenID of the token that made it; null = unknown. */
  CreatedBy: string | null;
  CreatedAt: string;
  ExpiresAt: string | null;
}

/** POST /smtp-credentials: `Password` is shown this once. */
export interface NewSmtpCredentialAnswer extends SmtpCredentialAnswer {
  Password: string;
}

/** GET /me. */
export interface MeAnswer {
  TokenID: string;
  Owner: string;
  Domains: readonly { Domain: string; Status: DomainStatus | 'Unknown' }[];
  AllDomains: boolean;
  Scopes: readonly string[];
  Sandbox: boolean;
  Limits: {
    RecipientsPerMessage: number;
    AttachmentsPerMessage: number;
    BodyBytes: number;
    SendsPerSecond: number | null;
    /** Null = tokens of all domains. */
    StreamsPerTenant: number | null;
  };
  /** Of its domains. */
  Storage: readonly StorageAnswer[];
  /** Of the domains that have one. */
  Quotas: readonly QuotaAnswer[];
}

/** What a domain has on the disk. */
export interface StorageAnswer {
  Domain: string;
  Bytes: number;
  /** Null = none. */
  Limit: number | null;
}

/** What is left of one window of a domain's mail quota. */
export interface QuotaAnswer {
  Domain: string;
  Period: 'minute' | 'hour' | 'day';
  /** Recipients. */
  Limit: number;
  Remaining: number;
  ResetAt: string;
}
