/**
 * GET /sandbox/wait: the first captured copy that matches, at once where one is there, else as it arrives, for tests that
 * wait for the mail they have just caused. Given the filters of the list and a time; leaves the parsed copy, or 408.
 * Only what was captured since the last look is read again, so that many who wait cost little.
 */
import { type Clock, sleep } from '../../../lib/clock.ts';
import { AppError } from '../../../lib/errors.ts';
import type { Store } from '../../../store/store.ts';
import type { CaptureView } from '../../../store/topics/captures.ts';
import { createChangeWaiter } from '../change-waiter.ts';
import { type ApiRoute, json, queryInteger, type RequestEnd } from '../route.ts';
import { createSlots } from '../slots.ts';
import { listedDomains } from '../tenancy.ts';
import type { CaptureSearch } from './sandbox-search.ts';

const USUAL_SECONDS = 30;
const MAX_SECONDS = 60;
/** Looks of one request are at least so far apart: under a stream of captures it looks a hundred times a second. */
const PAUSE_MS = 10;
/** Without any news it looks by itself, for what another process captured. */
const POLL_MS = 1_000;
const NEW_AT_ONCE = 100;
const MAX_PER_TOKEN = 200;
const MAX_TOTAL = 1_000;

/** The one route. */
export function sandboxWaitRoutes(deps: {
  store: Store;
  clock: Clock;
  onStored(listener: () => void): () => void;
  search: CaptureSearch;
}): readonly ApiRoute[] {
  const { store, clock, search } = deps;
  const slots = createSlots({ perToken: MAX_PER_TOKEN, total: MAX_TOTAL, what: 'requests wait' });

  return [
    {
      method: 'GET',
      path: '/sandbox/wait',
      scope: 'email:read',
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
        // Listening begins before the first look, so that nothing falls between the two.
        const waiter = createChangeWaiter({ subscribe: deps.onStored, clock, ended });
        try {
          const found = await firstMatch();
          if (found !== null) return json(await search.detailOf(found));
        } finally {
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
          const nothing = { ...domains, ...filters.stored, afterSeq: Number.MAX_SAFE_INTEGER, limit: 1 };
          let { lastSeq } = await store.capturesSince(nothing);
          const there = (await search.newest(domains, filters, 1)).found[0];
          if (there !== undefined) return there;
          for (;;) {
            const leftMs = until - clock.monotonicMs();
            if (leftMs <= 0 || (await waiter.next(Math.min(leftMs, POLL_MS))) === 'ended') return null;
            for (let more = true; more; ) {
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
}
