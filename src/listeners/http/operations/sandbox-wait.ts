/**
 * GET /sandbox/wait: the first captured copy that matches, at once where one is there, else as it arrives, for tests that
 * wait for the mail they have just caused. Given the filters of the list and a time; leaves the parsed copy, or 408.
 * What comes while it waits is handed over by the feed, which asks the store once for all who wait; only filters on what
 * stands inside make a waiter read for itself.
 */
import { z } from 'zod';
import { type Clock, sleep } from '../../../lib/clock.ts';
import { AppError } from '../../../lib/errors.ts';
import type { Store } from '../../../store/store.ts';
import type { CaptureView } from '../../../store/topics/captures.ts';
import type { CaptureFeed } from '../capture-feed.ts';
import { createChangeWaiter } from '../change-waiter.ts';
import { CAPTURE_FILTERS } from '../contract/schemas/query.ts';
import { captureDetail } from '../contract/schemas/sandbox.ts';
import { type ApiRoute, json, queryInteger, type RequestEnd } from '../route.ts';
import { createSlots } from '../slots.ts';
import { listedDomains } from '../tenancy.ts';
import type { CaptureSearch } from './sandbox-search.ts';

const USUAL_SECONDS = 30;
const MAX_SECONDS = 60;
/** Looks into contents for one request are at least so far apart. */
const PAUSE_MS = 10;
const NEW_AT_ONCE = 100;
const MAX_PER_TOKEN = 200;
const MAX_TOTAL = 1_000;

/** The one route. */
export function sandboxWaitRoutes(deps: {
  store: Store;
  clock: Clock;
  feed: CaptureFeed;
  search: CaptureSearch;
}): readonly ApiRoute[] {
  const { store, clock, search, feed } = deps;
  const slots = createSlots({ perToken: MAX_PER_TOKEN, total: MAX_TOTAL, what: 'requests wait' });

  return [
    {
      method: 'GET',
      path: '/sandbox/wait',
      scope: 'email:read',
      contract: {
        id: 'waitForCapture',
        summary: 'Wait for captured mail',
        description:
          'The newest copy that matches the same filters, parsed, with its `Links` and `Codes`; where there is none, the first that arrives within `Timeout` seconds (0 to 60, 30); none: 408',
        query: {
          ...CAPTURE_FILTERS,
          Timeout: z.int().min(0).max(MAX_SECONDS).default(USUAL_SECONDS).describe('Seconds'),
        },
        answer: captureDetail,
        errors: ['request-timeout', 'content-expired'],
      },
      handle: async (request) => {
        const filters = search.filtersOf(request.query);
        const domains = listedDomains(request);
        const seconds = queryInteger(request.query, 'Timeout', {
          min: 0,
          max: MAX_SECONDS,
          fallback: USUAL_SECONDS,
        });
        const leave = slots(request.caller);
        const ended = request.ended();
        let first: CaptureView | null = null;
        let tell: () => void = () => {};
        const waiter = createChangeWaiter({
          subscribe(listener) {
            tell = listener;
            return () => {};
          },
          clock,
          ended,
        });
        let unwatch: () => void = () => {};
        try {
          // Watching begins before the first look, so that nothing falls between the two.
          unwatch = await feed.watch({ ...domains, ...filters.stored }, (capture) => {
            first ??= capture;
            tell();
          });
          const found = await firstMatch();
          if (found !== null) return json(await search.detailOf(found));
        } finally {
          unwatch();
          waiter.close();
          leave();
        }
        if (ended.reason === ('stopping' satisfies RequestEnd)) {
          throw new AppError('unavailable', { message: 'The server is stopping', retryAfterSeconds: 5 });
        }
        throw new AppError('request-timeout', {
          message: `No captured message matched within ${seconds} seconds`,
        });

        async function firstMatch(): Promise<CaptureView | null> {
          const until = clock.monotonicMs() + seconds * 1000;
          const inside = filters.text !== undefined || filters.hasAttachment !== undefined;
          let lastSeq = inside ? await newestSeq() : 0;
          const there = (await search.newest(domains, filters, 1)).found[0];
          if (there !== undefined) return there;
          for (;;) {
            const leftMs = until - clock.monotonicMs();
            if (leftMs <= 0 || (await waiter.next(leftMs)) === 'ended') return null;
            if (!inside && first !== null) return first;
            for (let more = inside; more; ) {
              const wanted = { ...domains, ...filters.stored, afterSeq: lastSeq, limit: NEW_AT_ONCE };
              const fresh = await store.capturesSince(wanted);
              for (const capture of fresh.captures)
                if (await search.matches(capture, filters)) return capture;
              more = fresh.captures.length === NEW_AT_ONCE;
              lastSeq = fresh.lastSeq;
            }
            await sleep(clock, PAUSE_MS);
          }
        }
      },
    },
  ];

  async function newestSeq(): Promise<number> {
    return (await store.capturesSince({ afterSeq: Number.MAX_SAFE_INTEGER, limit: 1 })).lastSeq;
  }
}
