/**
 * GET /sandbox/wait: the first captured copy that matches, at once if there is one, otherwise when it arrives, for
 * tests that wait for mail they have just caused. Returns the parsed copy, or 408 with the closest captures. New
 * captures come from the feed in memory: they are newer than anything in the store, so they do not wait for that
 * search.
 */

import { AppError } from '../../../lib/errors.ts';
import { makerEnded } from '../../../policy/access/access.ts';
import type { CaptureView } from '../../../store/topics/captures.ts';
import type { ApiParts } from '../deps.ts';
import { operation } from '../operation.ts';
import { integer } from '../query.ts';
import type { ApiRoute, RequestEnd } from '../route.ts';
import { captureDetail } from '../sandbox/captures.ts';
import { CAPTURE_FILTERS, type CaptureFilters } from '../sandbox/sandbox-search.ts';
import { createChangeWaiter } from '../streams/change-waiter.ts';
import { createSlots } from '../streams/slots.ts';

const USUAL_SECONDS = 30;
const MAX_SECONDS = 60;
const LONGEST_LOOK_MS = 60_000;
const MAX_PER_TOKEN = 200;
const MAX_PER_TENANT = 400;
const MAX_TOTAL = 1_000;

export function sandboxWaitOperation(deps: ApiParts): ApiRoute {
  const { clock, search, feed } = deps;
  const slots = createSlots({
    perToken: MAX_PER_TOKEN,
    perTenant: MAX_PER_TENANT,
    total: MAX_TOTAL,
    what: 'requests wait',
  });

  return operation('GET /sandbox/wait', {
    id: 'waitForCapture',
    scope: 'email:read',
    summary: 'Wait for captured mail',
    description:
      'The newest copy that matches the same filters, parsed, with its `Links` and `Codes`; if there is none, the first that arrives within `Timeout` seconds (0 to 60, 30); otherwise 408, which describes the closest mail, also as `Nearest` (items of the list)',
    query: {
      ...CAPTURE_FILTERS,
      Timeout: integer(0, MAX_SECONDS).default(USUAL_SECONDS).describe('Seconds'),
    },
    answer: captureDetail,
    errors: ['request-timeout', 'content-expired'],
    handle: async ({ caller, query, visible: domains, request }) => {
      const filters = search.filtersOf(query, caller);
      const seconds = query.Timeout;
      const leave = slots(caller);
      const ended = request.ended();
      try {
        const found = await firstMatch(domains, filters, seconds * 1000, ended);
        if ((await deps.access.renew(caller)) === null) throw makerEnded({ inSession: caller.session });
        if (found !== null) return await search.detailOf(found, filters.tenant);
      } finally {
        leave();
      }
      if (ended.reason === ('stopping' satisfies RequestEnd)) {
        throw new AppError('unavailable', { message: 'The server is stopping', retryAfterSeconds: 5 });
      }
      throw await deps.nearest(domains, filters, seconds);
    },
  });

  /** null if nothing came in time, or the request has ended. */
  async function firstMatch(
    domains: { domains?: readonly string[] },
    filters: CaptureFilters,
    timeMs: number,
    ended: AbortSignal,
  ): Promise<CaptureView | null> {
    const until = clock.monotonicMs() + timeMs;
    const arrived: CaptureView[] = [];
    let tell: () => void = () => {};
    const waiter = createChangeWaiter({
      subscribe(listener) {
        tell = listener;
        // Watching begins before the search, so that nothing is missed between the two.
        return feed.watch({ ...domains, ...filters.stored }, (capture) => {
          arrived.push(capture);
          listener();
        });
      },
      clock,
      ended,
    });
    const look: { ended: { found: CaptureView | null } | { cause: unknown } | null } = { ended: null };
    search
      .newest(domains, filters, 1, { ended })
      .then(
        ({ found }) => {
          look.ended = { found: found[0] ?? null };
        },
        (cause: unknown) => {
          look.ended = { cause };
        },
      )
      .then(tell);
    try {
      for (;;) {
        for (let next = arrived.shift(); next !== undefined; next = arrived.shift()) {
          if (await search.matches(next, filters)) return next;
        }
        if (look.ended !== null) {
          if ('cause' in look.ended) throw look.ended.cause;
          if (look.ended.found !== null) return look.ended.found;
        }
        const leftMs = until - clock.monotonicMs();
        if (look.ended !== null && leftMs <= 0) return null;
        // A capture that already exists is returned whatever the time limit.
        const patience = look.ended === null ? LONGEST_LOOK_MS : leftMs;
        if ((await waiter.next(patience)) === 'ended') return null;
      }
    } finally {
      waiter.close();
    }
  }
}
