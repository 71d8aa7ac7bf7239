/**
 * What the API takes and answers, as far as the client knows it. Written by docs/generate.ts from openapi.json: change the
 * schemas of the server and run `npm run docs`. In one piece, because the types name each other.
 */

export type AddSuppressionsRequest = {
  Items: readonly {
    Email: string;
    Reason?: 'Bounce' | 'Inactive' | 'SoftBounces' | 'Complaint' | 'Unsubscribe' | 'Manual';
    Note?: string;
    ExpiresAt?: number | string;
  }[];
  Domain?: string;
};

export type AttachmentFacts = {
  Filename: string;
  Type: string;
  Disposition: string;
  ContentId: string;
  Size: number;
};

export type Attention = {
  /** The worst first; at most twenty of a kind */
  Items: readonly AttentionItem[];
  /** There are more of some kind */
  More: boolean;
  /** Recipients that wait, by priority; without the sandbox */
  Waiting: {
    critical: number;
    normal: number;
    bulk: number;
  };
  /** false: more wait than were counted */
  Complete: boolean;
  /** When this server itself was examined last (`GET /doctor`); null: not yet, or not for this token */
  ExaminedAt: string | null;
};

/** The operation that mends it, or finds out whether it is mended */
export type AttentionAction = {
  /** For a button */
  Label: string;
  Method: 'GET' | 'POST' | 'PATCH';
  /** Below /api/v1 */
  Path: string;
  /** Empty where the operation takes none */
  Body: Readonly<Record<string, string>>;
};

export type AttentionItem = {
  Kind: 'server' | 'domain' | 'guard-rail' | 'site' | 'relay' | 'webhook' | 'hold' | 'warm-up';
  /** Failing: something is not sent, taken or told */
  Severity: 'Failing' | 'Warning';
  /** What it is about: a check, domain, site, relay, HoldID, id of a webhook */
  Subject: string;
  /** What is wrong */
  Message: string;
  /** What to do */
  Fix: string;
  Since: string | null;
  /** When it ends, or is tried again, by itself */
  Until: string | null;
  /** Recipients, or calls of a webhook, that wait for it; null = not known */
  Waiting: number | null;
  Action: AttentionAction | null;
  /** The same for a terminal */
  Command: string | null;
};

export type AuditEntry = {
  AuditID: string;
  Time: string;
  By: 'Person' | 'Token';
  /** PersonID or TokenID */
  WhoID: string;
  /** Email address of the person or name of the token at that time */
  WhoName: string;
  /** `operationId` of this document */
  Operation: string;
  /** Path below /api/v1 of what was made or changed, without addresses of recipients */
  Resource: string;
  /** Settings that were changed, as they are since: `Retention.EventDays=30`; without the value where that is no number and no word */
  Changed: readonly string[];
  IP: string;
};

export type AuditList = {
  Items: readonly AuditEntry[];
  /** There is a next page */
  HasMore: boolean;
  /** `After` of the next page; null on the last one */
  NextCursor: string | null;
};

/** Why a delivery did not succeed */
export type Bounce = {
  Type: 'Permanent' | 'Transient' | 'Undetermined';
  /** The category, e.g. RecipientInvalid */
  Class: string;
  /** What it concerns */
  Scope: 'recipient' | 'message' | 'domain' | 'sender_domain' | 'batch' | 'path';
  Phase: 'Session' | 'Async';
  /** 0 where no SMTP reply was received */
  SmtpCode: number;
  /** RFC 3463; empty where none was given */
  EnhancedCode: string;
  Diagnostic: string;
  RemoteMta: string;
};

export type CancelAnswer = {
  /** Recipients that were stopped */
  Canceled: number;
  /** Recipients that are being sent or were delivered */
  TooLate: number;
};

export type CaptureDetail = {
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
  /** When it was last released; null = never */
  ReleasedAt: string | null;
  /** As which message */
  ReleasedAs: string | null;
  /** When somebody marked it as seen; null = not yet */
  SeenAt: string | null;
  HTMLContent: string;
  PlainContent: string;
  Headers: readonly {
    Name: string;
    Value: string;
  }[];
  Attachments: readonly AttachmentFacts[];
  /** Targets of its links, of the web and of apps, at most 200: what it asks to be followed first, what stands at its foot last */
  Links: readonly string[];
  /** What looks like a one-time code, best first, at most 20; one in groups as it is typed (123456), then as it is written (123 456) */
  Codes: readonly string[];
  /** Why there is no parsed view; null = there is one */
  ParseError: string | null;
};

export type CaptureList = {
  Items: readonly CaptureSummary[];
  /** There is a next page */
  HasMore: boolean;
  /** `After` of the next page; null on the last one */
  NextCursor: string | null;
};

export type CaptureSummary = {
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
  /** When it was last released; null = never */
  ReleasedAt: string | null;
  /** As which message */
  ReleasedAs: string | null;
  /** When somebody marked it as seen; null = not yet */
  SeenAt: string | null;
};

export type CapturesDeleted = {
  Deleted: number;
};

export type Cause = {
  CauseID: number;
  /** As `Class` in bounce objects */
  Category: string;
  /** What it concerns */
  Scope: 'recipient' | 'message' | 'domain' | 'sender_domain' | 'batch' | 'path';
  /** Where it happened: the recipients’ domain, or `relay:HOST:PORT` if a relay does it to all mail */
  Site: string;
  /** null: the fault is the path’s, all senders meet it */
  SenderDomain: string | null;
  /** What was said, the first time */
  Reply: string;
  /** What it means, whose fault it is, who can mend it */
  Explanation: string;
  /** Recipients that met it and wait for another try, counted to 10 000 */
  Waiting: number;
  /** Recipients that wait because of it without having met it: on the path that it closed, or of the sender domain that it paused; counted over 5 000 queues */
  WaitingBehind: number;
  /** Recipients that bounced or were given up, counted to 10 000 */
  Failed: number;
  FirstSeen: string;
  LastSeen: string;
  Example: {
    MessageID: string;
    Recipient: string;
  } | null;
};

export type CausesAnswer = {
  Items: readonly Cause[];
  /** There is a next page */
  HasMore: boolean;
  /** `After` of the next page; null on the last one */
  NextCursor: string | null;
};

export type ConfigAnswer = {
  /** How the server runs */
  Mode: 'dev' | 'serve';
  /** Of postrider */
  Version: string;
  Items: readonly ConfigItem[];
};

export type ConfigItem = {
  Key: string;
  /** As it may be shown; null = not set */
  Value: string | null;
  Source: 'flag' | 'environment' | 'file' | 'default';
  Default: string | null;
  Meaning: string;
};

export type CreateDomainRequest = {
  Domain: string;
  /** Admin tokens of all domains only: skips the DNS proof */
  Verified?: boolean;
  /** How the selectors of its keys begin: `news` makes `news1`, `news2`, …; default `pr` */
  DkimSelector?: string;
  /** true: its sub-domains may send too, except those that were added separately */
  Subdomains?: boolean;
  /** `{ContentDays, EventDays}`: how long contents (0 = until the last recipient is final) and events are kept; null = as the server is set */
  Retention?: {
    ContentDays?: number | null;
    EventDays?: number | null;
  };
  /** true: its mail waits if verified TLS is not possible */
  RequireTls?: boolean;
  /** true: a recipient whose outcome is unknown (the connection ended after the message was sent) has failed, instead of being sent a second time */
  AtMostOnce?: boolean;
  /** `{PerMinute, PerHour, PerDay}`: recipients it may send to, in windows of UTC; null = as the server is set. Only for a token with the scope `admin` */
  Quota?: {
    PerMinute?: number | null;
    PerHour?: number | null;
    PerDay?: number | null;
  };
  /** a host of its own for return paths, the domain itself or below it; `""` = the server’s */
  ReturnPathHost?: string;
  /** `{Opens, Clicks}`: the default for mail that does not set it */
  Tracking?: {
    Opens?: boolean;
    Clicks?: boolean;
  };
  /** true: normal mail that does not say it itself has the one-click unsubscribe header (bulk mail always has it, critical mail never) */
  ListUnsubscribe?: boolean;
  /** a host below the domain for links and pixels, reached over https; `""` = the public URL */
  TrackingHost?: string;
};

export type CreatePersonRequest = {
  Email: string;
  /** At least 12 characters; left out: signs in by the identity provider only */
  Password?: string;
  Role: 'operator' | 'member' | 'viewer';
  /** Of a member or viewer; ["*"] = all, for viewers only */
  Domains?: readonly string[];
  /** Of a member; Default where left out */
  Preset?: 'Default' | 'Send' | 'Full';
};

