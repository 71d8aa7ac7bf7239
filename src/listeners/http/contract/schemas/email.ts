/** Schemas of the answers about mail: sending, checking, reading, second thoughts. */
import { z } from 'zod';
import { LIST_WORDS, MESSAGE_STATUSES, RECIPIENT_STATUSES, wordsOf } from '../../../../model/status.ts';
import type {
  AttachmentFacts,
  BatchAnswer,
  EmailAnswer,
  EmailWarning,
  MessageDetail,
  MessageRecipient,
  MessageSummary,
  MessageWithContents,
  ValidateAnswer,
} from '../answers/email.ts';
import type { Page } from '../answers/page.ts';
import { namedAddress } from './captures.ts';
import { exactly } from './exactly.ts';
import { problemItem } from './problem.ts';
import { count, pageOf, time } from './shared.ts';

const messageId = z.uuid().describe('Of the message; also the left part of its Message-ID');

export const emailAnswer = exactly<EmailAnswer>()(
  z.strictObject({ MessageID: messageId }).meta({ id: 'EmailAnswer' }),
);

const warning = exactly<EmailWarning>()(
  z
    .object({
      Name: z.string(),
      Message: z.string(),
      Field: z.string().optional().describe('A JSON Pointer, where one field is meant'),
    })
    .meta({ id: 'EmailWarning', description: 'What would be taken but is likely not meant' }),
);

export const validateAnswer = exactly<ValidateAnswer>()(
  z
    .object({
      Valid: z.literal(true),
      Size: count.describe('Octets of the composed message'),
      Recipients: count,
      Warnings: z.array(warning),
    })
    .meta({ id: 'ValidateAnswer' }),
);

export const batchAnswer = exactly<BatchAnswer>()(
  z
    .object({
      Results: z
        .array(z.union([z.object({ MessageID: messageId }), z.object({ Errors: z.array(problemItem) })]))
        .describe('One result a message, in order'),
      Accepted: count,
      Rejected: count,
    })
    .meta({ id: 'BatchAnswer' }),
);

export const priority = z.enum(['critical', 'normal', 'bulk']);
export const metadata = z.record(z.string(), z.string()).describe('The sender’s own texts by key');

const counts = Object.fromEntries(
  Object.entries(LIST_WORDS).map(([word, meaning]) => [word, count.optional().describe(meaning)]),
) as Record<keyof typeof LIST_WORDS, ReturnType<typeof count.optional>>;
const recipientStatuses = z.object(counts).meta({
  id: 'RecipientStatuses',
  description: 'How many recipients there are of each word; a word that none has is left out',
});

const summary = {
  MessageID: messageId,
  Domain: z.string().describe('Sender domain it was accepted for'),
  Status: z
    .enum(wordsOf(MESSAGE_STATUSES))
    .describe(
      'Of the whole message: follows from its recipients by the first rule of the reference that fits',
    ),
  RecipientStatuses: recipientStatuses,
  From: namedAddress,
  To: z.array(namedAddress),
  CC: z.array(namedAddress),
  BCC: z.array(namedAddress).describe('Shown to the sender’s own tokens only, here'),
  ReplyTo: z.array(namedAddress),
  Subject: z.string(),
  Tags: z.array(z.string()),
  Metadata: metadata,
  Priority: priority,
  Sandbox: z.boolean().describe('It never leaves the machine'),
  Size: count.describe('Octets of the composed message'),
  CreatedAt: time,
  SendAt: time.nullable().describe('When it was asked to go; null = at once'),
  ExpiresAt: time.describe('When it is given up'),
};

export const messageSummary = exactly<MessageSummary>()(z.object(summary).meta({ id: 'MessageSummary' }));

export const messageList = exactly<Page<MessageSummary>>()(pageOf('MessageList', messageSummary));

export const route = z.enum(['mx', 'relay', 'sandbox']);

const recipient = exactly<MessageRecipient>()(
  z
    .object({
      Email: z.string(),
      Type: z.enum(['To', 'CC', 'BCC']),
      Status: z.enum(wordsOf(RECIPIENT_STATUSES)),
      Attempts: count,
      LastSmtpCode: z.int().describe('0 where no SMTP reply was received'),
      LastResponse: z.string(),
      Class: z.string().describe('Category of the last failure; empty = none'),
      WaitReason: z.string().describe('Why it waits; empty = it does not'),
      NextAttemptAt: time.nullable(),
      ExpiresAt: time,
      Route: route.nullable().describe('How it was delivered'),
      UpdatedAt: time,
    })
    .meta({ id: 'MessageRecipient' }),
);

export const messageDetail = exactly<MessageDetail>()(
  z.object({ ...summary, Recipients: z.array(recipient) }).meta({ id: 'MessageDetail' }),
);

export const attachmentFacts = exactly<AttachmentFacts>()(
  z
    .object({
      Filename: z.string(),
      Type: z.string(),
      Disposition: z.string(),
      ContentId: z.string(),
      Size: count,
    })
    .meta({ id: 'AttachmentFacts' }),
);

export const messageWithContents = exactly<MessageWithContents>()(
  z
    .object({
      ...summary,
      Recipients: z.array(recipient),
      HTMLContent: z.string().nullable().describe('Null: none, or no longer kept'),
      PlainContent: z.string().nullable().describe('Null: none, or no longer kept'),
      Attachments: z.array(attachmentFacts).nullable().describe('Null: no longer kept'),
    })
    .meta({ id: 'MessageWithContents' }),
);
