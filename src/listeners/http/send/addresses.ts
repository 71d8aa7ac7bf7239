/**
 * From, To, CC, BCC and ReplyTo: objects `{name?, email}`.
 * Given the parsed values, it leaves mailboxes with canonical addresses and the recipients merged over the three
 * lists: the first of To > CC > BCC keeps an address, so nobody gets two copies and a BCC duplicate of a To
 * vanishes. Domains are compared as lower-case A-labels, local parts exactly. A bare string instead of an object
 * counts as an object without an email.
 */
import { z } from 'zod';
import type { ErrorName } from '../../../lib/errors.ts';
import { isJsonObject } from '../../../lib/json-object.ts';
import { type Address, parseAddress } from '../../../mail/address.ts';
import type { Mailbox, RecipientKind } from '../../../model/message.ts';
import type { SubmittedRecipient } from '../../../model/submission.ts';
import { propertyTable } from '../body/json-properties.ts';
import type { ProblemList } from '../body/problem-list.ts';
import { hasControl, isLongerThan } from '../body/text-rules.ts';
import type { EmailLimits } from './limits.ts';
import { type Reading, readMembers } from './reading.ts';

/** An address as the document has it. */
export function addressSchema({ maxNameChars }: EmailLimits) {
  return z
    .object({
      name: z.string().max(maxNameChars).optional().describe('Display name, without control characters'),
      email: z.string().min(1).describe('`local@domain`'),
    })
    .meta({ id: 'EmailAddress' });
}

const ADDRESS = propertyTable(['name', 'email']);

interface ListRules {
  field: 'To' | 'CC' | 'BCC' | 'ReplyTo';
  notArray: ErrorName;
  required: ErrorName;
  invalid: ErrorName;
  count: ErrorName;
}

const LISTS = {
  To: rules('To', 'to-not-array', 'to-email-required', 'to-email-invalid', 'to-count'),
  CC: rules('CC', 'cc-not-array', 'cc-email-required', 'cc-email-invalid', 'cc-count'),
  BCC: rules('BCC', 'bcc-not-array', 'bcc-email-required', 'bcc-email-invalid', 'bcc-count'),
  ReplyTo: rules(
    'ReplyTo',
    'reply-to-not-array',
    'reply-to-email-required',
    'reply-to-email-invalid',
    'reply-to-count',
  ),
} as const;

/** A display name and where it leads. */
interface NamedAddress {
  name: string;
  address: Address;
}

/** From, and the domain of it: an object with an email. Null where it is not usable (a problem was added). */
export function readFrom(value: unknown, reading: Reading): Mailbox | null {
  if (!isJsonObject(value)) {
    reading.problems.add(
      'from-email-required',
      '/From',
      value === undefined ? 'From is required' : `From must be an object with an email${objectFor(value)}`,
    );
    return null;
  }
  const found = readAddress(value, '/From', 'from-email-required', 'from-email-invalid', reading);
  if (found === null) return null;
  reading.draft.fromDomain = found.address.domain;
  return { name: found.name, address: found.address.text };
}

/** To, CC and BCC merged, in that order. */
export function readRecipients(
  to: unknown,
  reading: Reading,
  cc: unknown,
  bcc: unknown,
): SubmittedRecipient[] {
  const { limits, problems } = reading;
  const recipients: SubmittedRecipient[] = [];
  const seen = new Set<string>();
  let countRefused = false;
  const add = (kind: RecipientKind, value: unknown) => {
    if (value === undefined) {
      if (kind === 'To') problems.add('to-count', '/To', 'To is required');
      return;
    }
    const list = LISTS[kind];
    if (!isWithin(value, list, limits.maxRecipients, problems)) {
      countRefused ||= Array.isArray(value);
      return;
    }
    for (let i = 0; i < value.length; i++) {
      const found = readItem(value[i], i, list, reading);
      if (found === null || seen.has(found.address.text)) continue;
      seen.add(found.address.text);
      recipients.push({
        name: found.name,
        address: found.address.text,
        domain: found.address.domain,
        kind,
      });
    }
  };
  add('To', to);
  add('CC', cc);
  add('BCC', bcc);
  if (!countRefused && recipients.length > limits.maxRecipients) {
    problems.add(
      'recipients-total',
      '/To',
      `To, CC and BCC may hold ${limits.maxRecipients} recipients together`,
    );
  }
  return recipients;
}

/** ReplyTo: any number of addresses up to the limit, any domain. */
export function readReplyTo(value: unknown, reading: Reading): Mailbox[] {
  const mailboxes: Mailbox[] = [];
  if (!isWithin(value, LISTS.ReplyTo, reading.limits.maxReplyTo, reading.problems)) return mailboxes;
  for (let i = 0; i < value.length; i++) {
    const found = readItem(value[i], i, LISTS.ReplyTo, reading);
    if (found !== null) mailboxes.push({ name: found.name, address: found.address.text });
  }
  return mailboxes;
}

