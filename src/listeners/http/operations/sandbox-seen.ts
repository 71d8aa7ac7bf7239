/**
 * PATCH /sandbox/messages: marks captured copies as seen or not, so that everybody who looks into an inbox sees the
 * same. Takes ids, or whole inboxes of the caller's domains; returns how many changed.
 */
import { z } from 'zod';
import { requireScope } from '../../../policy/access/rights.ts';
import type { Store } from '../../../store/store.ts';
import { count } from '../answer-schemas.ts';
import type { ApiParts } from '../deps.ts';
import { operation } from '../operation.ts';
import { DOMAIN, text } from '../query.ts';
import type { ApiRoute } from '../route.ts';
import { createSlots } from '../streams/slots.ts';

/** Copies that one transaction marks: some milliseconds. */
const AT_ONCE = 100;

const MARK = z.object({
  Seen: z.boolean(),
  IDs: z
    .array(z.uuid())
    .max(AT_ONCE)
    .optional()
    .describe('At most 100 copies; left out: all that the query names'),
});

const ANSWER = z
  .object({ Changed: count.describe('Copies whose mark was another before') })
  .meta({ id: 'CapturesMarked' });

/** Callers that mark whole inboxes at once; each of them does so once. */
const RUNS = { perToken: 1, perTenant: 1, total: 32, what: 'requests that mark whole inboxes' };

export function sandboxSeenOperation({ store, clock }: ApiParts): ApiRoute {
  const takeSlot = createSlots(RUNS);
  return operation('PATCH /sandbox/messages', {
    id: 'markCaptures',
    scope: 'email:read',
    summary: 'Mark captured mail as seen',
    description:
      '`{Seen, IDs?}`: marks the copies of `IDs` (at most 100), or without them all of the token’s domains, of one `Inbox` or of one `Domain`: `{Changed}`. Unknown ids are ignored. Without `IDs` it needs `email:send`, and one such request runs at a time. Reading a copy by the API marks nothing',
    query: { Inbox: text('Only this inbox', 320), ...DOMAIN },
    body: { schema: MARK, example: { Seen: true } },
    answer: ANSWER,
    handle: async ({ caller, visible, query, body, request }) => {
      const isAll = body.IDs === undefined;
      if (isAll) requireScope(caller, 'email:send');
      const leave = isAll ? takeSlot(caller) : () => {};
      const wanted = {
        ...visible,
        ...(query.Inbox === undefined ? {} : { inbox: query.Inbox.toLowerCase() }),
        ...(body.IDs === undefined ? {} : { ids: body.IDs.map((id) => id.toLowerCase()) }),
        seenAt: body.Seen ? clock.now() : null,
        limit: AT_ONCE,
      };
      const ended = request.ended();
      let changed = 0;
      let next: number | null = Number.MAX_SAFE_INTEGER;
      try {
        while (next !== null && !ended.aborted) {
          const done: Awaited<ReturnType<Store['markCaptures']>> = await store.markCaptures({
            ...wanted,
            beforeSeq: next,
          });
          changed += done.changed;
          next = done.next;
        }
      } finally {
        leave();
      }
      return { Changed: changed };
    },
  });
}
