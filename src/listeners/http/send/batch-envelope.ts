/**
 * The body of POST /email/batch → its messages, still unread, or what is wrong with the envelope. Pure; each message is
 * read by the rules of POST /email afterwards.
 */
import type { Problem } from '../../../lib/errors.ts';
import type { JsonObject } from '../../../lib/json-object.ts';
import { propertyTable, readProperties } from '../body/json-properties.ts';
import { createProblemList } from '../body/problem-list.ts';

/** Messages of one batch. */
export const MAX_BATCH = 100;

/** The member that holds the messages. */
export const BATCH_LIST = 'Messages';

const ENVELOPE = propertyTable([BATCH_LIST]);

export type BatchRead =
  | { ok: true; messages: readonly unknown[] }
  | { ok: false; problems: readonly [Problem, ...Problem[]] };

/** The messages in order, whatever they are. */
export function readBatchEnvelope(object: JsonObject, strict: boolean): BatchRead {
  const problems = createProblemList();
  const [messages] = readProperties(object, ENVELOPE, strict, (name, segment, message) =>
    problems.add(name, `/${segment}`, message),
  );
  if (!Array.isArray(messages)) {
    const text = messages === undefined ? 'Messages is required' : 'Messages must be an array';
    problems.add('wrong-type', '/Messages', text);
  } else if (messages.length === 0 || messages.length > MAX_BATCH) {
    const more =
      messages.length > 0 ? `, and this has ${messages.length}: send them in several requests` : '';
    problems.add('invalid-parameter', '/Messages', `Messages holds 1 to ${MAX_BATCH} messages${more}`);
  }
  const [first, ...rest] = problems.items;
  if (first !== undefined) return { ok: false, problems: [first, ...rest] };
  return { ok: true, messages: messages as readonly unknown[] };
}
