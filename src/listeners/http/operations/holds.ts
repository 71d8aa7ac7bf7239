/**
 * Mail that a person keeps back (api.md §3): GET /queue/holds, POST /queue/hold and POST /queue/release. What is held waits
 * with the reason it was given and still expires in its time.
 */
import { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { LANES, type Lane } from '../../../model/message.ts';
import type { Hold, HoldMatch } from '../../../policy/limits/holds.ts';
import type { HoldsAnswer, ReleaseAnswer } from '../contract/answers/traffic.ts';
import { PAGE } from '../contract/schemas/query.ts';
import { holdItem, holdsAnswer, releaseAnswer } from '../contract/schemas/traffic.ts';
import type { CreateOnce } from '../create-once.ts';
import { readJsonBody } from '../json-request.ts';
import { inOrder, memoryPage } from '../memory-page.ts';
import { type ApiRoute, invalidParameter, json, refuse } from '../route.ts';
import { MAX_NAME, type Traffic, trafficRoute } from './traffic.ts';
import { toHold } from './traffic-items.ts';

const MAX_REASON = 400;

const NAME = z.string().trim().toLowerCase().min(1).max(MAX_NAME);
const MATCH = {
  SenderDomain: NAME.optional(),
  RecipientDomain: NAME.optional(),
  Site: NAME.optional(),
  Priority: z.enum(LANES as readonly [Lane, ...Lane[]]).optional(),
  All: z.boolean().optional().describe('Said on purpose: everything'),
};
const HOLD = z.object({
  ...MATCH,
  Reason: z.string().trim().min(1).max(MAX_REASON),
  Until: z.union([z.string().max(64), z.number()]).optional(),
});
const RELEASE = z.object({ ...MATCH, HoldID: z.string().max(64).optional() });

/** The three routes. */
export function holdRoutes({
  traffic,
  clock,
  createOnce,
}: {
  traffic: Pick<Traffic, 'holds'>;
  clock: Clock;
  createOnce: CreateOnce;
}): readonly ApiRoute[] {
  return [
    trafficRoute(
      'GET',
      '/queue/holds',
      {
        id: 'listHolds',
        summary: 'List what is held back',
        description: 'What is held back, oldest first, a page',
        query: PAGE,
        answer: holdsAnswer,
      },
      ({ query }) => {
        const answer: HoldsAnswer = memoryPage(query, traffic.holds.list(), {
          list: 'holds',
          keyOf: ({ createdAt, id }) => `${inOrder(createdAt)} ${id}`,
          itemOf: toHold,
        });
        return json(answer);
      },
    ),
    trafficRoute(
      'POST',
      '/queue/hold',
      {
        id: 'holdQueue',
        summary: 'Hold mail back',
        description:
          '`{SenderDomain?, RecipientDomain?, Site?, Priority?, All?, Reason, Until?}`: keeps mail back that fits all that is named, 201 with its `HoldID`. It waits with that reason, is not lost, and still expires; no priority is exempt. Takes `Idempotency-Key`',
        idempotent: true,
        body: {
          schema: HOLD,
          example: { RecipientDomain: 'example.net', Reason: 'their maintenance until noon' },
        },
        status: 201,
        answer: holdItem,
      },
      (request) =>
        createOnce(request, 'POST /queue/hold', async (key) => {
          const body = readJsonBody(request, HOLD);
          const match = matchOf(body);
          if (isEverything(match) && body.All !== true) {
            throw invalidParameter(
              'Name SenderDomain, RecipientDomain, Site or Priority, or say All: true to hold everything',
              'SenderDomain',
            );
          }
          const until = body.Until === undefined ? null : instantOf(body.Until);
          if (until !== null && until <= clock.now())
            throw invalidParameter('Until is over already', 'Until');
          const createdBy = request.caller.tokenId;
          const hold = await traffic.holds.add(
            { ...match, reason: body.Reason, until, createdBy },
            key === null ? undefined : (made) => key(201, toHold(made)),
          );
          return json(toHold(hold), 201);
        }),
    ),
    trafficRoute(
      'POST',
      '/queue/release',
      {
        id: 'releaseQueue',
        summary: 'Let held mail go',
        description:
          '`{HoldID?, SenderDomain?, RecipientDomain?, Site?, Priority?, All?}`: ends the holds that name all that is given: `{Released}`. 404 where there is none',
        body: { schema: RELEASE, example: { RecipientDomain: 'example.net' } },
        answer: releaseAnswer,
        errors: ['not-found'],
      },
      async (request) => {
        const body = readJsonBody(request, RELEASE);
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
        if (ids.length === 0) throw refuse('not-found', 'No hold in force is that one');
        const answer: ReleaseAnswer = { Released: await traffic.holds.release(ids) };
        return json(answer);
      },
    ),
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

function instantOf(value: string | number): number {
  const at =
    typeof value === 'number'
      ? value * 1000
      : /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(value)
        ? Date.parse(value)
        : Number.NaN;
  if (!Number.isSafeInteger(Math.round(at)) || at > 8.64e15)
    throw invalidParameter('Until must be Unix seconds or an ISO 8601 time', 'Until');
  return Math.round(at);
}
