/** events.md: the table of kinds, and the members of a webhook call, taken from bodies that the code makes. */
import { EVENT_KINDS, type EventKind, type EventKindFacts, WEBHOOK_TOKENS } from '../../src/model/event.ts';
import type { MessageId } from '../../src/model/message.ts';
import { MAX_BODY_BYTES, webhookBody } from '../../src/pipeline/webhooks/payload.ts';
import { DEFAULT_RETRY_DELAYS_MS } from '../../src/pipeline/webhooks/retry-schedule.ts';
import type { EventDetail, EventView } from '../../src/store/topics/events.ts';
import { code, page, sources, table, withSentences } from './markdown.ts';

const KINDS = Object.entries(EVENT_KINDS) as [EventKind, EventKindFacts][];

export function eventsPage(): string {
  const made = whoMakes();
  const rows = KINDS.map(([kind, facts]) => [
    `\`${kind}\``,
    facts.meaning,
    code(facts.payloadType),
    code(facts.token),
    facts.aliases.length === 0 ? '–' : facts.aliases.map((alias) => `\`${alias}\``).join(' '),
    facts.logLevel,
    made.get(kind) ?? 'not yet',
  ]);
  return page(
    'Events and webhooks',
    KINDS_TEXT,
    table(
      ['Event', 'Meaning', 'Payload `type`', 'Webhook token', 'Aliases', 'Level', 'In this version'],
      rows,
    ),
    TOKENS_TEXT,
    `Tokens: ${WEBHOOK_TOKENS.map((token) => `\`${token}\``).join(' ')}.`,
    CALL_TEXT,
    '### Members of `data`',
    memberTable(),
    RETRY_TEXT,
    `Waits after a failed try: ${DEFAULT_RETRY_DELAYS_MS.map(wait).join(', ')}, each ±20 %; so at most ${DEFAULT_RETRY_DELAYS_MS.length + 1} tries. \`webhook-retry\` replaces the list.`,
  );
}

/** Which kinds something in this version makes, and which of them the sandbox alone. */
function whoMakes(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [file, text] of sources()) {
    // The sample of a webhook test and the shape of a payload name kinds without making one.
    if (file.startsWith('src/model/') || /pipeline\/webhooks\/(?:webhooks|payload)\.ts$/.test(file)) continue;
    for (const [kind] of KINDS) {
      const made = new RegExp(
        `(?:kind:|(?:event|fact|note|tell|sharedEntry)\\((?:\\w+, )*|\\?|:)\\s*'${kind.replace('.', '\\.')}'[,\\s)]`,
      );
      if (!made.test(text) || found.get(kind) === 'yes') continue;
      found.set(kind, file.endsWith('/deliver/sandbox.ts') ? 'by the sandbox' : 'yes');
    }
  }
  return found;
}

/** Name of each member of `data` → the kinds whose calls have it, from bodies of events with every detail there is. */
function memberTable(): string {
  const kindsOf = new Map<string, string[]>();
  const carried = KINDS.filter(([, facts]) => facts.payloadType !== null);
  for (const [kind] of carried) {
    const body = JSON.parse(Buffer.from(webhookBody(fullEvent(kind), 1)).toString()) as { data: object };
    for (const name of Object.keys(body.data)) kindsOf.set(name, [...(kindsOf.get(name) ?? []), kind]);
  }
  const mail = carried.filter(([kind]) => isMail(kind)).length;
  const rows = withSentences([...kindsOf], ([name]) => name, MEMBERS).map(([[name, kinds], sentence]) => [
    `\`${name}\``,
    sentence,
    WHERE[name] ??
      (kinds.length === carried.length
        ? 'all'
        : kinds.length === mail && kinds.every((kind) => isMail(kind as EventKind))
          ? 'all about a message'
          : kinds.map((kind) => `\`${kind}\``).join(' ')),
  ]);
  return table(['Member', 'Meaning', 'In calls about'], rows);
}

function isMail(kind: EventKind): boolean {
  return EVENT_KINDS[kind].payloadType?.startsWith('email.') === true;
}

function fullEvent(kind: EventKind): EventView {
  const detail: EventDetail = {
    attempt: 1,
    bounce: {
      Type: 'Permanent',
      Class: 'RecipientInvalid',
      Scope: 'recipient',
      Phase: 'Session',
      SmtpCode: 550,
      EnhancedCode: '5.1.1',
      Diagnostic: '550 5.1.1 No such user',
      RemoteMta: 'mx.example.com',
    },
    nextAttemptAt: 0,
    route: 'mx',
    possibleDuplicate: true,
    reason: 'A sentence',
    ipAddress: '192.0.2.1',
    userAgent: 'Reader/1.0',
    url: 'https://example.com/',
    bot: false,
    webhookId: 1,
    alert: { kind: 'relay', subject: 'mail.example.net:587', fix: 'A sentence', since: 0, endedAt: null },
  };
  const from = { name: '', address: 'a@example.com' };
  return {
    seq: 1,
    id: '019ab0c1-7d3e-7000-8000-000000000000',
    kind,
    at: 0,
    domain: 'example.com',
    detail,
    message: isMail(kind)
      ? {
          id: '019ab0c1-7d3e-7000-8000-000000000001' as MessageId,
          lists: { from, to: [{ name: '', address: 'b@example.net' }], cc: [], bcc: [], replyTo: [] },
          subject: 'Subject',
          size: 1000,
          tags: [],
          metadata: {},
          sandbox: false,
        }
      : null,
    recipient: isMail(kind) ? 'b@example.net' : null,
    deliveryId: null,
    route: 'mx',
  };
}

