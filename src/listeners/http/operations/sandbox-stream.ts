/**
 * GET /sandbox/stream: captured copies as they come, as server-sent events, with the filters of the list. Each has the
 * capture's seq as `id`, so that a client that reconnects with `Last-Event-ID` misses nothing; without it, the stream
 * begins now. The feed announces matches, so a stream without any only queries the store at each heartbeat.
 */

import type { ApiParts, HttpOptions } from '../deps.ts';
import { rawOperation } from '../operation.ts';
import type { ApiRoute } from '../route.ts';
import { captureSummary } from '../sandbox/captures.ts';
import { CAPTURE_FILTERS, toCaptureSummary } from '../sandbox/sandbox-search.ts';
import { createEventStreams } from '../streams/event-streams.ts';
import { eventBlock, HEARTBEAT_MS, resumeAfter } from '../streams/server-sent.ts';

const CAPTURES_AT_ONCE = 100;
/** Captures that one read looks at. */
const LOOK = 4_000;
/** The feed itself searches for captures of other processes. */
const STREAMS = { perToken: 20, total: 200, pauseMs: 25, pollMs: HEARTBEAT_MS };

export function sandboxStreamOperation(deps: ApiParts, options: HttpOptions): ApiRoute {
  const { store, search, feed } = deps;
  const openStream = createEventStreams(deps, { ...STREAMS, perTenant: options.streamsPerTenant });

  return rawOperation('GET /sandbox/stream', {
    id: 'streamCaptures',
    scope: 'email:read',
    summary: 'Follow captured mail as it comes',
    description:
      'Captured copies as they arrive, as server-sent events: `event: captured`, `data` an item of the list, `id` the position to resume from (`Last-Event-ID`, or `After`). The filters of the list. A heartbeat every 15 seconds; 20 streams a token, `streams-per-tenant` a tenant, 200 in all',
    query: {
      ...CAPTURE_FILTERS,
      ...resumeAfter('`id` of the last copy that was seen; the header Last-Event-ID wins'),
    },
    answer: captureSummary,
    media: 'text/event-stream',
    endless: true,
    handle: ({ caller, query, visible, request }) => {
      const filters = search.filtersOf(query, caller);
      const wish = { ...visible, ...filters.stored };
      return openStream(request, query.After, {
        newest: async () =>
          (await store.capturesSince({ afterSeq: Number.MAX_SAFE_INTEGER, limit: 1, look: 1 })).lastSeq,
        subscribe: (listener) => feed.watch(wish, listener),
        async after(seq) {
          const page = await store.capturesSince({
            ...wish,
            afterSeq: seq,
            limit: CAPTURES_AT_ONCE,
            look: LOOK,
          });
          const items: { seq: number; block: (() => string) | null }[] = [];
          for (const capture of page.captures) {
            const fits = await search.matches(capture, filters);
            const block = () => eventBlock(capture.seq, 'captured', toCaptureSummary(capture));
            items.push({ seq: capture.seq, block: fits ? block : null });
          }
          return { items, upTo: page.lastSeq, more: page.more };
        },
      });
    },
  });
}
