/**
 * The `X-Postrider-` fields of a submitted message: Tag, Metadata, Send-At, Expires-At, Priority, Sandbox, Track,
 * List-Unsubscribe and Idempotency-Key have the meaning and rules of their JSON counterparts; those without an effect
 * in this version are refused by name, as the API does. So is every other name with this prefix: mail that should wait
 * must not go at once because of a misspelt field. The message is sent without any of them.
 */
import { meantOrKnown } from '../../lib/closest.ts';
import { AppError, type Problem } from '../../lib/errors.ts';
import { decodeWords } from '../../mail/decode-words.ts';
import { LANES, type Lane, REQUESTED_RESULTS, type SandboxResult } from '../../model/message.ts';
import { type Metadata, readMetadata } from '../../model/metadata.ts';
import { NO_WISH, type PersonalWish } from '../../model/personal.ts';
import { readExpiryTime, readSendTime } from '../../model/schedule.ts';

export interface ExtensionFields {
  tags: readonly string[];
  metadata: Metadata;
  sendAt: number | null;
  expiresAt: number | null;
  lane: Lane;
  sandbox: SandboxResult | null;
  /** false: the content is deleted when the last recipient is final. */
  keepContent: boolean;
  personal: PersonalWish | null;
  idempotencyKey: string | null;
}

const KNOWN = [
  ...['Tag', 'Metadata', 'Send-At', 'Expires-At', 'Priority', 'Sandbox', 'Track', 'List-Unsubscribe'],
  ...['Keep-Content', 'Idempotency-Key'],
];
/** This server writes it into mail that leaves; a program that sends such mail on keeps it. */
const WRITTEN_HERE = 'ref';
/** Names are compared: a hostile header has thousands. */
const MAX_PROBLEMS = 25;
const UNAVAILABLE = new Set(['template-id', 'variables']);
const YES: ReadonlySet<string> = new Set(['yes', 'true', '1']);
const NO: ReadonlySet<string> = new Set(['no', 'false', '0']);
const MAX_TAGS = 10;
const MAX_TAG_CHARS = 128;

/**
 * `fields`: lower-case names without the prefix and unfolded values, in order. Throws one AppError with every problem.
 */
