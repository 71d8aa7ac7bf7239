/** What the client's methods take: the API's own names, as docs/reference/api.md describes them. */
import type { RuleResultWord } from '../listeners/http/contract/answers/sandbox.ts';

export interface Address {
  email: string;
  name?: string;
}

export interface Attachment {
  Filename: string;
  /** The file's bytes, or the same as base64 text. */
  Content: Uint8Array | string;
  /** Default: by the file's name. */
  Type?: string;
  Disposition?: 'attachment' | 'inline';
  /** `cid:` in the HTML; required for inline files. */
  ContentId?: string;
}

/** POST /email. `ContentType` may be left out: HTML where there is HTMLContent, else Text. */
export interface SendRequest {
  From: Address;
  To: readonly Address[];
  CC?: readonly Address[];
  /** Nobody but the sender ever sees these. */
  BCC?: readonly Address[];
  ReplyTo?: readonly Address[];
  /** Needed unless a template supplies it. */
  Subject?: string;
  ContentType?: 'HTML' | 'Text';
  HTMLContent?: string;
  /** Left out beside HTML: made from it. `''`: no text part. */
  PlainContent?: string;
  Tags?: readonly string[];
  Headers?: Readonly<Record<string, string>>;
  Attachments?: readonly Attachment[];
  /** `critical` for one-time codes, `bulk` for newsletters. */
  Priority?: 'critical' | 'normal' | 'bulk';
  SendAt?: Date | string;
  ExpiresAt?: Date | string;
  /** In events and webhooks, never in the mail. */
  Metadata?: Readonly<Record<string, string>>;
  Tracking?: { Opens?: boolean; Clicks?: boolean };
  ListUnsubscribe?: boolean;
  TemplateID?: string;
  Variables?: Readonly<Record<string, unknown>>;
  Sandbox?: boolean | { Result: string };
}

export interface PageRequest {
  /** 1 to 100, default 25. */
  Limit?: number;
  /** `NextCursor` of the page before. */
  After?: string;
  /** For a token of several domains. */
  Domain?: string;
}

export interface MessageQuery extends PageRequest {
  From?: string;
  To?: string;
  Subject?: string;
  Tag?: string;
  Status?: string;
  Since?: Date;
  Until?: Date;
}

/** What captured mail is searched by; all that is given must hold. */
export interface CaptureFilter {
  /** The `+label` of the recipient's address, else the name of the token that sent it. */
  Inbox?: string;
  From?: string;
  To?: string;
  /** Held by the subject, in any case. */
  Subject?: string;
  /** Held by the subject or by what can be read, in any case. */
  Text?: string;
  Tag?: string;
  HasAttachment?: boolean;
  Since?: Date;
  Until?: Date;
  /** For a token of several domains. */
  Domain?: string;
}

export interface CaptureQuery extends CaptureFilter, PageRequest {}

/** A fault that the sandbox plays for recipients that fit all that is named. */
export interface NewSandboxRule {
  Result: RuleResultWord;
  /** Sender domain; needed where the token holds several. */
  Domain?: string;
  Inbox?: string;
  /** An address, or `*` and how it ends: `*@example.net`. */
  Recipient?: string;
  Subject?: string;
  Tag?: string;
  /** Of Defer: how often before it is delivered; 1. */
  Defers?: number;
  /** Before the first try. */
  DelayMs?: number;
  /** SMTP reply: 5xx for a bounce, 4xx for Defer. */
  Code?: number;
  /** RFC 3463, e.g. `5.1.1`. */
  Enhanced?: string;
  Text?: string;
  /** Of a recipient that fits, above 0 to 1. */
  Probability?: number;
  /** Recipients it is used for; all where left out. */
  Times?: number;
  /** Seconds; a day. */
  ExpiresIn?: number;
}

export interface StatsQuery {
  From?: Date;
  To?: Date;
  Interval?: 'hour' | 'day';
  GroupBy?: 'Tag' | 'Domain' | 'RecipientDomain';
  Domain?: string;
}

export interface NewWebhook {
  /** Token of the events, or all; this or `Events`. */
  Event?: string;
  /** Several of them. */
  Events?: readonly string[];
  WebhookURL: string;
  Description?: string;
  Domain?: string;
}

export interface NewSuppression {
  Email: string;
  Reason?: string;
  Note?: string;
  ExpiresAt?: Date | string;
}