export type CreateSandboxRuleRequest = {
  /** Sender domain; needed if the token has several */
  Domain?: string;
  Inbox?: string;
  /** An address, or * and how it ends: *@example.net, *+late@example.net */
  Recipient?: string;
  /** Held by the subject, in any case */
  Subject?: string;
  Tag?: string;
  /** Deliver, Bounce, SoftBounce, Defer, Fail, Complain, Open or Click */
  Result: string;
  /** Of Defer: how often before it is delivered; 1 */
  Defers?: number;
  /** Before the first try */
  DelayMs?: number;
  /** SMTP reply: 5xx for a bounce, 4xx for Defer */
  Code?: number;
  Enhanced?: string;
  Text?: string;
  Probability?: number;
  /** Recipients it is used for; all where left out */
  Times?: number;
  /** Seconds; a day */
  ExpiresIn?: number;
};

export type CreateSmtpCredentialRequest = {
  Name?: string;
  Domain?: string;
  Sandbox?: boolean;
  Notices?: boolean;
};

export type CreateTemplateRequest = {
  Name: string;
  Domain?: string;
  Subject?: string;
  HTMLContent?: string;
  PlainContent?: string;
};

export type CreateTokenRequest = {
  Name: string;
  Domains?: readonly string[];
  Scopes?: readonly (
    | 'email:send'
    | 'email:read'
    | 'events:read'
    | 'webhooks:read'
    | 'webhooks:write'
    | 'domains:read'
    | 'domains:write'
    | 'suppressions:read'
    | 'suppressions:write'
    | 'templates:read'
    | 'templates:write'
    | 'stats:read'
    | 'smtp:write'
    | 'tokens:read'
    | 'tokens:write'
    | 'admin'
  )[];
  Preset?: string;
  ExpiresIn?: number | 'never';
  Sandbox?: boolean;
  IPAllowList?: readonly string[];
  RateLimit?: number;
};

export type CreateWebhookRequest = {
  /** Token of the events, e.g. bounce, or all; several with commas between them */
  Event?: string;
  /** The same as a list; `Event` need not be given then */
  Events?: readonly string[];
  /** Where it is called */
  WebhookURL: string;
  Description?: string;
  /** Required if the token has several */
  Domain?: string;
};

export type DmarcReporter = {
  /** As it calls itself */
  Name: string;
  /** Domain of the valid signatures of its reports; null: none, anybody may have written them */
  SignedBy: string | null;
  Reports: number;
  Messages: number;
  LastAt: string;
};

export type DmarcSource = {
  /** null: those that are not shown, together */
  Address: string | null;
  /** An address that this server sends from */
  Own: boolean;
  Messages: number;
  /** By DKIM or SPF */
  Passed: number;
  /** With a valid signature that is aligned with the From address */
  DKIM: number;
  /** From a permitted address, aligned with the From address */
  SPF: number;
  Quarantined: number;
  Rejected: number;
  /** Domains of From addresses, at most five */
  From: readonly string[];
  /** Of mail that did not pass both: what the receiver found, as in an Authentication-Results field; the five most frequent */
  Found: readonly {
    Text: string;
    Messages: number;
  }[];
  /** Who saw it, at most five */
  Reporters: readonly string[];
  /** End of the last report that names it */
  LastAt: string;
};

/** What receivers counted, by DMARC aggregate reports */
export type DmarcSummary = {
  Domain: string;
  /** Reports that arrived since then */
  Since: string;
  Reports: number;
  Messages: number;
  /** By DKIM or SPF */
  Passed: number;
  /** With a valid signature that is aligned with the From address */
  DKIM: number;
  /** From a permitted address, aligned with the From address */
  SPF: number;
  Quarantined: number;
  Rejected: number;
  /** Those of this server first, then the largest in signed reports, then the others; at most 100 */
  Sources: readonly DmarcSource[];
  /** Those that sign first, then the largest; at most 100 */
  Reporters: readonly DmarcReporter[];
  /** false: there are more reports than one request reads, the oldest are missing */
  Complete: boolean;
};

/** A record to publish */
export type DnsRecord = {
  Type: string;
  Host: string;
  Value: string;
  Purpose: string;
  /** Without it the domain is not verified, or its mail is held */
  Required: boolean;
  /** Recommended: mail is sent without it, and fares worse */
  Need: 'Required' | 'Recommended' | 'Optional';
  /** What it is for, and what follows without it */
  Why: string;
  /** Unknown before the first check, and for records that are only suggested */
  Status: 'Unknown' | 'Ok' | 'Warning' | 'Failed';
};

export type Doctor = {
  CheckedAt: string;
  /** This server itself */
  Instance: readonly DomainCheck[];
  Domains: readonly {
    Domain: string;
    Status: 'Pending' | 'Verified' | 'Failing' | 'Suspended';
    CheckedAt: string | null;
    Checks: readonly DomainCheck[];
    Changes: readonly DomainChange[];
    /** Its records as lines of a zone file */
    Zone: string;
  }[];
};

export type Domain = {
  Domain: string;
  Status: 'Pending' | 'Verified' | 'Failing' | 'Suspended';
  VerifiedBy: 'dns' | 'operator' | null;
  /** Its sub-domains may send too */
  Subdomains: boolean;
  /** Days; null = as the server is set */
  Retention: {
    ContentDays: number | null;
    EventDays: number | null;
  };
  RequireTls: boolean;
  AtMostOnce: boolean;
  /** Recipients; null = as the server is set */
  Quota: {
    PerMinute: number | null;
    PerHour: number | null;
    PerDay: number | null;
  };
  /** Empty = the server’s */
  ReturnPathHost: string;
  Tracking: {
    Opens: boolean;
    Clicks: boolean;
  };
  ListUnsubscribe: boolean;
  /** Empty = the server’s public URL */
  TrackingHost: string;
  CreatedAt: string;
  UpdatedAt: string;
  VerifiedAt: string | null;
  FailingSince: string | null;
  /** Failing: when its mail is held, if its checks still fail */
  HeldFrom: string | null;
  LastCheckedAt: string | null;
  DnsRecords: readonly DnsRecord[];
  /** The records as lines of a zone file */
  Zone: string;
  DkimKeys: readonly DomainDkimKey[];
  /** As the last check found it; null = not yet */
  Alignment: DomainAlignment | null;
  /** What the last check found, item by item; empty before the first */
  Checks: readonly DomainCheck[];
  /** What changed between checks lately, newest first */
  Changes: readonly DomainChange[];
  /** null: nothing came back lately */
  Returns: DomainReturns | null;
};

/** Which names of its mail count as those of the From address, for DMARC */
export type DomainAlignment = {
  Dkim: {
    /** d= of its signatures */
    Domain: string;
    /** DMARC asks for exactly the From domain (adkim=s) */
    Strict: boolean;
    Aligns: boolean;
    /** The record of the active key was found */
    Published: boolean;
  };
  ReturnPath: {
    Host: string;
    /** DMARC asks for exactly the From domain (aspf=s) */
    Strict: boolean;
    Aligns: boolean;
  };
};

/** A check that came, went, changed, or whose record reads otherwise */
export type DomainChange = {
  Name: string;
  /** null: it came */
  From: 'Ok' | 'Unknown' | 'Warning' | 'Failed' | null;
  /** null: it went */
  To: 'Ok' | 'Unknown' | 'Warning' | 'Failed' | null;
  Message: string;
  At: string;
};

export type DomainCheck = {
  Name: string;
  /** Unknown: the check could not be made */
  Status: 'Ok' | 'Unknown' | 'Warning' | 'Failed';
  /** Kind of record that was looked up */
  Type: string;
  Host: string;
  Expected: string;
  Found: readonly string[];
  /** What was found, in plain words */
  Message: string;
  /** What to do; empty where nothing is */
  Fix: string;
  /** Mail of the domain does not leave until this is Ok */
  BlocksSending: boolean;
};

export type DomainDkimKey = {
  Selector: string;
  /** Active signs; Standby waits for the next rotation; Retired signed before */
  Role: 'Active' | 'Standby' | 'Retired';
  CreatedAt: string;
  RetiredAt: string | null;
  /** Retired: its record stays published until then, and a new standby key replaces it */
  KeepUntil: string | null;
};

export type DomainList = {
  Items: readonly Domain[];
  /** There is a next page */
  HasMore: boolean;
  /** `After` of the next page; null on the last one */
  NextCursor: string | null;
};

