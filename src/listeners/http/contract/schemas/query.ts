/** Query parameters that several operations take. Every value arrives as a text; the schema says what it must hold. */
import { z } from 'zod';

const text = (description: string) => z.string().optional().describe(description);
const moment = (description: string) => text(`${description}: Unix seconds or ISO 8601`);

/** A page of a list. */
export const PAGE = {
  Limit: z.int().min(1).max(100).default(25).describe('Items of a page'),
  After: text('`NextCursor` of the page before'),
};

export const DOMAIN = { Domain: text('Only of this sender domain, one of the token’s') };

export const SINCE = { Since: moment('Not before') };
export const UNTIL = { Until: moment('Before') };

/** What happened, to whom. */
export const EVENT_FILTERS = {
  Event: text('Kind, e.g. delivered; failed finds bounces too'),
  MessageID: text('Of one message'),
  Recipient: text('Address'),
  Tag: text('Tag of the message'),
  ...DOMAIN,
};

export const MAIL_FILTERS = {
  From: text('Address of the sender'),
  To: text('Address of a recipient'),
  Subject: text('Holds this text'),
  Tag: text('Has this tag'),
  ...SINCE,
  ...UNTIL,
  ...DOMAIN,
};

export const CAPTURE_FILTERS = {
  Inbox: text('Name of the inbox'),
  ...MAIL_FILTERS,
  Text: text('In the subject or a content'),
  Seen: z.boolean().optional().describe('Marked as seen, or not'),
  HasAttachment: z.boolean().optional().describe('With or without attachments'),
};

export { moment, text };
