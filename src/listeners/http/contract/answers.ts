/**
 * The JSON shapes this API answers with: types only, so that the dashboard and other clients can import them without
 * taking code along. Names are the wire's names. Shapes marked "frozen" never gain or lose a member.
 * It is one piece, though long, because clients copy or import it as one, and no line of it does anything.
 */
import type { Bounce, BounceScope } from '../../../model/bounce.ts';
import type { MessageStatus, RecipientStatus } from '../../../model/delivery.ts';
import type { DomainStatus } from '../../../model/domain.ts';
import type { RecipientKind } from '../../../model/message.ts';
import type { SuppressionReason } from '../../../model/suppression.ts';
import type { DisabledReason, WebhookStatus } from '../../../model/webhook.ts';

/** Every error answer (RFC 9457 and two dialects beside it). */
export interface ProblemBody {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  Error: string;
  Errors: readonly {
    Code: number;
    Name: string;
    Message: string;
    Field?: string;
    /** Where in a template, from 1. */
    Line?: number;
    Column?: number;
  }[];
}

/** A page of a list; `NextCursor` is null on the last one. */
export interface Page<T> {
  Items: readonly T[];
  HasMore: boolean;
  NextCursor: string | null;
}

/** POST /email. Frozen. */
export interface EmailAnswer {
  MessageID: string;
}

/** One item of GET /webhooks. Frozen. */
export interface WebhookRecord {
  WebhookID: number;
  CreatedAt: string;
  UpdatedAt: string;
  Status: WebhookStatus;
  WebhookURL: string;
  Event: string;
  LastResponseCode: number;
  LastResponseBody: string;
  LastResponseAt: string;
  LastResponseTryCounter: number;
}

/** GET /webhooks. Frozen. */
export interface WebhookList {
  Webhooks: readonly WebhookRecord[];
}

/** POST /webhooks. Frozen; `Secret` is shown this once. */
export interface NewWebhookAnswer {
  NewWebhookID: number;
  Secret: string;
}

/** GET /webhooks/{id}. */
export interface WebhookDetail extends WebhookRecord {
  Domain: string;
  Description: string;
  DisabledReason: DisabledReason | null;
  FailingSince: string | null;
  LastError: string;
  LastLatencyMs: number | null;
  /** Calls that wait or are on their way, counted to 10 000. */
  Pending: number;
  /** The last four characters of the secret. */
  SecretHint: string;
}

/** POST /webhooks/{id}/secret: `Secret` is shown this once; the one before signs too until then. */
export interface WebhookSecretAnswer {
  Secret: string;
  PreviousValidUntil: string;
}

/** One item of GET /webhooks/{id}/deliveries. */
export interface WebhookCall {
  DeliveryID: number;
  EventID: string;
  Status: 'Pending' | 'Sending' | 'Succeeded' | 'Failed';
  Tries: number;
  ResponseCode: number;
  Error: string;
  CreatedAt: string;
  UpdatedAt: string;
}

/** POST /webhooks/{id}/test. */
export interface WebhookTest {
  StatusCode: number;
  LatencyMs: number;
  Body: string;
  Error: string;
}

/** `[name, email]`. */
export type AddressPair = readonly [name: string, email: string];

/** One item of GET /events. Frozen. */
export interface EventRecord {
  Event: string;
  /** Unix seconds. */
  LoggedAt: number;
  LogLevel: 'Info' | 'Warn' | 'Error';
  Message: {
    Headers: {
      MessageId: string;
      From: readonly AddressPair[];
      ReplyTo: readonly AddressPair[];
      To: readonly AddressPair[];
      Cc: readonly AddressPair[];
      Bcc: readonly AddressPair[];
      Subject: string;
    };
    Size: number;
    Transport: 'smtp' | 'sandbox';
  };
  Recipient: string;
  Reason: string;
  Ip: string;
  Geolocation: { City: string; Region: string; Country: string };
}

/** GET /events. Frozen. */
export interface EventList {
  /** Exact up to 10 000, then 10 000. */
  TotalRecords: number;
  Events: readonly EventRecord[];
}

/** Events by kind in PascalCase (`Accepted`, `Delivered`, …). */
export type StatsCounts = Readonly<Record<string, number>>;

/** Shares from 0 to 1; null where there is nothing to divide by. */
export interface StatsRates {
  /** Of those that were delivered, bounced or failed; the same for the next two. */
  Delivered: number | null;
  Bounced: number | null;
  Failed: number | null;
  /** Events per delivered recipient; may be above 1. The same for the next three. */
  Opened: number | null;
  Clicked: number | null;
  Complained: number | null;
  Unsubscribed: number | null;
}