/** Whether the value is a list of acceptable length; its items are not looked at otherwise. */
function isWithin(
  value: unknown,
  list: ListRules,
  max: number,
  problems: ProblemList,
): value is readonly unknown[] {
  const pointer = `/${list.field}`;
  if (!Array.isArray(value)) {
    problems.add(
      list.notArray,
      pointer,
      `${list.field} must be an array of objects with an email${objectFor(value, true)}`,
    );
    return false;
  }
  if (value.length > max) {
    problems.add(list.count, pointer, `${list.field} may hold at most ${max} items`);
    return false;
  }
  if (value.length === 0 && list.field === 'To') {
    problems.add(list.count, pointer, 'To needs at least one recipient');
    return false;
  }
  return true;
}

function readItem(value: unknown, index: number, list: ListRules, reading: Reading): NamedAddress | null {
  const pointer = `/${list.field}/${index}`;
  if (!isJsonObject(value)) {
    reading.problems.add(
      list.required,
      pointer,
      `Each item of ${list.field} must be an object with an email${objectFor(value)}`,
    );
    return null;
  }
  return readAddress(value, pointer, list.required, list.invalid, reading);
}

function readAddress(
  object: Readonly<Record<string, unknown>>,
  pointer: string,
  required: ErrorName,
  invalid: ErrorName,
  reading: Reading,
): NamedAddress | null {
  const { problems } = reading;
  const [name, email] = readMembers(object, ADDRESS, pointer, reading);
  const cleanName = readName(name, pointer, reading);
  if (email === undefined || email === '') {
    problems.add(required, `${pointer}/email`);
    return null;
  }
  if (typeof email !== 'string') {
    problems.add(invalid, `${pointer}/email`, 'email must be a string');
    return null;
  }
  const parsed = parseAddress(email);
  if (!parsed.ok) {
    if (email.length < 1024 && email.trim() === '') problems.add(required, `${pointer}/email`);
    else
      problems.add(invalid, `${pointer}/email`, `The address ${parsed.problem}${nameGoesElsewhere(email)}`);
    return null;
  }
  return cleanName === null ? null : { name: cleanName, address: parsed.address };
}

/** How addresses that were given as a text are written; one, or those of a list. */
function objectFor(value: unknown, inList = false): string {
  if (typeof value !== 'string' || value.length > MAX_SHOWN_CHARS) return '';
  // A comma may be part of a name.
  const one = written(value);
  const objects = one === null && inList ? value.split(',').map(written) : [one];
  if (objects.includes(null)) return '';
  return `, like ${inList ? `[${objects.join(', ')}]` : objects[0]}`;
}

/** An address, or `Name <address>`, as an object; null if it is neither. */
function written(text: string): string | null {
  const split = splitMailbox(text);
  const email = split?.email ?? text;
  if (!parseAddress(email).ok) return null;
  const name = split === null || split.name === '' ? '' : `"name": ${JSON.stringify(split.name)}, `;
  return `{${name}"email": ${JSON.stringify(email.trim())}}`;
}

/** `App <a@x.example>` is two members. */
function nameGoesElsewhere(email: string): string {
  const split = email.length > MAX_SHOWN_CHARS ? null : splitMailbox(email);
  return split === null || !parseAddress(split.email).ok
    ? ''
    : `: email takes the address alone, and name the name, like {"name": ${JSON.stringify(split.name)}, "email": ${JSON.stringify(split.email)}}`;
}

const MAX_SHOWN_CHARS = 200;

function splitMailbox(text: string): { name: string; email: string } | null {
  const trimmed = text.trim();
  const at = trimmed.lastIndexOf('<');
  if (at < 0 || !trimmed.endsWith('>')) return null;
  const name = trimmed.slice(0, at).trim();
  const bare = name.startsWith('"') && name.endsWith('"') && name.length > 1 ? name.slice(1, -1) : name;
  return { name: bare, email: trimmed.slice(at + 1, -1) };
}

/** '' where none was given; null where it is refused. */
function readName(value: unknown, pointer: string, { limits, problems }: Reading): string | null {
  if (value === undefined || value === '') return '';
  if (typeof value !== 'string') {
    problems.add('wrong-type', `${pointer}/name`, 'name must be a string');
    return null;
  }
  if (isLongerThan(value, limits.maxNameChars)) {
    problems.add(
      'name-invalid',
      `${pointer}/name`,
      `name may have at most ${limits.maxNameChars} characters`,
    );
    return null;
  }
  if (hasControl(value, true)) {
    problems.add('name-invalid', `${pointer}/name`, 'name holds a control character');
    return null;
  }
  return value.trim().toWellFormed();
}

function rules(
  field: ListRules['field'],
  notArray: ErrorName,
  required: ErrorName,
  invalid: ErrorName,
  count: ErrorName,
): ListRules {
  return { field, notArray, required, invalid, count };
}
