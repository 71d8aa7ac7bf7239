/**
 * The body of POST /email as a schema, from the same limits as the reader that takes it (email-request.ts, by hand, for
 * speed). It says the documented spelling of names and words; the reader also takes others, and null for absent. What
 * no schema says is the reader's alone: addresses, base64, header names, times, sums over several fields.
 */
import { z } from 'zod';
import { ERRORS, type ErrorName } from '../../../lib/errors.ts';
import { LANES, type Lane } from '../../../model/message.ts';
import {
  MAX_METADATA_KEY_CHARS,
  MAX_METADATA_KEYS,
  MAX_METADATA_VALUE_CHARS,
} from '../../../model/metadata.ts';
import { MAX_FILENAME_CHARS } from './attachments.ts';
import { MAX_BATCH } from './batch-envelope.ts';
import { RESULT_WORDS } from './extension-fields.ts';
import type { EmailLimits } from './limits.ts';
import { MAX_TAG_ITEMS } from './tags-headers.ts';
import { MAX_VERSION } from './template-fields.ts';

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

const when = z.union([z.string().max(40), z.number().min(0)]);

/** The schema of one message within `limits`. */
export function emailRequest(limits: EmailLimits) {
  const address = z
    .object({
      name: z
        .string()
        .max(limits.maxNameChars)
        .optional()
        .describe('Display name, without control characters'),
      email: z.string().min(1).describe('`local@domain`'),
    })
    .meta({ id: 'EmailAddress' });
  const copies = z.array(address).max(limits.maxRecipients).optional();
  const content = z.string().max(limits.maxContentBytes).optional();
  const attachment = z
    .object({
      Content: z.string().min(1).describe('Base64, without a `data:` prefix'),
      Type: z.string().optional().describe('Media type; from the file name where left out'),
      Filename: z
        .string()
        .min(1)
        .describe(`1 to ${MAX_FILENAME_CHARS} characters; a path before it is dropped`),
      Disposition: z.enum(['attachment', 'inline']).optional(),
      ContentId: z
        .union([z.int(), z.string()])
        .optional()
        .describe('What `cid:` in the HTML names; required for inline files'),
    })
    .meta({ id: 'EmailAttachment' });
  return z
    .object({
      From: address.describe('Its domain must be one of the token’s, and verified'),
      To: z.array(address).min(1).max(limits.maxRecipients),
      CC: copies,
      BCC: copies.describe('Seen by nobody else, anywhere'),
      ReplyTo: z.array(address).max(limits.maxReplyTo).optional(),
      Subject: z
        .string()
        .max(limits.maxSubjectChars)
        .optional()
        .describe('Required unless a template gives it; one line'),
      ContentType: z
        .enum(['HTML', 'Text'])
        .optional()
        .describe('Which content counts. Required unless a template gives the texts'),
      HTMLContent: content.describe('Required where ContentType is HTML and no template gives it'),
      PlainContent: content.describe(
        'With HTML: the alternative; left out = made from the HTML, "" = none. With Text: the body',
      ),
      Tags: z
        .array(z.string().min(1))
        .max(MAX_TAG_ITEMS)
        .optional()
        .describe(`At most ${limits.maxTags} different ones of at most ${limits.maxTagChars} characters`),
      Headers: z
        .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
        .optional()
        .describe(`At most ${limits.maxHeaders}, ${limits.maxHeaderBytes} octets together`),
      Attachments: z.array(attachment).max(limits.maxAttachments).optional(),
      Priority: z
        .enum(LANES as readonly [Lane, ...Lane[]])
        .optional()
        .describe('critical: one-time codes; bulk: newsletters; normal where left out'),
      Sandbox: z
        .union([z.boolean(), z.object({ Result: z.enum(RESULT_WORDS).optional() })])
        .optional()
        .describe('Never leaves the machine; `Result` is what is played'),
      SendAt: when.optional().describe('ISO 8601 with an offset, or Unix seconds; at most 30 days ahead'),
      ExpiresAt: when.optional().describe('Given up then'),
      Metadata: z
        .record(z.string(), z.string().max(MAX_METADATA_VALUE_CHARS))
        .optional()
        .describe(
          `In events and webhooks, never in the mail. At most ${MAX_METADATA_KEYS} keys of at most ${MAX_METADATA_KEY_CHARS} characters`,
        ),
      KeepContent: z
        .boolean()
        .optional()
        .describe('false: the content is removed when the last recipient is final'),
      Tracking: z
        .union([z.boolean(), z.object({ Opens: z.boolean().optional(), Clicks: z.boolean().optional() })])
        .optional()
        .describe('In place of the domain’s setting'),
      ListUnsubscribe: z
        .boolean()
        .optional()
        .describe('One-click unsubscribe, in place of the domain’s setting'),
      TemplateID: z.string().optional().describe('A stored template that gives the texts that are left out'),
      TemplateVersion: z
        .int()
        .min(1)
        .max(MAX_VERSION - 1)
        .optional(),
      Variables: z.record(z.string(), z.unknown()).optional().describe('What the template is filled in with'),
      StrictVariables: z.boolean().optional().describe('Refuses where a variable is missing'),
    })
    .meta({ id: 'Email' });
}

/** The schema of a batch. Each message is judged by itself: one that is refused leaves the others alone. */
export function batchRequest(email: z.ZodType) {
  return z.object({ Messages: z.array(email).min(1).max(MAX_BATCH) }).meta({ id: 'EmailBatch' });
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
