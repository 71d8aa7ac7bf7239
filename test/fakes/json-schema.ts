/**
 * A small judge of JSON Schema 2020-12, for the words that openapi.json uses. It shares nothing with the code that makes
 * the document: given the document, a schema in it and a value, it leaves what does not fit, each with its place. A word
 * it does not know is a mistake and throws, so that no rule is passed over in silence.
 */

type Schema = Readonly<Record<string, unknown>>;

export interface JudgeOptions {
  /** Objects hold what the schema names and nothing else, also where the schema leaves that open. */
  closed?: boolean;
}

const TALK = new Set(['description', 'title', 'default', 'example', 'examples', 'deprecated', 'format']);
const FORMATS: Readonly<Record<string, RegExp>> = {
  uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/,
};

/** What is wrong with `value`; empty where nothing is. */
export function judge(
  document: unknown,
  schema: unknown,
  value: unknown,
  options: JudgeOptions = {},
): string[] {
  return check(schema, value, '');

  function check(given: unknown, at: unknown, path: string): string[] {
    if (given === true) return [];
    if (!isObject(given)) throw new TypeError(`${path}: no schema`);
    const found: string[] = [];
    const add = (message: string) => found.push(`${path === '' ? '/' : path}: ${message}`);
    for (const [word, rule] of Object.entries(given)) {
      if (TALK.has(word) && word !== 'format') continue;
      switch (word) {
        case '$ref':
          found.push(...check(lookUp(document, String(rule)), at, path));
          break;
        case 'type': {
          const types = Array.isArray(rule) ? rule : [rule];
          if (!types.some((type) => isOfType(at, String(type)))) add(`is no ${types.join(' or ')}`);
          break;
        }
        case 'const':
          if (JSON.stringify(at) !== JSON.stringify(rule)) add(`is not ${JSON.stringify(rule)}`);
          break;
        case 'enum':
          if (!(rule as unknown[]).includes(at)) add(`is none of ${JSON.stringify(rule)}`);
          break;
        case 'anyOf':
        case 'oneOf': {
          const fits = (rule as unknown[]).filter((branch) => check(branch, at, path).length === 0).length;
          if (word === 'anyOf' ? fits === 0 : fits !== 1) {
            add(
              `fits ${fits} of: ${(rule as unknown[]).map((branch) => check(branch, at, path)[0]).join(' | ')}`,
            );
          }
          break;
        }
        case 'format':
          if (typeof at === 'string' && FORMATS[String(rule)]?.test(at) === false) add(`is no ${rule}`);
          break;
        case 'pattern':
          if (typeof at === 'string' && !new RegExp(String(rule), 'u').test(at))
            add(`does not match ${rule}`);
          break;
        case 'minLength':
          if (typeof at === 'string' && [...at].length < Number(rule)) add(`is shorter than ${rule}`);
          break;
        case 'maxLength':
          if (typeof at === 'string' && [...at].length > Number(rule)) add(`is longer than ${rule}`);
          break;
        case 'minimum':
          if (typeof at === 'number' && at < Number(rule)) add(`is below ${rule}`);
          break;
        case 'maximum':
          if (typeof at === 'number' && at > Number(rule)) add(`is above ${rule}`);
          break;
        case 'exclusiveMinimum':
          if (typeof at === 'number' && at <= Number(rule)) add(`is not above ${rule}`);
          break;
        case 'minItems':
          if (Array.isArray(at) && at.length < Number(rule)) add(`has fewer than ${rule} items`);
          break;
        case 'maxItems':
          if (Array.isArray(at) && at.length > Number(rule)) add(`has more than ${rule} items`);
          break;
        case 'prefixItems':
          if (Array.isArray(at)) {
            for (const [i, item] of (rule as unknown[]).entries()) {
              if (i < at.length) found.push(...check(item, at[i], `${path}/${i}`));
            }
          }
          break;
        case 'items':
          if (Array.isArray(at)) {
            const from = Array.isArray(given.prefixItems) ? given.prefixItems.length : 0;
            for (let i = from; i < at.length; i++) {
              if (rule === false) add('has too many items');
              else found.push(...check(rule, at[i], `${path}/${i}`));
            }
          }
          break;
        case 'required':
          if (isObject(at)) {
            for (const name of rule as string[]) if (!Object.hasOwn(at, name)) add(`lacks ${name}`);
          }
          break;
        case 'properties':
          if (isObject(at)) {
            for (const [name, member] of Object.entries(rule as Schema)) {
              if (Object.hasOwn(at, name)) found.push(...check(member, at[name], `${path}/${name}`));
            }
            if (options.closed === true && given.additionalProperties === undefined) {
              for (const name of Object.keys(at)) {
                if (!Object.hasOwn(rule as object, name)) add(`has ${name}, which is not documented`);
              }
            }
          }
          break;
        case 'additionalProperties':
          if (isObject(at)) {
            for (const [name, member] of Object.entries(at)) {
              if (Object.hasOwn(object(given.properties), name)) continue;
              if (rule === false) add(`may not have ${name}`);
              else found.push(...check(rule, member, `${path}/${name}`));
            }
          }
          break;
        default:
          throw new TypeError(`${path}: the judge does not know ${word}`);
      }
    }
    return found;
  }
}

/** The part of the document that a reference leads to. */
export function lookUp(document: unknown, ref: string): unknown {
  if (!ref.startsWith('#/')) throw new TypeError(`${ref} leads out of the document`);
  let at = document;
  for (const segment of ref.slice(2).split('/')) {
    at = object(at)[segment.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  if (at === undefined) throw new TypeError(`${ref} leads nowhere`);
  return at;
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
    default:
      throw new TypeError(`there is no type ${type}`);
  }
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function object(value: unknown): Schema {
  return isObject(value) ? value : {};
}