export interface StatsInterval {
  At: string;
  Counts: StatsCounts;
  Rates: StatsRates;
}

export interface StatsFigures {
  Counts: StatsCounts;
  Rates: StatsRates;
  /** Those with events, by time. */
  Intervals: readonly StatsInterval[];
}

/** GET /stats. */
export interface StatsAnswer {
  From: string;
  To: string;
  Interval: 'hour' | 'day';
  GroupBy: 'Tag' | 'Domain' | 'RecipientDomain' | null;
  /** Largest first; one with Group null where there is no GroupBy. Group '' under Tag: messages without tags. */
  Items: readonly ({ Group: string | null } & StatsFigures)[];
  /** Everything beyond the hundredth group. */
  Rest: StatsFigures | null;
}

/** One line of a message's timeline: GET /email/{MessageID}/events. */
export interface TimelineEntry {
  EventID: string;
  Event: string;
  At: string;
  LogLevel: 'Info' | 'Warn' | 'Error';
  Recipient: string | null;
  Attempt: number | null;
  Route: 'mx' | 'relay' | 'sandbox' | null;
  Reason: string;
  RemoteMta: string;
  Reply: string;
  Tls: string;
  DurationMs: number | null;
  NextAttemptAt: string | null;
  PossibleDuplicate: boolean;
  Bounce: Bounce | null;
  /** Of a deferral, bounce or failure: what it means, whose fault it is, what happens next, who can mend it. */
  Explanation: string;
  IPAddress: string;
  UserAgent: string;
  URL: string;
  /** The SMTP conversation; only with the scope email:read or admin. */
  Conversation?: string;
}

/** The data of one event of GET /events/stream; MessageID is null for events about no message. */
export interface StreamedEvent extends TimelineEntry {
  Domain: string;
  MessageID: string | null;
  From: string;
  Subject: string;
  Tags: readonly string[];
  Metadata: Readonly<Record<string, string>>;
  Sandbox: boolean;
}

export interface NamedAddress {
  Name: string;
  Email: string;
}

/** One item of GET /email. */
export interface MessageSummary {
  MessageID: string;
  Domain: string;
  Status: MessageStatus;
  From: NamedAddress;
  To: readonly NamedAddress[];
  CC: readonly NamedAddress[];
  BCC: readonly NamedAddress[];
  ReplyTo: readonly NamedAddress[];
  Subject: string;
  Tags: readonly string[];
  Metadata: Readonly<Record<string, string>>;
  Priority: 'critical' | 'normal' | 'bulk';
  Sandbox: boolean;
  Size: number;
  CreatedAt: string;
  /** When it was asked to go, null = at once. */
  SendAt: string | null;
  ExpiresAt: string;
}

/** GET /email/{MessageID}; answer of PATCH. */
export interface MessageDetail extends MessageSummary {
  Recipients: readonly MessageRecipient[];
}

/** A file that a message carries, without its contents. */
export interface AttachmentFacts {
  Filename: string;
  Type: string;
  Disposition: string;
  ContentId: string;
  Size: number;
}

/** GET /email/{MessageID}: with what it says, as long as that is kept; null from then on. */
export interface MessageWithContents extends MessageDetail {
  HTMLContent: string | null;
  PlainContent: string | null;
  Attachments: readonly AttachmentFacts[] | null;
}

/** What would be taken but is likely not meant. */
export interface EmailWarning {
  Name: string;
  Message: string;
  /** A JSON Pointer, where one field is meant. */
  Field?: string;
}

/** POST /email/validate. */
export interface ValidateAnswer {
  Valid: true;
  /** Octets of the composed message. */
  Size: number;
  Recipients: number;
  Warnings: readonly EmailWarning[];
}

/** POST /email/batch: one result a message, in order. */
export interface BatchAnswer {
  Results: readonly ({ MessageID: string } | { Errors: ProblemBody['Errors'] })[];
  Accepted: number;
  Rejected: number;
}

/** POST /email/{MessageID}/cancel: `TooLate` are being sent or were delivered. */
export interface CancelAnswer {
  Canceled: number;
  TooLate: number;
}

/** POST /email/{MessageID}/retry. */
export interface RetryAnswer {
  Queued: number;
}

export interface MessageRecipient {
  Email: string;
  Type: RecipientKind;
  Status: RecipientStatus;
  Attempts: number;
  LastSmtpCode: number;
  LastResponse: string;
  /** The engine's category in PascalCase, '' = none. */
  Class: string;
  /** Why it waits, '' = it does not. */
  WaitReason: string;
  NextAttemptAt: string | null;
  ExpiresAt: string;
  Route: 'mx' | 'relay' | 'sandbox' | null;
  UpdatedAt: string;
}

