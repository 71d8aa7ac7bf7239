/** Words and small parts of the document that no route carries: tags, common parameters and headers, the beginning. */
import { noSuch } from '../../../lib/errors.ts';
import type { Json } from './components.ts';

export const ABOUT = `Requests and answers are JSON. Every request carries a token: \`Authorization: Bearer <token>\`. Names are written in PascalCase and taken in any case; \`null\` counts as left out.

Members and query parameters that the server does not know are ignored. With the header \`Prefer: handling=strict\` they are refused, which helps to find misspelt names.

Lists come in pages: \`{Items, HasMore, NextCursor}\`. The next page is the same request with \`After=<NextCursor>\`.

A refusal says in \`Errors\` what is wrong and where, each with a code that never changes (a problem of RFC 9457). 422: something in the request is not right. 404: there is no such thing, or it belongs to somebody else. 405: that path has no such method; \`Allow\` says which it has. What cannot be read as HTTP at all is answered with 400, 408 or 431.

A schema here says the shape. Rules that a schema cannot say (several fields together, addresses, base64, times) stand in words beside it, and are refused with 422.`;

/** In the order of the reference; the one with the longest prefix that fits a path is its tag. */
export const TAGS: readonly { name: string; description: string; prefixes: readonly string[] }[] = [
  tag('Email', 'Send messages, and see what became of them', '/email'),
  tag(
    'Events',
    'What happened to messages, as a list, a stream or numbers',
    '/events',
    '/email/:id/events',
    '/stats',
  ),
  tag('Webhooks', 'Calls to your own server when something happens', '/webhooks'),
  tag('Domains', 'The domains you send from, and their DNS records', '/domains'),
  tag('Suppressions', 'Addresses that get no more mail, and forgetting a person', '/suppressions', '/erase'),
  tag('Templates', 'Stored messages with variables, filled in when they are sent', '/templates'),
  tag('Sandbox', 'Mail that was captured instead of sent, for tests', '/sandbox'),
  tag(
    'Access',
    'Tokens, SMTP credentials, people who sign in, and who changed what',
    ...['/tokens', '/smtp-credentials', '/me', '/session', '/people', '/audit'],
  ),
  tag('Server', 'For operators: queue, limits, causes of failures, configuration, health', '/'),
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

/** `segment before/parameter` → the word for the thing that it names, and what it is. */
export const PATH_PARAMETERS: Readonly<Record<string, { noun: string; facts: Json }>> = {
  'email/:id': { noun: 'message', facts: uuid('MessageID') },
  'webhooks/:id': { noun: 'webhook', facts: number('WebhookID') },
  'deliveries/:call': { noun: 'call of this webhook', facts: number('DeliveryID') },
  'domains/:name': { noun: 'domain', facts: word('The domain', 'example.com') },
  'suppressions/:email': {
    noun: 'suppressed address',
    facts: word('The address, percent-encoded', 'former@example.net'),
  },
  'templates/:id': { noun: 'template', facts: uuid('TemplateID') },
  'tokens/:id': { noun: 'token', facts: word('TokenID', '019aa3f0-5d7c-7c3e-8f1a-2b3c4d5e6f70') },
  'smtp-credentials/:id': {
    noun: 'SMTP credential',
    facts: word('CredentialID', '019aa3f0-5d7c-7c3e-8f1a-2b3c4d5e6f70'),
  },
  'people/:id': { noun: 'person', facts: uuid('PersonID') },
  'all/:id': { noun: 'session', facts: uuid('SessionID') },
  'messages/:id': { noun: 'captured mail', facts: uuid('ID of the captured message') },
  'rules/:id': { noun: 'rule', facts: uuid('RuleID') },
  'attachments/:place': {
    noun: 'message',
    facts: {
      description: 'Where the file stands in `Attachments`, from 0',
      schema: { type: 'integer', minimum: 0 },
      example: 0,
    },
  },
  'paths/:site': {
    noun: 'site',
    facts: word('Name of the site, its provider, or a recipient domain of it', 'example.net'),
  },
  'causes/:id': { noun: 'cause', facts: number('CauseID') },
  'overrides/:id': { noun: 'override', facts: word('OverrideID', '019aa3f0-5d7c-7c3e-8f1a-2b3c4d5e6f70') },
};

/** What is not there, at such a path: the thing that its last parameter names. null: the path has none. */
export function missingThing(path: string): string | null {
  const segments = path.split('/');
  const last = segments.findLastIndex((segment) => segment.startsWith(':'));
  const noun = PATH_PARAMETERS[`${segments[last - 1]}/${segments[last]}`]?.noun;
  return noun === undefined ? null : noSuch(noun);
}

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
  Prefer: header('Prefer', '`handling=strict` refuses unknown members and parameters', 'handling=strict'),
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