/** What came back of the last 1000 outcomes */
export type DomainReturns = {
  /** Hold: its bulk mail waits */
  Level: 'Ok' | 'Warn' | 'Hold';
  Outcomes: number;
  /** Addresses; those that differ only after a plus sign count once */
  Bounced: number;
  /** Counted in the same way */
  Complained: number;
  WarnAbove: {
    Bounced: number;
    Complained: number;
  };
  HoldAbove: {
    Bounced: number;
    Complained: number;
  };
  Reason: string;
};

export type Email = {
  /** Its domain must be a verified one of the token’s, or below one that was added with `Subdomains` */
  From: EmailAddress;
  /** Who gets it; an address that is also in CC or BCC gets one copy */
  To: readonly EmailAddress[];
  /** Who gets a copy that all can see */
  CC?: readonly EmailAddress[];
  /** Seen by nobody else, anywhere */
  BCC?: readonly EmailAddress[];
  /** Where answers go, in place of From */
  ReplyTo?: readonly EmailAddress[];
  /** Required unless a template gives it; one line */
  Subject?: string;
  /** Which content counts. Required unless a template gives the texts */
  ContentType?: 'HTML' | 'Text';
  /** Required where ContentType is HTML and no template gives it */
  HTMLContent?: string;
  /** With HTML: the alternative; left out = made from the HTML, "" = none. With Text: the body */
  PlainContent?: string;
  /** Labels to find and count mail by: at most 10 different ones of at most 128 characters */
  Tags?: readonly string[];
  /** Header fields of your own: at most 50, 16384 octets together */
  Headers?: Readonly<Record<string, string | number | boolean>>;
  /** Files, also those that the HTML shows by `cid:` */
  Attachments?: readonly EmailAttachment[];
  /** critical: one-time codes; bulk: newsletters; normal where left out */
  Priority?: 'critical' | 'normal' | 'bulk';
  /** Never leaves the machine; `Result` is what is simulated, Deliver where left out */
  Sandbox?:
    | boolean
    | {
        Result?:
          | 'Deliver'
          | 'Bounce'
          | 'SoftBounce'
          | 'Defer'
          | 'Fail'
          | 'Suppress'
          | 'Complain'
          | 'Open'
          | 'Click';
      };
  /** ISO 8601 with an offset, or Unix seconds; at most 30 days ahead. Up to 5 minutes in the past means now */
  SendAt?: string | number;
  /** When it is given up; where left out, by the age of its priority, counted from SendAt */
  ExpiresAt?: string | number;
  /** In events and webhooks, never in the mail. At most 20 keys of at most 64 characters, 10000 octets together */
  Metadata?: Readonly<Record<string, string>>;
  /** false: the content is removed when the last recipient is final */
  KeepContent?: boolean;
  /** In place of the domain’s setting, member by member */
  Tracking?:
    | boolean
    | {
        Opens?: boolean;
        Clicks?: boolean;
      };
  /** One-click unsubscribe, in place of the domain’s setting */
  ListUnsubscribe?: boolean;
  /** A stored template of the domain of From: it gives the texts that are left out */
  TemplateID?: string;
  /** The newest where left out */
  TemplateVersion?: number;
  /** What the template is filled in with */
  Variables?: Readonly<Record<string, unknown>>;
  /** Refuses where a variable is missing */
  StrictVariables?: boolean;
};

export type EmailAddress = {
  /** Display name, without control characters */
  name?: string;
  /** `local@domain` */
  email: string;
};

export type EmailAnswer = {
  /** Of the message; also the left part of its Message-ID */
  MessageID: string;
};

export type EmailAttachment = {
  /** Base64, without a `data:` prefix */
  Content: string;
  /** Media type; from the file name where left out */
  Type?: string;
  /** 1 to 255 characters; a path before it is dropped */
  Filename: string;
  /** `inline`: shown by the HTML; a file of the type `text/calendar; method=REQUEST` is then an invitation that mail programs show with its buttons */
  Disposition?: 'attachment' | 'inline';
  /** What `cid:` in the HTML names; required for inline files, except invitations */
  ContentId?: number | string;
};

export type EraseAnswer = {
  /** Messages in which the person stood */
  Messages: number;
  /** Events in which the address was masked */
  Events: number;
  /** Messages of which something had to stay until a copy under way is final */
  Pending: number;
  /** How much of the work is done, 0 to 1 */
  Share: number;
  /** `After` of the next request; null = all is done */
  NextCursor: string | null;
};

export type ErasePersonRequest = {
  Email: string;
  /** Messages looked at by this request, or events of no message; all where left out */
  Limit?: number;
  /** `NextCursor` of the request before */
  After?: string;
};

export type GoToIdentityProviderRequest = {
  /** Prove again who one is, also where the provider knows the browser: for what a session may not do later */
  Again?: boolean;
};

export type Hold = {
  HoldID: string;
  /** null does not restrict; the same for the next three */
  SenderDomain: string | null;
  RecipientDomain: string | null;
  Site: string | null;
  Priority: 'critical' | 'normal' | 'bulk' | null;
  Reason: string;
  /** null = until it is released */
  Until: string | null;
  CreatedAt: string;
};

export type HoldQueueRequest = {
  SenderDomain?: string;
  RecipientDomain?: string;
  Site?: string;
  Priority?: 'critical' | 'normal' | 'bulk';
  /** Said on purpose: everything */
  All?: boolean;
  Reason: string;
  Until?: number | string;
};

export type HoldsAnswer = {
  Items: readonly Hold[];
  /** There is a next page */
  HasMore: boolean;
  /** `After` of the next page; null on the last one */
  NextCursor: string | null;
};

export type IdentityProvider = {
  /** null: there is none */
  Name: string | null;
  /** Where one signs in by it: the origin of `public-url` */
  Origin: string | null;
};

export type IdentityProviderAddress = {
  URL: string;
};

export type Inbox = {
  /** Empty for mail whose sender has no name */
  Inbox: string;
  Domain: string;
  Count: number;
  /** Of those nobody has marked as seen */
  Unseen: number;
  LatestID: string;
  LatestAt: string;
  LatestSubject: string;
};

export type InboxList = {
  Items: readonly Inbox[];
  /** There is a next page */
  HasMore: boolean;
  /** `After` of the next page; null on the last one */
  NextCursor: string | null;
};

export type Me = {
  TokenID: string;
  Owner: string;
  Domains: readonly {
    Domain: string;
    Status: 'Pending' | 'Verified' | 'Failing' | 'Suspended' | 'Unknown';
  }[];
  AllDomains: boolean;
  Scopes: readonly string[];
  /** `operationId` of those that it may call without their scope: the dashboard of a development server */
  Operations: readonly string[];
  Sandbox: boolean;
  /** How this server was started */
  Mode: 'dev' | 'serve';
  /** true: mail from any domain is accepted, also if the domain was not added, as on a development server that captures all mail */
  AnyDomain: boolean;
  /** How a command of this server begins at a terminal, in the folder where it was started, e.g. `./bin/postrider`; null except for administrators */
  Command: string | null;
  /** Of this server; null except for administrators */
  DataFolder: string | null;
  /** Where programs submit mail by SMTP, encrypted ports first; empty = nowhere */
  Submission: readonly SubmissionPort[];
  Limits: {
    RecipientsPerMessage: number;
    AttachmentsPerMessage: number;
    BodyBytes: number;
    SendsPerSecond: number | null;
    /** Of one kind, open at once; null = no limit but that of all */
    StreamsPerTenant: number | null;
  };
  /** What its domains have on the disk: mail that waits, captured copies, contents that are kept */
  Storage: readonly Storage[];
  /** Of the domains that have one */
  Quotas: readonly Quota[];
};

export type MessageList = {
  Items: readonly MessageSummary[];
  /** There is a next page */
  HasMore: boolean;
  /** `After` of the next page; null on the last one */
  NextCursor: string | null;
};

export type MessageRecipient = {
  Email: string;
  Type: 'To' | 'CC' | 'BCC';
  Status:
    | 'Scheduled'
    | 'Queued'
    | 'Held'
    | 'Sending'
    | 'Deferred'
    | 'Delivered'
    | 'Bounced'
    | 'Failed'
    | 'Rejected'
    | 'Suppressed'
    | 'Canceled';
  Attempts: number;
  /** 0 where no SMTP reply was received */
  LastSmtpCode: number;
  LastResponse: string;
  /** Category of the last failure; empty = none */
  Class: string;
  /** Why it waits; while it is being sent, to which server, for how long and which reply is awaited; empty = neither */
  WaitReason: string;
  NextAttemptAt: string | null;
  ExpiresAt: string;
  /** How it was delivered */
  Route: 'mx' | 'relay' | 'sandbox' | null;
  /** Delivered, and an earlier attempt may have been taken too */
  PossibleDuplicate: boolean;
  /** Of `GET /causes`: what others failed for too; null = nobody did, or the token is not of all domains */
  CauseID: number | null;
  UpdatedAt: string;
};