export function readExtensionFields(
  fields: readonly (readonly [name: string, value: string])[],
  nowMs: number,
): ExtensionFields {
  const problems: Problem[] = [];
  const tags: string[] = [];
  let metadata: Metadata = {};
  let sendAt: number | null = null;
  let expiry: string | null = null;
  let expiresAt: number | null = null;
  let lane: Lane = 'normal';
  let sandbox: SandboxResult | null = null;
  let keepContent = true;
  let personal: PersonalWish | null = null;
  let idempotencyKey: string | null = null;
  const single = new Set<string>();
  const add = (name: Problem['name'], field: string, message: string) =>
    problems.push({ name, field: `X-Postrider-${field}`, message });

  for (const [name, value] of fields) {
    if (name === WRITTEN_HERE) continue;
    if (name !== 'tag') {
      if (single.has(name)) add('duplicate-property', name, `X-Postrider-${name} is given twice`);
      single.add(name);
    }
    if (name === 'tag') {
      const tag = decodeWords(value).trim().toWellFormed();
      if (tag === '' || tag.length > MAX_TAG_CHARS)
        add('tag-invalid', 'Tag', 'A tag has 1 to 128 characters');
      else if (!tags.includes(tag)) tags.push(tag);
      if (tags.length === MAX_TAGS + 1) add('tags-count', 'Tag', `At most ${MAX_TAGS} tags`);
    } else if (name === 'metadata') {
      const found = metadataOf(decodeWords(value));
      if (typeof found === 'string') add('metadata-invalid', 'Metadata', found);
      else metadata = found;
    } else if (name === 'send-at') {
      const found = readSendTime(value, nowMs, true);
      if (found.ok) sendAt = found.at;
      else add('send-at-invalid', 'Send-At', found.message);
    } else if (name === 'expires-at') {
      expiry = value;
    } else if (name === 'priority') {
      const known = LANES.find((each) => each === value.toLowerCase());
      if (known === undefined) {
        add('priority-unknown', 'Priority', 'X-Postrider-Priority is critical, normal or bulk');
      } else lane = known;
    } else if (name === 'sandbox') {
      const found = readSandbox(value.toLowerCase());
      if (found === undefined) {
        add(
          'sandbox-result-unknown',
          'Sandbox',
          `X-Postrider-Sandbox is true, false or one of ${REQUESTED_RESULTS.join(', ')}`,
        );
      } else sandbox = found;
    } else if (name === 'keep-content') {
      const word = value.toLowerCase();
      if (YES.has(word) || NO.has(word)) keepContent = YES.has(word);
      else add('invalid-parameter', 'Keep-Content', 'X-Postrider-Keep-Content is yes or no');
    } else if (name === 'track' || name === 'tracking') {
      const found = readTrack(value);
      if (found === null) {
        add('tracking-invalid', 'Track', 'X-Postrider-Track is opens, clicks, both (opens, clicks) or off');
      } else personal = { ...(personal ?? NO_WISH), ...found };
    } else if (name === 'list-unsubscribe') {
      const found = readFlag(value.toLowerCase());
      if (found === undefined) {
        add('list-unsubscribe-invalid', 'List-Unsubscribe', 'X-Postrider-List-Unsubscribe is true or false');
      } else personal = { ...(personal ?? NO_WISH), listUnsubscribe: found };
    } else if (name === 'idempotency-key') {
      if (/^[!-~]{1,255}$/.test(value)) idempotencyKey = value;
      else
        add(
          'idempotency-key-invalid',
          'Idempotency-Key',
          'X-Postrider-Idempotency-Key is 1 to 255 visible ASCII characters',
        );
    } else if (UNAVAILABLE.has(name)) {
      add(
        'field-unavailable',
        name,
        `X-Postrider-${name} is not available in this version and was not ignored`,
      );
    } else if (problems.length < MAX_PROBLEMS) {
      add('unknown-property', name, `X-Postrider-${name} is not known${meantOrKnown(name, KNOWN)}`);
    }
  }
  // Last, whatever the order of the fields: it depends on the send time.
  if (expiry !== null && problems.length === 0) {
    const found = readExpiryTime(expiry, nowMs, sendAt, true);
    if (found.ok) expiresAt = found.at;
    else add('expires-at-invalid', 'Expires-At', found.message);
  }
  if (problems.length > 0) throw new AppError(problems);
  return { tags, metadata, sendAt, expiresAt, lane, sandbox, keepContent, personal, idempotencyKey };
}

/** `opens`, `clicks`, both with a comma, or a word for all or nothing; null = invalid. */
function readTrack(value: string): Pick<PersonalWish, 'opens' | 'clicks'> | null {
  const words = value
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((word) => word !== '');
  const [only] = words;
  if (words.length === 1 && only !== undefined) {
    const all = readFlag(only);
    if (all !== undefined) return { opens: all, clicks: all };
  }
  if (words.length === 0 || words.some((word) => word !== 'opens' && word !== 'clicks')) return null;
  return { opens: words.includes('opens'), clicks: words.includes('clicks') };
}

function readFlag(value: string): boolean | undefined {
  if (value === 'true' || value === 'yes' || value === 'on' || value === '1') return true;
  if (value === 'false' || value === 'no' || value === 'off' || value === '0') return false;
  return undefined;
}

function readSandbox(value: string): SandboxResult | null | undefined {
  if (YES.has(value)) return 'deliver';
  if (NO.has(value)) return null;
  return REQUESTED_RESULTS.find((each) => each === value);
}

/** The pairs, or the problem. */
function metadataOf(text: string): Metadata | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'X-Postrider-Metadata is not JSON';
  }
  const found = readMetadata(value);
  return found.ok ? found.metadata : found.message;
}
