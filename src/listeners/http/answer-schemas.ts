/** Schemas that several files share, and the type of an answer by its schema. */
import { z } from 'zod';
import type { Mailbox } from '../../model/message.ts';

/** A time: ISO 8601, UTC, milliseconds. */
export const time = z.iso.datetime({ precision: 3 });

export const count = z.int().min(0);

/** A page of `items`, named `id` in the document. */
export function pageOf<Item extends z.ZodType>(id: string, items: Item) {
  return z
    .object({
      Items: z.array(items),
      HasMore: z.boolean().describe('There is a next page'),
      NextCursor: z.string().nullable().describe('`After` of the next page; null on the last one'),
    })
    .meta({ id });
}

/** The type of an answer by its schema, as handlers return it: lists may be readonly. */
export type Answer<Schema extends z.ZodType> = Given<z.output<Schema>>;

type Given<T> = T extends readonly (infer Item)[]
  ? number extends T['length']
    ? readonly Given<Item>[]
    : { readonly [K in keyof T]: Given<T[K]> }
  : T extends object
    ? { [K in keyof T]: Given<Exclude<T[K], undefined>> }
    : T;

/** `{}`: done, without anything to report. */
export const nothing = z.strictObject({}).meta({ id: 'Nothing', description: 'Done' });

/** An address of a header. */
export const namedAddress = z
  .object({ Name: z.string().describe('Empty where there is none'), Email: z.string() })
  .meta({ id: 'NamedAddress' });

export const messageId = z.uuid().describe('Of the message; also the left part of its Message-ID');

export const priority = z.enum(['critical', 'normal', 'bulk']);

export const metadata = z.record(z.string(), z.string()).describe('The sender’s own texts by key');

export const route = z.enum(['mx', 'relay', 'sandbox']);

export const attachmentFacts = z
  .object({
    Filename: z.string(),
    Type: z.string(),
    Disposition: z.string(),
    ContentId: z.string(),
    Size: count,
  })
  .meta({ id: 'AttachmentFacts' });

export const bounce = z
  .object({
    Type: z.enum(['Permanent', 'Transient', 'Undetermined']),
    Class: z.string().describe('The category, e.g. RecipientInvalid'),
    Scope: z
      .enum(['recipient', 'message', 'domain', 'sender_domain', 'batch', 'path'])
      .describe('What it concerns'),
    Phase: z.enum(['Session', 'Async']),
    SmtpCode: z.int().describe('0 where no SMTP reply was received'),
    EnhancedCode: z.string().describe('RFC 3463; empty where none was given'),
    Diagnostic: z.string(),
    RemoteMta: z.string(),
  })
  .meta({ id: 'Bounce', description: 'Why a delivery did not succeed' });

/** Where this server takes mail by SMTP from programs. */
export const submissionPort = z
  .object({
    Host: z.string(),
    Port: count,
    Security: z
      .enum(['TLS', 'StartTLS', 'None'])
      .describe('How a connection is encrypted: at once, after STARTTLS, not at all (`dev` only)'),
  })
  .meta({ id: 'SubmissionPort' });

const configItem = z
  .object({
    Key: z.string(),
    Value: z.string().nullable().describe('As it may be shown; null = not set'),
    Source: z.enum(['flag', 'environment', 'file', 'default']),
    Default: z.string().nullable(),
    Meaning: z.string(),
  })
  .meta({ id: 'ConfigItem' });

export const configAnswer = z
  .object({
    Mode: z.enum(['dev', 'serve']).describe('How the server runs'),
    Version: z.string().describe('Of postrider'),
    Items: z.array(configItem),
  })
  .meta({ id: 'ConfigAnswer' });

export type SubmissionPort = Answer<typeof submissionPort>;
export type ConfigAnswer = Answer<typeof configAnswer>;

/** A mailbox in the API's spelling. */
export function toNamedAddress(mailbox: Mailbox): Answer<typeof namedAddress> {
  return { Name: mailbox.name, Email: mailbox.address };
}