export type MessageSummary = {
  /** Of the message; also the left part of its Message-ID */
  MessageID: string;
  /** Sender domain it was accepted for */
  Domain: string;
  /** Of the whole message: follows from its recipients by the first rule of the reference that fits */
  Status: 'Scheduled' | 'Sending' | 'Queued' | 'Canceled' | 'Delivered' | 'PartiallyDelivered' | 'Failed';
  RecipientStatuses: RecipientStatuses;
  From: NamedAddress;
  To: readonly NamedAddress[];
  CC: readonly NamedAddress[];
  /** Shown to the sender’s own tokens only, here */
  BCC: readonly NamedAddress[];
  ReplyTo: readonly NamedAddress[];
  Subject: string;
  Tags: readonly string[];
  /** The sender’s own texts by key */
  Metadata: Readonly<Record<string, string>>;
  Priority: 'critical' | 'normal' | 'bulk';
  /** It never leaves the machine */
  Sandbox: boolean;
  /** Octets of the composed message */
  Size: number;
  CreatedAt: string;
  /** When it was asked to go; null = at once */
  SendAt: string | null;
  /** When it is given up */
  ExpiresAt: string;
};

export type MessageWithContents = {
  /** Of the message; also the left part of its Message-ID */
  MessageID: string;
  /** Sender domain it was accepted for */
  Domain: string;
  /** Of the whole message: follows from its recipients by the first rule of the reference that fits */
  Status: 'Scheduled' | 'Sending' | 'Queued' | 'Canceled' | 'Delivered' | 'PartiallyDelivered' | 'Failed';
  RecipientStatuses: RecipientStatuses;
  From: NamedAddress;
  To: readonly NamedAddress[];
  CC: readonly NamedAddress[];
  /** Shown to the sender’s own tokens only, here */
  BCC: readonly NamedAddress[];
  ReplyTo: readonly NamedAddress[];
  Subject: string;
  Tags: readonly string[];
  /** The sender’s own texts by key */
  Metadata: Readonly<Record<string, string>>;
  Priority: 'critical' | 'normal' | 'bulk';
  /** It never leaves the machine */
  Sandbox: boolean;
  /** Octets of the composed message */
  Size: number;
  CreatedAt: string;
  /** When it was asked to go; null = at once */
  SendAt: string | null;
  /** When it is given up */
  ExpiresAt: string;
  Recipients: readonly MessageRecipient[];
  /** Null: none, no longer kept, or too long to read */
  HTMLContent: string | null;
  /** Null: none, no longer kept, or too long to read */
  PlainContent: string | null;
  /** Null: no longer kept, or too long to read */
  Attachments: readonly AttachmentFacts[] | null;
};

export type NamedAddress = {
  /** Empty where there is none */
  Name: string;
  Email: string;
};

export type NewSmtpCredentialAnswer = {
  CredentialID: string;
  Username: string;
  Name: string;
  Domain: string;
  Sandbox: boolean;
  /** Who sends with it is told of failures by mail */
  Notices: boolean;
  /** Empty = from anywhere */
  IPAllowList: readonly string[];
  /** Sends per second; null = no limit of its own */
  RateLimit: number | null;
  /** TokenID of the token, or PersonID of the person, that made it; null = none, or unknown */
  CreatedBy: string | null;
  CreatedAt: string;
  /** null = never */
  ExpiresAt: string | null;
  /** Shown this once */
  Password: string;
};

export type NewTokenAnswer = {
  TokenID: string;
  /** The JWT; shown this once */
  Token: string;
};

export type NewWebhookAnswer = {
  NewWebhookID: number;
  /** Signs the calls; shown this once */
  Secret: string;
};

export type Node = {
  /** Stays the same over restarts */
  Node: string;
  /** Another one with every start */
  Epoch: number;
  /** The one that answers */
  Self: boolean;
  /** Silent: it has sent no heartbeat for a while, and will soon count as dead. Lost: it ended without stopping, because it was killed, crashed or was silent for too long */
  Status: 'Alive' | 'Silent' | 'Ended' | 'Lost';
  /** Its `node-name`, by default the name of its machine */
  Host: string;
  Pid: number;
  /** Of its program; empty if it is older than this field */
  Version: string;
  /** Up to which number its program knows the schema of the database; 0 = unknown */
  Schema: number;
  Roles: readonly string[];
  /** Ids of the sources it sends from; empty = the address of the machine */
  Sources: readonly string[];
  /** Settings in which it differs from the one that answers, of those that all nodes should have alike */
  DiffersIn: readonly string[];
  StartedAt: string;
  /** By its own clock; a process that is alone with its database says it once */
  HeartbeatAt: string;
  EndedAt: string | null;
  /** Recipients under its lease */
  Sending: number;
  /** What it alone does: `send SOURCE>SITE` for shared sources, `upkeep` for the instance */
  Leases: readonly string[];
};

export type NodesAnswer = {
  Items: readonly Node[];
  /** There is a next page */
  HasMore: boolean;
  /** `After` of the next page; null on the last one */
  NextCursor: string | null;
};

/** Done */
export type Nothing = Readonly<Record<string, unknown>>;

export type OpenSession = {
  SessionID: string;
  /** The one that asks */
  Current: boolean;
  CreatedAt: string;
  LastUsedAt: string;
  /** Sooner where it is not used */
  EndsAt: string;
  /** Of the browser that signed in */
  UserAgent: string;
  IP: string;
};

export type Override = {
  OverrideID: string;
  Scope: 'path' | 'tenant@site' | 'domain@provider';
  Key: string;
  Param: string;
  Value: number | string;
  Until: string;
  Rule: string;
  Why: string;
  CreatedAt: string;
};

/** An egress source towards a site */
export type Path = {
  Site: string;
  /** Empty where no source is configured */
  Source: string;
  Provider: string | null;
  Route: 'mx' | 'relay';
  /** Recipient domains met on it, the last ones */
  Domains: readonly string[];
  /** Of the breaker: open = nothing goes */
  State: 'closed' | 'open' | 'half-open';
  /** Why what waits does not go; null where nothing holds it back */
  Reason: string | null;
  WaitsFor: string;
  /** When that ends by itself */
  WaitsUntil: string | null;
  Connections: {
    Open: number;
    Busy: number;
    /** Their servers have not answered for longer than usual; not among Busy */
    Hanging: number;
    Opening: number;
  };
  /** Connections that are allowed at present */
  Window: number;
  Limits: readonly PathLimit[];
  Overrides: readonly Override[];
  /** Held in memory and not being sent, by priority */
  Waiting: {
    critical: number;
    normal: number;
    bulk: number;
  };
  InFlight: number;
  LastSuccess: PathWord | null;
  LastFailure: PathWord | null;
};

export type PathLimit = {
  Name: string;
  /** null = no limit */
  Value: number | string | null;
  /** data: a shipped row; user: shaping.json of the operator; config: a key */
  From: 'data' | 'user' | 'config' | 'override';
  /** The row, the key, or the rule of the override */
  Detail: string;
  /** When an override ends */
  Until: string | null;
};

export type PathWord = {
  At: string;
  Text: string;
};

export type PathsAnswer = {
  Items: readonly Path[];
  /** There is a next page */
  HasMore: boolean;
  /** `After` of the next page; null on the last one */
  NextCursor: string | null;
  /** Those that failed, on every page */
  Relays: readonly Relay[];
};

export type Person = {
  PersonID: string;
  Email: string;
  Role: 'operator' | 'member' | 'viewer';
  /** ["*"] = all */
  Domains: readonly string[];
  /** What a member may do; null for other roles */
  Preset: 'Default' | 'Send' | 'Full' | null;
  CreatedAt: string;
  LastSignInAt: string | null;
  /** null = may sign in */
  DisabledAt: string | null;
  /** false: signs in by the identity provider only */
  HasPassword: boolean;
  /** Signing in with the password asks for a code, too */
  SecondFactor: boolean;
  /** The account of the identity provider that has signed in as this person; no other one can */
  Identity: {
    Issuer: string;
    Subject: string;
  } | null;
};

