/**
 * Webhooks (api.md §3, §6.3): the three core operations, byte-exact, and the ones beside them: detail, test, log of
 * calls, replay, changes. Given the caller's domains, it never shows or touches another's webhook.
 */

import { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { AppError, type ErrorName } from '../../../lib/errors.ts';
import { WEBHOOK_TOKENS, webhookToken } from '../../../model/event.ts';
import type { Caller } from '../../../model/submission.ts';
import { NEVER_CALLED_AT, type Webhook, type WebhookStatus } from '../../../model/webhook.ts';
import type { WebhookService } from '../../../pipeline/webhooks/webhooks.ts';
import { pickDomain } from '../../../policy/access/access.ts';
import type { Store } from '../../../store/store.ts';
import type { CallLogEntry, EventPlace } from '../../../store/topics/webhooks.ts';
import type { Page } from '../contract/answers/page.ts';
import type {
  NewWebhookAnswer,
  ReplayAnswer,
  WebhookCall,
  WebhookDetail,
  WebhookList,
  WebhookRecord,
  WebhookSecretAnswer,
} from '../contract/answers/webhooks.ts';
import { instant } from '../contract/instant.ts';
import { nothing } from '../contract/schemas/problem.ts';
import { DOMAIN, PAGE } from '../contract/schemas/query.ts';
import {
  newWebhookAnswer,
  replayAnswer,
  webhookCalls,
  webhookDetail,
  webhookList,
  webhookSecretAnswer,
  webhookTest,
} from '../contract/schemas/webhooks.ts';
import { type CreateOnce, withEntry } from '../create-once.ts';
import { readJsonBody } from '../json-request.ts';
import {
  type ApiRequest,
  type ApiRoute,
  invalidParameter,
  isoTime,
  isoTimeOrNull,
  json,
  page,
  pageLimit,
  queryInteger,
  refuse,
} from '../route.ts';
import { listedDomains, ownDomains } from '../tenancy.ts';

/** Events that one request looks at, and how many of them at a time: the writer does other things in between. */
const MAX_LOOKED = 20_000;
const PORTION = 500;
const REPLAY_CURSOR = /^(\d{1,15})\.(\d{1,15})$/;
/** Calls that one replay may queue. */
const MAX_REPLAY = 10_000;
/** Calls that it may name. */
const MAX_REPLAY_IDS = 1000;

const MAX_URL_CHARS = 2048;
const MAX_DESCRIPTION_CHARS = 256;

/** Counts in answers stop here. */
const MAX_COUNTED = 10_000;
const STATUSES = new Map<string, WebhookStatus>([
  ['enabled', 'Enabled'],
  ['disabled', 'Disabled'],
]);

const REPLAY = z.object({
  DeliveryIDs: z.array(z.int().min(1)).min(1).max(MAX_REPLAY_IDS).optional(),
  Since: instant.optional(),
  Until: instant.optional(),
  OnlyFailed: z.boolean().optional(),
  After: z.string().max(40).optional().describe('`NextCursor` of the request before, with the same range'),
});

const EVENT = named('webhook-event-unknown', `is one of ${WEBHOOK_TOKENS.join(', ')}`, (value) =>
  typeof value === 'string' && value.length <= 64 ? webhookToken(value) : null,
).meta({ type: 'string', description: 'Token of the events, e.g. bounce, or all' });
const URL_TEXT = named('webhook-url-invalid', `is a text of at most ${MAX_URL_CHARS} characters`, (value) =>
  typeof value === 'string' && value.length <= MAX_URL_CHARS ? value : null,
).meta({ type: 'string', maxLength: MAX_URL_CHARS, description: 'Where it is called' });
const DESCRIPTION = z.string().max(MAX_DESCRIPTION_CHARS).optional();

const NEW_WEBHOOK = z.object({
  Event: EVENT,
  WebhookURL: URL_TEXT,
  Description: DESCRIPTION,
  Domain: named('wrong-type', 'must be a string', (value) => (typeof value === 'string' ? value : null))
    .meta({ type: 'string', description: 'Required where the token holds several' })
    .optional(),
});

const CHANGES = z.object({
  Event: EVENT.optional(),
  WebhookURL: URL_TEXT.optional(),
  Status: named('invalid-parameter', 'is Enabled or Disabled', (value) =>
    typeof value === 'string' ? (STATUSES.get(value.toLowerCase()) ?? null) : null,
  )
    .meta({ enum: [...STATUSES.values()] })
    .optional(),
  Description: DESCRIPTION,
});

const CALL_STATES = {
  pending: 'Pending',
  sending: 'Sending',
  succeeded: 'Succeeded',
  failed: 'Failed',
} as const;

/** The webhook routes. */
export function webhookRoutes(deps: {
  store: Store;
  webhooks: WebhookService;
  clock: Clock;
  createOnce: CreateOnce;
  /** Told where calls may be due. */
  eventsStored(): void;
}): readonly ApiRoute[] {
  const { store, webhooks, clock, createOnce, eventsStored } = deps;

  return [
    {
      method: 'GET',
      path: '/webhooks',
      scope: 'webhooks:read',
      contract: {
        id: 'listWebhooks',
        summary: 'List webhooks',
        description:
          'Every webhook of the token’s domains, by id, ten members each: `{Webhooks}`. `Domain` filters',
        query: DOMAIN,
        answer: webhookList,
      },
      handle: async (request) => {
        const rows = await store.listWebhooks(listedDomains(request));
        const answer: WebhookList = { Webhooks: rows.map(toRecord) };
        return json(answer);
      },
    },
    {
      method: 'POST',
      path: '/webhooks',
      scope: 'webhooks:write',
      contract: {
        id: 'createWebhook',
        summary: 'Add a webhook',
        description:
          '`{Event, WebhookURL}`, also `Description`, and `Domain` where the token holds several: `{NewWebhookID, Secret}`. The secret is shown this once. At most 100 a domain',
        body: {
          schema: NEW_WEBHOOK,
          example: { Event: 'bounce', WebhookURL: 'https://hooks.example.com/mail' },
        },
        answer: newWebhookAnswer,
        idempotent: true,
        errors: [
          'webhook-event-unknown',
          'webhook-url-invalid',
          'webhook-limit',
          'wrong-type',
          'domain-ambiguous',
          'not-found',
        ],
      },
      handle: (request) =>
        createOnce(request, 'POST /webhooks', async (key) => {
          const wanted = readNewWebhook(request);
          const { id, secret } = await webhooks.create(wanted, key?.(200, { NewWebhookID: '$id' }));
          const answer: NewWebhookAnswer = { NewWebhookID: id, Secret: secret };
          return json(answer);
        }),
    },
    {
      method: 'DELETE',
      path: '/webhooks/:id',
      scope: 'webhooks:write',
      contract: {
        id: 'deleteWebhook',
        summary: 'Remove a webhook',
        description: 'Removes it with the calls that wait: `{}`',
        answer: nothing,
      },
      handle: async ({ caller, params }) => {
        const found = await store.deleteWebhook({ id: webhookId(params.id), ...ownDomains(caller) });
        if (!found) throw refuse('not-found');
        return json({});
      },
    },
    {
      method: 'GET',
      path: '/webhooks/:id',
      scope: 'webhooks:read',
      contract: {
        id: 'getWebhook',
        summary: 'Show a webhook',
        description:
          'The ten members and `Domain, Description, DisabledReason, FailingSince, LastError, LastLatencyMs, Pending, SecretHint`',
        answer: webhookDetail,
      },
      handle: async ({ caller, params }) => json(await toDetail(await ownWebhook(caller, params.id))),
    },
    {
      method: 'PATCH',
      path: '/webhooks/:id',
      scope: 'webhooks:write',
      contract: {
        id: 'updateWebhook',
        summary: 'Change a webhook',
        description:
          '`{Event?, WebhookURL?, Status?, Description?}`: the detail after it. `Status` is Enabled or Disabled; switched on again, the calls of the last 72 hours are made now and older ones are given up (replay can make them)',
        body: { schema: CHANGES, example: { Status: 'Enabled', Description: 'Bounces to the CRM' } },
        answer: webhookDetail,
        errors: ['webhook-event-unknown', 'webhook-url-invalid'],
      },
      handle: async (request) => {
        const { id } = await ownWebhook(request.caller, request.params.id);
        const { Event, WebhookURL, Status, Description } = readJsonBody(request, CHANGES);
        const change = {
          ...(Event === undefined ? {} : { event: Event }),
          ...(WebhookURL === undefined ? {} : { url: WebhookURL }),
          ...(Status === undefined ? {} : { status: Status }),
          ...(Description === undefined ? {} : { description: Description.toWellFormed() }),
        };
        if (Object.keys(change).length === 0) {
          throw new AppError('invalid-parameter', {
            message: 'Give at least one of Event, WebhookURL, Status, Description',
          });
        }
        const changed = await webhooks.update(id, change, ownDomains(request.caller).domains);
        if (changed === null) throw refuse('not-found');
        if (Status === 'Enabled') eventsStored();
        return json(await toDetail(changed));
      },
    },
    {
      method: 'POST',
      path: '/webhooks/:id/secret',
      scope: 'webhooks:write',
      contract: {
        id: 'rotateWebhookSecret',
        summary: 'Rotate the secret of a webhook',
        description:
          'A new secret: `{Secret, PreviousValidUntil}`, shown this once. For 24 hours every call carries two signatures, of the new secret and of the old one',
        answer: webhookSecretAnswer,
        idempotent: true,
      },
      handle: async (request) => {
        const { id } = await ownWebhook(request.caller, request.params.id);
        return createOnce(request, `POST /webhooks/${id}/secret`, async (key) => {
          const shown = (until: number) => ({ PreviousValidUntil: isoTime(until) });
          const { domains } = ownDomains(request.caller);
          const { idempotency } = withEntry(key, (make) => (until: number) => make(200, shown(until)));
          const rotated = await webhooks.rotateSecret(id, domains, idempotency);
          if (rotated === null) throw refuse('not-found');
          const answer: WebhookSecretAnswer = {
            Secret: rotated.secret,
            ...shown(rotated.previousValidUntil),
          };
          return json(answer);
        });
      },
    },
    {
      method: 'POST',
      path: '/webhooks/:id/test',
      scope: 'webhooks:write',
      contract: {
        id: 'testWebhook',
        summary: 'Call a webhook with a sample',
        description: 'Sends a signed sample now: `{StatusCode, LatencyMs, Body, Error}`. Changes nothing',
        answer: webhookTest,
      },
      handle: async ({ caller, params }) => {
        const result = await webhooks.test(webhookId(params.id), ownDomains(caller).domains);
        if (result === null) throw refuse('not-found');
        return json(result);
      },
    },
    {
      method: 'POST',
      path: '/webhooks/:id/replay',
      scope: 'webhooks:write',
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

  async function ownWebhook(caller: Caller, id: string | undefined): Promise<Webhook> {
    const wanted = webhookId(id);
    const rows = await store.listWebhooks(ownDomains(caller));
    const found = rows.find((row) => row.id === wanted);
    if (found === undefined) throw refuse('not-found');
    return found;
  }

  async function toDetail(row: Webhook): Promise<WebhookDetail> {
    return {
      ...toRecord(row),
      Domain: row.domain,
      Description: row.description,
      DisabledReason: row.disabledReason,
      FailingSince: isoTimeOrNull(row.failingSince),
      LastError: row.lastError,
      LastLatencyMs: row.lastLatencyMs,
      Pending: await store.countPendingCalls({ webhookId: row.id, countUpTo: MAX_COUNTED }),
      SecretHint: webhooks.secretHint(row),
    };
  }
}

/** A member read by `read`; null from it is refused under the error's own name. */
function named<T>(problem: ErrorName, message: string, read: (value: unknown) => T | null) {
  return z.unknown().transform((value, context): T => {
    const found = read(value);
    if (found !== null) return found;
    context.addIssue({
      code: 'custom',
      message: value === undefined ? 'is required' : message,
      params: { problem },
    });
    return z.NEVER;
  });
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

/** Throws AppError not-found for what can be no id. */
function webhookId(text: string | undefined): number {
  if (text === undefined || !/^[1-9][0-9]{0,14}$/.test(text)) throw refuse('not-found');
  return Number(text);
}

function readNewWebhook(request: ApiRequest) {
  const { Event, WebhookURL, Description, Domain } = readJsonBody(request, NEW_WEBHOOK);
  return {
    domain: pickDomain(request.caller, Domain),
    event: Event,
    url: WebhookURL,
    description: (Description ?? '').toWellFormed(),
  };
}

/** The ten fields, in documented order. */
export function toRecord(row: Webhook): WebhookRecord {
  return {
    WebhookID: row.id,
    CreatedAt: isoTime(row.createdAt),
    UpdatedAt: isoTime(row.updatedAt),
    Status: row.status,
    WebhookURL: row.url,
    Event: row.event,
    LastResponseCode: row.lastResponseCode,
    LastResponseBody: row.lastResponseBody,
    LastResponseAt: row.lastResponseAt === null ? NEVER_CALLED_AT : isoTime(row.lastResponseAt),
    LastResponseTryCounter: row.lastResponseTry,
  };
}

function toCall(entry: CallLogEntry): WebhookCall {
  return {
    DeliveryID: entry.id,
    EventID: entry.eventId,
    Status: CALL_STATES[entry.state],
    Tries: entry.tries,
    ResponseCode: entry.responseCode,
    Error: entry.error,
    CreatedAt: isoTime(entry.createdAt),
    UpdatedAt: isoTime(entry.updatedAt),
  };
}
