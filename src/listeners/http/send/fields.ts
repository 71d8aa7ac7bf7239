/**
 * The fields of POST /email, one row each, in documented order: which part of the submission a field is, who reads it, and its
 * schema. The names that a request may have, the document and the types of the client follow from the rows. A schema says
 * the documented spelling; the reader also takes others, and null for absent. What no schema says is the reader's alone:
 * addresses, base64, header names, times, sums over several fields.
 */
import { z } from 'zod';
import { ERRORS, type ErrorName } from '../../../lib/errors.ts';
import { LANES } from '../../../model/message.ts';
import {
  MAX_METADATA_BYTES,
  MAX_METADATA_KEY_CHARS,
  MAX_METADATA_KEYS,
  MAX_METADATA_VALUE_CHARS,
} from '../../../model/metadata.ts';
import { type PropertyTable, propertyTable } from '../body/json-properties.ts';
import { MAX_VERSION } from '../templates/template-request.ts';
import { addressSchema, readFrom, readRecipients, readReplyTo } from './addresses.ts';
import { attachmentSchema, readAttachments } from './attachments.ts';
import { readBody, readSubject } from './contents.ts';
import type { EmailLimits } from './limits.ts';
import type { Draft, Reading } from './reading.ts';
import { MAX_TAG_ITEMS, readHeaders, readTags } from './tags-headers.ts';
import {
  RESULT_WORDS,
  readExpiresAt,
  readKeepContent,
  readListUnsubscribe,
  readMetadataField,
  readPriority,
  readSandbox,
  readSendAt,
  readTracking,
} from './wishes.ts';

type Schema = (limits: EmailLimits, address: ReturnType<typeof addressSchema>) => z.ZodType;

interface Field {
  /** The part of the submission that it fills. */
  part?: keyof Draft;
  schema: Schema;
  /** Leaves a part of the submission, or a problem. Absent: the reader of another field reads this one too. */
  read?: (value: unknown, reading: Reading, first: unknown, second: unknown) => void;
  /** Its reader runs also where the request does not have it. */
  always?: true;
  /** The fields that its reader reads too, at most two. */
  others?: readonly string[];
}

const when = z.union([z.string().max(40), z.number().min(0)]);

const FIELDS = {
  From: always('from', readFrom, (_, address) =>
    address.describe(
      'Its domain must be a verified one of the token’s, or below one that was added with `Subdomains`',
    ),
  ),
  To: always(
    'recipients',
    readRecipients,
    ({ maxRecipients }, address) =>
      z
        .array(address)
        .min(1)
        .max(maxRecipients)
        .describe('Who gets it; an address that is also in CC or BCC gets one copy'),
    ['CC', 'BCC'],
  ),
  CC: { schema: (limits, address) => copies(limits, address).describe('Who gets a copy that all can see') },
  BCC: { schema: (limits, address) => copies(limits, address).describe('Seen by nobody else, anywhere') },
  ReplyTo: part('replyTo', readReplyTo, ({ maxReplyTo }, address) =>
    z.array(address).max(maxReplyTo).describe('Where answers go, in place of From'),
  ),
  Subject: always('subject', readSubject, ({ maxSubjectChars }) =>
    z.string().max(maxSubjectChars).optional().describe('Required unless a template gives it; one line'),
  ),
  ContentType: always(
    'body',
    readBody,
    () =>
      z
        .enum(['HTML', 'Text'])
        .optional()
        .describe('Which content counts. Required unless a template gives the texts'),
    ['HTMLContent', 'PlainContent'],
  ),
  HTMLContent: {
    schema: (limits) =>
      content(limits).describe('Required where ContentType is HTML and no template gives it'),
  },
  PlainContent: {
    schema: (limits) =>
      content(limits).describe(
        'With HTML: the alternative; left out = made from the HTML, "" = none. With Text: the body',
      ),
  },
  Tags: part('tags', readTags, ({ maxTags, maxTagChars }) =>
    z
      .array(z.string().min(1))
      .max(MAX_TAG_ITEMS)
      .describe(
        `Labels to find and count mail by: at most ${maxTags} different ones of at most ${maxTagChars} characters`,
      ),
  ),
  Headers: part('headers', readHeaders, ({ maxHeaders, maxHeaderBytes }) =>
    z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
      .describe(`Header fields of your own: at most ${maxHeaders}, ${maxHeaderBytes} octets together`),
  ),
  Attachments: part('attachments', readAttachments, ({ maxAttachments }) =>
    z.array(attachmentSchema).max(maxAttachments).describe('Files, also those that the HTML shows by `cid:`'),
  ),
  Priority: part('lane', readPriority, () =>
    z.enum(LANES).describe('critical: one-time codes; bulk: newsletters; normal where left out'),
  ),
  Sandbox: part('sandbox', readSandbox, () =>
    z
      .union([z.boolean(), z.object({ Result: z.enum(RESULT_WORDS).optional() })])
      .describe('Never leaves the machine; `Result` is what is simulated, Deliver where left out'),
  ),
  SendAt: part('sendAt', readSendAt, () =>
    when.describe(
      'ISO 8601 with an offset, or Unix seconds; at most 30 days ahead. Up to 5 minutes in the past means now',
    ),
  ),
  ExpiresAt: part('expiresAt', readExpiresAt, () =>
    when.describe('When it is given up; where left out, by the age of its priority, counted from SendAt'),
  ),
  Metadata: part('metadata', readMetadataField, () =>
    z
      .record(z.string(), z.string().max(MAX_METADATA_VALUE_CHARS))
      .describe(
        `In events and webhooks, never in the mail. At most ${MAX_METADATA_KEYS} keys of at most ${MAX_METADATA_KEY_CHARS} characters, ${MAX_METADATA_BYTES} octets together`,
      ),
  ),
  KeepContent: part('keepContent', readKeepContent, () =>
    z.boolean().describe('false: the content is removed when the last recipient is final'),
  ),
  Tracking: part('personal', readTracking, () =>
    z
      .union([z.boolean(), z.object({ Opens: z.boolean().optional(), Clicks: z.boolean().optional() })])
      .describe('In place of the domain’s setting, member by member'),
  ),
  ListUnsubscribe: part('personal', readListUnsubscribe, () =>
    z.boolean().describe('One-click unsubscribe, in place of the domain’s setting'),
  ),
  // Read before all others (template-fields.ts), because a template gives what they lack.
  TemplateID: {
    schema: () =>
      z
        .string()
        .optional()
        .describe('A stored template of the domain of From: it gives the texts that are left out'),
  },
  TemplateVersion: {
    schema: () => z.int().min(1).max(MAX_VERSION).optional().describe('The newest where left out'),
  },
  Variables: {
    schema: () =>
      z.record(z.string(), z.unknown()).optional().describe('What the template is filled in with'),
  },
  StrictVariables: {
    schema: () => z.boolean().optional().describe('Refuses where a variable is missing'),
  },
} satisfies Record<string, Field>;