export type PersonList = {
  Items: readonly Person[];
  /** There is a next page */
  HasMore: boolean;
  /** `After` of the next page; null on the last one */
  NextCursor: string | null;
};

export type ProblemItem = {
  /** Stable */
  Code: number;
  /** Stable */
  Name: string;
  Message: string;
  /** A JSON Pointer in documented spelling */
  Field?: string;
  /** Where in a template, from 1 */
  Line?: number;
  Column?: number;
};

export type Queue = {
  /** The recipients’ domain */
  Site: string;
  SenderDomain: string;
  Priority: 'critical' | 'normal' | 'bulk';
  /** Of its messages’ tags, those that routes name */
  Tags: readonly string[];
  /** Where it goes by the configuration in force, e.g. `routes[1] smtp://mail.example.net:25` */
  Route: string;
  /** At most 1000 are looked at */
  Waiting: number;
  /** false: there are more than were looked at */
  Complete: boolean;
  /** Of them due already */
  Due: number;
  OldestAt: string;
  /** When the first of them is tried; null: they are held without an end */
  NextDueAt: string | null;
  /** By the age of their message */
  Ages: {
    Under1m: number;
    Under10m: number;
    Under1h: number;
    Under1d: number;
    Older: number;
  };
  /** At most five, the most frequent first; empty = it waits for its turn */
  Reasons: readonly {
    Reason: string;
    Count: number;
    /** What the receiver said to one of them, if a reply deferred them */
    Reply: string | null;
  }[];
};

export type QueueAnswer = {
  /** null for a token of some domains; the same for the next three */
  Waiting: number | null;
  Sending: number | null;
  PendingCalls: number | null;
  OldestDueAt: string | null;
  /** Earliest due first */
  Queues: readonly Queue[];
  More: boolean;
};

export type Quota = {
  Domain: string;
  Period: 'minute' | 'hour' | 'day';
  /** Recipients */
  Limit: number;
  Remaining: number;
  ResetAt: string;
};

/** How many recipients there are of each word; a word that none has is left out */
export type RecipientStatuses = {
  /** waits for its scheduled time */
  Scheduled?: number;
  /** waits for its turn, or for its path to open; no attempt to send it counts yet */
  Queued?: number;
  /** waits for a reason on this server. `WaitReason` begins with `held:` for a hold, with `held by domain:` where the sender domain is not verified or cannot sign */
  Held?: number;
  /** claimed for delivery, or being sent now */
  Sending?: number;
  /** could not be delivered yet and is tried again by itself */
  Deferred?: number;
  /** the next server took responsibility */
  Delivered?: number;
  /** refused for good by the receiving server, at once or by a later report */
  Bounced?: number;
  /** given up: its maximum age was reached, or it could not be sent */
  Failed?: number;
  /** refused here by a rule about its contents */
  Rejected?: number;
  /** not sent on purpose: the address is on the suppression list */
  Suppressed?: number;
  /** stopped before it was sent */
  Canceled?: number;
  /** captured by the sandbox: a copy is kept, nothing was sent. `Status` of the recipient is Delivered */
  Captured?: number;
};

export type RecoveryCodes = {
  RecoveryCodes: readonly string[];
};

export type Refusal = {
  RefusalID: string;
  /** The last time */
  Time: string;
  /** The first time */
  Since: string;
  /** The same refusal so often in a row */
  Times: number;
  Via: 'HTTP' | 'SMTP';
  /** `POST /email`, or the command of SMTP: AUTH, MAIL, RCPT, DATA */
  Action: string;
  /** Of HTTP, or the code of the SMTP reply */
  Status: number;
  /** As in `Errors`; null for a reply of SMTP itself */
  Code: number | null;
  Name: string | null;
  /** What was answered, at most 300 characters */
  Message: string;
  /** Sender domain it was about, where that is known */
  Domain: string | null;
  /** Of the token or SMTP credential; null = nobody was logged in */
  TokenID: string | null;
  TokenName: string | null;
  /** Address it came from */
  Peer: string;
};

export type RefusalsAnswer = {
  Items: readonly Refusal[];
  /** There is a next page */
  HasMore: boolean;
  /** `After` of the next page; null on the last one */
  NextCursor: string | null;
};

/** A relay that failed and is passed over */
export type Relay = {
  /** host:port */
  Relay: string;
  /** In a row */
  Failures: number;
  /** Tried again then; before, only where nothing else is left */
  Until: string;
  Why: string;
};

export type ReleaseAnswer = {
  /** Holds that were ended */
  Released: number;
};

export type ReleaseCaptureRequest = {
  /** Address to send it to; left out: the captured recipient */
  To?: string;
};

export type ReleaseQueueRequest = {
  SenderDomain?: string;
  RecipientDomain?: string;
  Site?: string;
  Priority?: 'critical' | 'normal' | 'bulk';
  /** Said on purpose: everything */
  All?: boolean;
  HoldID?: string;
};

export type Released = {
  MessageID: string;
};

export type RenderTemplateRequest = {
  Variables?: Readonly<Record<string, unknown>>;
  Strict?: boolean;
  Version?: number;
};

export type RenderTextsRequest = {
  Subject?: string;
  HTMLContent?: string;
  PlainContent?: string;
  Variables?: Readonly<Record<string, unknown>>;
  Strict?: boolean;
};

export type ReplayAnswer = {
  /** Calls that are made again */
  Queued: number;
  /** `After` of the next request; null = all of them are queued */
  NextCursor: string | null;
};

export type ReplayWebhookRequest = {
  DeliveryIDs?: readonly number[];
  Since?: number | string;
  Until?: number | string;
  OnlyFailed?: boolean;
  /** `NextCursor` of the request before, with the same range */
  After?: string;
};

export type ResendAnswer = {
  Queued: number;
  /** Paths of theirs that were closed and are tried now */
  Opened: number;
  LeftOut: {
    Suppressed: number;
    ContentGone: number;
    Moved: number;
  };
  /** Call again for the rest */
  More: boolean;
  /** `After` of the next call; null = there is no rest */
  NextCursor: string | null;
};

export type RetryAnswer = {
  /** Recipients that were queued again */
  Queued: number;
  /** Paths that were closed and are tried now; for administrators of all domains */
  Opened: number;
  /** Paths that take no mail at the moment: it goes when they open */
  Closed: readonly {
    Site: string;
    Reason: string;
    Until: string | null;
  }[];
};

export type RevokedTokenAnswer = {
  Tokens?: number;
  Credentials?: number;
  Webhooks?: number;
};

export type RotateTokenRequest = {
  /** Seconds */
  Overlap?: number;
};

export type RotatedTokenAnswer = {
  TokenID: string;
  /** The JWT; shown this once */
  Token: string;
  /** The old token is good until then */
  PreviousValidUntil: string;
};

export type SandboxRule = {
  RuleID: string;
  Domain: string;
  Inbox: string | null;
  Recipient: string | null;
  Subject: string | null;
  Tag: string | null;
  Result: 'Deliver' | 'Bounce' | 'SoftBounce' | 'Defer' | 'Fail' | 'Complain' | 'Open' | 'Click';
  /** Of Defer: how often before it is delivered */
  Defers: number;
  DelayMs: number;
  Reply: {
    Code: number;
    Enhanced: string;
    Text: string;
  } | null;
  Probability: number;
  /** null = every recipient that fits */
  Times: number | null;
  /** Recipients it was used for */
  Uses: number;
  CreatedAt: string;
  ExpiresAt: string;
};

export type SandboxRuleList = {
  Items: readonly SandboxRule[];
  /** There is a next page */
  HasMore: boolean;
  /** `After` of the next page; null on the last one */
  NextCursor: string | null;
};

export type Session = {
  /** null: the request came with a token */
  Person: {
    PersonID: string;
    Email: string;
    Role: 'operator' | 'member' | 'viewer';
    /** false: signs in by the identity provider only */
    HasPassword: boolean;
    SecondFactor: boolean;
  } | null;
  SessionID: string | null;
  /** Until then, tokens, webhooks and the like can be made without a new proof (`POST /session/proof`). null: a proof is needed now; with a token, never */
  ProvenUntil: string | null;
  /** Everything else is refused before (`PUT /session/totp`) */
  MustSetUpSecondFactor: boolean;
  /** ["*"] = all; the first 100 */
  Domains: readonly string[];
  Scopes: readonly string[];
};

export type SessionList = {
  Items: readonly OpenSession[];
};

