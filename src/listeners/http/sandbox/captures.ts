/** Schemas of captured copies, in a list and as a whole; an error body names some too. */
import { z } from 'zod';
import { type Answer, attachmentFacts, count, namedAddress, time } from '../answer-schemas.ts';

/** Members that list and detail share. */
const members = {
  ID: z.uuid(),
  MessageID: z.string(),
  Inbox: z.string(),
  CapturedAt: time,
  EnvelopeFrom: z.string(),
  EnvelopeTo: z.string(),
  From: namedAddress,
  To: z.array(namedAddress),
  Subject: z.string(),
  Size: count,
  Tags: z.array(z.string()),
  ReleasedAt: time.nullable().describe('When it was last released; null = never'),
  ReleasedAs: z.string().nullable().describe('As which message'),
  SeenAt: time.nullable().describe('When somebody marked it as seen; null = not yet'),
};

export const captureSummary = z.object(members).meta({ id: 'CaptureSummary' });

/** A copy, parsed. */
export const captureDetail = z
  .object({
    ...members,
    HTMLContent: z.string(),
    PlainContent: z.string(),
    Headers: z.array(z.object({ Name: z.string(), Value: z.string() })),
    Attachments: z.array(attachmentFacts),
    Links: z
      .array(z.string())
      .describe(
        'Targets of its links, of the web and of apps, at most 200: what it asks to be followed first, what stands at its foot last',
      ),
    Codes: z
      .array(z.string())
      .describe(
        'What looks like a one-time code, best first, at most 20; one in groups as it is typed (123456), then as it is written (123 456)',
      ),
    ParseError: z.string().nullable().describe('Why there is no parsed view; null = there is one'),
  })
  .meta({ id: 'CaptureDetail' });

export const capturesDeleted = z.object({ Deleted: count }).meta({ id: 'CapturesDeleted' });

export type CaptureSummary = Answer<typeof captureSummary>;
export type CaptureDetail = Answer<typeof captureDetail>;
