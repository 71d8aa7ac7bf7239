/**
 * The calls of one webhook (api.md §3): the log of them with their tries, and making them again, those named or those of
 * a range of past events, in portions. Given the webhook of a caller, it leaves calls due in the store.
 */

import { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { AppError } from '../../../lib/errors.ts';
import type { Caller } from '../../../model/submission.ts';
import type { Webhook } from '../../../model/webhook.ts';
import type { Store } from '../../../store/store.ts';
import type { EventPlace } from '../../../store/topics/events.ts';
import type { CallLogEntry } from '../../../store/topics/webhooks.ts';
import type { Page } from '../contract/answers/page.ts';
import type { ReplayAnswer, WebhookCall } from '../contract/answers/webhooks.ts';
import { instant } from '../contract/instant.ts';
import { PAGE } from '../contract/schemas/query.ts';
import { replayAnswer, webhookCalls } from '../contract/schemas/webhooks.ts';
import { readJsonBody } from '../json-request.ts';
import { type ApiRoute, invalidParameter, isoTime, json, page, pageLimit, queryInteger } from '../route.ts';

/** Events that one request looks at, and how many of them at a time: the writer does other things in between. */
const MAX_LOOKED = 20_000;
const PORTION = 500;
const REPLAY_CURSOR = /^(\d{1,15})\.(\d{1,15})$/;
/** Calls that one replay may queue. */
const MAX_REPLAY = 10_000;
/** Calls that it may name. */
const MAX_REPLAY_IDS = 1000;

const REPLAY = z.object({
  DeliveryIDs: z.array(z.int().min(1)).min(1).max(MAX_REPLAY_IDS).optional(),
  Since: instant.optional(),
  Until: instant.optional(),
  OnlyFailed: z.boolean().optional(),
  After: z.string().max(40).optional().describe('`NextCursor` of the request before, with the same range'),
});

const CALL_STATES = {
  pending: 'Pending',
  sending: 'Sending',
  succeeded: 'Succeeded',
  failed: 'Failed',
} as const;

/** The two routes below a webhook. `ownWebhook` finds the caller's, and throws AppError not-found where there is none. */
export function webhookCallRoutes(deps: {
  store: Pick<Store, 'replayCalls' | 'listCalls'>;
  clock: Clock;
  ownWebhook(caller: Caller, id: string | undefined): Promise<Webhook>;
  /** Told where calls may be due. */
  eventsStored(): void;
}): readonly ApiRoute[] {
  const { store, clock, ownWebhook, eventsStored } = deps;
  return [
    {
      method: 'POST',
      path: '/webhooks/:id/replay',
      scope: 'webhooks:write',
      limitedTokens: true,
      contract: {
        id: 'replayWebhook',
        summary: 'Make calls again',
        description:
          '`{DeliveryIDs}` (1000), or `{Since?, Until?, OnlyFailed?}`: makes those calls, or the calls of past events, again, oldest first: `{Queued, NextCursor}`. Without `Since` only with `OnlyFailed: true`. One request looks at 20 000 events and queues 10 000 calls at most: ask again with `NextCursor` as `After` until it is null',
        body: { schema: REPLAY, example: { OnlyFailed: true } },
        answer: replayAnswer,
      },
      handle: async (request) => {
        const webhook = await ownWebhook(request.caller, request.params.id);
        const body = readJsonBody(request, REPLAY);
        const now = clock.now();
        const named = body.DeliveryIDs !== undefined;
        if (named && (body.Since ?? body.Until ?? body.OnlyFailed ?? body.After) !== undefined) {
          const message = 'Give DeliveryIDs, or Since, Until and OnlyFailed, not both';
          throw new AppError('invalid-parameter', { message, field: '/DeliveryIDs' });
        }
        // Without a range everything that failed is meant, but never everything there is.
        if (!named && body.Since === undefined && body.OnlyFailed !== true) {
          const message = 'Give DeliveryIDs, Since, or OnlyFailed: true';
          throw new AppError('invalid-parameter', { message, field: '/Since' });
        }
        let next = placeOf(body.After);
        let queued = 0;
        for (let looked = 0; looked < MAX_LOOKED && queued < MAX_REPLAY; looked += PORTION) {
          const done = await store.replayCalls({
            webhookId: webhook.id,
            ...(body.DeliveryIDs === undefined ? {} : { callIds: body.DeliveryIDs }),
            since: body.Since ?? 0,
            until: body.Until ?? now,
            ...(next === null ? {} : { after: next }),
            onlyFailed: body.OnlyFailed ?? false,
            now,
            limit: named ? MAX_REPLAY_IDS : PORTION,
          });
          queued += done.made;
          next = done.next;
          if (next === null) break;
        }
        if (queued > 0) eventsStored();
        const answer: ReplayAnswer = {
          Queued: queued,
          NextCursor: next === null ? null : `${next.at}.${next.seq}`,
        };
        return json(answer);
      },
    },
    {
      method: 'GET',
      path: '/webhooks/:id/deliveries',
      scope: 'webhooks:read',
      limitedTokens: true,
      contract: {
        id: 'listWebhookCalls',
        summary: 'List the calls of a webhook',
        description: 'The calls with their tries and the last answer, newest first, a page',
        query: PAGE,
        answer: webhookCalls,
      },
      handle: async (request) => {
        const webhook = await ownWebhook(request.caller, request.params.id);
        const limit = pageLimit(request.query);
        const before = queryInteger(request.query, 'After', {
          min: 1,
          max: Number.MAX_SAFE_INTEGER,
          fallback: Number.MAX_SAFE_INTEGER,
        });
        const calls = await store.listCalls({
          webhookId: webhook.id,
          beforeEventSeq: before,
          limit: limit + 1,
        });
        const answer: Page<WebhookCall> = page(calls, limit, (call) => String(call.eventSeq), toCall);
        return json(answer);
      },
    },
  ];
}

/** Where a replay goes on; null = at its beginning. Throws AppError invalid-parameter. */
function placeOf(cursor: string | undefined): EventPlace | null {
  if (cursor === undefined) return null;
  const [, at, seq] = REPLAY_CURSOR.exec(cursor) ?? [];
  if (at === undefined || seq === undefined) {
    throw invalidParameter('After is not a NextCursor of this replay', 'After');
  }
  return { at: Number(at), seq: Number(seq) };
}

function toCall(entry: CallLogEntry): WebhookCall {
  return {
    DeliveryID: entry.id,
    EventID: entry.eventId,
    Event: entry.eventKind,
    Status: CALL_STATES[entry.state],
    Tries: entry.tries,
    ResponseCode: entry.responseCode,
    Error: entry.error,
    CreatedAt: isoTime(entry.createdAt),
    UpdatedAt: isoTime(entry.updatedAt),
  };
}
