/**
 * Readers of fields of POST /email that are a single value: how a message is sent, when, and what is kept of it.
 */

import { isJsonObject } from '../../../lib/json-object.ts';
import { LANES, type Lane, type SandboxResult } from '../../../model/message.ts';
import { type Metadata, readMetadata } from '../../../model/metadata.ts';
import { NO_WISH, type PersonalWish } from '../../../model/personal.ts';
import { readExpiryTime, readSendTime } from '../../../model/schedule.ts';
import { propertyTable } from '../body/json-properties.ts';
import { type ProblemList, pointerSegment } from '../body/problem-list.ts';
import { type Reading, readMembers } from './reading.ts';

const SANDBOX = propertyTable(['Result']);
const TRACKING = propertyTable(['Opens', 'Clicks']);
const NO_METADATA: Metadata = {};

/** The results that the sandbox can simulate, as requests spell them. */
export const RESULT_WORDS = [
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

/** In upper or lower case. */
export function readPriority(value: unknown, { problems }: Reading): Lane {
  const given = typeof value === 'string' && value.length <= 32 ? value.trim().toLowerCase() : '';
  const lane = LANES.find((known) => known === given);
  if (lane === undefined) problems.add('priority-unknown', '/Priority');
  return lane ?? LANES[0];
}

export function readKeepContent(value: unknown, { problems }: Reading): boolean {
  if (typeof value !== 'boolean')
    problems.add('invalid-parameter', '/KeepContent', 'KeepContent must be true or false');
  return value === true;
}

/** The result to simulate; null if the message is to be sent, or the value is refused. */
export function readSandbox(value: unknown, reading: Reading): SandboxResult | null {
  if (value === false) return null;
  if (value === true) return 'deliver';
  if (isJsonObject(value)) {
    const [result] = readMembers(value, SANDBOX, '/Sandbox', reading);
    if (result === undefined) return 'deliver';
    const known =
      typeof result === 'string' && result.length <= 32 ? RESULTS.get(result.toLowerCase()) : undefined;
    if (known !== undefined) return known;
    const text = `Result is one of ${RESULT_WORDS.join(', ')}`;
    reading.problems.add('sandbox-result-unknown', '/Sandbox/Result', text);
    return null;
  }
  reading.problems.add('sandbox-result-unknown', '/Sandbox');
  return null;
}

/** null where it means now or is refused. */
export function readSendAt(value: unknown, { nowMs, problems }: Reading): number | null {
  const found = readSendTime(value, nowMs);
  if (found.ok) return found.at;
  problems.add('send-at-invalid', '/SendAt', found.message);
  return null;
}

/** null if it means now or is refused. */
export function readExpiresAt(value: unknown, { nowMs, draft, problems }: Reading): number | null {
  if (problems.items.some(({ name }) => name === 'send-at-invalid')) return null;
  const found = readExpiryTime(value, nowMs, draft.sendAt);
  if (found.ok) return found.at;
  problems.add('expires-at-invalid', '/ExpiresAt', found.message);
  return null;
}

/** The pairs; none where they are refused. */
export function readMetadataField(value: unknown, { problems }: Reading): Metadata {
  const found = readMetadata(value);
  if (found.ok) return found.metadata;
  const field = found.key === null ? '/Metadata' : `/Metadata/${pointerSegment(found.key)}`;
  problems.add('metadata-invalid', field, found.message);
  return NO_METADATA;
}

/** Whether opens and clicks are tracked: an object, or one value for both. A member that is left out is the domain's. */
export function readTracking(value: unknown, reading: Reading): PersonalWish {
  const { listUnsubscribe } = reading.draft.personal ?? NO_WISH;
  if (typeof value === 'boolean') return { opens: value, clicks: value, listUnsubscribe };
  if (isJsonObject(value)) {
    const [openWord, clickWord] = readMembers(value, TRACKING, '/Tracking', reading);
    const opens = flag(openWord, '/Tracking/Opens', reading.problems);
    const clicks = flag(clickWord, '/Tracking/Clicks', reading.problems);
    return { opens, clicks, listUnsubscribe };
  }
  reading.problems.add('tracking-invalid', '/Tracking');
  return NO_WISH;
}

/** Whether the message gets an unsubscribe link. */
export function readListUnsubscribe(value: unknown, { problems, draft }: Reading): PersonalWish {
  const { opens, clicks } = draft.personal ?? NO_WISH;
  if (typeof value === 'boolean') return { opens, clicks, listUnsubscribe: value };
  problems.add('list-unsubscribe-invalid', '/ListUnsubscribe');
  return NO_WISH;
}

function flag(value: unknown, pointer: string, problems: ProblemList): boolean | null {
  if (value === undefined || typeof value === 'boolean') return value ?? null;
  problems.add('tracking-invalid', pointer);
  return null;
}
