/** One line of a timeline: its schema, and how it is made of an event. */
import { z } from 'zod';
import { EVENT_KINDS } from '../../../model/event.ts';
import { categoryOfClass } from '../../../pipeline/deliver/outcome/classifier/categories.ts';
import { outcomeSentence } from '../../../pipeline/deliver/outcome/classifier/verdict.ts';
import type { EventView } from '../../../store/topics/events.ts';
import { type Answer, bounce, count, route, time } from '../answer-schemas.ts';
import { isoTime, isoTimeOrNull } from '../route.ts';

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

/** What a line is made of. */
type Happening = Pick<EventView, 'id' | 'kind' | 'at' | 'recipient' | 'route' | 'detail'>;

/** One line of a timeline. */
export function toTimelineEntry(event: Happening, showConversation: boolean): TimelineEntry {
  const detail = event.detail;
  const entry: TimelineEntry = {
    EventID: event.id,
    Event: event.kind,
    At: isoTime(event.at),
    LogLevel: EVENT_KINDS[event.kind].logLevel,
    Recipient: event.recipient,
    Attempt: detail?.attempt ?? null,
    Route: detail?.route ?? event.route,
    Reason: reasonOf(event),
    RemoteMta: detail?.remoteMta ?? detail?.bounce?.RemoteMta ?? '',
    SourceAddress: detail?.sourceAddress ?? '',
    Reply: detail?.reply ?? '',
    Tls: detail?.tls ?? '',
    DurationMs: detail?.durationMs ?? null,
    NextAttemptAt: isoTimeOrNull(detail?.nextAttemptAt ?? null),
    PossibleDuplicate: detail?.possibleDuplicate ?? false,
    Bounce: detail?.bounce ?? null,
    Explanation: explanation(event),
    IPAddress: detail?.ipAddress ?? '',
    UserAgent: detail?.userAgent ?? '',
    URL: detail?.url ?? '',
  };
  if (showConversation) entry.Conversation = detail?.conversation ?? '';
  return entry;
}

function explanation({ kind, detail }: Happening): string {
  if (kind !== 'deferred' && kind !== 'bounced' && kind !== 'failed') return '';
  const category = categoryOfClass(detail?.bounce?.Class ?? '');
  return category === null ? '' : outcomeSentence(kind, category);
}

/** The reason, as last reported; '' = none. */
export function reasonOf({ detail }: Pick<EventView, 'detail'>): string {
  return detail?.reason || detail?.bounce?.Diagnostic || detail?.reply || '';
}
