/**
 * The problem of one member of a body, as a sentence that begins with its documented name. Uses the message of the
 * schema if it has one, otherwise what the schema requires.
 */
import { z } from 'zod';
import { meantOrKnown } from '../../../lib/closest.ts';
import { ERRORS, type ErrorName, type Problem } from '../../../lib/errors.ts';
import { pointerSegment } from './problem-list.ts';

/** Messages that continue after the member's name; others follow a colon. */
const GOES_ON = /^(?:is|must|may|has|holds|needs|lies|cannot)\b/;

/** An issue as a problem of the request; a custom one may name its error in `params.problem`. */
export function problemOf(issue: z.core.$ZodIssue): Problem {
  const field = `/${issue.path.map((part) => pointerSegment(String(part))).join('/')}`;
  const named: unknown = issue.code === 'custom' ? issue.params?.problem : undefined;
  const name = typeof named === 'string' && isErrorName(named) ? named : 'invalid-parameter';
  return { name, field, message: issueText(issue) };
}

function isErrorName(name: string): name is ErrorName {
  return Object.hasOwn(ERRORS, name);
}

/** A hostile object may have thousands that are unknown. */
const MAX_KEYS = 5;

/** An object within a body, whose problems name its members: others are refused, also without strict handling. */
export function memberGroup<Shape extends z.ZodRawShape>(shape: Shape) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code === 'invalid_type') return `must be an object with ${known.join(', ')}`;
      if (issue.code !== 'unrecognized_keys') return undefined;
      const { keys } = issue as z.core.$ZodIssueUnrecognizedKeys;
      const shown = keys.slice(0, MAX_KEYS).map(pointerSegment).join(', ');
      return `has no ${shown}${keys.length > MAX_KEYS ? ' …' : ''}${meantOrKnown(keys[0] ?? '', known)}`;
    },
  });
}

/** `Reason is one of Bounce, Manual`, without a full stop. */
export function issueText(issue: z.core.$ZodIssue): string {
  const last = issue.path.findLast((part) => typeof part === 'string');
  const place = issue.path.at(-1);
  const name = last === undefined ? 'The body' : String(last);
  const subject = typeof place === 'number' ? `${name}[${place}]` : name;
  const words = wordsOf(issue);
  return GOES_ON.test(words) ? `${subject} ${words}` : `${subject}: ${words}`;
}

function wordsOf(issue: z.core.$ZodIssue): string {
  // Messages of our schemas are in lower case; those of the library are not.
  if (/^[a-z]/.test(issue.message)) return issue.message;
  switch (issue.code) {
    case 'invalid_value':
      return issue.values.length === 1
        ? `must be ${String(issue.values[0])}`
        : `is one of ${issue.values.join(', ')}`;
    case 'invalid_type':
      if (issue.message.endsWith('received undefined')) return 'is required';
      return `must be ${KINDS[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return sized(issue.origin, issue.inclusive === false ? 'more than' : 'at least', Number(issue.minimum));
    case 'too_big':
      return sized(issue.origin, issue.inclusive === false ? 'less than' : 'at most', Number(issue.maximum));
    case 'unrecognized_keys':
      return `has no ${issue.keys.join(', ')}`;
    case 'invalid_union':
      return 'has the wrong form';
    default:
      return issue.message;
  }
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  record: 'an object',
};

function sized(origin: string, bound: string, size: number): string {
  const things = size === 1 ? '' : 's';
  if (origin === 'string') {
    return bound === 'at least' && size === 1
      ? 'must not be empty'
      : `must have ${bound} ${size} character${things}`;
  }
  if (origin === 'array' || origin === 'set') return `must hold ${bound} ${size} item${things}`;
  return `must be ${bound} ${size}`;
}
