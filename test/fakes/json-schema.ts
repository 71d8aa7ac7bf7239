/**
 * Judges values by the schemas of openapi.json (JSON Schema 2020-12), with a library that shares nothing with the code that
 * makes the document. A word that the library does not know throws, so that no rule is passed over in silence.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

export interface JudgeOptions {
  /** Objects hold what the schema names and nothing else, also where the schema leaves that open. */
  closed?: boolean;
}

const FORMATS = {
  uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/,
  email: true,
  uri: true,
} as const;
const compiled = new WeakMap<object, Map<string, ValidateFunction>>();

/** What is wrong with `value`; empty where nothing is. */
export function judge(
  document: unknown,
  schema: unknown,
  value: unknown,
  { closed = false }: JudgeOptions = {},
): string[] {
  const known = compiled.get(document as object) ?? new Map<string, ValidateFunction>();
  compiled.set(document as object, known);
  const key = `${closed} ${JSON.stringify(schema)}`;
  const judged = known.get(key) ?? compile(document, schema, closed);
  known.set(key, judged);
  judged(value);
  return (judged.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath || '/'}: ${message} ${JSON.stringify(params)}`,
  );
}

/** References lead to the components of the document. */
function compile(document: unknown, schema: unknown, closed: boolean): ValidateFunction {
  const ajv = new Ajv2020({ strictTypes: false, strictTuples: false, allErrors: true, formats: FORMATS });
  ajv.addVocabulary(['components', 'example']);
  const { components } = document as { components: unknown };
  const whole = { ...(schema as object), components };
  return ajv.compile(closed ? (closedIn(whole) as object) : whole);
}

function closedIn(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closedIn);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inside = Object.fromEntries(Object.entries(schema).map(([name, each]) => [name, closedIn(each)]));
  return typeof inside.properties === 'object' ? { additionalProperties: false, ...inside } : inside;
}

/** The part of the document that a reference leads to. */
export function lookUp(document: unknown, ref: string): unknown {
  if (!ref.startsWith('#/')) throw new TypeError(`${ref} leads out of the document`);
  let at = document;
  for (const segment of ref.slice(2).split('/')) {
    at = (at as Record<string, unknown> | undefined)?.[segment.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  if (at === undefined) throw new TypeError(`${ref} leads nowhere`);
  return at;
}
