/** api.md: the table of operations as the HTTP listener mounts it, a sentence for each, and the plain routes beside it. */
import { createHealthRoutes, type HealthDeps } from '../../src/listeners/health/health.ts';
import { settingMeanings } from '../../src/listeners/http/contract/domain-settings.ts';
import { DEFAULT_EMAIL_LIMITS } from '../../src/listeners/http/contract/email-limits.ts';
import { DEFAULT_HTTP_OPTIONS, type HttpDeps } from '../../src/listeners/http/deps.ts';
import { apiRoutes, type Shared } from '../../src/listeners/http/operations/table.ts';
import { PRESETS } from '../../src/model/token.ts';
import { code, page, table, withSentences } from './markdown.ts';

export interface Operation {
  method: string;
  /** `/webhooks/{id}`, below /api/v1. */
  path: string;
  scope: string | null;
}

/** The operations of the API. No handler is called, so none of the parts behind them is needed. */
export function operations(): readonly Operation[] {
  const routes = apiRoutes({} as HttpDeps, DEFAULT_HTTP_OPTIONS, {} as Shared);
  return routes.map(({ method, path, scope }) => ({ method, path: braces(path), scope }));
}

/** Paths from the root that need no token of the API. */
export function plainPaths(): readonly string[] {
  const health = createHealthRoutes({} as HealthDeps).map((route) => route.path);
  return ['/.well-known/jwks.json', '/api/v1/problems/{name}', ...health];
}

export function apiPage(): string {
  const rows = withSentences(operations(), ({ method, path }) => `${method} ${path}`, OPERATIONS).map(
    ([{ method, path, scope }, sentence]) => [
      `\`${method} ${path}\``,
      scope === null ? 'any token' : code(scope),
      sentence,
    ],
  );
  const plain = withSentences(plainPaths(), (path) => path, PLAIN).map(([path, sentence]) => [
    `\`GET ${path}\``,
    sentence,
  ]);
  const settings = settingMeanings().map(({ name, meaning }) => [code(name), meaning]);
  const presets = Object.entries(PRESETS).map(([name, scopes]) => [
    name,
    scopes.map((scope) => `\`${scope}\``).join(' '),
  ]);
  return page(
    'API',
    COMMON,
    '## Operations',
    'All below `/api/v1`.',
    table(['Operation', 'Scope', 'What it does'], rows),
    '## Without a token',
    table(['Operation', 'What it does'], plain),
    EMAIL,
    '## Settings of a domain',
    table(['Setting', 'Meaning'], settings),
    LIMITS,
    TOKENS,
    table(['Preset', 'Scopes'], presets),
  );
}

function braces(path: string): string {
  return path.replace(/:([a-z]+)/gi, '{$1}');
}