export type Site = {
  Site: string;
  /** If no path is in use: what that means; otherwise empty */
  Note: string;
  Paths: readonly Path[];
  /** Relays of the site that failed */
  Relays: readonly Relay[];
  /** Limits where there is no path yet */
  Limits: readonly PathLimit[];
  Holds: readonly Hold[];
  /** Recipients in the store, of the site’s domains */
  Waiting: number;
  /** false: more wait than were counted */
  Complete: boolean;
  Reasons: readonly {
    Reason: string;
    Count: number;
    /** What the receiver said to one of them, if a reply deferred them */
    Reply: string | null;
  }[];
  /** When its paths closed and opened in the last 14 days, newest first, at most 50 */
  History: readonly {
    At: string;
    /** Empty where no source is configured */
    Source: string;
    /** Closed until then; null = it opened */
    Until: string | null;
    /** Why it closed; null = it opened */
    Reason: string | null;
  }[];
};

export type SmtpCredential = {
  CredentialID: string;
  Username: string;
  Name: string;
  Domain: string;
  Sandbox: boolean;
  /** Who sends with it is told of failures by mail */
  Notices: boolean;
  /** Empty = from anywhere */
  IPAllowList: readonly string[];
  /** Sends per second; null = no limit of its own */
  RateLimit: number | null;
  /** TokenID of the token, or PersonID of the person, that made it; null = none, or unknown */
  CreatedBy: string | null;
  CreatedAt: string;
  /** null = never */
  ExpiresAt: string | null;
};

export type SmtpCredentialList = {
  Items: readonly SmtpCredential[];
  /** There is a next page */
  HasMore: boolean;
  /** `After` of the next page; null on the last one */
  NextCursor: string | null;
};

export type SpamReport = {
  /** It was not asked or did not answer; null = it did */
  Why: string | null;
  Points: number | null;
  /** From so many points on, mail counts as spam */
  Required: number | null;
  Rules: readonly {
    Name: string;
    Points: number;
    Description: string;
  }[];
};

export type StatsAnswer = {
  From: string;
  To: string;
  Interval: 'hour' | 'day';
  GroupBy: 'Tag' | 'Domain' | 'RecipientDomain' | 'Provider' | 'DeliveryTime' | null;
  /** Largest first */
  Items: readonly {
    /** Empty under Tag: without tags; under DeliveryTime: longer */
    Group: string | null;
    /** Under Provider: may stand for several domains */
    IsProvider: boolean;
    /** Events by kind: Accepted, Delivered, … */
    Counts: Readonly<Record<string, number>>;
    Rates: StatsRates;
    /** Those with events, by time */
    Intervals: readonly {
      At: string;
      /** Events by kind: Accepted, Delivered, … */
      Counts: Readonly<Record<string, number>>;
      Rates: StatsRates;
    }[];
  }[];
  /** Everything beyond the hundredth group */
  Rest: {
    /** Events by kind: Accepted, Delivered, … */
    Counts: Readonly<Record<string, number>>;
    Rates: StatsRates;
    /** Those with events, by time */
    Intervals: readonly {
      At: string;
      /** Events by kind: Accepted, Delivered, … */
      Counts: Readonly<Record<string, number>>;
      Rates: StatsRates;
    }[];
  } | null;
};

/** Null where there is nothing to divide by */
export type StatsRates = {
  /** Of those that were delivered, bounced or failed */
  Delivered: number | null;
  Bounced: number | null;
  Failed: number | null;
  /** Events per delivered recipient; may be above 1 */
  Opened: number | null;
  Clicked: number | null;
  Complained: number | null;
  Unsubscribed: number | null;
};

export type Storage = {
  Domain: string;
  Bytes: number;
  /** null = none */
  Limit: number | null;
  /** That wait or are being sent */
  Recipients: number;
  /** null = none */
  RecipientLimit: number | null;
};

/** The `data` of one server-sent event */
export type StreamedEvent = {
  EventID: string;
  /** The kind, e.g. delivered */
  Event: string;
  At: string;
  LogLevel: 'Info' | 'Warn' | 'Error';
  Recipient: string | null;
  Attempt: number | null;
  Route: 'mx' | 'relay' | 'sandbox' | null;
  Reason: string;
  RemoteMta: string;
  /** The address of `sources` from which it was sent; empty where the system chose */
  SourceAddress: string;
  /** What the other server said */
  Reply: string;
  Tls: string;
  DurationMs: number | null;
  NextAttemptAt: string | null;
  /** It may have been delivered twice */
  PossibleDuplicate: boolean;
  Bounce: Bounce | null;
  /** Of a deferral, bounce or failure: what it means, whose fault it is, what happens next */
  Explanation: string;
  IPAddress: string;
  UserAgent: string;
  URL: string;
  /** The SMTP conversation; only for tokens that may read mail */
  Conversation?: string;
  Domain: string;
  /** null: about no message */
  MessageID: string | null;
  From: string;
  Subject: string;
  Tags: readonly string[];
  /** The sender’s own texts by key */
  Metadata: Readonly<Record<string, string>>;
  Sandbox: boolean;
};

export type SubmissionPort = {
  Host: string;
  Port: number;
  /** How a connection is encrypted: at once, after STARTTLS, not at all (`dev` only) */
  Security: 'TLS' | 'StartTLS' | 'None';
};

export type Suppression = {
  Email: string;
  Domain: string;
  Reason: 'Bounce' | 'Inactive' | 'SoftBounces' | 'Complaint' | 'Unsubscribe' | 'Manual';
  Note: string;
  CreatedAt: string;
  /** null = until it is removed */
  ExpiresAt: string | null;
  /** The message that caused it; null = added by hand */
  MessageID: string | null;
  Reply: string;
  /** What decided */
  Rule: string;
};

export type SuppressionDetail = {
  Email: string;
  Domain: string;
  /** One per reason */
  Entries: readonly Suppression[];
};

export type SuppressionList = {
  Items: readonly Suppression[];
  /** There is a next page */
  HasMore: boolean;
  /** `After` of the next page; null on the last one */
  NextCursor: string | null;
};

export type SuppressionsAdded = {
  Added: number;
  /** Were in force already and were left alone */
  Existing: number;
};

export type SwitchOffTotpRequest = {
  Password: string;
  Code: string;
};

export type SwitchOnTotpRequest = {
  Password: string;
  /** As POST /session/totp made it */
  Secret: string;
  /** What the app shows for it */
  Code: string;
};

export type Template = {
  TemplateID: string;
  Domain: string;
  Name: string;
  /** The newest; in a template with its texts, the one that is shown */
  Version: number;
  CreatedAt: string;
  UpdatedAt: string;
  /** null = left to the request */
  Subject: string | null;
  HTMLContent: string | null;
  PlainContent: string | null;
  /** Names that its tags ask for; inside a section they may be members of its items */
  Variables: readonly string[];
  /** Versions that are kept, newest first, at most 100 */
  Versions: readonly {
    Version: number;
    CreatedAt: string;
  }[];
};

export type TemplateList = {
  Items: readonly TemplateSummary[];
  /** There is a next page */
  HasMore: boolean;
  /** `After` of the next page; null on the last one */
  NextCursor: string | null;
};

export type TemplateRendering = {
  /** null = left to the request */
  Subject: string | null;
  HTMLContent: string | null;
  PlainContent: string | null;
  /** Variables that were asked for without a default and not given */
  Missing: readonly string[];
  Version: number;
};

export type TemplateSummary = {
  TemplateID: string;
  Domain: string;
  Name: string;
  /** The newest; in a template with its texts, the one that is shown */
  Version: number;
  CreatedAt: string;
  UpdatedAt: string;
};

export type TextsRendering = {
  /** null = left to the request */
  Subject: string | null;
  HTMLContent: string | null;
  PlainContent: string | null;
  /** Variables that were asked for without a default and not given */
  Missing: readonly string[];
  /** Names that its tags ask for; inside a section they may be members of its items */
  Variables: readonly string[];
};

export type Timeline = {
  Items: readonly TimelineEntry[];
  /** There is a next page */
  HasMore: boolean;
  /** `After` of the next page; null on the last one */
  NextCursor: string | null;
};

export type TimelineEntry = {
  EventID: string;
  /** The kind, e.g. delivered */
  Event: string;
  At: string;
  LogLevel: 'Info' | 'Warn' | 'Error';
  Recipient: string | null;
  Attempt: number | null;
  Route: 'mx' | 'relay' | 'sandbox' | null;
  Reason: string;
  RemoteMta: string;
  /** The address of `sources` from which it was sent; empty where the system chose */
  SourceAddress: string;
  /** What the other server said */
  Reply: string;
  Tls: string;
  DurationMs: number | null;
  NextAttemptAt: string | null;
  /** It may have been delivered twice */
  PossibleDuplicate: boolean;
  Bounce: Bounce | null;
  /** Of a deferral, bounce or failure: what it means, whose fault it is, what happens next */
  Explanation: string;
  IPAddress: string;
  UserAgent: string;
  URL: string;
  /** The SMTP conversation; only for tokens that may read mail */
  Conversation?: string;
};

