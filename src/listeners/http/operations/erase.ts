/**
 * POST /erase: erases a person's data, for administrators of all domains. First what still waits for the person is
 * canceled; then every message that names them is masked, page by page, and events without a message, and the free
 * pages of the database are overwritten: in one request, or in several with a limit each. A repetition finds what an
 * interrupted one left, and what was being sent before.
 */

import { z } from 'zod';
import { uuidv7 } from '../../../lib/ids.ts';
import { parseAddress } from '../../../mail/address.ts';
import type { Store } from '../../../store/store.ts';
import type { ElsewherePlace, LooseEventPlace } from '../../../store/topics/erasing.ts';
import { type Answer, count } from '../answer-schemas.ts';
import type { ApiParts } from '../deps.ts';
import { operation } from '../operation.ts';
import { cursor, cursorText } from '../paging.ts';
import { type ApiRoute, invalidParameter } from '../route.ts';
import { underLease } from './cancel-retry.ts';

const eraseAnswer = z
  .object({
    Messages: count.describe('Messages in which the person stood'),
    Events: count.describe('Events in which the address was masked'),
    Pending: count.describe('Messages of which something had to stay until a copy under way is final'),
    Share: z.number().describe('How much of the work is done, 0 to 1'),
    NextCursor: z.string().nullable().describe('`After` of the next request; null = all is done'),
  })
  .meta({ id: 'EraseAnswer' });

type EraseAnswer = Answer<typeof eraseAnswer>;

/** Behind which message; behind which event of no message; or what comes after the last one. */
const PLACE = z.union([
  z.object({ message: z.int().min(0) }),
  z.object({ event: z.object({ at: z.int(), seq: z.int() }) }),
  z.literal('scrub'),
]);
const ERASE = z.object({
  Email: z.string({ error: 'an address is required' }).max(320),
  Limit: z
    .int()
    .min(100)
    .max(100_000)
    .optional()
    .describe('Messages looked at by this request, or events of no message; all where left out'),
  After: cursor('erase', PLACE, 'POST /erase').optional().describe('`NextCursor` of the request before'),
});
const PAGE = 500;
const STEP = 8;
const SCRUB_STEP_BYTES = 1_048_576;
/** Free pages that one of several requests overwrites; takes as long as reading its messages. */
const SCRUB_PORTION_BYTES = 64 * 1_048_576;
export function eraseOperation(deps: ApiParts): ApiRoute {
  const { store, clock, random } = deps;
  return operation('POST /erase', {
    id: 'erasePerson',
    scope: 'admin',
    summary: 'Erase a person',
    description:
      '`{Email}`, from a token of all domains: masks the person’s address everywhere, removes what was written to them, cancels mail that waits for them, and keeps a suppression as a hash that still stops mail: `{Messages, Events, Pending, Share, NextCursor}`. If `Pending` is above 0, something was being sent: ask again later. `Limit` bounds the messages that one request reads: ask again with `NextCursor` as `After` until it is null. Counts are those of each request; `Share` is the part that is done',
    body: { schema: ERASE, example: { Email: 'former@example.net' } },
    answer: eraseAnswer,
    handle: ({ body: { Email, Limit, After = { message: 0 } } }) => {
      const parsed = parseAddress(Email.trim());
      if (!parsed.ok) throw invalidParameter(`Email ${parsed.problem}`, 'Email');
      const address = parsed.address.text;
      if (After === 'scrub') return scrubbed(nothingYet(), Limit);
      if ('event' in After) return eraseLoose(nothingYet(), address, After.event, Limit);
      return erase(address, After.message, Limit);
    },
  });

  async function erase(address: string, from: number, limit: number | undefined): Promise<EraseAnswer> {
    const answer = nothingYet();
    let looked = 0;
    for (let afterSeq: number | null = from; afterSeq !== null; ) {
      const size = limit === undefined ? PAGE : Math.min(PAGE, limit - looked);
      const page: Awaited<ReturnType<Store['findMentions']>> = await store.findMentions({
        address,
        afterSeq,
        limit: size,
      });
      looked += size;
      for (const row of page.waiting) await cancel(row);
      let afterEvent: number | null = null;
      for (let at = 0; at < page.seqs.length; ) {
        const step: Awaited<ReturnType<Store['eraseMessages']>> = await store.eraseMessages({
          address,
          seqs: page.seqs.slice(at, at + STEP),
          ...(afterEvent === null ? {} : { afterEvent }),
        });
        answer.Messages += step.messages;
        answer.Events += step.events;
        answer.Pending += step.pending;
        at += step.done;
        afterEvent = step.afterEvent;
      }
      afterSeq = page.nextSeq;
      if (limit !== undefined && looked >= limit && afterSeq !== null) {
        const Share = Math.min(0.99, afterSeq / Math.max(afterSeq, page.lastSeq));
        return { ...answer, Share, NextCursor: cursorText('erase', { message: afterSeq }) };
      }
    }
    // Limited by what the server stores besides mail; a repetition after an interruption starts again.
    for (let place: ElsewherePlace | null | undefined; place !== null; ) {
      const asked = { address, proposedKey: random.bytes(32), from: place ?? null, limit: PAGE };
      const done: Awaited<ReturnType<Store['eraseElsewhere']>> = await store.eraseElsewhere(asked);
      place = done.next;
    }
    return eraseLoose(answer, address, null, limit);
  }

  /** Events without a message: one transaction for some hundred, as for messages. */
  async function eraseLoose(
    answer: EraseAnswer,
    address: string,
    from: LooseEventPlace | null,
    limit: number | undefined,
  ): Promise<EraseAnswer> {
    let after = from;
    for (let looked = 0; ; ) {
      const size = limit === undefined ? PAGE : Math.min(PAGE, limit - looked);
      const { events, next } = await store.eraseLooseEvents({ address, after, limit: size });
      answer.Events += events;
      looked += size;
      after = next;
      if (after === null) return scrubbed(answer, limit);
      if (limit !== undefined && looked >= limit) {
        return { ...answer, Share: 0.99, NextCursor: cursorText('erase', { event: after }) };
      }
    }
  }

  /** Free pages keep their old content until they are overwritten. */
  async function scrubbed(answer: EraseAnswer, limit: number | undefined): Promise<EraseAnswer> {
    for (let bytes = 0; await store.scrub({ bytes: SCRUB_STEP_BYTES }); bytes += SCRUB_STEP_BYTES) {
      if (limit !== undefined && bytes >= SCRUB_PORTION_BYTES) {
        return { ...answer, Share: 0.99, NextCursor: cursorText('erase', 'scrub') };
      }
    }
    return { ...answer, Share: 1, NextCursor: null };
  }

  async function cancel({
    messageSeq,
    deliveryId,
  }: {
    messageSeq: number;
    deliveryId: number;
  }): Promise<void> {
    const now = clock.now();
    const event = {
      id: uuidv7(clock, random),
      kind: 'canceled' as const,
      at: now,
      detail: { reason: 'The recipient was erased' },
    };
    await deps.queue.changing([deliveryId], (_, leases) =>
      store.cancelQueued({ messageSeq, now, recipients: [underLease({ deliveryId, event }, leases)] }),
    );
  }
}

function nothingYet(): EraseAnswer {
  return { Messages: 0, Events: 0, Pending: 0, Share: 0, NextCursor: null };
}
