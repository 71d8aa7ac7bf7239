/**
 * Reads bodies of operations other than POST /email with Zod schemas: property names match in any ASCII case at the top
 * level, null counts as absent, unknown ones are ignored unless the request asks for strict handling. Returns a typed
 * value, or throws one AppError with every problem and its pointer.
 */
import { z } from 'zod';
import { meantOrKnown } from '../../../lib/closest.ts';
import { AppError } from '../../../lib/errors.ts';
import type { JsonObject } from '../../../lib/json-object.ts';
import type { ApiRequest } from '../route.ts';
import { problemOf } from './issue-text.ts';
import { bodyText, jsonProblem, parseJsonObject } from './json-body.ts';
import { requireJson } from './json-media-type.ts';
import { propertyTable, readProperties } from './json-properties.ts';
import { prefersStrict } from './prefer.ts';
import { createProblemList, MAX_PROBLEMS } from './problem-list.ts';

/** The body by `schema`. A custom issue may name its error in `params.problem`. */
export function readJsonBody<Shape extends z.ZodRawShape>(
  request: ApiRequest,
  schema: z.ZodObject<Shape>,
  { mayBeEmpty = false }: { mayBeEmpty?: boolean },
): z.output<z.ZodObject<Shape>> {
  if (!(mayBeEmpty && request.body.length === 0)) requireJson(request.header('content-type'));
  return readJsonBytes(request.body, schema, { strict: prefersStrict(request.header('prefer')), mayBeEmpty });
}

/** The same for bytes. */
export function readJsonBytes<Shape extends z.ZodRawShape>(
  body: Uint8Array,
  schema: z.ZodObject<Shape>,
  { strict, mayBeEmpty = false }: { strict: boolean; mayBeEmpty?: boolean },
): z.output<z.ZodObject<Shape>> {
  const problems = createProblemList();
  const table = propertyTable(Object.keys(schema.shape));
  const values = readProperties(
    objectOf(body, mayBeEmpty, listIn(schema)),
    table,
    strict,
    (name, segment, message) => {
      const hint = name === 'unknown-property' ? meantOrKnown(segment, offered(schema)) : '';
      problems.add(name, `/${segment}`, `${message}${hint}`);
    },
  );
  const given = Object.fromEntries(
    table.names.map((name, i) => [name, values[i]] as const).filter(([, value]) => value !== undefined),
  );
  const result = schema.safeParse(given);
  if (!result.success) {
    // Rules over several members come last.
    const place = (issue: z.core.$ZodIssue) => table.names.indexOf(String(issue.path[0]));
    const issues = [...result.error.issues].sort((a, b) => place(a) - place(b));
    for (const issue of issues) problems.items.push(problemOf(issue));
  }
  const [first, ...rest] = problems.items.slice(0, MAX_PROBLEMS);
  if (first !== undefined) throw new AppError([first, ...rest]);
  if (!result.success) throw new AppError('invalid-parameter');
  return result.data;
}

/** The names to propose: not those that are documented only to be refused. */
function offered({ shape }: z.ZodObject): string[] {
  return Object.keys(shape).filter((name) => {
    const member = shape[name];
    return member !== undefined && z.globalRegistry.get(member)?.deprecated !== true;
  });
}

/** The required member that is a list. */
function listIn({ shape }: z.ZodObject): string | undefined {
  return Object.keys(shape).find((name) => shape[name] instanceof z.ZodArray);
}

function objectOf(body: Uint8Array, mayBeEmpty: boolean, list: string | undefined): JsonObject {
  if (mayBeEmpty && body.length === 0) return {};
  const text = bodyText(body);
  const object = parseJsonObject(text);
  if (object === null) throw new AppError('json-malformed', { message: jsonProblem(text, list) });
  return object;
}
