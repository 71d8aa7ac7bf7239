/**
 * Query parameters as schemas. Every value arrives as text: each schema here reads that text, and the API's document
 * shows its format. `queryReader` reads the query of a request by a shape of such schemas; names match in any case, an
 * empty value counts as absent, and one answer refuses everything that is wrong.
 */
import { z } from 'zod';
import { meantOrKnown } from '../../lib/closest.ts';
import { AppError, type Problem } from '../../lib/errors.ts';
import { parseInstant } from '../../lib/instant.ts';
import { aLabels, parseAddress } from '../../mail/address.ts';
import { problemOf } from './body/issue-text.ts';
import { MAX_PROBLEMS, pointerSegment } from './body/problem-list.ts';

/** `strict`: names that are not known are refused too. */
type Reader<Shape extends z.ZodRawShape> = (
  query: ReadonlyMap<string, string>,
  strict: boolean,
) => z.output<z.ZodObject<Shape>>;

/**
 * Reads a query by a shape. The reader throws AppError invalid-parameter with every problem. Names that begin with
 * `namesAfter` are known. Without any parameter in the shape, all names are passed over: nothing depends on them.
 */
export function queryReader<Shape extends z.ZodRawShape>(shape: Shape, namesAfter?: string): Reader<Shape> {
  const schema = z.object(shape);
  const names = Object.keys(shape).map((name) => [name, name.toLowerCase()] as const);
  const known = new Set(names.map(([, lower]) => lower));
  const isUnknown = (name: string) =>
    !known.has(name) && (namesAfter === undefined || !name.startsWith(namesAfter));
  // An operation without parameters costs nothing.
  const nothing = names.length === 0 ? schema.parse({}) : null;
  return (query, strict) => {
    if (nothing !== null) return nothing;
    const given: Record<string, string> = {};
    for (const [name, lower] of names) {
      const value = query.get(lower);
      if (value !== undefined && value !== '') given[name] = value;
    }
    // Cut before the names are compared: a hostile query has thousands.
    const unknown = strict ? [...query.keys()].filter(isUnknown).slice(0, MAX_PROBLEMS) : [];
    const result = schema.safeParse(given);
    if (result.success && unknown.length === 0) return result.data;
    const [first, ...rest] = [
      ...unknown.map((name) => unknownName(name, Object.keys(shape))),
      ...(result.error?.issues.map(problemOf) ?? []),
    ].slice(0, MAX_PROBLEMS);
    throw first === undefined ? new AppError('invalid-parameter') : new AppError([first, ...rest]);
  };
}

function unknownName(name: string, known: readonly string[]): Problem {
  const message = `This parameter is not known${meantOrKnown(name, known)}`;
  return { name: 'invalid-parameter', field: `/${pointerSegment(name)}`, message };
}

/** A text of at most `max` characters. */
export function text(description: string, max: number) {
  return z.string().max(max, 'is too long').optional().describe(description);
}

/** An address in its canonical form, or as given if it is invalid: then nothing matches. */
export function address(description: string) {
  return z
    .string()
    .max(320, 'is too long')
    .transform((given) => {
      const parsed = parseAddress(given);
      return parsed.ok ? parsed.address.text : given;
    })
    .optional()
    .describe(description);
}

/** A domain name as addresses are stored with it, or as given if it is none: then nothing matches. */
export function domainName(description: string) {
  return z.string().max(255, 'is too long').transform(aLabels).optional().describe(description);
}

/** A time: Unix seconds or ISO 8601, by day or with a time, in UTC without an offset; returned as milliseconds. */
export function moment(description: string) {
  return z
    .string()
    .max(64, 'is too long')
    .transform((text, context) => {
      // A plus sign that was not percent-encoded arrives as a blank.
      const given = text.replace(/(:\d\d(?:\.\d{1,9})?) (\d\d:?\d\d)$/, '$1+$2');
      const at = parseInstant(given, true) ?? parseInstant(`${given}Z`) ?? parseInstant(`${given}T00:00Z`);
      if (at !== null) return at;
      context.addIssue({ code: 'custom', message: 'must be Unix seconds or an ISO 8601 time' });
      return z.NEVER;
    })
    .optional()
    .describe(`${description}: Unix seconds or ISO 8601`);
}

/** A whole number from `min` to `max`. */
export function integer(min: number, max: number, error = `must be a whole number from ${min} to ${max}`) {
  const digits = (given: unknown) =>
    typeof given === 'string' && /^[0-9]{1,15}$/.test(given) ? Number(given) : given;
  return z.preprocess(digits, z.int({ error }).min(min, error).max(max, error));
}

const FLAGS: ReadonlyMap<unknown, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/** `true` or `false`, also 1 and 0. */
export function flag() {
  const read = (given: unknown) => (typeof given === 'string' ? FLAGS.get(given.toLowerCase()) : given) ?? '';
  return z.preprocess(read, z.boolean({ error: 'is true or false' }));
}

/** One of several words, in any case. */
export function word<const Word extends string>(words: readonly Word[], error?: string) {
  const known = new Map<unknown, string>(words.map((one) => [one.toLowerCase(), one]));
  const read = (given: unknown) => (typeof given === 'string' ? known.get(given.toLowerCase()) : given) ?? '';
  return z.preprocess(read, z.enum(words, error === undefined ? {} : { error }));
}

/** Narrows a list to one sender domain; `visible` and `domain` of a call use it. */
export const DOMAIN = { Domain: text('Only of this sender domain, one of the token’s', 255) };

export const SINCE = { Since: moment('Not before') };
export const UNTIL = { Until: moment('Before') };

export const MAIL_FILTERS = {
  From: address('Address of the sender, in upper or lower case'),
  To: address('Address of a recipient, in upper or lower case'),
  Subject: text('Holds this text', 998),
  Tag: text('Has this tag', 256),
  ...SINCE,
  ...UNTIL,
  ...DOMAIN,
};
