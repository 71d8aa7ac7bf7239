/**
 * The calls of one webhook: their log with tries, and repeating them, by id or for a range of past events, in portions.
 */

import { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { EVENT_KINDS, type EventKind } from '../../../model/event.ts';
import type { Caller } from '../../../model/submission.ts';
import type { Webhook } from '../../../model/webhook.ts';
import { FIXED_HEADERS } from '../../../pipeline/webhooks/call.ts';
import { callId, webhookBody } from '../../../pipeline/webhooks/payload.ts';
import { hasScope, requireScope } from '../../../policy/access/rights.ts';
import type { Store } from '../../../store/store.ts';
import type { EventPlace } from '../../../store/topics/events.ts';
import type { CallLogEntry } from '../../../store/topics/webhooks.ts';
import { type Answer, count, pageOf, time } from '../answer-schemas.ts';
import { instant } from '../body/instant.ts';
import { operation } from '../operation.ts';
import { cursor, cursorText, paging } from '../paging.ts';
import { type ApiRoute, existing, invalidParameter, isoTime } from '../route.ts';

const call = z
  .object({
    DeliveryID: z.int().min(1),
    EventID: z.uuid(),
    Event: z
      .enum(Object.keys(EVENT_KINDS) as [EventKind, ...EventKind[]])
      .describe('As in the payload of the call'),
    MessageID: z
      .uuid()
      .nullable()
      .describe('null = the event is of no message, the message was deleted, or `events:read` is missing'),
    Recipient: z.string().nullable().describe('As `MessageID`; null also of what concerns all recipients'),
    Status: z.enum(['Pending', 'Sending', 'Succeeded', 'Failed']),
    Tries: count,
    ResponseCode: z.int().describe('Of the last try; 0 = no answer'),
    ResponseBody: z.string().describe('Of the last try: its first 1024 bytes'),
    Error: z.string(),
    LatenciesMs: z.array(z.number()).describe('Of each try, since the call was made or made again'),
    CreatedAt: time,
    UpdatedAt: time,
    NextTryAt: time
      .nullable()
      .describe('Of a pending call; null = it is not made, or its webhook is disabled'),
  })
  .meta({ id: 'WebhookCall' });

const replayAnswer = z
  .object({
    Queued: count.describe('Calls that are made again'),
    NextCursor: z.string().nullable().describe('`After` of the next request; null = all of them are queued'),
  })
  .meta({ id: 'ReplayAnswer' });

const callDetail = z
  .object({
    ...call.shape,
    Request: z.object({
      URL: z.string().describe('Where the webhook points now'),
      Headers: z
        .record(z.string(), z.string())
        .describe('Those that every try has; the timestamp and the signature are made for each try'),
      Body: z.string().describe('The JSON text of every try'),
    }),
  })
  .meta({ id: 'WebhookCallDetail' });

/** Events that one request examines, and how many at a time, so that the writer can do other work in between. */
const MAX_LOOKED = 20_000;
const PORTION = 500;
const REPLAY_PLACE = z.object({ at: z.int(), seq: z.int() });
const PAGES = paging('webhook-calls', z.int().min(1), ({ eventSeq }: CallLogEntry) => eventSeq);
/** Calls that one replay may queue. */
const MAX_REPLAY = 10_000;
/** Calls that it may name. */
const MAX_REPLAY_IDS = 1000;

const REPLAY = z.object({
  DeliveryIDs: z.array(z.int().min(1)).min(1).max(MAX_REPLAY_IDS).optional(),
  Since: instant.optional(),
  Until: instant.optional(),
  OnlyFailed: z.boolean().optional(),
  After: cursor('replay', REPLAY_PLACE, 'this replay')
    .optional()
    .describe('`NextCursor` of the request before, with the same range'),
});

/** Up to 15 digits, as a safe integer has. */
const CALL_ID = /^[1-9]\d{0,14}$/;

const CALL_STATES = {
  pending: 'Pending',
  sending: 'Sending',
  succeeded: 'Succeeded',
  failed: 'Failed',
} as const;

/**
 * The operations on calls, below a webhook. `ownWebhook` finds the caller's, and throws AppError not-found if there is none.
 */
export function webhookCallOperations(deps: {
  store: Pick<Store, 'replayCalls' | 'listCalls' | 'getCall'>;
  clock: Clock;
  ownWebhook(caller: Caller, id: string): Promise<Webhook>;
  /** Told where calls may be due. */
  eventsStored(): void;
}): readonly ApiRoute[] {
  const { store, clock, ownWebhook, eventsStored } = deps;
  return [
    operation('POST /webhooks/:id/replay', {
      id: 'replayWebhook',
      scope: 'webhooks:write',
      summary: 'Make calls again',
      description:
        '`{DeliveryIDs}` (1000), or `{Since?, Until?, OnlyFailed?}`: makes those calls, or the calls of past events, again, oldest first: `{Queued, NextCursor}`. Without `Since` only with `OnlyFailed: true`. One request looks at 20 000 events and queues 10 000 calls at most: ask again with `NextCursor` as `After` until it is null',
      body: { schema: REPLAY, example: { OnlyFailed: true } },
      answer: replayAnswer,
      handle: async ({ caller, params, body }) => {
        const webhook = await ownWebhook(caller, params.id);
        const now = clock.now();
        const named = body.DeliveryIDs !== undefined;
        if (named && (body.Since ?? body.Until ?? body.OnlyFailed ?? body.After) !== undefined) {
          const message = 'Give DeliveryIDs, or Since, Until and OnlyFailed, not both';
          throw invalidParameter(message, 'DeliveryIDs');
        }
        // Without a range, all failed calls are meant, but never all calls.
        if (!named && body.Since === undefined && body.OnlyFailed !== true) {
          const message = 'Give DeliveryIDs, Since, or OnlyFailed: true';
          throw invalidParameter(message, 'Since');
        }
        let next: EventPlace | null = body.After ?? null;
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
        return { Queued: queued, NextCursor: cursorText('replay', next) };
      },
    }),
    operation('GET /webhooks/:id/deliveries', {
      id: 'listWebhookCalls',
      scope: 'webhooks:read',
      summary: 'List the calls of a webhook',
      description: 'The calls with their tries and the last answer, newest first, a page',
      query: PAGES.query,
      answer: pageOf('WebhookCalls', call),
      handle: async ({ caller, params, query }) => {
        const webhook = await ownWebhook(caller, params.id);
        const calls = await store.listCalls({
          webhookId: webhook.id,
          beforeEventSeq: query.After ?? Number.MAX_SAFE_INTEGER,
          limit: query.Limit + 1,
        });
        return PAGES.pageOf(calls, query, (entry) => toCall(entry, webhook, hasScope(caller, 'events:read')));
      },
    }),
    operation('GET /webhooks/:id/deliveries/:call', {
      id: 'getWebhookCall',
      scope: 'webhooks:read',
      summary: 'Show a call of a webhook',
      description:
        'One call with its request: address, headers and the body that every try carries. Needs `events:read` too',
      answer: callDetail,
      handle: async ({ caller, params }) => {
        // Its body is an event.
        requireScope(caller, 'events:read');
        const webhook = await ownWebhook(caller, params.id);
        const found = existing(
          CALL_ID.test(params.call) &&
            (await store.getCall({ webhookId: webhook.id, callId: Number(params.call) })),
        );
        return {
          ...toCall(found, webhook, true),
          Request: {
            URL: webhook.url,
            Headers: { ...FIXED_HEADERS, 'webhook-id': callId(found.eventId) },
            Body: new TextDecoder().decode(webhookBody(found.event, webhook.id)),
          },
        };
      },
    }),
  ];
}

function toCall(entry: CallLogEntry, { status }: Webhook, mayReadEvent: boolean): Answer<typeof call> {
  return {
    DeliveryID: entry.id,
    EventID: entry.eventId,
    Event: entry.eventKind,
    MessageID: mayReadEvent ? entry.messageId : null,
    Recipient: mayReadEvent ? entry.recipient : null,
    Status: CALL_STATES[entry.state],
    Tries: entry.tries,
    ResponseCode: entry.responseCode,
    ResponseBody: entry.responseBody,
    Error: entry.error,
    LatenciesMs: [...entry.latenciesMs],
    CreatedAt: isoTime(entry.createdAt),
    UpdatedAt: isoTime(entry.updatedAt),
    NextTryAt: entry.state === 'pending' && status === 'Enabled' ? isoTime(entry.dueAt) : null,
  };
}
