/**
 * The schema of POST /email and its reader must accept the same requests. The schema describes the documented spelling, so
 * the requests use that one and contain no null, and no empty list for an object. Rules that a schema cannot express are listed
 * as the reader's.
 */
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judge } from '../../../../test/fakes/json-schema.ts';
import type { ErrorName } from '../../../lib/errors.ts';
import { createComponents } from '../openapi/components.ts';
import { EMAIL_EXAMPLE, emailSchema, FIELD_NAMES } from './fields.ts';
import { DEFAULT_EMAIL_LIMITS } from './limits.ts';
import { parseEmailBody, readEmailObject } from './read-email.ts';

const limits = { ...DEFAULT_EMAIL_LIMITS, maxContentBytes: 200 };
const components = createComponents();
const schema = components.input(emailSchema(limits), 'Email');
const document = { components: { schemas: components.all() } };
const NOW = 1_790_000_000_000;

/** What only the reader refuses: grammar, sums and rules over several fields. */
const READER_ONLY: ReadonlySet<ErrorName> = new Set<ErrorName>([
  'from-email-required', // of blanks only
  'from-email-invalid',
  'to-email-required',
  'to-email-invalid',
  'cc-email-required',
  'cc-email-invalid',
  'bcc-email-required',
  'bcc-email-invalid',
  'reply-to-email-required',
  'reply-to-email-invalid',
  'recipients-total',
  'name-invalid', // control characters
  'subject-required', // unless a template gives it
  'subject-control-char',
  'content-type-required',
  'html-content-required',
  'plain-content-required',
  'html-too-large', // octets, where the schema counts characters
  'plain-too-large',
  'tags-count', // duplicates do not count
  'tag-invalid', // blanks, control characters, length after trimming
  'headers-count',
  'header-name-invalid',
  'header-not-allowed',
  'header-value-invalid',
  'duplicate-property',
  'content-missing', // of padding only
  'content-not-base64',
  'filename-invalid',
  'inline-needs-content-id',
  'content-id-invalid',
  'content-id-duplicate',
  'media-type-invalid',
  'send-at-invalid',
  'expires-at-invalid',
  'metadata-invalid', // keys, sums
  'template-not-found',
  'invalid-parameter', // Variables without a TemplateID
]);

const read = (body: unknown) =>
  readEmailObject(parseEmailBody(Buffer.from(JSON.stringify(body))), limits, {
    strict: false,
    blockedExtensions: new Set(),
    nowMs: NOW,
  });
const faults = (body: unknown) => judge(document, schema, body);

