/** The members of a schema as rows of a table: name, type, meaning. References are followed, a few levels deep. */
import { escapeHtml } from '../../../lib/escape-html.ts';
import type { Json } from '../openapi/components.ts';
import { inline } from './html.ts';
import { list, object, resolve, text } from './spec.ts';

const MAX_DEPTH = 4;

/** A table, or a sentence where there is nothing to list. */
export function fieldTable(document: Json, schema: unknown): string {
  const found = resolve(document, schema);
  const rows = membersOf(document, found, '', 0);
  if (rows.length === 0) return `<p class="none">${escapeHtml(typeOf(document, found))}</p>`;
  return `<table><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Meaning</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
}

function membersOf(document: Json, schema: Json, before: string, depth: number): string[] {
  if (depth > MAX_DEPTH) return [];
  const required = new Set(list(schema.required).map(text));
  const own = Object.entries(object(schema.properties)).flatMap(([name, member]) => {
    const found = resolve(document, member);
    const inner = innerOf(document, found);
    const path = `${before}${name}`;
    const mark =
      list(found.type).includes('null') || isNullable(found) ? '' : required.has(name) ? ' required' : '';
    const label = depth === 0 && mark !== '' ? '<span class="must">required</span>' : '';
    return [
      `<tr><td><code>${before === '' ? '' : `<span class="outer">${escapeHtml(before)}</span>`}${escapeHtml(name)}</code>${label}</td><td>${escapeHtml(typeOf(document, found))}</td><td>${meaning(found)}</td></tr>`,
      ...inner.flatMap(({ schema: deeper, suffix }) =>
        membersOf(document, deeper, `${path}${suffix}.`, depth + 1),
      ),
    ];
  });
  const branches = [...list(schema.anyOf), ...list(schema.oneOf)].map((branch) => resolve(document, branch));
  return [...own, ...branches.flatMap((branch) => membersOf(document, branch, before, depth))];
}

/** What stands inside of a member: its items, or itself. */
function innerOf(document: Json, schema: Json): readonly { schema: Json; suffix: string }[] {
  const candidates = [schema, ...list(schema.anyOf).map((branch) => resolve(document, branch))];
  return candidates.flatMap((candidate) => {
    if (candidate.type === 'array') return [{ schema: resolve(document, candidate.items), suffix: '[]' }];
    return candidate.properties === undefined ? [] : [{ schema: candidate, suffix: '' }];
  });
}

function isNullable(schema: Json): boolean {
  return list(schema.anyOf).some((branch) => object(branch).type === 'null');
}

/** A few words: `string`, `array of Reason`, `integer or null`. */
export function typeOf(document: Json, schema: Json): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const words = list(schema.enum).map(text);
  if (words.length > 0) return words.join(' | ');
  const branches = [...list(schema.anyOf), ...list(schema.oneOf)];
  if (branches.length > 0) {
    return [...new Set(branches.map((branch) => typeOf(document, resolve(document, branch))))].join(' or ');
  }
  if (schema.type === 'array') return `list of ${typeOf(document, resolve(document, schema.items))}`;
  if (Array.isArray(schema.type)) return schema.type.join(' or ');
  const type = text(schema.type);
  if (schema.format === 'date-time') return 'time (ISO 8601)';
  if (schema.format === 'uuid') return 'UUID';
  return type === '' ? 'anything' : type;
}

function meaning(schema: Json): string {
  const parts = [inline(text(schema.description))];
  const limits = [
    bound('at least', schema.minimum),
    bound('at most', schema.maximum),
    schema.maxLength === undefined ? '' : `at most ${Number(schema.maxLength)} characters`,
    schema.maxItems === undefined ? '' : `at most ${Number(schema.maxItems)} items`,
    schema.default === undefined ? '' : `default ${JSON.stringify(schema.default)}`,
    schema.deprecated === true ? 'not available' : '',
  ].filter((part) => part !== '');
  if (limits.length > 0) parts.push(`<span class="limits">${escapeHtml(limits.join(', '))}</span>`);
  return parts.filter((part) => part !== '').join(' ');
}

function bound(words: string, value: unknown): string {
  return typeof value === 'number' && value !== 0 ? `${words} ${value}` : '';
}
