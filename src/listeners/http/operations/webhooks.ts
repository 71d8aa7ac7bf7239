/**
 * Webhooks (api.md §3, §6.3): the three core operations, byte-exact, and the ones beside them: detail, test, log of
 * calls, replay, changes. Given the caller's domains, it never shows or touches another's webhook.
 */
import { z } from 'zod';
import type { Clock } from '../../../lib/clock.ts';
import { AppError, type ErrorName } from '../../../lib/errors.ts';
import { webhookToken } from '../../../model/event.ts';
import type { Caller } from '../../../model/submission.ts';
import { NEVER_CALLED_AT, type Webhook, type WebhookStatus } from '../../../model/webhook.ts';
import type { WebhookService } from '../../../pipeline/webhooks/webhooks.ts';
import { pickDomain } from '../../../policy/access/access.ts';
import type { Store } from '../../../store/store.ts';
import type { CallLogEntry } from '../../../store/topics/webhooks.ts';
import type {
  NewWebhookAnswer,
  Page,
  WebhookCall,
  WebhookDetail,
  WebhookList,
  WebhookRecord,
  WebhookSecretAnswer,
} from '../contract/answers.ts';
import { instant } from '../contract/instant.ts';
import { propertyTable, readProperties } from '../contract/json-properties.ts';
import { createProblemList } from '../contract/problem-list.ts';
import { type CreateOnce, withEntry } from '../create-once.ts';
import { readJsonBody, readJsonObject } from '../json-request.ts';
import { prefersStrict } from '../prefer.ts';
import {
  type ApiRequest,
  type ApiRoute,
  isoTime,
  isoTimeOrNull,
  json,
  page,
  pageLimit,
  queryInteger,
  refuse,
} from '../route.ts';
import { listedDomains, ownDomains } from '../tenancy.ts';

/** Calls that one replay may queue. */
const MAX_REPLAY = 10_000;
/** Calls that it may name. */
const MAX_REPLAY_IDS = 1000;

const NEW_WEBHOOK = propertyTable(['Event', 'WebhookURL', 'Description', 'Domain']);
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
});

const CHANGES = z.object({
  Event: named('webhook-event-unknown', 'is not known', (value) =>
    typeof value === 'string' && value.length <= 64 ? webhookToken(value) : null,
  ),
  WebhookURL: named('webhook-url-invalid', `is a text of at most ${MAX_URL_CHARS} characters`, (value) =>
    typeof value === 'string' && value.length <= MAX_URL_CHARS ? value : null,
  ),
  Status: named('invalid-parameter', 'is Enabled or Disabled', (value) =>
    typeof value === 'string' ? (STATUSES.get(value.toLowerCase()) ?? null) : null,
  ),
  Description: z.string().max(MAX_DESCRIPTION_CHARS).optional(),
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
      handle: async ({ caller, params }) => json(await toDetail(await ownWebhook(caller, params.id))),
    },
    {
      method: 'PATCH',
      path: '/webhooks/:id',
      scope: 'webhooks:write',
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
      handle: async (request) => {
        const webhook = await ownWebhook(request.caller, request.params.id);
        const body = readJsonBody(request, REPLAY);
        const now = clock.now();
        const named = body.DeliveryIDs !== undefined;
        if (
          named &&
          (body.Since !== undefined || body.Until !== undefined || body.OnlyFailed !== undefined)
        ) {
          const message = 'Give DeliveryIDs, or Since, Until and OnlyFailed, not both';
          throw new AppError('invalid-parameter', { message, field: '/DeliveryIDs' });
        }
        // Without a range everything that failed is meant, but never everything there is.
        if (!named && body.Since === undefined && body.OnlyFailed !== true) {
          const message = 'Give DeliveryIDs, Since, or OnlyFailed: true';
          throw new AppError('invalid-parameter', { message, field: '/Since' });
        }
        const queued = await store.replayCalls({
          webhookId: webhook.id,
          ...(body.DeliveryIDs === undefined ? {} : { callIds: body.DeliveryIDs }),
          since: body.Since ?? 0,
          until: body.Until ?? now,
          onlyFailed: body.OnlyFailed ?? false,
          now,
          limit: MAX_REPLAY,
        });
        return json({ Queued: queued });
      },
    },
    {
      method: 'GET',
      path: '/webhooks/:id/deliveries',
      scope: 'webhooks:read',
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

/** A member that may be left out, read by `read`; null from it is refused under the error's own name. */
function named<T>(problem: ErrorName, message: string, read: (value: unknown) => T | null) {
  return z
    .unknown()
    .transform((value, context): T => {
      const found = read(value);
      if (found !== null) return found;
      context.addIssue({ code: 'custom', message, params: { problem } });
      return z.NEVER;
    })
    .optional();
}

/** Throws AppError not-found for what can be no id. */
function webhookId(text: string | undefined): number {
  if (text === undefined || !/^[1-9][0-9]{0,14}$/.test(text)) throw refuse('not-found');
  return Number(text);
}

function readNewWebhook(request: ApiRequest) {
  const problems = createProblemList();
  const [event, url, description, domain] = readProperties(
    readJsonObject(request),
    NEW_WEBHOOK,
    prefersStrict(request.header('prefer')),
    (name, segment, message) => problems.add(name, `/${segment}`, message),
  );
  const token = typeof event === 'string' && event.length <= 64 ? webhookToken(event) : null;
  if (token === null) {
    problems.add('webhook-event-unknown', '/Event', event === undefined ? 'Event is required' : undefined);
  }
  if (typeof url !== 'string' || url.length > MAX_URL_CHARS) {
    problems.add(
      'webhook-url-invalid',
      '/WebhookURL',
      url === undefined
        ? 'WebhookURL is required'
        : `WebhookURL is a text of at most ${MAX_URL_CHARS} characters`,
    );
  }
  if (
    description !== undefined &&
    (typeof description !== 'string' || description.length > MAX_DESCRIPTION_CHARS)
  ) {
    problems.add(
      'invalid-parameter',
      '/Description',
      `Description is a text of at most ${MAX_DESCRIPTION_CHARS} characters`,
    );
  }
  if (domain !== undefined && typeof domain !== 'string') problems.add('wrong-type', '/Domain');
  const [first, ...rest] = problems.items;
  if (first !== undefined || token === null || typeof url !== 'string') {
    throw new AppError(first === undefined ? 'invalid-parameter' : [first, ...rest]);
  }
  return {
    domain: pickDomain(request.caller, typeof domain === 'string' ? domain : undefined),
    event: token,
    url,
    description: typeof description === 'string' ? description.toWellFormed() : '',
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
