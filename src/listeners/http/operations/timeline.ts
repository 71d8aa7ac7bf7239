/**
 * GET /email/{MessageID}/events: what happened to one message. The SMTP conversation is shown only to tokens that may
 * read mail. Changes of its paths and holds are stored once for all mail, and added here.
 */

import { z } from 'zod';
import type { Caller } from '../../../model/submission.ts';
import type { EventPlace, EventView } from '../../../store/topics/events.ts';
import { pageOf } from '../answer-schemas.ts';
import type { ApiParts } from '../deps.ts';
import { gather, looksOf } from '../looks.ts';
import { operation } from '../operation.ts';
import { pages } from '../paging.ts';
import type { ApiRoute } from '../route.ts';
import { ownDomains, ownMessage } from '../tenancy.ts';
import { holdEntries, pathEntries } from './shared-entries.ts';
import { timelineEntry, toTimelineEntry } from './timeline-entry.ts';

/** Events that one read looks at: some ten milliseconds. */
const LOOK = 4_000;
const PAGES = pages('timeline', z.int().min(0));

export function timelineOperation({ store, traffic, clock }: ApiParts): ApiRoute {
  return operation('GET /email/:id/events', {
    id: 'listEmailEvents',
    scope: 'events:read',
    summary: 'Show what happened to a message',
    description:
      'The timeline of one message, oldest first, a page; also when the paths to its recipients closed and opened (`path_blocked`, `path_unblocked`), and when its mail was held and released (`held`, `released`). The SMTP conversation only for tokens with `email:read`',
    query: PAGES.query,
    answer: pageOf('Timeline', timelineEntry),
    handle: async ({ caller, params, query: { Limit: limit, After }, request }) => {
      const message = await ownMessage(store, caller, params.id);
      const { id } = message;
      const { rows, next } = await gather<EventView, EventPlace>(
        looksOf(request),
        limit + 1,
        undefined,
        async (from, most) => {
          const { events, next } = await store.findEvents({
            ...ownDomains(caller),
            messageId: id,
            afterSeq: After ?? 0,
            ...(from === undefined ? {} : { from }),
            newestFirst: false,
            limit: most,
            look: LOOK,
          });
          return { rows: events, next };
        },
        ({ at, seq }) => ({ at, seq }),
      );
      const shown = rows.slice(0, limit);
      const more = rows.length > limit || next !== null;
      const showConversation = mayReadMail(caller);
      // Each page has what lies between its first event and the next page's.
      const from = After === undefined ? 0 : (shown[0]?.at ?? Number.MAX_SAFE_INTEGER);
      const to = rows[limit]?.at ?? next?.at ?? Number.MAX_SAFE_INTEGER;
      const shared = await Promise.all([
        pathEntries({ store, traffic }, message, from, to),
        holdEntries({ store, traffic, clock }, message, from, to),
      ]);
      const entries = [...shown.map((event) => toTimelineEntry(event, showConversation)), ...shared.flat()];
      const last = rows.length > limit ? (shown.at(-1)?.seq ?? 0) : (next?.seq ?? 0);
      const inOrder = entries.sort((a, b) => (a.At < b.At ? -1 : Number(a.At > b.At)));
      return PAGES.page(inOrder, more ? last : null);
    },
  });
}

/** Whether the SMTP conversation may be shown to this caller. */
export function mayReadMail(caller: Caller): boolean {
  return caller.scopes.has('admin') || caller.scopes.has('email:read');
}