const OPERATIONS: Readonly<Record<string, string>> = {
  'POST /email':
    'Takes a message: `{MessageID}`. 200 means checked and on disk, not delivered. Takes `Idempotency-Key`. See below',
  'POST /email/validate':
    'The same body and the same refusals, from the fields to the quota, and nothing stored: `{Valid, Size, Recipients, Warnings}`. A warning, `{Name, Message, Field?}`, says what would be taken but is likely not meant',
  'POST /email/batch':
    '`{Messages}`, 1 to 100: `{Results, Accepted, Rejected}`, a result a message in order, `{MessageID}` or `{Errors}`. 200 also where some are refused; what is taken is one commit. Each message counts for `rate-limit`. Takes `Idempotency-Key`, for the whole batch',
  'GET /webhooks':
    'Every webhook of the token’s domains, by id, ten members each: `{Webhooks}`. `Domain` filters',
  'POST /webhooks':
    '`{Event, WebhookURL}`, also `Description`, and `Domain` where the token holds several: `{NewWebhookID, Secret}`. The secret is shown this once. At most 100 a domain',
  'DELETE /webhooks/{id}': 'Removes it with the calls that wait: `{}`',
  'GET /webhooks/{id}':
    'The ten members and `Domain, Description, DisabledReason, FailingSince, LastError, LastLatencyMs, Pending, SecretHint`',
  'PATCH /webhooks/{id}':
    '`{Event?, WebhookURL?, Status?, Description?}`: the detail after it. `Status` is Enabled or Disabled; switched on again, the calls of the last 72 hours are made now and older ones are given up (replay can make them)',
  'POST /webhooks/{id}/secret':
    'A new secret: `{Secret, PreviousValidUntil}`, shown this once. For 24 hours every call carries two signatures, of the new secret and of the old one',
  'POST /webhooks/{id}/test':
    'Sends a signed sample now: `{StatusCode, LatencyMs, Body, Error}`. Changes nothing',
  'POST /webhooks/{id}/replay':
    '`{DeliveryIDs}` (1000), or `{Since?, Until?, OnlyFailed?}`: makes those calls, or the calls of past events, again, at most 10 000: `{Queued}`. Without `Since` only with `OnlyFailed: true`',
  'GET /webhooks/{id}/deliveries': 'The calls with their tries and the last answer, newest first, a page',
  'GET /events':
    'Events newest first: `{TotalRecords, Events}`. `StartDate`, `EndDate` (Unix seconds), `Event`, `MessageID`, `StartFrom`, `RetrieveCount` (1–100, 5); also `Recipient`, `Tag`, `Domain`, and `After` with the header `X-Next-After`, oldest first. `Event=failed` finds bounces too. `TotalRecords` counts to 10 000',
  'GET /events/stream':
    'Events as they happen, as server-sent events: `id` is the place to resume from (`Last-Event-ID`, or `After`), `event` the kind, `data` a line of the timeline with `Domain, MessageID, From, Subject, Tags, Metadata, Sandbox`. `Event`, `MessageID`, `Recipient`, `Tag`, `Domain` filter. A heartbeat every 15 seconds; 10 streams a token, 100 in all',
  'GET /email/{id}/events':
    'The timeline of one message, oldest first, a page. The SMTP conversation only for tokens with `email:read`',
  'GET /stats':
    'Events per `Interval` (`day`, or `hour`), `From`, `To`, `GroupBy` (`Tag`, `Domain`, `RecipientDomain`), `Domain`: `{Items: [{Group, Counts, Rates, Intervals}], Rest}`. At most 92 days by day, 8 by hour, and a million events; 5 times a second a token. Mail of the sandbox only with `IncludeSandbox=true`',
  'GET /email':
    'Messages newest first, a page. `From`, `To`, `Subject` (holds), `Tag`, `Status`, `Since`, `Until`, `Domain`, and `Metadata.<key>=<value>`, several of which must all hold',
  'GET /email/{id}':
    'One message with every recipient: status, attempts, last reply, why it waits, when it is tried next',
  'GET /email/{id}/raw': 'The composed bytes, `message/rfc822`, before signing, without Bcc',
  'POST /email/{id}/cancel':
    'Stops every recipient that still waits: `{Canceled, TooLate}`. What is being sent or was delivered is too late; where nothing was stopped, 409',
  'PATCH /email/{id}':
    '`{SendAt}`: another time for a message that is still scheduled; the message after it. Its `Date` moves along, and its expiry unless `ExpiresAt` was given. On its way or done: 409',
  'POST /email/{id}/retry':
    'Queues failed, bounced and deferred recipients again, due now, with the give-up age of their lane from now on: `{Queued}`. Attempts go on counting. Nothing to try: 409',
  'GET /domains': 'Sender domains, a page',
  'POST /domains':
    '`{Domain}` and [settings](#settings-of-a-domain): makes two DKIM keys and answers 201 with the `DnsRecords` to publish. `Verified: true`, from a token with the scope `admin` for all domains, skips the DNS proof',
  'GET /domains/{name}': 'One domain with its records and what the last check found',
  'DELETE /domains/{name}': 'Removes the domain and its keys: `{}`. What waits from it is held',
  'PATCH /domains/{name}':
    'Changes [settings](#settings-of-a-domain): the domain after it. What is not named stays. The documented settings that this version does not have are refused with `field-unavailable`',
  'POST /domains/{name}/dkim/rotate':
    'Signs with the standby key from now on: the domain after it. 409 with a sentence unless the DNS shows that key. The old key has to stay published for 7 days; then a new standby key takes its place in `DnsRecords`',
  'POST /domains/{name}/verify': 'Looks the records up now; at most once in 10 seconds a domain',
  'GET /suppressions':
    'Addresses that are not sent to, newest first, a page: `{Email, Domain, Reason, Note, CreatedAt, ExpiresAt, MessageID, Reply, Rule}`. `Reason`, `Since`, `Email`, `Domain`',
  'POST /suppressions':
    '`{Items: [{Email, Reason?, Note?, ExpiresAt?}]}`, at most 1000, and `Domain` where the token holds several: `{Added, Existing}`. `Reason` is Bounce, Inactive, SoftBounces, Complaint, Unsubscribe or Manual (the default); without `ExpiresAt` Inactive holds 90 days, SoftBounces 30, the others until they are removed. Takes `Idempotency-Key`',
  'GET /suppressions/{email}':
    'Why an address (percent-encoded) is not sent to: `{Email, Domain, Entries}`, an entry per reason',
  'DELETE /suppressions/{email}': 'Lifts it, or only the entry for `Reason`: `{}`',
  'GET /templates': 'Templates without their texts, newest first, a page. `Name` finds one, `Domain` filters',
  'POST /templates':
    '`{Name, Subject?, HTMLContent?, PlainContent?}`, and `Domain` where the token holds several: 201 with the template in version 1. At least one text; each up to 512 KiB. A mistake in one is 422 with `Line` and `Column`. At most 1000 a domain. Takes `Idempotency-Key`. [How to write them](../howto/templates.md)',
  'GET /templates/{id}':
    'One template with the texts of its newest version, or of `Version`; `Variables` lists the names its tags ask for, `Versions` the newest 100 versions',
  'PUT /templates/{id}':
    '`{Name?, Subject?, HTMLContent?, PlainContent?}`: a new version that holds just these texts; the template after it. The newest 1000 versions are kept and can be read, rendered and sent',
  'DELETE /templates/{id}': 'Removes it with every version: `{}`',
  'POST /templates/{id}/render':
    '`{Variables?, Version?, Strict?}`: `{Subject, HTMLContent, PlainContent, Missing, Version}`, nothing is sent. `Strict` refuses where a variable is missing, and names all of them',
  'GET /tokens': 'Tokens without their text, newest first, a page',
  'POST /tokens':
    '`{Name, Domains?, Scopes or Preset, ExpiresIn?, Sandbox?, IPAllowList?, RateLimit?}`: 201 `{TokenID, Token}`, shown this once. Never more than the caller’s own scopes and domains',
  'GET /tokens/{id}': 'One token without its text',
  'DELETE /tokens/{id}': 'Revokes it: `{}`. Here at once',
  'POST /tokens/{id}/rotate':
    '`{Overlap?}` in seconds, 0 to 604 800 (86 400): a new token that may the same for as long, 201 `{TokenID, Token, PreviousValidUntil}`. The old one ends after the overlap',
  'GET /smtp-credentials': 'User names for SMTP submission, newest first, a page. `Domain` filters',
  'POST /smtp-credentials':
    '`{Domain?, Name?, Sandbox?}`: 201 `{CredentialID, Username, Password, …}`; the password is shown this once',
  'DELETE /smtp-credentials/{id}': 'Ends it: `{}`. Here at once',
  'GET /me':
    'What this token is: domains and their status, scopes, limits, and what is left of the quotas of its domains (`Quotas`)',
  'GET /sandbox/messages':
    'Captured copies, one per recipient, newest first, a page. `Inbox`, `From`, `To`, `Subject`, `Text` (in the subject or a content), `Tag`, `HasAttachment`, `Since`, `Until`, `Domain`. With `Text` or `HasAttachment` a page may hold fewer than there are: go on with its cursor',
  'GET /sandbox/wait':
    'The newest copy that matches the same filters, parsed, with its `Links` and `Codes`; where there is none, the first that arrives within `Timeout` seconds (0 to 60, 30); none: 408',
  'GET /sandbox/stream':
    'Captured copies as they come, as server-sent events: `event: captured`, `data` an item of the list, `id` the place to resume from (`Last-Event-ID`, or `After`). The filters of the list. A heartbeat every 15 seconds; 20 streams a token, 200 in all',
  'GET /sandbox/inboxes':
    'Inboxes that hold something, by name: `Inbox, Domain, Count, LatestID, LatestAt, LatestSubject`; `Domain` filters. A copy lies in the inbox of the `+label` in its recipient’s address (`ada+run-17@example.net`: `run-17`), and without one in that of the token or SMTP credential that sent it, by its name; always in lower case',
  'DELETE /sandbox/messages':
    'Empties the inboxes of the token’s domains, or one `Inbox`, or of one `Domain`: `{Deleted}`',
  'POST /erase':
    '`{Email}`, from a token of all domains: the person’s address masked everywhere, what was written to them removed, mail that waits for them canceled, a suppression kept as a hash that still stops mail: `{Messages, Events, Pending}`. With `Pending` above 0 something was under way: ask again',
  'GET /queue':
    'What waits, queue by queue, earliest due first: `{Waiting, Sending, PendingCalls, OldestDueAt, Queues: [{Site, SenderDomain, Priority, Waiting, Complete, Due, OldestAt, NextDueAt, Ages, Reasons}], More}`. `Domain`, `Limit` (1–100, 100)',
  'GET /causes':
    'What failed or waits for one reason that several recipients share, the latest first: `{Items: [{CauseID, Category, Scope, Site, SenderDomain, Reply, Explanation, Waiting, Failed, FirstSeen, LastSeen, Example}]}`. `Limit`',
  'GET /causes/{id}': 'One of them',
  'POST /causes/{id}/resend':
    'Queues its recipients again, at most 2,000 a request: `{Queued, LeftOut: {Suppressed, ContentGone, Moved}, More}`',
  'GET /warmup':
    'How far each new source has come at each provider: `{Items: [{Source, Provider, Budget, Used, DeferredToday, BlockedToday, LastUsedAt}]}`; a null budget is a warm source',
  'GET /queue/paths':
    'Every path (source and site) that is in use or blocked, with its limits and where each comes from, its state, why it waits and until when, and its overrides: `{Items}`. For tokens of all domains, as all that follows about traffic',
  'GET /queue/paths/{site}':
    'The paths of one site, by its name, its provider or any recipient domain of it: `{Site, Paths, Limits, Holds, Waiting, Complete, Reasons}`; `Limits` where there is no path yet',
  'GET /queue/holds': 'What is held back, oldest first: `{Items}`',
  'POST /queue/hold':
    '`{SenderDomain?, RecipientDomain?, Site?, Priority?, All?, Reason, Until?}`: keeps mail back that fits all that is named, 201 with its `HoldID`. It waits with that reason, is not lost, and still expires; no priority is exempt',
  'POST /queue/release':
    '`{HoldID?, SenderDomain?, RecipientDomain?, Site?, Priority?, All?}`: ends the holds that name all that is given: `{Released}`. 404 where there is none',
  'GET /overrides':
    'Limits learned from replies or set for a time, newest first: `{Items: [{OverrideID, Scope, Key, Param, Value, Until, Rule, Why, CreatedAt}]}`',
  'DELETE /overrides/{id}': 'Ends one now: `{}`. The next reply of its kind may bring it back',
  'GET /config':
    'The configuration in force, without secrets: `{Items: [{Key, Value, Source, Default, Meaning}]}`',
  'GET /sandbox/messages/{id}':
    'One copy, parsed: contents, headers, attachments, links, runs of digits that look like codes',
  'DELETE /sandbox/messages/{id}': 'Removes one copy: `{}`',
  'GET /sandbox/messages/{id}/raw':
    'The very bytes that would have been sent, signed where the domain has a key',
};