export type Token = {
  TokenID: string;
  Name: string;
  /** ["*"] = all */
  Domains: readonly string[];
  Scopes: readonly string[];
  /** What it sends never leaves the machine */
  Sandbox: boolean;
  /** Empty = from anywhere */
  IPAllowList: readonly string[];
  /** Sends per second; null = no limit of its own */
  RateLimit: number | null;
  /** TokenID of the token, or PersonID of the person, that made it; null = none, or unknown */
  CreatedBy: string | null;
  CreatedAt: string;
  /** null = never */
  ExpiresAt: string | null;
  LastUsedAt: string | null;
  LastUsedIP: string | null;
  RevokedAt: string | null;
  /** Id of the token that replaced it */
  ReplacedBy: string | null;
};

export type TokenList = {
  Items: readonly Token[];
  /** There is a next page */
  HasMore: boolean;
  /** `After` of the next page; null on the last one */
  NextCursor: string | null;
};

export type TotpSecret = {
  /** Base32 */
  Secret: string;
  /** `otpauth:`, for a QR code */
  URI: string;
};

export type TryAnswer = {
  /** Paths and relays that were closed and are tried now */
  Tried: number;
  /** Recipients that waited because of their path, or because of a reply of the relay, and are due now */
  Due: number;
  /** Recipients of the domain that wait because of a reply to them: `POST /email/{id}/retry` tries one */
  Deferred: number;
  /** As they are now */
  Paths: readonly Path[];
  Relays: readonly Relay[];
};

export type UpdatePersonRequest = {
  Role?: 'operator' | 'member' | 'viewer';
  /** Of a member or viewer; ["*"] = all, for viewers only */
  Domains?: readonly string[];
  /** Of a member; Default where left out */
  Preset?: 'Default' | 'Send' | 'Full';
  /** true: may not sign in, and what the person made ends as with Children=true */
  Disabled?: boolean;
};

export type UpdateTemplateRequest = {
  Name?: string;
  Subject?: string;
  HTMLContent?: string;
  PlainContent?: string;
  /** The newest one that you have seen: where there is a newer one, nothing changes */
  Version?: number;
};

export type UpdateWebhookRequest = {
  /** Token of the events, e.g. bounce, or all; several with commas between them */
  Event?: string;
  /** The same as a list; `Event` need not be given then */
  Events?: readonly string[];
  /** Where it is called */
  WebhookURL?: string;
  Status?: 'Enabled' | 'Disabled';
  Description?: string;
};

export type Warmup = {
  Source: string;
  Provider: string;
  /** Messages within any 24 hours; null = warm, no budget */
  Budget: number | null;
  /** Within the last 24 hours */
  Used: number;
  DeferredToday: number;
  BlockedToday: number;
  LastUsedAt: string | null;
};

export type WarmupAnswer = {
  Items: readonly Warmup[];
  /** There is a next page */
  HasMore: boolean;
  /** `After` of the next page; null on the last one */
  NextCursor: string | null;
};

export type WebhookCall = {
  DeliveryID: number;
  EventID: string;
  /** As in the payload of the call */
  Event:
    | 'accepted'
    | 'scheduled'
    | 'delivered'
    | 'deferred'
    | 'bounced'
    | 'failed'
    | 'suppressed'
    | 'rejected'
    | 'canceled'
    | 'requeued'
    | 'opened'
    | 'clicked'
    | 'complained'
    | 'unsubscribed'
    | 'domain.verified'
    | 'domain.failing'
    | 'webhook.disabled'
    | 'operator.alert'
    | 'auto_reply'
    | 'held'
    | 'released'
    | 'late_outcome'
    | 'suppression_added'
    | 'complaint_withdrawn'
    | 'return_noted'
    | 'domain.warned'
    | 'domain.held'
    | 'domain.released'
    | 'path_blocked'
    | 'path_unblocked'
    | 'suppression_removed';
  /** null = the event is of no message, the message was deleted, or `events:read` is missing */
  MessageID: string | null;
  /** As `MessageID`; null also of what concerns all recipients */
  Recipient: string | null;
  Status: 'Pending' | 'Sending' | 'Succeeded' | 'Failed';
  Tries: number;
  /** Of the last try; 0 = no answer */
  ResponseCode: number;
  /** Of the last try: its first 1024 bytes */
  ResponseBody: string;
  Error: string;
  /** Of each try, since the call was made or made again */
  LatenciesMs: readonly number[];
  CreatedAt: string;
  UpdatedAt: string;
  /** Of a pending call; null = it is not made, or its webhook is disabled */
  NextTryAt: string | null;
};

export type WebhookCallDetail = {
  DeliveryID: number;
  EventID: string;
  /** As in the payload of the call */
  Event:
    | 'accepted'
    | 'scheduled'
    | 'delivered'
    | 'deferred'
    | 'bounced'
    | 'failed'
    | 'suppressed'
    | 'rejected'
    | 'canceled'
    | 'requeued'
    | 'opened'
    | 'clicked'
    | 'complained'
    | 'unsubscribed'
    | 'domain.verified'
    | 'domain.failing'
    | 'webhook.disabled'
    | 'operator.alert'
    | 'auto_reply'
    | 'held'
    | 'released'
    | 'late_outcome'
    | 'suppression_added'
    | 'complaint_withdrawn'
    | 'return_noted'
    | 'domain.warned'
    | 'domain.held'
    | 'domain.released'
    | 'path_blocked'
    | 'path_unblocked'
    | 'suppression_removed';
  /** null = the event is of no message, the message was deleted, or `events:read` is missing */
  MessageID: string | null;
  /** As `MessageID`; null also of what concerns all recipients */
  Recipient: string | null;
  Status: 'Pending' | 'Sending' | 'Succeeded' | 'Failed';
  Tries: number;
  /** Of the last try; 0 = no answer */
  ResponseCode: number;
  /** Of the last try: its first 1024 bytes */
  ResponseBody: string;
  Error: string;
  /** Of each try, since the call was made or made again */
  LatenciesMs: readonly number[];
  CreatedAt: string;
  UpdatedAt: string;
  /** Of a pending call; null = it is not made, or its webhook is disabled */
  NextTryAt: string | null;
  Request: {
    /** Where the webhook points now */
    URL: string;
    /** Those that every try has; the timestamp and the signature are made for each try */
    Headers: Readonly<Record<string, string>>;
    /** The JSON text of every try */
    Body: string;
  };
};

export type WebhookCalls = {
  Items: readonly WebhookCall[];
  /** There is a next page */
  HasMore: boolean;
  /** `After` of the next page; null on the last one */
  NextCursor: string | null;
};

export type WebhookDetail = {
  WebhookID: number;
  CreatedAt: string;
  UpdatedAt: string;
  Status: 'Enabled' | 'Disabled';
  WebhookURL: string;
  /** Token of the events it is called for, e.g. bounce, or all; of several with commas between them */
  Event: string;
  /** Of the last try; 0 = no answer, or never called */
  LastResponseCode: number;
  LastResponseBody: string;
  /** 1899-11-30T00:00:00.000Z = no answer, or never called */
  LastResponseAt: string;
  /** Number of that try within its call; 0 = never called */
  LastResponseTryCounter: number;
  /** `Event` as a list */
  Events: readonly string[];
  Domain: string;
  Description: string;
  /** The token that it was made with */
  CreatedBy: string | null;
  DisabledReason: 'User' | 'Gone' | 'Failures' | 'Blocked' | null;
  FailingSince: string | null;
  LastError: string;
  LastLatencyMs: number | null;
  /** Calls that wait or are on their way, counted to 10 000 */
  Pending: number;
  /** The last four characters of the secret */
  SecretHint: string;
};

export type WebhookList = {
  Webhooks: readonly (WebhookDetail | WebhookRecord)[];
  /** With `Details`; null = that was all */
  NextCursor?: string | null;
};