function wait(ms: number): string {
  if (ms >= 3_600_000) return `${ms / 3_600_000} h`;
  return ms >= 60_000 ? `${ms / 60_000} min` : `${ms / 1000} s`;
}

const MEMBERS: Readonly<Record<string, string>> = {
  EventID: 'UUID of the event: the same on every try',
  WebhookID: 'the webhook that is called',
  Event: 'the kind, as in the table above',
  Domain: 'the sender domain it was accepted for',
  MessageID: 'what `POST /email` answered',
  From: 'the sender’s address',
  To: 'the one recipient this event is about; never the lists',
  Subject: 'the subject line',
  Tags: 'the message’s labels',
  Metadata: 'the message’s own texts by key',
  Sandbox: 'true: the message never left the machine',
  Attempt: 'number of the attempt; 0 where the event belongs to none',
  Reason: 'a sentence in plain words',
  Bounce:
    'why not: `Type` (Permanent, Transient, Undetermined), `Class`, `Scope` (recipient, message, domain, sender_domain, batch, path), `Phase`, `SmtpCode`, `EnhancedCode`, `Diagnostic`, `RemoteMta`',
  Route: 'how it went out: `mx`, `relay` or `sandbox`',
  PossibleDuplicate: 'true where an earlier attempt may have been taken too; absent otherwise',
  SendAt: 'of `scheduled`: when it is to go',
  NextAttemptAt: 'when it is tried again',
  IPAddress: 'the address that fetched the image or followed the link',
  UserAgent: 'the user agent of that request',
  URL: 'the link that was followed',
  Bot: 'true for automatic fetching',
  DisabledWebhookID: 'the disabled webhook',
  Alert:
    'of an alert: `Kind`, `Subject` (as `GET /attention` names them), `State` (Began, Ended), `Since` (it may have begun earlier: a server that starts may not know when); with `Began` also `Fix`, with `Ended` also `EndedAt` and `LastedSeconds`',
};

/** Members that depend on facts of the event, not on its kind. */
const WHERE: Readonly<Record<string, string>> = {
  Bounce: '`bounced` `deferred` `failed`',
  Reason: 'where there is one, but for `delivered` `deferred` `opened` `clicked`',
  DisabledWebhookID: '`webhook.disabled`',
  Alert: '`operator.alert`',
};

const KINDS_TEXT = `One event is written for every change of a recipient's state, in the transaction that makes the change. The word in the
first column stands in \`GET /events\`, in a message's timeline and in webhook calls; a kind without a payload type
stands in the timeline only.`;

const TOKENS_TEXT = `## Webhook tokens

A webhook subscribes with a token. The token itself, an alias or the payload type are taken, in any case; the token is
what is stored and returned. \`all\` (also \`*\`) stands for every kind that has a payload type.

A webhook with the domain \`*\` is the operator's: it is called for \`operator.alert\` alone, and only tokens of all domains can
make or see it. No webhook of a sender domain is called for alerts ([alerts](../howto/alerts.md)).`;

const CALL_TEXT = `## A call

\`POST\` to the webhook's URL with \`Content-Type: application/json\` and \`User-Agent: postrider-webhooks/1\`, one event per
call, at most ${MAX_BODY_BYTES} bytes. The signature follows Standard Webhooks: \`webhook-id\` (the same on every try: drop
repeats by it), \`webhook-timestamp\` (Unix seconds of this try), and \`webhook-signature\`, which is
\`v1,<base64 HMAC-SHA256(secret, id "." timestamp "." body)>\` over the exact bytes of the body. The secret is the base64 text
behind \`whsec_\`.

\`\`\`json
{ "type": "email.delivered", "timestamp": "2026-11-21T03:20:11.412Z",
  "data": { "EventID": "019ab0c1-7d3e-7000-8000-000000000000", "WebhookID": 1, "Event": "delivered",
            "Domain": "example.com", "MessageID": "019ab0c1-7d3e-7000-8000-000000000001",
            "From": "a@example.com", "To": "b@example.net", "Subject": "Hello", "Tags": [], "Metadata": {},
            "Sandbox": false, "Attempt": 1, "Route": "mx" } }
\`\`\`

A body that would be longer is shortened, most expendable text first, and then has \`Truncated: true\`.`;

const RETRY_TEXT = `### Success, attempts and disabling

Only 2xx is success. Redirects are not followed. A call has 5 seconds to connect and 15 in all; 64 kB of the answer are
read and 1024 bytes kept. \`Retry-After\` on 429, 502, 503 and 504 is honoured up to 24 hours. At most 4 calls of one webhook
are under way, 1 after five failures in a row, 32 in all. A webhook is disabled on 410, after five days without a
success and at least ten failed tries, or when its name has led to a forbidden address ten times; a
\`webhook.disabled\` event says so. Calls are made at least once: after a crash a call can be repeated with the same
\`webhook-id\`. The order is not guaranteed.`;
