/** One line of a timeline, as schema and type. */
import { z } from 'zod';
import { type Answer, bounce, count, route, time } from '../answer-schemas.ts';

export const logLevel = z.enum(['Info', 'Warn', 'Error']);

/** Members that the timeline and the stream share. */
export const line = {
  EventID: z.uuid(),
  Event: z.string().describe('The kind, e.g. delivered'),
  At: time,
  LogLevel: logLevel,
  Recipient: z.string().nullable(),
  Attempt: count.nullable(),
  Route: route.nullable(),
  Reason: z.string(),
  RemoteMta: z.string(),
  SourceAddress: z
    .string()
    .describe('The address of `sources` from which it was sent; empty where the system chose'),
  Reply: z.string().describe('What the other server said'),
  Tls: z.string(),
  DurationMs: z.number().nullable(),
  NextAttemptAt: time.nullable(),
  PossibleDuplicate: z.boolean().describe('It may have been delivered twice'),
  Bounce: bounce.nullable(),
  Explanation: z
    .string()
    .describe('Of a deferral, bounce or failure: what it means, whose fault it is, what happens next'),
  IPAddress: z.string(),
  UserAgent: z.string(),
  URL: z.string(),
  Conversation: z.string().optional().describe('The SMTP conversation; only for tokens that may read mail'),
};

export const timelineEntry = z.object(line).meta({ id: 'TimelineEntry' });

export type TimelineEntry = Answer<typeof timelineEntry>;