// A part of the submission that no row fills does not compile; the error shows the text. From fills its domain too.
type Filled = Extract<(typeof FIELDS)[keyof typeof FIELDS], { part: keyof Draft }>['part'] | 'fromDomain';
({}) satisfies Record<Exclude<keyof Draft, Filled>, 'add its row in src/listeners/http/send/fields.ts'>;

/** The members of a request. */
export const FIELD_NAMES: PropertyTable = propertyTable(Object.keys(FIELDS));

/** Where a field stands among the rows. */
export function placeOf(field: string): number {
  const place = FIELD_NAMES.exact.get(field);
  if (place === undefined) throw new TypeError(`POST /email has no field ${field}`);
  return place;
}

/** The rows as lists, for speed: their readers, and the places of the other fields that these read. */
const ROWS = Object.values<Field>(FIELDS);
const READERS = ROWS.map(({ read }) => read ?? null);
const ALWAYS = ROWS.map(({ always }) => always === true);
const FIRST = ROWS.map(({ others }) => placeOf(others?.[0] ?? 'From'));
const SECOND = ROWS.map(({ others }) => placeOf(others?.[1] ?? 'From'));

/** Reads every field into the draft: `values` in the order of the rows, undefined = absent. */
export function readFields(values: readonly unknown[], reading: Reading): void {
  for (let i = 0; i < READERS.length; i++) {
    const value = values[i];
    if (value !== undefined || ALWAYS[i] === true)
      READERS[i]?.(value, reading, values[FIRST[i] ?? 0], values[SECOND[i] ?? 0]);
  }
}

/** The schema of one message within `limits`. */
export function emailSchema(limits: EmailLimits) {
  const address = addressSchema(limits);
  const shape = Object.entries<Field>(FIELDS).map(([name, { schema }]) => [name, schema(limits, address)]);
  return z.object(Object.fromEntries(shape) as Record<keyof typeof FIELDS, z.ZodType>).meta({ id: 'Email' });
}

/** A body that is taken where example.com is verified. */
export const EMAIL_EXAMPLE = {
  From: { name: 'Example', email: 'hello@example.com' },
  To: [{ name: 'Reader', email: 'reader@example.net' }],
  Subject: 'Your receipt',
  ContentType: 'HTML',
  HTMLContent: '<p>Thank you for your order.</p>',
  Tags: ['receipt'],
  Metadata: { order: '4711' },
};

/** Refusals of a message, from its fields to the quota. */
export const EMAIL_ERRORS: readonly ErrorName[] = (Object.keys(ERRORS) as ErrorName[]).filter((name) => {
  const { code } = ERRORS[name];
  const ofField = (code >= 3 && code <= 11) || (code >= 14 && code <= 33) || (code >= 1101 && code < 1700);
  return (
    ofField ||
    name === 'message-too-large' ||
    name.startsWith('template-not') ||
    code === 2102 ||
    code === 2104
  );
});

/** A field that a request may leave out: then its part stays as a draft begins. */
function part<Part extends keyof Draft>(
  name: Part,
  read: (value: unknown, reading: Reading) => Draft[Part],
  schema: Schema,
) {
  return {
    part: name,
    schema: ((limits, address) => schema(limits, address).optional()) satisfies Schema,
    read(value: unknown, reading: Reading) {
      reading.draft[name] = read(value, reading);
    },
  };
}

/** A field whose reader says itself what it means that it is missing; it is given the values of `others` too. */
function always<Part extends keyof Draft>(
  name: Part,
  read: (value: unknown, reading: Reading, first: unknown, second: unknown) => Draft[Part],
  schema: Schema,
  others: readonly string[] = [],
) {
  return {
    part: name,
    schema,
    others,
    always: true as const,
    read(value: unknown, reading: Reading, first: unknown, second: unknown) {
      reading.draft[name] = read(value, reading, first, second);
    },
  };
}

function copies({ maxRecipients }: EmailLimits, address: ReturnType<typeof addressSchema>) {
  return z.array(address).max(maxRecipients).optional();
}

function content({ maxContentBytes }: EmailLimits) {
  return z.string().max(maxContentBytes).optional();
}
