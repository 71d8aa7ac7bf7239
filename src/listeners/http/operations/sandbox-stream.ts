/**
 * GET /sandbox/stream: captured copies as they come, as server-sent events, with the filters of the list. Each carries the
 * capture's seq as `id`, so that a client that comes back with `Last-Event-ID` misses nothing; without one it begins with
 * what is captured from now on. The feed says when something fits, so a stream that nothing fits asks the store nothing but
 * a heartbeat's question. Ends with the client, the token or the listener.
 */

import { Readable } from 'node:stream';
import { type Clock, sleep } from '../../../lib/clock.ts';
import type { Store } from '../../../store/store.ts';
import type { CaptureFeed, CaptureWish } from '../capture-feed.ts';
import { createChangeWaiter } from '../change-waiter.ts';
import { CAPTURE_FILTERS, text } from '../contract/schemas/query.ts';
import { captureSummary } from '../contract/schemas/sandbox.ts';
import type { ApiRequest, ApiRoute } from '../route.ts';
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
import { type CaptureFilters, type CaptureSearch, toCaptureSummary } from './sandbox-search.ts';

/** Looks are so far apart at least: what is captured in between comes together. */
const PAUSE_MS = 25;
const CAPTURES_AT_ONCE = 100;
const MAX_PER_TOKEN = 20;
const MAX_TOTAL = 200;

/** The one route. */
export function sandboxStreamRoutes(deps: {
  store: Store;
  clock: Clock;
  search: CaptureSearch;
  feed: CaptureFeed;
}): readonly ApiRoute[] {
  const { store, clock, search, feed } = deps;
  const slots = createSlots({ perToken: MAX_PER_TOKEN, total: MAX_TOTAL, what: 'streams are open' });

  return [
    {
      method: 'GET',
      path: '/sandbox/stream',
      scope: 'email:read',
      contract: {
        id: 'streamCaptures',
        summary: 'Follow captured mail as it comes',
        description:
          'Captured copies as they come, as server-sent events: `event: captured`, `data` an item of the list, `id` the place to resume from (`Last-Event-ID`, or `After`). The filters of the list. A heartbeat every 15 seconds; 20 streams a token, 200 in all',
        query: {
          ...CAPTURE_FILTERS,
          After: text('`id` of the last copy that was seen; the header Last-Event-ID wins'),
        },
        answer: captureSummary,
        media: 'text/event-stream',
      },
      endless: true,
      handle: async (request) => {
        const filters = search.filtersOf(request.query);
        const wish = { ...listedDomains(request), ...filters.stored };
        const given = lastSeen(request);
        const leave = slots(request.caller);
        try {
          const from = given ?? (await newestSeq());
          const body = Readable.from(follow(request, wish, filters, from, leave), { objectMode: false });
          return { status: 200, headers: STREAM_HEADERS, body: body.on('close', leave) };
        } catch (cause) {
          leave();
          throw cause;
        }
      },
    },
  ];

  async function newestSeq(): Promise<number> {
    return (await store.capturesSince({ afterSeq: Number.MAX_SAFE_INTEGER, limit: 1 })).lastSeq;
  }

  async function* follow(
    request: ApiRequest,
    wish: CaptureWish,
    filters: CaptureFilters,
    from: number,
    leave: () => void,
  ): AsyncGenerator<string> {
    const ended = request.ended();
    let arrived: () => void = () => {};
    const waiter = createChangeWaiter({
      subscribe(listener) {
        arrived = listener;
        return () => {};
      },
      clock,
      ended,
    });
    let unwatch: () => void = () => {};
    try {
      unwatch = await feed.watch(wish, () => arrived());
      let seen = from;
      let beatAtMs = clock.monotonicMs() + HEARTBEAT_MS;
      yield opening(seen);
      while (!ended.aborted) {
        const page = await store.capturesSince({ ...wish, afterSeq: seen, limit: CAPTURES_AT_ONCE });
        for (const capture of page.captures) {
          seen = capture.seq;
          if (await search.matches(capture, filters)) {
            yield eventBlock(seen, 'captured', toCaptureSummary(capture));
          }
        }
        if (page.captures.length === CAPTURES_AT_ONCE) continue;
        seen = Math.max(seen, page.lastSeq);
        const leftMs = beatAtMs - clock.monotonicMs();
        if (leftMs <= 0) {
          if (!(await isStillGood({ store, clock }, request.caller))) return;
          yield heartbeat(seen);
          beatAtMs = clock.monotonicMs() + HEARTBEAT_MS;
        } else if ((await waiter.next(leftMs)) === 'changed') {
          await sleep(clock, PAUSE_MS);
        }
      }
    } finally {
      unwatch();
      waiter.close();
      leave();
    }
  }
}
