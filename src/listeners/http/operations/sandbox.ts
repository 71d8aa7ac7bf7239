/**
 * The sandbox inbox (api.md §3): captured copies, one per recipient, with the very bytes that would have been sent.
 * Given the caller's domains; lists, shows, hands out raw bytes and deletes. `beforeId` of the store pages newest
 * first. The HTML of a captured message is returned as JSON text only, never as a page.
 */

import { isUuid } from '../../../lib/ids.ts';
import type { Caller } from '../../../model/submission.ts';
import type { Store } from '../../../store/store.ts';
import type { CaptureView } from '../../../store/topics/captures.ts';
import type { CaptureDetail, CaptureSummary, Page } from '../contract/answers.ts';
import { type ApiRoute, json, pageLimit, queryText, refuse } from '../route.ts';
import { listedDomains, ownDomains } from '../tenancy.ts';
import { rawHeaders } from './messages.ts';
import { type CaptureSearch, toCaptureSummary } from './sandbox-search.ts';

/** The sandbox routes. */
export function sandboxRoutes({
  store,
  search,
}: {
  store: Store;
  search: CaptureSearch;
}): readonly ApiRoute[] {
  return [
    {
      method: 'GET',
      path: '/sandbox/messages',
      scope: 'email:read',
      handle: async (request) => {
        const { query } = request;
        const limit = pageLimit(query);
        const after = queryText(query, 'After', 64);
        const filters = search.filtersOf(query);
        const { found, more, lastId } = await search.newest(listedDomains(request), filters, limit, after);
        const answer: Page<CaptureSummary> = {
          Items: found.map(toCaptureSummary),
          HasMore: more,
          NextCursor: more ? lastId : null,
        };
        return json(answer);
      },
    },
    {
      method: 'DELETE',
      path: '/sandbox/messages',
      scope: 'email:read',
      handle: async (request) => json({ Deleted: await store.deleteCaptures(listedDomains(request)) }),
    },
    {
      method: 'GET',
      path: '/sandbox/messages/:id',
      scope: 'email:read',
      handle: async ({ caller, params }) => {
        const capture = await ownCapture(caller, params.id);
        const answer: CaptureDetail = await search.detailOf(capture);
        return json(answer);
      },
    },
    {
      method: 'DELETE',
      path: '/sandbox/messages/:id',
      scope: 'email:read',
      handle: async ({ caller, params }) => {
        const capture = await ownCapture(caller, params.id);
        await store.deleteCaptures({ ids: [capture.id], ...ownDomains(caller) });
        return json({});
      },
    },
    {
      method: 'GET',
      path: '/sandbox/messages/:id/raw',
      scope: 'email:read',
      handle: async ({ caller, params }) => {
        const capture = await ownCapture(caller, params.id);
        return { status: 200, headers: rawHeaders(capture.id), body: await search.bytesOf(capture) };
      },
    },
  ];

  async function ownCapture(caller: Caller, given: string | undefined): Promise<CaptureView> {
    const id = (given ?? '').toLowerCase();
    const capture = isUuid(id) ? await store.getCapture({ id, ...ownDomains(caller) }) : null;
    if (capture === null) throw refuse('not-found');
    return capture;
  }
}
