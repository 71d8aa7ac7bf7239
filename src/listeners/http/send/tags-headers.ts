/**
 * Tags and custom Headers.
 * Tags are labels: trimmed, duplicates dropped. Headers are checked by grammar and against the names the service
 * writes itself; a forbidden one is refused by name, never dropped in silence. Two spellings of one header name are
 * refused as well, because most headers may stand in a message only once (RFC 5322 §3.6).
 */

import { isEmptyList, isJsonObject } from '../../../lib/json-object.ts';
import { checkHeader, MAX_HEADER_NAME_OCTETS, MAX_HEADER_VALUE_OCTETS } from '../../../mail/header-rules.ts';
import { pointerSegment } from '../body/problem-list.ts';
import { hasControl, isLongerThan } from '../body/text-rules.ts';
import type { Reading } from './reading.ts';

/** A longer list is refused before its items are read. */
export const MAX_TAG_ITEMS = 1000;

/** Distinct tags in the order given. */
export function readTags(value: unknown, { limits, problems }: Reading): string[] {
  const tags: string[] = [];
  if (!Array.isArray(value)) {
    problems.add('wrong-type', '/Tags', 'Tags must be an array of strings');
    return tags;
  }
  if (value.length > MAX_TAG_ITEMS) {
    problems.add('tags-count', '/Tags', `Tags may hold at most ${limits.maxTags} labels`);
    return tags;
  }
  for (let i = 0; i < value.length; i++) {
    const item: unknown = value[i];
    if (typeof item !== 'string') {
      problems.add(
        'tag-invalid',
        `/Tags/${i}`,
        'A tag must be a string; a name with a value goes into Metadata',
      );
      continue;
    }
    const tag = item.trim().toWellFormed();
    if (tag === '' || hasControl(item, true) || isLongerThan(tag, limits.maxTagChars)) {
      problems.add('tag-invalid', `/Tags/${i}`);
    } else if (!tags.includes(tag)) tags.push(tag);
    if (tags.length > limits.maxTags) {
      problems.add('tags-count', '/Tags', `Tags may hold at most ${limits.maxTags} labels`);
      return tags;
    }
  }
  return tags;
}

/** Header fields (lower case) → the member of the request that sets them. */
const GIVEN_AS: ReadonlyMap<string, string> = new Map([
  ['from', 'From'],
  ['to', 'To'],
  ['cc', 'CC'],
  ['bcc', 'BCC'],
  ['reply-to', 'ReplyTo'],
  ['subject', 'Subject'],
]);

/** Names and values in the order given; numbers and booleans as text, null left out. */
export function readHeaders(value: unknown, { limits, problems }: Reading): (readonly [string, string])[] {
  const headers: (readonly [string, string])[] = [];
  if (isEmptyList(value)) return headers;
  if (!isJsonObject(value)) {
    problems.add(
      'wrong-type',
      '/Headers',
      'Headers must be an object of names and string values, like {"X-Order": "1001"}',
    );
    return headers;
  }
  const names = Object.keys(value);
  if (names.length > limits.maxHeaders) {
    problems.add('headers-count', '/Headers', `Headers may hold at most ${limits.maxHeaders} entries`);
    return headers;
  }
  const seen = new Set<string>();
  let octets = 0;
  for (const name of names) {
    const given = value[name];
    if (given === null) continue;
    const text = headerText(given);
    const problem = checkHeader(name, text ?? '');
    const field = () => `/Headers/${pointerSegment(name)}`;
    if (problem === 'name') {
      problems.add(
        'header-name-invalid',
        field(),
        `A header name is 1 to ${MAX_HEADER_NAME_OCTETS} visible ASCII characters without a colon`,
      );
    } else if (problem === 'reserved') {
      const member = GIVEN_AS.get(name.toLowerCase());
      const instead = member === undefined ? 'cannot be given' : `is given as ${member}, beside Headers`;
      problems.add('header-not-allowed', field(), `${name} is set by the service and ${instead}`);
    } else if (text === null) {
      problems.add('header-value-invalid', field(), 'A header value must be a string');
    } else if (problem === 'brackets') {
      problems.add(
        'header-value-invalid',
        field(),
        `What stands in < > in ${name} must be ASCII: write a host name in its xn-- form, and percent-encode the rest of a URL`,
      );
    } else if (problem === 'value') {
      problems.add(
        'header-value-invalid',
        field(),
        `The value of ${name} has a line break or another control character, or more than ${MAX_HEADER_VALUE_OCTETS} octets`,
      );
    } else {
      const lower = name.toLowerCase();
      if (seen.has(lower)) {
        problems.add('duplicate-property', field(), `${name} is given twice in different spellings`);
        continue;
      }
      seen.add(lower);
      octets += name.length + Buffer.byteLength(text);
      headers.push([name, text]);
    }
  }
  if (octets > limits.maxHeaderBytes) {
    problems.add(
      'headers-count',
      '/Headers',
      `Headers may have at most ${limits.maxHeaderBytes} octets together`,
    );
  }
  return headers;
}

function headerText(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}
