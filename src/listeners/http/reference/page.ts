/**
 * GET /docs: the document of the API as a page to read and to try things on. Given the document, leaves one HTML text that
 * needs nothing else: no font, script or style from anywhere, and no JavaScript for reading. Sections and operations are
 * closed until they are asked for. The token of the forms stays in the memory of the page.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { escapeHtml } from '../../../lib/escape-html.ts';
import type { Json } from '../openapi/components.ts';
import { command } from './curl.ts';
import { fieldTable } from './fields.ts';
import { inline, prose } from './html.ts';
import { operationCard } from './operation.ts';
import { list, object, operationsOf, type PageOperation, text } from './spec.ts';

/** The page and its policy. */
export interface ReferencePage {
  html: string;
  /** Content-Security-Policy that lets the page's own style and script run, and nothing else. */
  csp: string;
}

interface Tag {
  name: string;
  description: string;
  operations: readonly PageOperation[];
}

export function referencePage(document: Json): ReferencePage {
  const style = asset('reference.css');
  const script = asset('reference.js');
  const operations = operationsOf(document);
  const tags = list(document.tags).map((tag) => ({
    name: text(object(tag).name),
    description: text(object(tag).description),
    operations: operations.filter((operation) => operation.tag === text(object(tag).name)),
  }));
  const info = object(document.info);
  const title = escapeHtml(text(info.title));
  const base = operations[0]?.base ?? '';
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title} API</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the operations</a>
<header>
<a class="brand" href="#main">${title} <span>API</span></a>
<a class="file" href="openapi.json">openapi.json</a>
<label class="js token"><span>Token</span><input id="token" type="password" placeholder="for trying things" autocomplete="off" spellcheck="false"></label>
<label class="js find"><span>Find</span><input id="find" type="search" placeholder="send, webhook, /email …" autocomplete="off"></label>
<button class="js menu" id="menu" type="button" aria-expanded="false" aria-controls="contents">Contents</button>
</header>
<nav id="contents" aria-label="Contents"><a href="#quick-start">Quick start</a><a href="#rules">Rules for every request</a>${tags.map(navOf).join('')}<a href="#webhook-calls" data-words="${WEBHOOK_WORDS}">Webhook calls</a></nav>
<main id="main">
<section class="intro"><h1>${title} API</h1><p class="lead">${inline(text(info.summary))}. Address: <code>${escapeHtml(base)}</code></p></section>
${quickStart(base)}
${section('rules', 'Rules for every request', 'Tokens, pages, errors', '', `${prose(text(info.description))}<p class="js">The token at the top stays in this page’s memory: it is in no address and no storage, and gone when the page is closed.</p>`)}
${tags.map((tag) => section(`tag-${tag.name}`, tag.name, tag.description, countOf(tag), tag.operations.map((operation) => operationCard(document, operation)).join('\n'))).join('\n')}
${webhookCalls(document)}
<p id="nothing" role="status" hidden>Nothing has that name.</p>
</main>
<script>${script}</script>
</body>
</html>
`;
  return { html, csp: policy(style, script) };
}

const WEBHOOK_WORDS = 'webhook calls payloads signature';

/** A part of the page that is closed until it is asked for. Title and note are plain text. */
function section(id: string, title: string, note: string, count: string, inside: string): string {
  return `<section class="tag" id="${escapeHtml(id)}"><details><summary><h2>${escapeHtml(title)}</h2><span class="note">${escapeHtml(note)}</span><span class="count">${count}</span></summary>${inside}</details></section>`;
}

function countOf({ operations }: Tag): string {
  return `${operations.length} operations`;
}

function navOf({ name, operations }: Tag): string {
  const items = operations.map(
    ({ id, method, summary, path }) =>
      `<li data-words="${escapeHtml(`${method} ${path} ${summary} ${id} ${name}`.toLowerCase())}"><a href="#${escapeHtml(id)}"><span class="m ${method.toLowerCase()}">${method}</span>${escapeHtml(summary)}</a></li>`,
  );
  return `<details><summary>${escapeHtml(name)}</summary><ul>${items.join('')}</ul></details>`;
}

function webhookCalls(document: Json): string {
  const parts = Object.entries(object(document.webhooks)).map(([type, item]) => {
    const operation = object(object(item).post);
    const content = object(object(object(operation.requestBody).content)['application/json']);
    return `<details class="answer" data-words="${escapeHtml(type)} ${WEBHOOK_WORDS}"><summary><b class="good">${escapeHtml(type)}</b> ${inline(text(operation.summary))}</summary>${prose(text(operation.description))}${fieldTable(document, content.schema)}</details>`;
  });
  const about =
    '<p>What your endpoint is sent, as a POST with the headers <code>webhook-id</code>, <code>webhook-timestamp</code> and <code>webhook-signature</code>.</p>';
  return section(
    'webhook-calls',
    'Webhook calls',
    'What your own server is sent when something happens',
    `${parts.length} kinds`,
    about + parts.join(''),
  );
}

function asset(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}

function policy(style: string, script: string): string {
  const hash = (content: string) => `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
  return [
    "default-src 'none'",
    `style-src ${hash(style)}`,
    `script-src ${hash(script)}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: of the shell
const TOKEN = 'export TOKEN="$(cat "${POSTRIDER_DATA:-postrider-data}/admin-token")"';

const MESSAGE = `{
  "From": {"name": "Postrider", "email": "hello@example.com"},
  "To": [{"name": "You", "email": "delivered@simulator.test"}],
  "Subject": "It works",
  "ContentType": "Text",
  "PlainContent": "Sent by postrider."
}`;

/**
 * The first three things a newcomer does: take a token, send one message, see what became of it. Commands that work as they
 * are pasted, on a fresh development server and on one in use: the recipient is one of the sandbox, so nothing leaves.
 */
function quickStart(base: string): string {
  const send = `curl -sS '${base}/email' \\
  -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '${MESSAGE}'`;
  const look = `curl -sS '${base}/email?Limit=1' \\
  -H "Authorization: Bearer $TOKEN"`;
  return `<section class="start" id="quick-start"><h2>Quick start</h2>
<p>Three commands to paste into a terminal that has <code>curl</code>.</p>
<ol>
<li><h3>Take a token</h3>
<p>On the machine of the server, in the folder where it was started:</p>
${command(TOKEN)}
<p>That is the administrator’s token. For a program make one of its own with <code>postrider token create</code>. Somebody else’s server?
Ask for a token, then: <code>export TOKEN='…'</code></p></li>
<li><h3>Send a message</h3>
<p>This one goes to the sandbox, which keeps it: nothing leaves the server. In production <code>From</code> must be an address of a
domain that you added.</p>
${command(send)}
<p>The answer is <code>{"MessageID":"…"}</code>: the message was checked and is on the disk.</p></li>
<li><h3>See what became of it</h3>
${command(look)}
<p><code>RecipientStatuses</code> says <code>Captured</code>; of mail that leaves it says Delivered, Deferred or Bounced. Everything about one
message: <a href="#getEmail">Show a message</a>. To be told instead of asking: <a href="#createWebhook">Add a webhook</a>.</p></li>
</ol></section>`;
}
