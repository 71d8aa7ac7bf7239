/** Words and small parts of the document that no route carries: tags, common parameters and headers, the beginning. */
import type { Json } from './components.ts';

export const ABOUT = `JSON in and out, names in PascalCase; names of members and query parameters are taken in any case, and \`null\` counts as left out.
Unknown members are ignored unless the request has \`Prefer: handling=strict\`. A page is \`{Items, HasMore, NextCursor}\`: ask again with \`After=<NextCursor>\`. What belongs to others is 404.

Refusals are RFC 9457 problems with stable codes in \`Errors\`. What cannot be read as HTTP at all is answered with 400, 408 or 431, a path without that method with 405 and \`Allow\`, each with such a body.

A schema says the shape. Rules over several fields, addresses, base64 and times are told in words, and refused with 422.`;

/** In the order of the reference; the one with the longest prefix that fits a path is its tag. */
export const TAGS: readonly { name: string; description: string; prefixes: readonly string[] }[] = [
  tag('Email', 'Sending, and what became of it', '/email'),
  tag('Events', 'What happened to messages', '/events', '/email/:id/events', '/stats'),
  tag('Webhooks', 'Being told of events', '/webhooks'),
  tag('Domains', 'Who may be the sender', '/domains'),
  tag('Suppressions', 'Who is not sent to', '/suppressions', '/erase'),
  tag('Templates', 'Texts with gaps', '/templates'),
  tag('Sandbox', 'Captured mail', '/sandbox'),
  tag('Access', 'Tokens and SMTP credentials', '/tokens', '/smtp-credentials', '/me'),
  tag('Server', 'Running it: queue, paths, causes, configuration, health', '/'),
];

function tag(name: string, description: string, ...prefixes: readonly string[]) {
  return { name, description, prefixes };
}

/** The tag of a path below /api/v1. */
export function tagOf(path: string): string {
  let found = { name: '', length: 0 };
  for (const { name, prefixes } of TAGS) {
    for (const prefix of prefixes) {
      if (path.startsWith(prefix) && prefix.length > found.length) found = { name, length: prefix.length };
    }
  }
  return found.name;
}

const uuid = (description: string): Json => ({
  description,
  schema: { type: 'string', format: 'uuid' },
  example: '019aa3f0-5d7c-7c3e-8f1a-2b3c4d5e6f70',
});
const number = (description: string): Json => ({
  description,
  schema: { type: 'integer', minimum: 1 },
  example: 1,
});
const word = (description: string, example: string): Json => ({
  description,
  schema: { type: 'string' },
  example,
});

/** `segment before/parameter` → what it is. */
export const PATH_PARAMETERS: Readonly<Record<string, Json>> = {
  'email/:id': uuid('MessageID'),
  'webhooks/:id': number('WebhookID'),
  'domains/:name': word('The domain', 'example.com'),
  'suppressions/:email': word('The address, percent-encoded', 'former@example.net'),
  'templates/:id': uuid('TemplateID'),
  'tokens/:id': word('TokenID', '019aa3f0-5d7c-7c3e-8f1a-2b3c4d5e6f70'),
  'smtp-credentials/:id': word('CredentialID', '019aa3f0-5d7c-7c3e-8f1a-2b3c4d5e6f70'),
  'messages/:id': uuid('ID of the captured message'),
  'rules/:id': uuid('RuleID'),
  'attachments/:place': {
    description: 'Where the file stands in `Attachments`, from 0',
    schema: { type: 'integer', minimum: 0 },
    example: 0,
  },
  'paths/:site': word('Name of the site, its provider, or a recipient domain of it', 'example.net'),
  'causes/:id': number('CauseID'),
  'overrides/:id': word('OverrideID', '019aa3f0-5d7c-7c3e-8f1a-2b3c4d5e6f70'),
};

const header = (name: string, description: string, example?: string): Json => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
  ...(example === undefined ? {} : { example }),
});

export const PARAMETERS: Readonly<Record<string, Json>> = {
  IdempotencyKey: {
    ...header(
      'Idempotency-Key',
      '1 to 255 visible ASCII characters. For 24 hours the same key with the same body is answered as the first time',
      'order-4711',
    ),
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  },
  Prefer: header('Prefer', '`handling=strict` refuses unknown members', 'handling=strict'),
  LastEventId: header('Last-Event-ID', 'Where to resume'),
  WebhookId: { ...header('webhook-id', 'The same on every try: drop repeats by it'), required: true },
  WebhookTimestamp: { ...header('webhook-timestamp', 'Unix seconds of this try'), required: true },
  WebhookSignature: {
    ...header(
      'webhook-signature',
      '`v1,` and the HMAC-SHA256 of id, timestamp and body in base64; two for a day after a rotation',
    ),
    required: true,
  },
};

const value = (description: string): Json => ({ description, schema: { type: 'string' } });

export const HEADERS: Readonly<Record<string, Json>> = {
  RequestId: value('The request’s own where it is 1 to 64 letters, digits, `_` or `-`'),
  RetryAfter: { description: 'Seconds', schema: { type: 'integer', minimum: 1 } },
  Challenge: value('RFC 6750'),
  IdempotencyReplayed: value('`true`: the answer of an earlier request with this Idempotency-Key'),
  RateLimit: value('What is left, where the token has a limit: `"send";r=137;t=1`'),
  RateLimitPolicy: value('The limit, where the token has one: `"send";q=200;w=2`'),
};
