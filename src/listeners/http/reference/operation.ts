/** One operation as a card: closed it says what it does, open it has its parameters, answers, a command and a form. */
import { escapeHtml } from '../../../lib/escape-html.ts';
import type { Json } from '../openapi/components.ts';
import { command, curlOf } from './curl.ts';
import { fieldTable } from './fields.ts';
import { inline, prose } from './html.ts';
import { list, object, type PageOperation, resolve, text } from './spec.ts';

/** The card. Its id is the operation's; `data-words` is what finds it. */
export function operationCard(document: Json, operation: PageOperation): string {
  const { id, method, path, summary, description, scopes, allDomains, open, body, tag } = operation;
  const words = `${method} ${path} ${summary} ${id} ${tag}`.toLowerCase();
  const right = open
    ? 'no token'
    : scopes.length === 0
      ? 'any token'
      : scopes.join(', ') + (allDomains ? ' (all domains)' : '');
  return `<article class="operation" id="${escapeHtml(id)}" data-words="${escapeHtml(words)}"><details>
<summary><h3>${escapeHtml(summary)}</h3><span class="call"><span class="m ${method.toLowerCase()}">${method}</span><code>${escapeHtml(path)}</code></span></summary>
<div class="inside">
<p class="facts-line">Needs: <span class="scope">${escapeHtml(right)}</span> <a class="self" href="#${escapeHtml(id)}">Link to this</a></p>
${description === '' ? '' : prose(description)}
<div class="columns"><div class="facts">
${parameterTable(document, operation)}
${body === null ? '' : `<h4>Body</h4>${fieldTable(document, body.schema)}`}
${answers(document, operation)}
</div><div class="doing">
<h4>Command</h4>
${command(curlOf(operation))}
${form(operation)}
</div></div></div>
</details></article>`;
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

/** Each good answer with its members; the refusals, which most operations share, together in one place. */
function answers(document: Json, { responses }: PageOperation): string {
  const all = Object.entries(responses).map(([status, given]) => ({
    status,
    response: resolve(document, given),
  }));
  const good = all.filter(({ status }) => status.startsWith('2'));
  const bad = all.filter(({ status }) => !status.startsWith('2'));
  const refusals = bad.map(
    ({ status, response }) =>
      `<dt><b class="bad">${escapeHtml(status)}</b> ${escapeHtml(list(response['x-problems']).map(text).join(', '))}</dt><dd>${inline(text(response.description))}</dd>`,
  );
  return `<h4>Answers</h4>${good.map(({ status, response }) => goodAnswer(document, status, response)).join('')}${
    refusals.length === 0
      ? ''
      : `<details class="answer"><summary><b class="bad">Refusals</b> ${escapeHtml(bad.map(({ status }) => status).join(', '))}</summary><dl>${refusals.join('')}</dl></details>`
  }`;
}

function goodAnswer(document: Json, status: string, response: Json): string {
  const [media = '', content] = Object.entries(object(response.content))[0] ?? [];
  const { schema: whole, 'x-event-data': part } = object(content);
  const schema = part === undefined ? whole : { $ref: part };
  return `<details class="answer"><summary><b class="good">${escapeHtml(status)}</b> ${inline(text(response.description))}</summary><p class="media">${escapeHtml(media)}</p>${fieldTable(document, schema)}</details>`;
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
  const token = open ? '' : '<p class="hint">Sent with the token at the top of the page.</p>';
  return `<details class="js try"><summary>Try it</summary><form data-method="${method}" data-path="${path_}" data-base="${escapeHtml(new URL(base, 'http://relative').pathname.replace(/\/$/, ''))}" data-open="${open}" aria-label="Try ${escapeHtml(id)}">${inputs.join('')}${text_}${token}<p class="buttons"><button type="submit">Send</button><button type="button" class="stop" hidden>Stop</button></p><output hidden></output></form></details>`;
}