export type WebhookRecord = {
  WebhookID: number;
  CreatedAt: string;
  UpdatedAt: string;
  Status: 'Enabled' | 'Disabled';
  WebhookURL: string;
  /** Token of the events it is called for, e.g. bounce, or all; of several with commas between them */
  Event: string;
  /** Of the last try; 0 = no answer, or never called */
  LastResponseCode: number;
  LastResponseBody: string;
  /** 1899-11-30T00:00:00.000Z = no answer, or never called */
  LastResponseAt: string;
  /** Number of that try within its call; 0 = never called */
  LastResponseTryCounter: number;
};

export type WebhookSecretAnswer = {
  /** Shown this once */
  Secret: string;
  /** Until then the secret before signs too */
  PreviousValidUntil: string;
};

export type WebhookTest = {
  /** 0 = no answer */
  StatusCode: number;
  LatencyMs: number;
  Body: string;
  Error: string;
};

/** Parameters in the query, by operation. */
export interface Queries {
  listEmails: {
    /** Address of the sender, in upper or lower case */
    From?: string;
    /** Address of a recipient, in upper or lower case */
    To?: string;
    /** Holds this text */
    Subject?: string;
    /** Has this tag */
    Tag?: string;
    /** Not before: Unix seconds or ISO 8601 */
    Since?: string;
    /** Before: Unix seconds or ISO 8601 */
    Until?: string;
    /** Only of this sender domain, one of the token’s */
    Domain?: string;
    /** Domain of a recipient’s address */
    RecipientDomain?: string;
    /** Of the message or one of its recipients */
    Status?:
      | 'Scheduled'
      | 'Queued'
      | 'Held'
      | 'Sending'
      | 'Deferred'
      | 'Delivered'
      | 'Bounced'
      | 'Failed'
      | 'Rejected'
      | 'Suppressed'
      | 'Canceled'
      | 'Captured'
      | 'PartiallyDelivered';
    /** A recipient failed or waits for this cause (`CauseID`) */
    Cause?: number;
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
  };
  listWebhooks: {
    /** Only of this sender domain, one of the token’s */
    Domain?: string;
    /** As `GET /webhooks/{id}` shows each */
    Details?: boolean;
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
  };
  listWebhookCalls: {
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
  };
  listEmailEvents: {
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
  };
  streamEvents: {
    /** Kind, e.g. delivered; failed finds bounces too */
    Event?: string;
    /** Of one message */
    MessageID?: string;
    /** Address */
    Recipient?: string;
    /** Tag of the message */
    Tag?: string;
    /** Only of this sender domain, one of the token’s */
    Domain?: string;
    /** `id` of the last event that was seen; the header Last-Event-ID wins */
    After?: number;
  };
  getStats: {
    /** Beginning: Unix seconds or ISO 8601 */
    From?: string;
    /** End: Unix seconds or ISO 8601 */
    To?: string;
    Interval?: 'hour' | 'day';
    GroupBy?: 'Tag' | 'Domain' | 'RecipientDomain' | 'Provider' | 'DeliveryTime';
    IncludeSandbox?: boolean;
    /** Only of this sender domain, one of the token’s */
    Domain?: string;
  };
  listDomains: {
    /** A part of the name */
    Search?: string;
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
  };
  getDmarc: {
    Days?: number;
  };
  listSuppressions: {
    /** Address */
    Email?: string;
    /** Domain of the addresses */
    RecipientDomain?: string;
    Reason?: 'Bounce' | 'Inactive' | 'SoftBounces' | 'Complaint' | 'Unsubscribe' | 'Manual';
    /** Not before: Unix seconds or ISO 8601 */
    Since?: string;
    /** Only of this sender domain, one of the token’s */
    Domain?: string;
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
  };
  getSuppression: {
    /** Only of this sender domain, one of the token’s */
    Domain?: string;
  };
  deleteSuppression: {
    Reason?: 'Bounce' | 'Inactive' | 'SoftBounces' | 'Complaint' | 'Unsubscribe' | 'Manual';
    /** Only of this sender domain, one of the token’s */
    Domain?: string;
  };
  listTemplates: {
    /** Of the template */
    Name?: string;
    /** Words, in any case */
    Search?: string;
    /** Only of this sender domain, one of the token’s */
    Domain?: string;
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
  };
  getTemplate: {
    /** The newest where left out */
    Version?: number;
  };
  listTokens: {
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
  };
  revokeToken: {
    /** Also what was made with it */
    Children?: boolean;
  };
  getMe: {
    /** Only of this sender domain, one of the token’s */
    Domain?: string;
  };
  listSmtpCredentials: {
    /** Only of this sender domain, one of the token’s */
    Domain?: string;
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
  };
  listPeople: {
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
  };
  updatePerson: {
    /** Also end the tokens, SMTP credentials and webhooks that the person made, and what those made */
    Children?: boolean;
  };
  listAudit: {
    /** WhoID or WhoName */
    Who?: string;
    /** `operationId` */
    Operation?: string;
    /** Not before: Unix seconds or ISO 8601 */
    Since?: string;
    /** Before: Unix seconds or ISO 8601 */
    Until?: string;
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
  };
  listCaptures: {
    /** Name of the inbox */
    Inbox?: string;
    /** Address of the sender, in upper or lower case */
    From?: string;
    /** Address of a recipient, in upper or lower case */
    To?: string;
    /** Holds this text */
    Subject?: string;
    /** Has this tag */
    Tag?: string;
    /** Not before: Unix seconds or ISO 8601 */
    Since?: string;
    /** Before: Unix seconds or ISO 8601 */
    Until?: string;
    /** Only of this sender domain, one of the token’s */
    Domain?: string;
    /** In the subject or a content */
    Text?: string;
    /** Marked as seen, or not */
    Seen?: boolean;
    /** With or without attachments */
    HasAttachment?: boolean;
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
  };
  deleteCaptures: {
    /** Only this inbox */
    Inbox?: string;
    /** Only of this sender domain, one of the token’s */
    Domain?: string;
  };
  listInboxes: {
    /** Only of this sender domain, one of the token’s */
    Domain?: string;
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
  };
  listSandboxRules: {
    /** Only of this sender domain, one of the token’s */
    Domain?: string;
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
  };
  deleteSandboxRules: {
    /** Only those of this inbox */
    Inbox?: string;
    /** Only of this sender domain, one of the token’s */
    Domain?: string;
  };
  waitForCapture: {
    /** Name of the inbox */
    Inbox?: string;
    /** Address of the sender, in upper or lower case */
    From?: string;
    /** Address of a recipient, in upper or lower case */
    To?: string;
    /** Holds this text */
    Subject?: string;
    /** Has this tag */
    Tag?: string;
    /** Not before: Unix seconds or ISO 8601 */
    Since?: string;
    /** Before: Unix seconds or ISO 8601 */
    Until?: string;
    /** Only of this sender domain, one of the token’s */
    Domain?: string;
    /** In the subject or a content */
    Text?: string;
    /** Marked as seen, or not */
    Seen?: boolean;
    /** With or without attachments */
    HasAttachment?: boolean;
    /** Seconds */
    Timeout?: number;
  };
  streamCaptures: {
    /** Name of the inbox */
    Inbox?: string;
    /** Address of the sender, in upper or lower case */
    From?: string;
    /** Address of a recipient, in upper or lower case */
    To?: string;
    /** Holds this text */
    Subject?: string;
    /** Has this tag */
    Tag?: string;
    /** Not before: Unix seconds or ISO 8601 */
    Since?: string;
    /** Before: Unix seconds or ISO 8601 */
    Until?: string;
    /** Only of this sender domain, one of the token’s */
    Domain?: string;
    /** In the subject or a content */
    Text?: string;
    /** Marked as seen, or not */
    Seen?: boolean;
    /** With or without attachments */
    HasAttachment?: boolean;
    /** `id` of the last copy that was seen; the header Last-Event-ID wins */
    After?: number;
  };
  getQueue: {
    /** Queues of the answer */
    Limit?: number;
    /** Only of this sender domain, one of the token’s */
    Domain?: string;
  };
  getWarmup: {
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
  };
  listRefusals: {
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
    /** Only of this sender domain, one of the token’s */
    Domain?: string;
  };
  listNodes: {
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
  };
  runDoctor: {
    /** Only this sender domain */
    Domain?: string;
    /** Only this server, or only its domains */
    Part?: 'server' | 'domains';
  };
  listPaths: {
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
  };
  listHolds: {
    /** Sender domain that the hold names */
    SenderDomain?: string;
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
  };
  listCauses: {
    /** Items of a page */
    Limit?: number;
    /** `NextCursor` of the page before */
    After?: string;
  };
  resendCause: {
    /** `NextCursor` of the page before */
    After?: string;
  };
}
