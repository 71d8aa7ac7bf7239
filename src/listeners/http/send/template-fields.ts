/**
 * TemplateID, TemplateVersion, Variables and StrictVariables of an email request: the texts that the
 * request leaves out come from a stored template, filled in. Which template that is has been looked up before, because
 * reading a request waits for nothing; `namedTemplate` says which one to look up.
 */

import { isEmptyList, isJsonObject, type JsonObject } from '../../../lib/json-object.ts';
import { parseAddress } from '../../../mail/address.ts';
import { isAtOrBelow } from '../../../mail/address-text.ts';
import type { TemplateLimits } from '../../../pipeline/compose/template/limits.ts';
import {
  type CompiledTemplate,
  type FilledTemplate,
  fillTemplate,
} from '../../../pipeline/compose/template/template.ts';
import { TemplateError } from '../../../pipeline/compose/template/template-error.ts';
import { propertyTable, readProperties } from '../body/json-properties.ts';
import type { ProblemList } from '../body/problem-list.ts';
import { fillMistake, missingVariables } from '../templates/template-problems.ts';
import { MAX_VERSION } from '../templates/template-request.ts';

/** The template a request names, as it was found. */
export interface FoundTemplate {
  /** Sender domain it is for. */
  domain: string;
  /** 'large': not to be filled in on this thread. */
  compiled: CompiledTemplate | 'large';
  /** Of this thread; a fill beyond them is for a worker. Left out: those of any template. */
  limits?: TemplateLimits;
}

/** Thrown if rendering exceeds the limits of this thread: a worker must read the whole request. */
export class FillElsewhere extends Error {}

/** A request with one of these asks for a template. */
export const TEMPLATE_FIELDS = ['TemplateID', 'TemplateVersion', 'Variables', 'StrictVariables'] as const;

const NAMES = propertyTable(TEMPLATE_FIELDS);
/** An id, or a name. */
const MAX_ID_CHARS = 256;
const MAX_SHOWN = 64;

/** The template to look up before the request is read; null if it names none, or an invalid one. */
export function namedTemplate(object: JsonObject): { id: string; version: number | null } | null {
  const [id, version] = readProperties(object, NAMES, false, () => {});
  if (typeof id !== 'string' || id === '' || id.length > MAX_ID_CHARS) return null;
  if (version === undefined) return { id, version: null };
  return isVersion(version) ? { id, version } : null;
}

/** The fields of a request by name. */
export interface Fields {
  get(field: string): unknown;
  set(field: string, text: string): void;
}

/**
 * Fills in the texts that the request lacks from the template; given ones stay. `found`: the template of
 * `namedTemplate`, null if this caller has none. Returns sentences for the sender, not errors.
 */
export function applyTemplate(
  fields: Fields,
  problems: ProblemList,
  found: FoundTemplate | null | undefined,
): readonly string[] {
  const id = fields.get('TemplateID');
  const version = fields.get('TemplateVersion');
  const given = fields.get('Variables');
  const variables = isEmptyList(given) ? undefined : given;
  const strict = fields.get('StrictVariables');
  const isStrict = strict === true;
  if (strict !== undefined && typeof strict !== 'boolean') {
    problems.add('wrong-type', '/StrictVariables', 'StrictVariables must be true or false');
  }
  if (variables !== undefined && !isJsonObject(variables)) {
    problems.add('wrong-type', '/Variables', 'Variables must be an object');
  }
  if (id === undefined) {
    for (const [field, value] of [
      ['TemplateVersion', version],
      ['Variables', variables],
    ] as const) {
      if (value !== undefined) problems.add('invalid-parameter', `/${field}`, `${field} needs a TemplateID`);
    }
    return [];
  }
  const filled = fill();
  // A failure to render is reported once, not also as a missing subject and body.
  add('Subject', filled === null ? '-' : filled.subject);
  add('HTMLContent', filled === null ? '-' : filled.html);
  add('PlainContent', filled === null ? null : filled.text);
  add('ContentType', fields.get('HTMLContent') === undefined ? 'Text' : 'HTML');
  if (filled === null || filled.missing.length === 0) return [];
  return [`Variables the template asks for are missing: ${filled.missing.join(', ')}`];

  function fill(): FilledTemplate | null {
    if (typeof id !== 'string') {
      problems.add('wrong-type', '/TemplateID', 'TemplateID must be a string');
      return null;
    }
    if (version !== undefined && !isVersion(version)) {
      problems.add('wrong-type', '/TemplateVersion', 'TemplateVersion must be a whole number from 1');
      return null;
    }
    if (found === null || found === undefined || !isFor(found.domain, fields.get('From'))) {
      const which = version === undefined ? '' : ` in version ${version}`;
      problems.add(
        'template-not-found',
        '/TemplateID',
        `The domain of From has no template "${id.slice(0, MAX_SHOWN).toWellFormed()}"${which}; see: postrider template list`,
      );
      return null;
    }
    try {
      const wanted = {
        subject: fields.get('Subject') === undefined,
        html: fields.get('HTMLContent') === undefined,
        text: fields.get('PlainContent') === undefined,
      };
      if (found.compiled === 'large') throw new FillElsewhere();
      const values = isJsonObject(variables) ? variables : {};
      const result = fillTemplate(found.compiled, values, wanted, found.limits);
      if (!isStrict || result.missing.length === 0) return result;
      for (const problem of missingVariables(result.missing)) problems.items.push(problem);
      return null;
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      if (error.kind === 'limit' && found.limits !== undefined) throw new FillElsewhere();
      problems.items.push(fillMistake(error));
      return null;
    }
  }

  function add(field: string, text: string | null): void {
    if (text !== null && fields.get(field) === undefined) fields.set(field, text);
  }
}

/**
 * A template is for its own domain and its sub-domains. An address that is refused in any case does not matter here.
 */
function isFor(domain: string, from: unknown): boolean {
  const email: unknown = isJsonObject(from) ? readProperties(from, FROM, false, () => {})[0] : undefined;
  const parsed = typeof email === 'string' ? parseAddress(email) : null;
  if (parsed === null || !parsed.ok) return true;
  return isAtOrBelow(parsed.address.domain, domain);
}

/** The same of a whole request. */
export function servesSender(domain: string, object: JsonObject): boolean {
  return isFor(domain, readProperties(object, SENDER, false, () => {})[0]);
}

const SENDER = propertyTable(['From']);
const FROM = propertyTable(['email']);

function isVersion(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value <= MAX_VERSION;
}