export interface DnsRecordItem {
  Type: string;
  Host: string;
  Value: string;
  Purpose: string;
  Required: boolean;
  /** `Unknown` before the first check, and for records that are only suggested. */
  Status: 'Unknown' | 'Ok' | 'Warning' | 'Failed';
}

export interface DomainCheckItem {
  Name: string;
  Status: 'Ok' | 'Warning' | 'Failed';
  /** Kind of record that was looked up. */
  Type: string;
  Host: string;
  Expected: string;
  Found: readonly string[];
  /** What was found, in plain words. */
  Message: string;
  /** What to do, '' where nothing is. */
  Fix: string;
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

/** POST /erase. */
export interface EraseAnswer {
  /** Messages in which the person stood. */
  Messages: number;
  /** Events in which the address was masked. */
  Events: number;
  /** Messages of which something had to stay until a copy under way is final: ask again then. */
  Pending: number;
}

/** One item of GET /suppressions. */
export interface SuppressionAnswer {
  /** As it was given; any case of the part before the @ is stopped. */
  Email: string;
  Domain: string;
  Reason: SuppressionReason;
  Note: string;
  CreatedAt: string;
  ExpiresAt: string | null;
  /** The message whose outcome caused it; null = added by hand. */
  MessageID: string | null;
  Reply: string;
  /** What decided: the classifier's rule. */
  Rule: string;
}

/** GET /suppressions/{Email}: one entry per reason. */
export interface SuppressionDetail {
  Email: string;
  Domain: string;
  Entries: readonly SuppressionAnswer[];
}

/** POST /suppressions: `Existing` were in force already and were left alone. */
export interface SuppressionsAdded {
  Added: number;
  Existing: number;
}

/** One item of GET /tokens. */
export interface TokenAnswer {
  TokenID: string;
  Name: string;
  Domains: readonly string[];
  Scopes: readonly string[];
  Sandbox: boolean;
  IPAllowList: readonly string[];
  RateLimit: number | null;
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

/** An item of GET /smtp-credentials. */
export interface SmtpCredentialAnswer {
  CredentialID: string;
  Username: string;
  Name: string;
  Domain: string;
  Sandbox: boolean;
  /** Who sends with it is told of failures by mail. */
  Notices: boolean;
  CreatedAt: string;
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
  };
  /** Of the domains that have one. */
  Quotas: readonly QuotaAnswer[];
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

/** One item of GET /sandbox/messages. */
export interface CaptureSummary {
  ID: string;
  MessageID: string;
  Inbox: string;
  CapturedAt: string;
  EnvelopeFrom: string;
  EnvelopeTo: string;
  From: NamedAddress;
  To: readonly NamedAddress[];
  Subject: string;
  Size: number;
  Tags: readonly string[];
  /** When it was last released, and as which message; null = never. */
  ReleasedAt: string | null;
  ReleasedAs: string | null;
}

/** POST /sandbox/messages/{ID}/release. */
export interface ReleasedAnswer {
  /** Of the message that goes out. */
  MessageID: string;
}

export type RuleResultWord =
  | 'Deliver'
  | 'Bounce'
  | 'SoftBounce'
  | 'Defer'
  | 'Fail'
  | 'Complain'
  | 'Open'
  | 'Click';

/** One item of GET /sandbox/rules, and what POST answers. */
export interface SandboxRuleItem {
  RuleID: string;
  Domain: string;
  Inbox: string | null;
  Recipient: string | null;
  Subject: string | null;
  Tag: string | null;
  Result: RuleResultWord;
  /** How often it is deferred before it is delivered; 0 unless Result is Defer. */
  Defers: number;
  DelayMs: number;
  Reply: { Code: number; Enhanced: string; Text: string } | null;
  Probability: number;
  /** null = every recipient that fits. */
  Times: number | null;
  /** Recipients it was used for. */
  Uses: number;
  CreatedAt: string;
  ExpiresAt: string;
}

/** One item of GET /sandbox/inboxes. */
export interface InboxItem {
  /** '' for mail whose sender has no name. */
  Inbox: string;
  Domain: string;
  Count: number;
  LatestID: string;
  LatestAt: string;
  LatestSubject: string;
}

/** GET /sandbox/messages/{ID}: the summary and the parsed view of the captured bytes. */
export interface CaptureDetail extends CaptureSummary {
  HTMLContent: string;
  PlainContent: string;
  Headers: readonly { Name: string; Value: string }[];
  Attachments: readonly AttachmentFacts[];
  /** Targets of the links in the HTML, in order, at most 200. */
  Links: readonly string[];
  /** Runs of 4 to 8 digits that look like one-time codes, at most 20. */
  Codes: readonly string[];
  /** Why there is no parsed view; null = there is one. */
  ParseError: string | null;
}

/** One queue of GET /queue: recipients of one site, sender domain and lane. */
export interface QueueItem {
  /** The recipients' domain. */
  Site: string;
  SenderDomain: string;
  Priority: 'critical' | 'normal' | 'bulk';
  /** At most 1000 are looked at; `Complete` false: there are more. */
  Waiting: number;
  Complete: boolean;
  /** Of them due already. */
  Due: number;
  /** When the oldest message was accepted. */
  OldestAt: string;
  NextDueAt: string;
  /** By the age of their message. */
  Ages: { Under1m: number; Under10m: number; Under1h: number; Under1d: number; Older: number };
  /** At most five, the most frequent first; '' = none, it only waits for its turn. */
  Reasons: readonly { Reason: string; Count: number }[];
}

/** GET /queue. The sums are null for a token of some domains. */
export interface QueueAnswer {
  Waiting: number | null;
  Sending: number | null;
  PendingCalls: number | null;
  OldestDueAt: string | null;
  /** Earliest due first. */
  Queues: readonly QueueItem[];
  More: boolean;
}

/** What failed or waits for one reason: GET /causes, and GET /causes/{CauseID}. */
export interface CauseItem {
  CauseID: number;
  /** As `Class` in bounce objects. */
  Category: string;
  Scope: BounceScope;
  /** Where it happened. */
  Site: string;
  /** null: the fault is the path's, all senders meet it. */
  SenderDomain: string | null;
  /** What was said, the first time. */
  Reply: string;
  /** What it means, whose fault it is, who can mend it. */
  Explanation: string;
  /** Recipients that wait for another try, counted to 10 000. */
  Waiting: number;
  /** Recipients that bounced or were given up, counted to 10 000. */
  Failed: number;
  FirstSeen: string;
  LastSeen: string;
  Example: { MessageID: string; Recipient: string } | null;
}

/** GET /causes. */
export interface CausesAnswer {
  Items: readonly CauseItem[];
}

/** POST /causes/{CauseID}/resend. `More`: call again for the rest. */
export interface ResendAnswer {
  Queued: number;
  LeftOut: { Suppressed: number; ContentGone: number; Moved: number };
  More: boolean;
}

/** One new source at one provider. */
export interface WarmupItem {
  Source: string;
  Provider: string;
  /** Messages within any 24 hours; null = warm, no budget. */
  Budget: number | null;
  /** Within the last 24 hours. */
  Used: number;
  DeferredToday: number;
  BlockedToday: number;
  LastUsedAt: string | null;
}

/** GET /warmup. */
export interface WarmupAnswer {
  Items: readonly WarmupItem[];
}

/** One key of GET /config. */
export interface ConfigItem {
  Key: string;
  /** As it may be shown; null = not set. */
  Value: string | null;
  Source: 'flag' | 'environment' | 'file' | 'default';
  Default: string | null;
  Meaning: string;
}

/** GET /config. */
export interface ConfigAnswer {
  Items: readonly ConfigItem[];
}

/** GET /healthz and /readyz. */
export interface HealthAnswer {
  Status: 'ok' | 'unavailable';
  Checks: readonly { Name: string; Ok: boolean; Detail: string }[];
}

/** One item of GET /templates. */
export interface TemplateSummary {
  TemplateID: string;
  Domain: string;
  Name: string;
  /** The newest. */
  Version: number;
  CreatedAt: string;
  UpdatedAt: string;
}

/** A template with one version of its texts; null = left to the request. */
export interface TemplateDetail extends TemplateSummary {
  /** The one that is shown. */
  Version: number;
  Subject: string | null;
  HTMLContent: string | null;
  PlainContent: string | null;
  /** Names that its tags ask for; inside a section they may be members of its items. */
  Variables: readonly string[];
  /** Versions that are kept, newest first, at most 100. */
  Versions: readonly { Version: number; CreatedAt: string }[];
}

/** POST /templates/{id}/render. */
export interface TemplateRendering {
  Subject: string | null;
  HTMLContent: string | null;
  PlainContent: string | null;
  /** Variables that were asked for without a default and not given. */
  Missing: readonly string[];
  Version: number;
}