const PLAIN: Readonly<Record<string, string>> = {
  '/.well-known/jwks.json': 'The public keys of tokens',
  '/api/v1/problems/{name}': 'What an error means: the page behind `type`',
  '/healthz': '200 as long as the process answers',
  '/readyz': '200, or 503 with the check that is not met',
  '/metrics': '[Figures](metrics.md) for loopback, or for a token with the scope `admin`',
};

const COMMON = `\`Authorization: Bearer <token>\` on every request. JSON in and out, names in PascalCase. Slashes may be doubled or trail.
Query names are taken in any case. A page is \`{Items, HasMore, NextCursor}\`: ask again with \`After=<NextCursor>\`;
\`Limit\` is 1 to 100, 25 by default. Other people's things are 404. Every answer has \`X-Request-Id\` (the request's own
where it is 1–64 letters, digits, \`_\` or \`-\`). A path that exists without that method is 405 with \`Allow\`. There is no CORS.
Refusals: [errors](errors.md). \`Idempotency-Key\` (1–255 visible characters) works on every \`POST\` that creates
(email, batches, webhooks, domains, tokens, suppressions, SMTP credentials, templates) and on rotations: for 24 hours the same key with the same body is answered as the first time, with
\`Idempotency-Replayed: true\`; with another body it is refused. The key is stored in the transaction that makes the thing.
Secrets are repeated for five minutes, and not after a restart; then the answer comes without them.`;