const odd = fc.constantFrom<unknown>(1, 1.5, true, 'x', '', [], {}, ['x'], [1], { a: 1 });
const oneOf = (...values: unknown[]) => fc.constantFrom<unknown>(...values);
const person = fc.record(
  {
    name: fc.oneof(fc.string({ maxLength: 12 }), oneOf('é'.repeat(256), 'x'.repeat(257), 5)),
    email: oneOf('a@example.com', 'b@example.net', 'nonsense', ' ', '', 7),
  },
  { requiredKeys: [] },
);
const people = fc.oneof(
  { weight: 5, arbitrary: fc.array(fc.oneof({ weight: 6, arbitrary: person }, odd), { maxLength: 3 }) },
  odd,
  fc.constant(Array.from({ length: 51 }, (_, i) => ({ email: `r${i}@example.net` }))),
);
const file = fc.record(
  {
    Content: oneOf('aGk=', '===', '', 5),
    Type: oneOf('text/plain', 'nonsense', '', 5),
    Filename: oneOf('a.txt', '', '..', 5),
    Disposition: oneOf('inline', 'attachment', 'sideways', 5),
    ContentId: oneOf(1, -5, '7', 'logo@x', '', 1.5, 'ö', true),
  },
  { requiredKeys: [] },
);
/** Values good and bad; a field without any gets some that fit no field in particular. */
const VALUES: Record<string, fc.Arbitrary<unknown>> = {
  From: fc.oneof(person, odd),
  To: people,
  CC: people,
  BCC: people,
  ReplyTo: people,
  Subject: fc.oneof(fc.string(), oneOf('😀'.repeat(998), 'x'.repeat(999), 'a\nb', 5)),
  ContentType: oneOf('HTML', 'Text', 'Markdown', '', 5),
  HTMLContent: oneOf('<p>Hi</p>', '', 'x'.repeat(201), 'ö'.repeat(101), 5),
  PlainContent: oneOf('Hi', '', 'x'.repeat(201), 5),
  Tags: fc.oneof(
    fc.array(fc.oneof(fc.string(), odd), { maxLength: 12 }),
    odd,
    fc.constant(Array(1001).fill('a')),
  ),
  Headers: oneOf({ 'X-A': 'b', 'X-N': 5, 'X-B': true }, { Subject: 'no' }, { 'X-A': [] }, [1], 'x'),
  Attachments: fc.oneof(fc.array(fc.oneof({ weight: 4, arbitrary: file }, odd), { maxLength: 3 }), odd),
  Priority: oneOf('critical', 'bulk', 'urgent', 5),
  Sandbox: oneOf(true, false, {}, { Result: 'Bounce' }, { Result: 'Explode' }, 'x', []),
  SendAt: oneOf(NOW / 1000 + 60, '2027-01-01T00:00:00Z', 'soon', -1, [], true),
  ExpiresAt: oneOf(NOW / 1000 + 600, 'soon', {}, -1),
  Metadata: oneOf({ a: 'b' }, { '': 'b' }, { a: 5 }, { a: 'x'.repeat(513) }, [1], 'x'),
  KeepContent: oneOf(true, false, 'x', 1),
  Tracking: oneOf(true, { Opens: true }, { Clicks: 'x' }, [], 'x'),
  ListUnsubscribe: oneOf(true, false, 'x'),
  TemplateID: oneOf('t', 5),
  TemplateVersion: oneOf(1, 0, 1.5, 'x', 2 ** 31),
  Variables: oneOf({ a: [1, null] }, [1], 'x'),
  StrictVariables: oneOf(true, 'x'),
};
/** A good request of which up to three fields are something else. */
const request = fc
  .uniqueArray(fc.constantFrom(...FIELD_NAMES.names), { maxLength: 3 })
  .chain((names) => fc.record(Object.fromEntries(names.map((name) => [name, VALUES[name] ?? odd]))))
  .map((changed) => ({ ...EMAIL_EXAMPLE, ...changed }) as Record<string, unknown>);

describe('the schema of POST /email', () => {
  it('says of every field what it is', () => {
    const { properties } = document.components.schemas.Email as {
      properties: Record<string, { description?: string }>;
    };
    expect(Object.keys(properties)).toEqual(FIELD_NAMES.names);
    const unsaid = FIELD_NAMES.names.filter((name) => (properties[name]?.description ?? '') === '');
    expect(unsaid, 'describe these fields in send/fields.ts').toEqual([]);
  });

  it('takes its example', () => {
    expect(faults(EMAIL_EXAMPLE)).toEqual([]);
    expect(read(EMAIL_EXAMPLE).ok).toBe(true);
  });

  it('has a scenario for every field', () => {
    const folder = new URL('../../../../test/scenarios/', import.meta.url);
    const scenarios = readdirSync(folder)
      .map((file) => readFileSync(new URL(file, folder), 'utf8'))
      .join('\n');
    const untried = FIELD_NAMES.names.filter((name) => !new RegExp(`\\b${name}\\b`).test(scenarios));
    expect(untried, 'try these fields in test/scenarios').toEqual([]);
  });

  it('takes whatever the reader takes', () => {
    let taken = 0;
    fc.assert(
      fc.property(request, (body) => {
        if (!read(body).ok) return;
        taken += 1;
        expect(faults(body)).toEqual([]);
      }),
      { numRuns: 3_000 },
    );
    expect(taken).toBeGreaterThan(300);
  });

  it('refuses whatever the reader refuses, but for what is the reader’s alone', () => {
    let refused = 0;
    fc.assert(
      fc.property(request, (body) => {
        const result = read(body);
        if (result.ok || faults(body).length > 0) return;
        refused += 1;
        const left = result.problems.filter(({ name }) => !READER_ONLY.has(name));
        expect(left).toEqual([]);
      }),
      { numRuns: 3_000 },
    );
    expect(refused).toBeGreaterThan(100);
  });
});
