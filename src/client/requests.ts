/**
 * What the client's methods take: the API's own names and types (api-types.ts), with bytes for base64 and dates for
 * instants where that is kinder.
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

/** A query with a Date wherever an instant is meant. */
type Dated<Query> = {
  [Name in keyof Query]: Name extends 'Since' | 'Until' | 'From' | 'To' ? Query[Name] | Date : Query[Name];
};

export interface PageRequest {
  /** 1 to 100, default 25. */
  Limit?: number;
  /** `NextCursor` of the page before. */
  After?: string;
  /** For a token of several domains. */
  Domain?: string;
}

type SinceUntil = { Since?: Date | string; Until?: Date | string };

export type MessageQuery = Omit<Queries['listEmails'], keyof SinceUntil> & SinceUntil;

/** What captured mail is searched by; all that is given must hold. */
export type CaptureFilter = Omit<Queries['waitForCapture'], keyof SinceUntil | 'Timeout'> & SinceUntil;

export type CaptureQuery = CaptureFilter & PageRequest;

/** A fault that the sandbox plays for recipients that fit all that is named. */
export type NewSandboxRule = CreateSandboxRuleRequest;

export type StatsQuery = Dated<Queries['getStats']>;

export type NewWebhook = CreateWebhookRequest;

export type SuppressionQuery = Omit<Queries['listSuppressions'], 'Since'> & { Since?: Date | string };

export type NewSuppression = Omit<AddSuppressionsRequest['Items'][number], 'ExpiresAt'> & {
  ExpiresAt?: Date | string | number;
};
