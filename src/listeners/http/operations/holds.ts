/**
 * Holds of a person: GET /queue/holds, POST /queue/hold and POST /queue/release. Held mail waits with the given reason
 * and still expires at its time.
 */

import { z } from 'zod';
import { aLabels, toALabelDomain } from '../../../mail/address.ts';
import { LANES, type Lane } from '../../../model/message.ts';
import type { Hold, HoldMatch } from '../../../policy/limits/holds.ts';
import { count, pageOf } from '../answer-schemas.ts';
import { instant } from '../body/instant.ts';
import { lineOfName } from '../body/text-rules.ts';
import type { ApiParts } from '../deps.ts';
import { operation } from '../operation.ts';
import { inOrder, memoryPaging } from '../paging.ts';
import { text } from '../query.ts';
import { type ApiRoute, invalidParameter, refuse } from '../route.ts';
import { MAX_NAME } from './traffic.ts';
import { holdItem, toHold } from './traffic-items.ts';

const releaseAnswer = z
  .object({ Released: count.describe('Holds that were ended') })
  .meta({ id: 'ReleaseAnswer' });

const MAX_REASON = 400;
const PAGES = memoryPaging('holds', ({ createdAt, id }: Hold) => `${inOrder(createdAt)} ${id}`);

const NAME = z.string().trim().toLowerCase().min(1).max(MAX_NAME);
/** As mail has it; what is no name of a domain would hold nothing, without a word. */
const DOMAIN = NAME.transform((text, context) => {
  const name = toALabelDomain(text, 1);
  if (name !== null) return name;
  context.addIssue({ code: 'custom', message: 'must be a domain name such as example.com' });
  return z.NEVER;
});
const MATCH = {
  SenderDomain: DOMAIN.optional(),
  RecipientDomain: DOMAIN.optional(),
  Site: NAME.optional(),
  Priority: z.enum(LANES as readonly [Lane, ...Lane[]]).optional(),
  All: z.boolean().optional().describe('Said on purpose: everything'),
};
const HOLD = z.object({
  ...MATCH,
  Reason: lineOfName(MAX_REASON),
  Until: instant.optional(),
});
const RELEASE = z.object({ ...MATCH, HoldID: z.string().max(64).optional() });

export function holdOperations({ traffic, clock, createOnce }: ApiParts): readonly ApiRoute[] {
  return [
    operation('GET /queue/holds', {
      id: 'listHolds',
      scope: 'admin',
      summary: 'List what is held back',
      description: 'Holds, oldest first, a page. `SenderDomain`: only those that name it',
      query: { SenderDomain: text('Sender domain that the hold names', MAX_NAME), ...PAGES.query },
      answer: pageOf('HoldsAnswer', holdItem),
      handle: ({ query }) => {
        const senderDomain = query.SenderDomain === undefined ? undefined : aLabels(query.SenderDomain);
        const wanted = ({ senderDomain: held }: Hold) => senderDomain === undefined || held === senderDomain;
        return PAGES.pageOf(traffic.holds.list().filter(wanted), query, toHold);
      },
    }),
    operation('POST /queue/hold', {
      id: 'holdQueue',
      scope: 'admin',
      summary: 'Hold mail back',
      description:
        '`{SenderDomain?, RecipientDomain?, Site?, Priority?, All?, Reason, Until?}`: holds mail that matches all conditions, 201 with its `HoldID`. It waits with that reason, is not lost, and still expires; no priority is exempt. Takes `Idempotency-Key`',
      once: createOnce,
      body: {
        schema: HOLD,
        example: { RecipientDomain: 'example.net', Reason: 'their maintenance until noon' },
      },
      status: 201,
      answer: holdItem,
      handle: async ({ caller, body, key }) => {
        const match = matchOf(body);
        if (isEverything(match) && body.All !== true) {
          throw invalidParameter(
            'Name SenderDomain, RecipientDomain, Site or Priority, or say All: true to hold everything',
            'SenderDomain',
          );
        }
        const until = body.Until ?? null;
        if (until !== null && until <= clock.now()) throw invalidParameter('Until is over already', 'Until');
        const hold = await traffic.holds.add(
          { ...match, reason: body.Reason, until, createdBy: caller.tokenId },
          key && { keyFor: (made) => key(toHold(made)) },
        );
        return toHold(hold);
      },
    }),
    operation('POST /queue/release', {
      id: 'releaseQueue',
      scope: 'admin',
      summary: 'Let held mail go',
      description:
        '`{HoldID?, SenderDomain?, RecipientDomain?, Site?, Priority?, All?}`: ends the holds that have all given conditions: `{Released}`. 404 where there is none',
      body: { schema: RELEASE, example: { RecipientDomain: 'example.net' } },
      answer: releaseAnswer,
      errors: ['not-found'],
      handle: async ({ body }) => {
        const match = matchOf(body);
        if (body.HoldID === undefined && isEverything(match) && body.All !== true) {
          throw invalidParameter(
            'Name HoldID, or what the hold names, or say All: true to release everything',
            'HoldID',
          );
        }
        const ids = traffic.holds
          .list()
          .filter((hold) => (body.HoldID === undefined || hold.id === body.HoldID) && names(hold, match))
          .map(({ id }) => id);
        if (ids.length === 0)
          throw refuse(
            'not-found',
            'No hold in force has this id or these conditions; see: postrider queue holds',
          );
        return { Released: await traffic.holds.release(ids) };
      },
    }),
  ];
}

function matchOf(body: z.output<typeof RELEASE>): HoldMatch {
  return {
    senderDomain: body.SenderDomain ?? null,
    recipientDomain: body.RecipientDomain ?? null,
    site: body.Site ?? null,
    lane: body.Priority ?? null,
  };
}

function isEverything({ senderDomain, recipientDomain, site, lane }: HoldMatch): boolean {
  return senderDomain === null && recipientDomain === null && site === null && lane === null;
}

/** Whether a hold is one that names all this. */
function names(hold: Hold, match: HoldMatch): boolean {
  return (['senderDomain', 'recipientDomain', 'site', 'lane'] as const).every(
    (name) => match[name] === null || match[name] === hold[name],
  );
}
