/**
 * The fields beyond the specification that are one value each; Tracking and
 * ListUnsubscribe are in personal-fields.ts, templates in template-fields.ts.
 */
import { LANES, type Lane, type SandboxResult } from '../../../model/message.ts';
import { type Metadata, readMetadata } from '../../../model/metadata.ts';
import { readExpiryTime, readSendTime } from '../../../model/schedule.ts';
import { isJsonObject, propertyTable, readProperties } from '../body/json-properties.ts';
import { type ProblemList, pointerSegment } from '../body/problem-list.ts';

const SANDBOX = propertyTable(['Result']);
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

const NO_TIMES = { sendAt: null, expiresAt: null } as const;
const NO_METADATA: Metadata = {};

/** SendAt and ExpiresAt; null where absent or refused, SendAt also where it means now. */
export function readTimes(
  send: unknown,
  expiry: unknown,
  nowMs: number,
  problems: ProblemList,
): { sendAt: number | null; expiresAt: number | null } {
  if (send === undefined && expiry === undefined) return NO_TIMES;
  let sendAt: number | null = null;
  if (send !== undefined) {
    const found = readSendTime(send, nowMs);
    if (!found.ok) {
      problems.add('send-at-invalid', '/SendAt', found.message);
      // Measured against a time that is refused, a good expiry would look wrong.
      return NO_TIMES;
    }
    sendAt = found.at;
  }
  if (expiry === undefined) return { sendAt, expiresAt: null };
  const found = readExpiryTime(expiry, nowMs, sendAt);
  if (found.ok) return { sendAt, expiresAt: found.at };
  problems.add('expires-at-invalid', '/ExpiresAt', found.message);
  return NO_TIMES;
}

/** The pairs; none where absent or refused. */
export function readMetadataField(value: unknown, problems: ProblemList): Metadata {
  if (value === undefined) return NO_METADATA;
  const found = readMetadata(value);
  if (found.ok) return found.metadata;
  const field = found.key === null ? '/Metadata' : `/Metadata/${pointerSegment(found.key)}`;
  problems.add('metadata-invalid', field, found.message);
  return NO_METADATA;
}

/** Whether the content is kept as long as others; true where nothing was said. */
export function readKeepContent(value: unknown, problems: ProblemList): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? true;
  problems.add('invalid-parameter', '/KeepContent', 'KeepContent is true or false');
  return true;
}
