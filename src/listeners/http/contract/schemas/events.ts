/** Schemas of the answers about what happened: the event list, timelines, the stream, statistics. */
import { z } from 'zod';
import type { Bounce } from '../../../../model/bounce.ts';
import type { EventList, EventRecord, StreamedEvent, TimelineEntry } from '../answers/events.ts';
import type { Page } from '../answers/page.ts';
import { metadata, route } from './email.ts';
import { exactly } from './exactly.ts';
import { count, pageOf, time } from './shared.ts';

const pairs = z.array(z.tuple([z.string(), z.string()])).describe('Pairs of name and address');
const logLevel = z.enum(['Info', 'Warn', 'Error']);

const record = exactly<EventRecord>()(
  z
    .strictObject({
      Event: z.string().describe('The kind, e.g. delivered'),
      LoggedAt: z.int().describe('Unix seconds'),
      LogLevel: logLevel,
      Message: z.strictObject({
        Headers: z.strictObject({
          MessageId: z.string(),
          From: pairs,
          ReplyTo: pairs,
          To: pairs,
          Cc: pairs,
          Bcc: pairs,
          Subject: z.string(),
        }),
        Size: count,
        Transport: z.enum(['smtp', 'sandbox']),
      }),
      Recipient: z.string(),
      Reason: z.string(),
      Ip: z.string(),
      Geolocation: z.strictObject({ City: z.string(), Region: z.string(), Country: z.string() }),
    })
    .meta({ id: 'EventRecord' }),
);

export const eventList = exactly<EventList>()(
  z
    .strictObject({
      TotalRecords: count.describe('Exact up to 10 000, then 10 000'),
      Events: z.array(record),
    })
    .meta({ id: 'EventList' }),
);

export const bounce = exactly<Bounce>()(
  z
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
    .meta({ id: 'Bounce', description: 'Why a delivery did not succeed' }),
);

const line = {
  EventID: z.uuid(),
  Event: z.string().describe('The kind, e.g. delivered'),
  At: time,
  LogLevel: logLevel,
  Recipient: z.string().nullable(),
  Attempt: count.nullable(),
  Route: route.nullable(),
  Reason: z.string(),
  RemoteMta: z.string(),
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

export const timelineEntry = exactly<TimelineEntry>()(z.object(line).meta({ id: 'TimelineEntry' }));

export const timeline = exactly<Page<TimelineEntry>>()(pageOf('Timeline', timelineEntry));

export const streamedEvent = exactly<StreamedEvent>()(
  z
    .object({
      ...line,
      Domain: z.string(),
      MessageID: z.uuid().nullable().describe('null: about no message'),
      From: z.string(),
      Subject: z.string(),
      Tags: z.array(z.string()),
      Metadata: metadata,
      Sandbox: z.boolean(),
    })
    .meta({ id: 'StreamedEvent', description: 'The `data` of one server-sent event' }),
);
