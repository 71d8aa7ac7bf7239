/**
 * GET /events/stream: events as they happen, as server-sent events (WHATWG HTML §9.2). Each carries its seq as `id`, so a
 * client that comes back with `Last-Event-ID` misses nothing; without one it begins with what happens from now on. A
 * heartbeat every 15 seconds keeps the connection, moves the place to resume from, and ends the stream of a token that
 * has ended. The stream itself ends when the client goes or the listener stops; a slow client slows only itself.
 */

import { Readable } from 'node:stream';
import { type Clock, sleep } from '../../../lib/clock.ts';
import type { Store } from '../../../store/store.ts';
import type { EventFilter, EventView } from '../../../store/topics/events.ts';
import { createChangeWaiter } from '../change-waiter.ts';
import type { StreamedEvent } from '../contract/answers/events.ts';
import { streamedEvent } from '../contract/schemas/events.ts';
import { EVENT_FILTERS, text } from '../contract/schemas/query.ts';
import { type ApiRequest, type ApiRoute, queryAddress, queryText } from '../route.ts';
import {
  eventBlock,
  HEARTBEAT_MS,
  heartbeat,
  isStillGood,
  lastSeen,
  opening,
  STREAM_HEADERS,
} from '../server-sent.ts';
import { createSlots } from '../slots.ts';
import { listedDomains } from '../tenancy.ts';
import { mayReadMail, toTimelineEntry, wantedKinds } from './events.ts';

/** Looks are so far apart at least: what happens in between comes together. */
const PAUSE_MS = 50;
/** Without news it looks by itself, for what another process stored. */
const POLL_MS = 1_000;
const EVENTS_AT_ONCE = 100;
const MAX_PER_TOKEN = 10;
const MAX_TOTAL = 100;

/** The one route. */
export function eventStreamRoutes(deps: {
  store: Store;
  clock: Clock;
  onStored(listener: () => void): () => void;
}): readonly ApiRoute[] {
  const { store, clock } = deps;
  const slots = createSlots({ perToken: MAX_PER_TOKEN, total: MAX_TOTAL, what: 'streams are open' });

  return [
    {
      method: 'GET',
      path: '/events/stream',
      scope: 'events:read',
      contract: {
        id: 'streamEvents',
        summary: 'Follow events as they happen',
        description:
          'Events as they happen, as server-sent events: `id` is the place to resume from (`Last-Event-ID`, or `After`), `event` the kind, `data` a line of the timeline with `Domain, MessageID, From, Subject, Tags, Metadata, Sandbox`. `Event`, `MessageID`, `Recipient`, `Tag`, `Domain` filter. A heartbeat every 15 seconds; 10 streams a token, 100 in all',
        query: {
          ...EVENT_FILTERS,
          After: text('`id` of the last event that was seen; the header Last-Event-ID wins'),
        },
        answer: streamedEvent,
        media: 'text/event-stream',
      },
      endless: true,
      handle: async (request) => {
        const filter = filterOf(request);
        const given = lastSeen(request);
        const leave = slots(request.caller);
        try {
          const from = given ?? (await store.lastEventSeq());
          return {
            status: 200,
            headers: STREAM_HEADERS,
            body: Readable.from(follow(request, filter, from, leave), { objectMode: false }).on(
              'close',
              leave,
            ),
          };
        } catch (cause) {
          leave();
          throw cause;
        }
      },
    },
  ];

  async function* follow(
    request: ApiRequest,
    filter: Omit<EventFilter, 'afterSeq'>,
    from: number,
    leave: () => void,
  ): AsyncGenerator<string> {
    const ended = request.ended();
    const waiter = createChangeWaiter({ subscribe: deps.onStored, clock, ended });
    const showConversation = mayReadMail(request.caller);
    try {
      let seen = from;
      let beatAtMs = clock.monotonicMs() + HEARTBEAT_MS;
      yield opening(seen);
      while (!ended.aborted) {
        // Read before the events: whatever is not among them up to here does not match.
        const newest = await store.lastEventSeq();
        const { events } =
          newest > seen ? await store.findEvents({ ...filter, afterSeq: seen }) : { events: [] };
        for (const event of events) {
          seen = event.seq;
          yield block(event, showConversation);
        }
        if (events.length === EVENTS_AT_ONCE) continue;
        seen = Math.max(seen, newest);
        const leftMs = beatAtMs - clock.monotonicMs();
        if (leftMs <= 0) {
          if (!(await isStillGood(deps, request.caller))) return;
          yield heartbeat(seen);
          beatAtMs = clock.monotonicMs() + HEARTBEAT_MS;
        } else if ((await waiter.next(Math.min(leftMs, POLL_MS))) === 'changed') {
          await sleep(clock, PAUSE_MS);
        }
      }
    } finally {
      waiter.close();
      leave();
    }
  }
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
    offset: 0,
    limit: EVENTS_AT_ONCE,
    countUpTo: 0,
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