const EMAIL = `## POST /email

\`From\` \`{name?, email}\`, \`To\`, and \`CC\`, \`BCC\`, \`ReplyTo\` as lists of such objects; \`Subject\`; \`ContentType\` (\`HTML\` or \`Text\`);
\`HTMLContent\`, \`PlainContent\`; \`Tags\`, \`Headers\`, \`Attachments\` (\`Content\` in base64, \`Type\`, \`Filename\`, \`Disposition\`,
\`ContentId\`). Names and words are taken in any case. Also \`Priority\` (\`critical\`, \`normal\`, \`bulk\`) and \`Sandbox\` (true,
or \`{Result}\` with one of Deliver, Bounce, SoftBounce, Defer, Fail, Suppress, Complain, Open, Click);
\`SendAt\` and \`ExpiresAt\` (ISO 8601 with an offset, or Unix seconds; up to 30 days ahead; up to 5 minutes in the past means
now; without \`ExpiresAt\` the lane's give-up age counts from \`SendAt\`); \`Metadata\` (texts by key: 20 of 64 and 512
characters, 10 000 octets together; in events and webhooks, never in the mail); \`KeepContent\`
(false: the content is removed when the last recipient is final). Unknown
members are ignored, unless the request has \`Prefer: handling=strict\`.

With \`ContentType\` HTML, a missing \`PlainContent\` is made from the HTML, \`""\` means no text part, and a text is used as it
is. With Text, \`PlainContent\` is the body, or is made from \`HTMLContent\` where only that is given.

\`TemplateID\` fills in what the request leaves out of Subject, HTMLContent and PlainContent from a [template](../howto/templates.md)
of the domain of \`From\`, with the object \`Variables\`; \`ContentType\` is not required then. \`TemplateVersion\` picks an older
version; \`StrictVariables\` refuses where a variable is missing.

\`Tracking\` (\`{Opens, Clicks}\`, each true or false) and \`ListUnsubscribe\` (true or false) take the place of the domain's
settings, member by member: [track and unsubscribe](../howto/track-and-unsubscribe.md).

The domain of \`From\` must equal a verified domain of the token, or be below one that was added with \`Subdomains\`.`;

const email = DEFAULT_EMAIL_LIMITS;
const LIMITS = `## Limits

${table(
  ['What', 'Limit'],
  [
    ['To, CC and BCC together, after duplicates are merged', `${email.maxRecipients} (\`max-recipients\`)`],
    ['ReplyTo', String(email.maxReplyTo)],
    ['HTMLContent, PlainContent', `${email.maxContentBytes} octets each`],
    ['Subject', `${email.maxSubjectChars} characters`],
    ['a display name', `${email.maxNameChars} characters`],
    ['Tags', `${email.maxTags} of ${email.maxTagChars} characters`],
    ['Headers', `${email.maxHeaders}, ${email.maxHeaderBytes} octets together`],
    ['Attachments', String(email.maxAttachments)],
    ['the composed message', '`max-message-bytes`'],
    ['the HTTP body, also after gzip is undone', `${DEFAULT_HTTP_OPTIONS.maxBodyBytes} octets`],
  ],
)}`;

const TOKENS = `## Tokens

A token is a JWT (EdDSA) that proves possession of a row in the store; the row decides. Scopes are single words; presets are
lists of them. \`admin\` implies every other. Ten failed authentications of one address within a minute make further
failures 429 for five minutes; a valid token always passes.`;
