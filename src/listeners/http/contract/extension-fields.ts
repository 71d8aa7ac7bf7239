/**
 * The fields beyond the specification (api.md §4, "Extension fields"): Priority and Sandbox take effect; the others
 * are not available in this version and are refused by name, because ignoring a send time or an unsubscribe wish
 * would break a promise the caller thinks was made.
 */
import { LANES, type Lane, type SandboxResult } from '../../../model/message.ts';
import { isJsonObject, propertyTable, readProperties } from './json-properties.ts';
import type { ProblemList } from './problem-list.ts';

/** Documented names that are refused when present, in documented order. */
export const UNAVAILABLE_FIELDS = [
  'SendAt',
  'ExpiresAt',
  'Metadata',
  'Tracking',
  'ListUnsubscribe',
  'TemplateID',
  'Variables',
] as const;

const SANDBOX = propertyTable(['Result']);
const RESULT_WORDS = [
  'Deliver',
  'Bounce',
  'SoftBounce',
  'Defer',
  'Fail',
  'Suppress',
  'Complain',
  'Open',
  'Click',
] as const;
const RESULTS: ReadonlyMap<string, SandboxResult> = new Map(
  RESULT_WORDS.map((word) => {
    const result = word.toLowerCase() as Lowercase<typeof word>;
    return [result, result];
  }),
);

/** The lane; `normal` where none was given or the word is refused. */
export function readPriority(value: unknown, problems: ProblemList): Lane {
  if (value === undefined) return 'normal';
  const word = typeof value === 'string' && value.length <= 32 ? value.trim().toLowerCase() : '';
  const lane = LANES.find((known) => known === word);
  if (lane === undefined) problems.add('priority-unknown', '/Priority');
  return lane ?? 'normal';
}

/** null = real delivery. */
export function readSandbox(value: unknown, strict: boolean, problems: ProblemList): SandboxResult | null {
  if (value === undefined || value === false) return null;
  if (value === true) return 'deliver';
  if (isJsonObject(value)) {
    const [result] = readProperties(value, SANDBOX, strict, (name, segment, message) =>
      problems.add(name, `/Sandbox/${segment}`, message),
    );
    if (result === undefined) return 'deliver';
    const known =
      typeof result === 'string' && result.length <= 32 ? RESULTS.get(result.toLowerCase()) : undefined;
    if (known !== undefined) return known;
    problems.add('sandbox-result-unknown', '/Sandbox/Result', `Result is one of ${RESULT_WORDS.join(', ')}`);
    return null;
  }
  problems.add('sandbox-result-unknown', '/Sandbox');
  return null;
}

/** Refuses each of `UNAVAILABLE_FIELDS` that has a value (the same order). */
export function refuseUnavailable(values: readonly unknown[], problems: ProblemList): void {
  for (let i = 0; i < UNAVAILABLE_FIELDS.length; i++) {
    if (values[i] === undefined) continue;
    const field = UNAVAILABLE_FIELDS[i] ?? '';
    problems.add(
      'field-unavailable',
      `/${field}`,
      `${field} is not available in this version and was not ignored`,
    );
  }
}
