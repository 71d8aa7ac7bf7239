/**
 * Turns schemas into JSON Schema 2020-12 as OpenAPI 3.1 has it, and collects those that have a name. Given one schema
 * after the other, leaves references to `#/components/schemas/…`; two different schemas of one name are a mistake of ours
 * and throw.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

/** A schema, or any other part of the document, as JSON. */
export type Json = Readonly<Record<string, unknown>>;

export interface Components {
  /** Of a body that comes in; `name` is used where the schema has none. */
  input(schema: z.ZodType, name: string): Json;
  /** Of an answer. */
  output(schema: z.ZodType, name?: string): Json;
  /** Members of a query, as they come in. */
  members(shape: z.ZodRawShape): readonly { name: string; required: boolean; schema: Json }[];
  /** By name, in the order of the alphabet. */
  all(): Json;
}

export function createComponents(): Components {
  const known = new Map<string, Json>();
  return {
    input: (schema, name) => named(convert(schema, 'input'), name),
    output: (schema, name) => named(convert(schema, 'output'), name),
    members(shape) {
      const { properties = {}, required = [] } = convert(z.object(shape), 'input');
      return Object.entries(properties as Record<string, Json>).map(([name, schema]) => ({
        name,
        required: (required as readonly string[]).includes(name),
        schema,
      }));
    },
    all: () => Object.fromEntries([...known].sort(([a], [b]) => (a < b ? -1 : 1))),
  };

  function convert(schema: z.ZodType, io: 'input' | 'output'): Json {
    const {
      $schema: _,
      $defs = {},
      ...rest
    } = z.toJSONSchema(schema, { io, unrepresentable: 'any', override: tidy });
    for (const [name, definition] of Object.entries($defs)) keep(name, moved(definition) as Json);
    return moved(rest) as Json;
  }

  function named(schema: Json, name: string | undefined): Json {
    if (name === undefined || typeof schema.$ref === 'string' || schema.type !== 'object') return schema;
    keep(name, schema);
    return { $ref: `#/components/schemas/${name}` };
  }

  function keep(name: string, schema: Json): void {
    const before = known.get(name);
    if (before === undefined) known.set(name, schema);
    else if (!isDeepStrictEqual(before, schema)) throw new TypeError(`two schemas are called ${name}`);
  }
}

/** References lead to the components. */
function moved(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(moved);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string'
        ? inner.replace('#/$defs/', '#/components/schemas/')
        : moved(inner),
    ]),
  );
}

type Override = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override']>;

/** Leaves out what the library adds and nobody meant: its pattern of dates, the largest integer, closed objects. */
const tidy: Override = ({ zodSchema, jsonSchema }) => {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (isDeepStrictEqual(jsonSchema.propertyNames, { type: 'string' })) delete jsonSchema.propertyNames;
  const { def } = zodSchema._zod;
  // The library leaves out the default of what is read from a text.
  if (def.type === 'default') jsonSchema.default = def.defaultValue as typeof jsonSchema.default;
  // An answer may gain members, unless it is one of those that never do.
  if (def.type === 'object' && !('catchall' in def)) delete jsonSchema.additionalProperties;
};
