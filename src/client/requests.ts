/**
 * The parameters of the client's methods: names and types of the API (api-types.ts), but files may be given as bytes and
 * instants as `Date`.
 */
import type {
  AddSuppressionsRequest,
  CreateSandboxRuleRequest,
  CreateWebhookRequest,
  Email,
  EmailAddress,
  EmailAttachment,
  Queries,
} from './api-types.ts';

export type Address = EmailAddress;

export interface Attachment extends Omit<EmailAttachment, 'Content'> {
  /** The file's bytes, or the same as base64 text. */
  Content: Uint8Array | string;
}

/** POST /email. `ContentType` may be left out: HTML where there is HTMLContent, else Text. */
export interface SendRequest extends Omit<Email, 'Attachments' | 'SendAt' | 'ExpiresAt'> {
  Attachments?: readonly Attachment[];
  SendAt?: Date | string | number;
  ExpiresAt?: Date | string | number;
}

/** A query whose instants may be given as `Date`. */
type Dated<Query> = {
  [Name in keyof Query]: Name extends 'Since' | 'Until' | 'From' | 'To' ? Query[Name] | Date : Query[Name];
};

export interface PageRequest {
  /** 1 to 100, default 25. */
  Limit?: number;
  /** `NextCursor` of the previous page. */
  After?: string;
  /** For a token of several domains. */
  Domain?: string;
}

type SinceUntil = { Since?: Date | string; Until?: Date | string };

export type MessageQuery = Omit<Queries['listEmails'], keyof SinceUntil> & SinceUntil;

/** Conditions for captured mail; all that are given must be met. */
export type CaptureFilter = Omit<Queries['waitForCapture'], keyof SinceUntil | 'Timeout'> & SinceUntil;

export type CaptureQuery = CaptureFilter & PageRequest;

/** A fault that the sandbox simulates for recipients that meet all conditions. */
export type NewSandboxRule = CreateSandboxRuleRequest;

export type StatsQuery = Dated<Queries['getStats']>;

export type NewWebhook = CreateWebhookRequest;

export type SuppressionQuery = Omit<Queries['listSuppressions'], 'Since'> & { Since?: Date | string };

export type NewSuppression = Omit<AddSuppressionsRequest['Items'][number], 'ExpiresAt'> & {
  ExpiresAt?: Date | string | number;
};
