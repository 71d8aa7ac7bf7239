/**
 * POST /erase (api.md §3): a person's data removed, for administrators of all domains. What still waits for the person
 * is canceled first; then every message that names them is masked, page by page, and the free pages of the database are
 * overwritten. Asked again it finds what an interruption left, and what was on its way the last time.
 */

import { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { AppError } from '../../../lib/errors.ts';
import { uuidv7 } from '../../../lib/ids.ts';
import type { Random } from '../../../lib/random.ts';
import { parseAddress } from '../../../mail/address.ts';
import type { Store } from '../../../store/store.ts';
import type { EraseAnswer } from '../contract/answers/suppressions.ts';
import { eraseAnswer } from '../contract/schemas/domains.ts';
import { readJsonBody } from '../json-request.ts';
import { type ApiRoute, json, refuse } from '../route.ts';

const ERASE = z.object({ Email: z.string({ error: 'an address is required' }).max(320) });
const PAGE = 500;
const STEP = 8;
const SCRUB_STEP_BYTES = 1_048_576;

export function eraseRoute(deps: { store: Store; clock: Clock; random: Random }): ApiRoute {
  const { store, clock, random } = deps;
  return {
    method: 'POST',
    path: '/erase',
    scope: 'admin',
    contract: {
      id: 'erasePerson',
      summary: 'Erase a person',
      description:
        '`{Email}`, from a token of all domains: the person’s address masked everywhere, what was written to them removed, mail that waits for them canceled, a suppression kept as a hash that still stops mail: `{Messages, Events, Pending}`. With `Pending` above 0 something was under way: ask again',
      body: { schema: ERASE, example: { Email: 'former@example.net' } },
      answer: eraseAnswer,
    },
    handle: async (request) => {
      if (!request.caller.domains.includes('*')) {
        throw refuse('scope-missing', 'A person is erased by admin tokens of all domains');
      }
      const { Email } = readJsonBody(request, ERASE);
      const parsed = parseAddress(Email.trim());
      if (!parsed.ok) {
        throw new AppError('invalid-parameter', { field: '/Email', message: 'Email: give an address' });
      }
      return json(await erase(parsed.address.text));
    },
  };

  async function erase(address: string): Promise<EraseAnswer> {
    const answer = { Messages: 0, Events: 0, Pending: 0 };
    for (let afterSeq: number | null = 0; afterSeq !== null; ) {
      const page: Awaited<ReturnType<Store['findMentions']>> = await store.findMentions({
        address,
        afterSeq,
        limit: PAGE,
      });
      for (const row of page.waiting) await cancel(row);
      for (let at = 0; at < page.seqs.length; at += STEP) {
        const done = await store.eraseMessages({ address, seqs: page.seqs.slice(at, at + STEP) });
        answer.Messages += done.messages;
        answer.Events += done.events;
        answer.Pending += done.pending;
      }
      afterSeq = page.nextSeq;
    }
    answer.Events += (await store.eraseElsewhere({ address, proposedKey: random.bytes(32) })).events;
    while (await store.scrub({ bytes: SCRUB_STEP_BYTES }));
    return answer;
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
    await store.cancelQueued({ messageSeq, now, recipients: [{ deliveryId, event }] });
  }
}
