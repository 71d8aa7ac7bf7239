/** api.md: the table of operations as the HTTP listener mounts it, a sentence for each, and the plain routes beside it. */
import { createHealthRoutes, type HealthDeps } from '../../src/listeners/health/health.ts';
import { DEFAULT_HTTP_OPTIONS, type HttpDeps, type Shared } from '../../src/listeners/http/deps.ts';
import type { Json } from '../../src/listeners/http/openapi/components.ts';
import { openApiDocument } from '../../src/listeners/http/openapi/document.ts';
import { settingMeanings } from '../../src/listeners/http/operations/domain-settings.ts';
import { apiRoutes } from '../../src/listeners/http/operations/table.ts';
import { plainRoutes } from '../../src/listeners/http/plain-routes.ts';
import { typeOf } from '../../src/listeners/http/reference/fields.ts';
import { list, object, resolve, text } from '../../src/listeners/http/reference/spec.ts';
import { type ApiRoute, needsAllDomains } from '../../src/listeners/http/route.ts';
import { DEFAULT_EMAIL_LIMITS } from '../../src/listeners/http/send/limits.ts';
import { PRESETS } from '../../src/model/token.ts';
import { code, page, table, withSentences } from './markdown.ts';

export interface Operation {
  method: string;
  /** `/webhooks/{id}`, below /api/v1. */
  path: string;
  scope: string | null;
  /** Only tokens of all domains may call it. */
  allDomains: boolean;
  description: string;
}

/** The operations of the API. No handler is called, so none of the parts behind them is needed. */
export function operations(): readonly Operation[] {
  return contractRoutes().map((route) => {
    const { method, path, scope, description } = route;
    return { method, path: braces(path), scope, allDomains: needsAllDomains(route), description };
  });
}

/** The routes below /api/v1 with what each promises. */
export function contractRoutes(): readonly ApiRoute[] {
  return apiRoutes({} as HttpDeps, DEFAULT_HTTP_OPTIONS, {} as Shared);
}

/** `openapi.json`. */
export function openApiText(): string {
  return `${JSON.stringify(openApiDocument(contractRoutes()), null, 2)}\n`;
}

/** Paths from the root that need no token of the API. */
export function plainPaths(): readonly string[] {
  const own = plainRoutes(contractRoutes(), {} as Parameters<typeof plainRoutes>[1]);
  const health = createHealthRoutes({ metricsFrom: [] as readonly string[] } as HealthDeps);
  return [...own, ...health].map(({ path }) => braces(path));
}

export function apiPage(): string {
  const rows = operations().map(({ method, path, scope, allDomains, description }) => [
    `\`${method} ${path}\``,
    scope === null ? 'any token' : `${code(scope)}${allDomains ? ', all domains' : ''}`,
    description,
  ]);
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

/** A row for each field of POST /email, as the document has it. */
function emailFields(): readonly (readonly string[])[] {
  const document = openApiDocument(contractRoutes());
  const { Email } = object(object(document.components).schemas);
  return Object.entries(object(object(Email).properties)).map(([name, schema]) => {
    return [code(name), shapeOf(document, schema), text(resolve(document, schema).description)];
  });
}

/** The type of a field, with the names of its members: `list of {name?, email}`. */
function shapeOf(document: Json, schema: unknown): string {
  const found = resolve(document, schema);
  const members = Object.keys(object(found.properties));
  if (members.length > 0) {
    const required = list(found.required);
    return `{${members.map((name) => (required.includes(name) ? name : `${name}?`)).join(', ')}}`;
  }
  if (found.type === 'array') return `list of ${shapeOf(document, found.items)}`;
  const branches = list(found.anyOf).map((branch) => shapeOf(document, branch));
  return branches.length > 0 ? branches.join(' or ') : typeOf(document, found);
}

function braces(path: string): string {
  return path.replace(/:([a-z]+)/gi, '{$1}');
}

const PLAIN: Readonly<Record<string, string>> = {
  '/.well-known/jwks.json': 'The public keys of tokens',
  '/api/v1': 'Links to the next two: `{Reference, OpenAPI}`',
  '/api/v1/openapi.json': 'This API as an OpenAPI 3.1 document, with the address of the server',
  '/api/v1/docs':
    'The same as a page: fields, commands to copy, forms to try each operation. It loads nothing from other servers',
  '/api/v1/problems/{name}': 'Explains an error: the page that `type` links to',
  '/healthz': '200 while the process runs',
  '/readyz': '200, or 503 with the check that fails',
  '/metrics':
    '[Figures](metrics.md), for a token with the scope `admin` for all domains, or for an address of `metrics-from`',
};

const COMMON = `\`Authorization: Bearer <token>\` on every request. Requests and answers are JSON with names in PascalCase. Double and trailing slashes are ignored.
Query names are taken in any case. Unknown ones are refused by \`DELETE\` and \`PATCH\`, and everywhere with the header \`Prefer: handling=strict\`, where the operation takes any; otherwise they are ignored. A page is \`{Items, HasMore, NextCursor}\`: ask again with \`After=<NextCursor>\`;
\`Limit\` is 1 to 100, 25 by default. A resource that belongs to another tenant answers 404. Every answer has \`X-Request-Id\` (the request's own
where it is 1–64 letters, digits, \`_\` or \`-\`). A path that exists without that method is 405 with \`Allow\`. There is no CORS.
Refusals: [errors](errors.md). \`Idempotency-Key\` (1–255 visible characters) works on every \`POST\` that creates
(email, batches, webhooks, domains, tokens, suppressions, SMTP credentials, templates) and on rotations: for 24 hours the same key with the same body is answered as the first time, with
\`Idempotency-Replayed: true\`; with another body it is refused. The key is stored in the transaction that creates the resource.
A repeated answer contains secrets only for five minutes and not after a restart.`;

const EMAIL = `## POST /email

Names and words are taken in any case. Unknown members are ignored, unless the request has \`Prefer: handling=strict\`.

${table(['Field', 'Type', 'Meaning'], emailFields())}

With \`ContentType\` HTML, a missing \`PlainContent\` is made from the HTML, \`""\` means no text part, and a text is used as it
is. With Text, \`PlainContent\` is the body, or is made from \`HTMLContent\` where only that is given.

More of [templates](../howto/templates.md) and of [tracking and unsubscribing](../howto/track-and-unsubscribe.md).`;

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
failures 429 for five minutes; a valid token always passes.

What a token makes, another token or an SMTP credential, may at most what it may itself: its scopes and domains, the addresses of its
\`IPAllowList\`, its life. All that come from one token share its rate, and its replacements do. \`CreatedBy\` names the maker, and
\`DELETE /tokens/{id}?Children=true\` ends everything that was made with a token along with it.`;
