/**
 * GET /events/stream: events as they happen, as server-sent events. Each has its seq as `id`, so a client that
 * reconnects with `Last-Event-ID` misses nothing; without it, the stream begins now.
 */

import { z } from 'zod';
import type { EventView } from '../../../store/topics/events.ts';
import type { Answer } from '../answer-schemas.ts';
import { metadata } from '../answer-schemas.ts';
import type { ApiParts, HttpOptions } from '../deps.ts';
import { rawOperation, withoutUndefined } from '../operation.ts';
import type { ApiRoute } from '../route.ts';
import { createEventStreams } from '../streams/event-streams.ts';
import { eventBlock, resumeAfter } from '../streams/server-sent.ts';
import { EVENT_FILTERS } from './events.ts';
import { mayReadMail } from './timeline.ts';
import { line, toTimelineEntry } from './timeline-entry.ts';

const streamedEvent = z
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
  .meta({ id: 'StreamedEvent', description: 'The `data` of one server-sent event' });

const EVENTS_AT_ONCE = 100;
/** Events that one read looks at. */
const LOOK = 4_000;
const STREAMS = { perToken: 10, total: 100, pauseMs: 50, pollMs: 1_000 };

export function eventStreamOperation(deps: ApiParts, options: HttpOptions): ApiRoute {
  const { store } = deps;
  const openStream = createEventStreams(deps, { ...STREAMS, perTenant: options.streamsPerTenant });

  return rawOperation('GET /events/stream', {
    id: 'streamEvents',
    scope: 'events:read',
    summary: 'Follow events as they happen',
    description:
      'Events as they happen, as server-sent events: `id` is the position to resume from (`Last-Event-ID`, or `After`), `event` the kind, `data` a line of the timeline with `Domain, MessageID, From, Subject, Tags, Metadata, Sandbox`. `Event`, `MessageID`, `Recipient`, `Tag`, `Domain` filter. A heartbeat every 15 seconds; 10 streams a token, `streams-per-tenant` a tenant, 100 in all',
    query: {
      ...EVENT_FILTERS,
      ...resumeAfter('`id` of the last event that was seen; the header Last-Event-ID wins'),
    },
    answer: streamedEvent,
    media: 'text/event-stream',
    endless: true,
    handle: ({ caller, query, visible, request }) => {
      const filter = {
        ...visible,
        ...withoutUndefined({
          kinds: query.Event,
          messageId: query.MessageID?.toLowerCase(),
          recipient: query.Recipient,
          tag: query.Tag,
        }),
        newestFirst: false,
      };
      const showConversation = mayReadMail(caller);
      return openStream(request, query.After, {
        newest: () => store.lastEventSeq(),
        subscribe: deps.onStored,
        async after(seq) {
          // Read before the events: everything up to here that is not among them does not match.
          const upTo = await store.lastEventSeq();
          const { events, next } =
            upTo > seq
              ? await store.findEvents({ ...filter, afterSeq: seq, limit: EVENTS_AT_ONCE, look: LOOK })
              : { events: [], next: null };
          return {
            items: events.map((event) => ({ seq: event.seq, block: () => block(event, showConversation) })),
            upTo: next === null ? upTo : next.seq,
            more: next !== null,
          };
        },
      });
    },
  });
}

function block(event: EventView, showConversation: boolean): string {
  const data: Answer<typeof streamedEvent> = {
    ...toTimelineEntry(event, showConversation),
    Domain: event.domain,
    MessageID: event.message?.id ?? null,
    From: event.message?.lists.from.address ?? '',
    Subject: event.message?.subject ?? '',
    Tags: event.message?.tags ?? [],
    Metadata: event.message?.metadata ?? {},
    Sandbox: event.message?.sandbox ?? false,
  };
  return eventBlock(event.seq, event.kind, data);
}
