/**
 * GET /docs: the document of the API as a page to read and to try things on. Given the document, leaves one HTML text that
 * needs nothing else: no font, script or style from anywhere, and no JavaScript for reading. The token of the forms stays
 * in the memory of the page.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../openapi/components.ts';
import { curlOf } from './curl.ts';
import { fieldTable } from './fields.ts';
import { escapeHtml, inline, prose } from './html.ts';
import { list, object, operationsOf, type PageOperation, resolve, text } from './spec.ts';

/** The page and its policy. */
export interface ReferencePage {
  html: string;
  /** Content-Security-Policy that lets the page's own style and script run, and nothing else. */
  csp: string;
}

/** The page of a document. */
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
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(text(info.title))} API</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the operations</a>
<header>
<a class="brand" href="#main">${escapeHtml(text(info.title))} <span>API</span></a>
<label class="js find"><span>Find</span><input id="find" type="search" placeholder="send, webhook, /email …" autocomplete="off"></label>
<label class="js token"><span>Token</span><input id="token" type="password" placeholder="for trying things" autocomplete="off" spellcheck="false"></label>
<a class="file" href="openapi.json">openapi.json</a>
</header>
<nav aria-label="Operations">${tags.map(navOf).join('')}<details><summary>Webhook calls</summary><ul><li><a href="#webhook-calls">All payloads</a></li></ul></details></nav>
<main id="main">
<section class="intro"><h1>${escapeHtml(text(info.title))} API</h1><p class="lead">${inline(text(info.summary))}. Address: <code>${escapeHtml(operations[0]?.base ?? '')}</code></p>${prose(text(info.description))}
<p class="js">The token above stays in this page’s memory: it is in no address and no storage, and gone when the page is closed.</p></section>
${tags.map((tag) => `<section class="tag" id="tag-${escapeHtml(tag.name)}"><h2>${escapeHtml(tag.name)}</h2><p>${inline(tag.description)}</p>${tag.operations.map((operation) => operationOf(document, operation)).join('\n')}</section>`).join('\n')}
${webhookCalls(document)}
<p id="nothing" hidden>Nothing has that name.</p>
</main>
<script>${script}</script>
</body>
</html>
`;
  return { html, csp: policy(style, script) };
}

function navOf({ name, operations }: { name: string; operations: readonly PageOperation[] }): string {
  const items = operations.map(
    ({ id, method, summary }) =>
      `<li><a href="#${escapeHtml(id)}"><span class="m ${method.toLowerCase()}">${method}</span>${escapeHtml(summary)}</a></li>`,
  );
  return `<details open><summary>${escapeHtml(name)}</summary><ul>${items.join('')}</ul></details>`;
}

function operationOf(document: Json, operation: PageOperation): string {
  const { id, method, path, summary, description, scopes, allDomains, open, body } = operation;
  const words = `${method} ${path} ${summary} ${id}`.toLowerCase();
  const right = open
    ? 'no token'
    : scopes.length === 0
      ? 'any token'
      : scopes.join(', ') + (allDomains ? ' (all domains)' : '');
  return `<article class="operation" id="${escapeHtml(id)}" data-words="${escapeHtml(words)}">
<h3><a href="#${escapeHtml(id)}">${escapeHtml(summary)}</a></h3>
<p class="call"><span class="m ${method.toLowerCase()}">${method}</span><code>${escapeHtml(path)}</code><span class="scope">${escapeHtml(right)}</span></p>
${description === '' ? '' : prose(description)}
<div class="columns"><div class="facts">
${parameterTable(document, operation)}
${body === null ? '' : `<h4>Body</h4>${fieldTable(document, body.schema)}`}
${answers(document, operation)}
</div><div class="doing">
${command(curlOf(operation))}
${body === null ? '' : `<details><summary>Example body</summary><pre tabindex="0"><code>${escapeHtml(JSON.stringify(body.example, null, 2))}</code></pre></details>`}
${form(operation)}
</div></div>
</article>`;
}

function parameterTable(document: Json, { parameters }: PageOperation): string {
  if (parameters.length === 0) return '';
  const properties = Object.fromEntries(
    parameters.map((parameter) => [
      text(parameter.name),
      { ...object(parameter.schema), description: `${text(parameter.description)} (${text(parameter.in)})` },
    ]),
  );
  const required = parameters.filter((parameter) => parameter.required === true).map(({ name }) => name);
  return `<h4>Parameters</h4>${fieldTable(document, { type: 'object', properties, required })}`;
}

function answers(document: Json, { responses }: PageOperation): string {
  const parts = Object.entries(responses).map(([status, given]) => {
    const response = resolve(document, given);
    const [media = '', content] = Object.entries(object(response.content))[0] ?? [];
    const good = status.startsWith('2');
    const { schema: whole, 'x-event-data': part } = object(content);
    const schema = part === undefined ? whole : { $ref: part };
    const inside = good
      ? `<p class="media">${escapeHtml(media)}</p>${fieldTable(document, schema)}`
      : prose(text(response.description));
    const names = list(response['x-problems']).map(text).join(', ');
    return `<details class="answer"><summary><b class="${good ? 'good' : 'bad'}">${escapeHtml(status)}</b> ${good ? inline(text(response.description)) : escapeHtml(names)}</summary>${inside}</details>`;
  });
  return `<h4>Answers</h4>${parts.join('')}`;
}

function command(line: string): string {
  return `<div class="curl"><button class="js copy" type="button">Copy</button><pre tabindex="0"><code>${escapeHtml(line)}</code></pre></div>`;
}

function form({ id, method, path, base, parameters, body, open }: PageOperation): string {
  const inputs = parameters
    .filter((parameter) => parameter.in === 'path' || parameter.in === 'query')
    .map((parameter) => {
      const name = escapeHtml(text(parameter.name));
      const required = parameter.required === true ? ' required' : '';
      return `<label>${name}<input name="${name}" data-in="${text(parameter.in)}"${required} autocomplete="off" spellcheck="false"></label>`;
    });
  const text_ =
    body === null
      ? ''
      : `<label>Body<textarea name="body" rows="8" spellcheck="false">${escapeHtml(JSON.stringify(body.example, null, 2))}</textarea></label>`;
  const path_ = escapeHtml(path);
  return `<details class="js try"><summary>Try it</summary><form data-method="${method}" data-path="${path_}" data-base="${escapeHtml(new URL(base, 'http://relative').pathname.replace(/\/$/, ''))}" data-open="${open}" aria-label="Try ${escapeHtml(id)}">${inputs.join('')}${text_}<p class="buttons"><button type="submit">Send</button><button type="button" class="stop" hidden>Stop</button></p><output hidden></output></form></details>`;
}

function webhookCalls(document: Json): string {
  const parts = Object.entries(object(document.webhooks)).map(([type, item]) => {
    const operation = object(object(item).post);
    const content = object(object(object(operation.requestBody).content)['application/json']);
    return `<details class="answer" data-words="${escapeHtml(type)}"><summary><b class="good">${escapeHtml(type)}</b> ${inline(text(operation.summary))}</summary>${prose(text(operation.description))}${fieldTable(document, content.schema)}</details>`;
  });
  return `<section class="tag" id="webhook-calls"><h2>Webhook calls</h2><p>What your endpoint is sent, as a POST with the headers <code>webhook-id</code>, <code>webhook-timestamp</code> and <code>webhook-signature</code>.</p>${parts.join('')}</section>`;
}

function asset(name: string): string {
  return readFileSync(join(import.meta.dirname, name), 'utf8');
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
