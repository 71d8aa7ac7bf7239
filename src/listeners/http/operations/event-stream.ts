/**
 * GET /events/stream: events as they happen, as server-sent events. Each carries its seq as `id`, so a client that comes
 * back with `Last-Event-ID` misses nothing; without one it begins with what happens from now on.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { Access } from '../../../policy/access/access.ts';
import type { Store } from '../../../store/store.ts';
import type { EventFilter, EventView } from '../../../store/topics/events.ts';
import type { StreamedEvent } from '../contract/answers/events.ts';
import { streamedEvent } from '../contract/schemas/events.ts';
import { EVENT_FILTERS, text } from '../contract/schemas/query.ts';
import { createEventStreams } from '../event-streams.ts';
import { type ApiRequest, type ApiRoute, queryAddress, queryText } from '../route.ts';
import { eventBlock } from '../server-sent.ts';
import { listedDomains } from '../tenancy.ts';
import { mayReadMail, toTimelineEntry, wantedKinds } from './events.ts';

const EVENTS_AT_ONCE = 100;
/** Events that one read looks at. */
const LOOK = 4_000;
const STREAMS = { perToken: 10, total: 100, pauseMs: 50, pollMs: 1_000 };

/** The one route. */
export function eventStreamRoutes(
  deps: {
    store: Store;
    access: Pick<Access, 'renew'>;
    clock: Clock;
    onStored(listener: () => void): () => void;
  },
  options: { perTenant: number },
): readonly ApiRoute[] {
  const { store } = deps;
  const openStream = createEventStreams(deps, { ...STREAMS, ...options });

  return [
    {
      method: 'GET',
      path: '/events/stream',
      scope: 'events:read',
      limitedTokens: true,
      contract: {
        id: 'streamEvents',
        summary: 'Follow events as they happen',
        description:
          'Events as they happen, as server-sent events: `id` is the place to resume from (`Last-Event-ID`, or `After`), `event` the kind, `data` a line of the timeline with `Domain, MessageID, From, Subject, Tags, Metadata, Sandbox`. `Event`, `MessageID`, `Recipient`, `Tag`, `Domain` filter. A heartbeat every 15 seconds; 10 streams a token, `streams-per-tenant` a tenant, 100 in all',
        query: {
          ...EVENT_FILTERS,
          After: text('`id` of the last event that was seen; the header Last-Event-ID wins'),
        },
        answer: streamedEvent,
        media: 'text/event-stream',
      },
      endless: true,
      handle: (request) => {
        const filter = filterOf(request);
        const showConversation = mayReadMail(request.caller);
        return openStream(request, {
          newest: () => store.lastEventSeq(),
          subscribe: deps.onStored,
          async after(seq) {
            // Read before the events: whatever is not among them up to here does not match.
            const upTo = await store.lastEventSeq();
            const { events, next } =
              upTo > seq
                ? await store.findEvents({ ...filter, afterSeq: seq, limit: EVENTS_AT_ONCE, look: LOOK })
                : { events: [], next: null };
            return {
              items: events.map((event) => ({ seq: event.seq, block: block(event, showConversation) })),
              upTo: next === null ? upTo : next.seq,
              more: next !== null,
            };
          },
        });
      },
    },
  ];
}

function filterOf(request: ApiRequest): Omit<EventFilter, 'afterSeq'> {
  const { query } = request;
  const word = queryText(query, 'Event', 64);
  const messageId = queryText(query, 'MessageID', 64);
  const recipient = queryAddress(query, 'Recipient');
  const tag = queryText(query, 'Tag', 256);
  return {
    ...listedDomains(request),
    ...(word === undefined ? {} : { kinds: wantedKinds(word) }),
    ...(messageId === undefined ? {} : { messageId: messageId.toLowerCase() }),
    ...(recipient === undefined ? {} : { recipient }),
    ...(tag === undefined ? {} : { tag }),
    newestFirst: false,
  };
}

function block(event: EventView, showConversation: boolean): string {
  const data: StreamedEvent = {
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
