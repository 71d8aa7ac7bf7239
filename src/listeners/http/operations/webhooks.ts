/**
 * Webhooks: the three specified operations, byte for byte, and the others: detail, changes, secret, test; their calls
 * are in webhook-calls.ts. Webhooks of other tenants are never shown or changed.
 */

import { z } from 'zod';
import { AppError, type ErrorName } from '../../../lib/errors.ts';
import { WEBHOOK_TOKENS, webhookTokens } from '../../../model/event.ts';
import type { Caller } from '../../../model/submission.ts';
import {
  mayListen,
  NEVER_CALLED_AT,
  OPERATOR_DOMAIN,
  type Webhook,
  type WebhookStatus,
} from '../../../model/webhook.ts';
import { makerOf } from '../../../policy/access/may-mint.ts';
import { callerDomains, pickDomain, requireScope } from '../../../policy/access/rights.ts';
import { type Answer, count, nothing, time } from '../answer-schemas.ts';
import { oneLine } from '../body/text-rules.ts';
import type { ApiParts } from '../deps.ts';
import { operation, withoutUndefined } from '../operation.ts';
import { paging } from '../paging.ts';
import { DOMAIN, flag } from '../query.ts';
import { type ApiRoute, existing, invalidParameter, isoTime, isoTimeOrNull, refuse } from '../route.ts';
import { createSlots, inSlot } from '../streams/slots.ts';
import { ownDomains } from '../tenancy.ts';
import { webhookCallOperations } from './webhook-calls.ts';

const record = {
  WebhookID: z.int().min(1),
  CreatedAt: time,
  UpdatedAt: time,
  Status: z.enum(['Enabled', 'Disabled']),
  WebhookURL: z.string(),
  Event: z
    .string()
    .describe(
      'Token of the events it is called for, e.g. bounce, or all; of several with commas between them',
    ),
  LastResponseCode: z.int().describe('Of the last try; 0 = no answer, or never called'),
  LastResponseBody: z.string(),
  LastResponseAt: time.describe('1899-11-30T00:00:00.000Z = no answer, or never called'),
  LastResponseTryCounter: count.describe('Number of that try within its call; 0 = never called'),
};

const webhookRecord = z.strictObject(record).meta({ id: 'WebhookRecord' });

const newWebhookAnswer = z
  .strictObject({
    NewWebhookID: z.int().min(1),
    Secret: z.string().describe('Signs the calls; shown this once'),
  })
  .meta({ id: 'NewWebhookAnswer' });

const webhookDetail = z
  .object({
    ...record,
    Events: z.array(z.string()).describe('`Event` as a list'),
    Domain: z.string(),
    Description: z.string(),
    CreatedBy: z.string().nullable().describe('The token that it was made with'),
    DisabledReason: z.enum(['User', 'Gone', 'Failures', 'Blocked']).nullable(),
    FailingSince: time.nullable(),
    LastError: z.string(),
    LastLatencyMs: z.number().nullable(),
    Pending: count.describe('Calls that wait or are on their way, counted to 10 000'),
    SecretHint: z.string().describe('The last four characters of the secret'),
  })
  .meta({ id: 'WebhookDetail' });

const webhookList = z
  .object({
    Webhooks: z.array(z.union([webhookDetail, webhookRecord])),
    NextCursor: z.string().nullable().optional().describe('With `Details`; null = that was all'),
  })
  .meta({ id: 'WebhookList' });

const webhookSecretAnswer = z
  .object({
    Secret: z.string().describe('Shown this once'),
    PreviousValidUntil: time.describe('Until then the secret before signs too'),
  })
  .meta({ id: 'WebhookSecretAnswer' });

const webhookTest = z
  .object({
    StatusCode: z.int().describe('0 = no answer'),
    LatencyMs: z.number(),
    Body: z.string(),
    Error: z.string(),
  })
  .meta({ id: 'WebhookTest' });

const MAX_URL_CHARS = 2048;
/** Texts that name events: longer than all tokens together, in any spelling. */
const MAX_EVENT_CHARS = 512;
const MAX_EVENTS = 40;
const MAX_DESCRIPTION_CHARS = 256;

/** Counts in answers stop here. */
const MAX_COUNTED = 10_000;
/** Each is a connection to a host that the caller chose, and lasts as long as that host wants it to, up to the limit. */
const TESTS = { perToken: 5, perTenant: 10, total: 100 };
const PAGES = paging('webhooks', z.int().min(1), ({ id }: Webhook) => id);
/** Webhooks read in one question. */
const AT_ONCE = 100;
const STATUSES = new Map<string, WebhookStatus>([
  ['enabled', 'Enabled'],
  ['disabled', 'Disabled'],
]);

const EVENT = named('webhook-event-unknown', `is one of ${WEBHOOK_TOKENS.join(', ')}`, (value) =>
  typeof value === 'string' && value.length <= MAX_EVENT_CHARS ? webhookTokens(value.split(',')) : null,
).meta({
  type: 'string',
  maxLength: MAX_EVENT_CHARS,
  description: 'Token of the events, e.g. bounce, or all; several with commas between them',
});
const EVENTS = named(
  'webhook-event-unknown',
  `must be one or more of ${WEBHOOK_TOKENS.join(', ')}`,
  (value) => (isListOfTexts(value) ? webhookTokens(value) : null),
).meta({
  type: 'array',
  items: { type: 'string' },
  minItems: 1,
  maxItems: MAX_EVENTS,
  description: 'The same as a list; `Event` need not be given then',
});
const URL_TEXT = named('webhook-url-invalid', `is a text of at most ${MAX_URL_CHARS} characters`, (value) =>
  typeof value === 'string' && value.length <= MAX_URL_CHARS ? value : null,
).meta({ type: 'string', maxLength: MAX_URL_CHARS, description: 'Where it is called' });
const DESCRIPTION = oneLine(MAX_DESCRIPTION_CHARS).optional();

const NEW_WEBHOOK = z
  .object({
    Event: EVENT.optional(),
    Events: EVENTS.optional(),
    WebhookURL: URL_TEXT,
    Description: DESCRIPTION,
    Domain: named('wrong-type', 'must be a string', (value) => (typeof value === 'string' ? value : null))
      .meta({ type: 'string', description: 'Required if the token has several' })
      .optional(),
  })
  .refine(({ Event, Events }) => Event !== undefined || Events !== undefined, {
    message: 'is required, or Events',
    path: ['Event'],
    params: { problem: 'webhook-event-unknown' },
    // Reported together with problems of other members, not after them.
    when: ({ issues }) => issues.every(({ path }) => !['Event', 'Events'].includes(String(path?.[0]))),
  });

const CHANGES = z.object({
  Event: EVENT.optional(),
  Events: EVENTS.optional(),
  WebhookURL: URL_TEXT.optional(),
  Status: named('invalid-parameter', 'is Enabled or Disabled', (value) =>
    typeof value === 'string' ? (STATUSES.get(value.toLowerCase()) ?? null) : null,
  )
    .meta({ enum: [...STATUSES.values()] })
    .optional(),
  Description: DESCRIPTION,
});

/** The operator's own webhooks belong to no sender domain; to others, that name does not exist. */
function webhookDomain(caller: Caller, given: string | undefined): string {
  const isOperators = given?.trim() === OPERATOR_DOMAIN && callerDomains(caller) === undefined;
  return isOperators ? OPERATOR_DOMAIN : pickDomain(caller, given);
}

/** Throws AppError for events that never happen to this domain. */
function requireListening(domain: string, events: readonly string[]): void {
  if (mayListen(domain, events)) return;
  const message =
    domain === OPERATOR_DOMAIN
      ? 'A webhook of the domain * is called for operator only'
      : 'A webhook is called for operator only with the domain *, which needs a token of all domains';
  throw new AppError('webhook-event-unknown', { field: '/Event', message });
}

export function webhookOperations({
  store,
  webhooks,
  clock,
  createOnce,
  eventsStored,
}: ApiParts): readonly ApiRoute[] {
  const testSlots = createSlots({ ...TESTS, what: 'tests of webhooks' });

  return [
    operation('GET /webhooks', {
      id: 'listWebhooks',
      scope: 'webhooks:read',
      summary: 'List webhooks',
      description:
        'Every webhook of the token’s domains, by id, ten members each: `{Webhooks}`. `Domain` filters. `Details=true`: a page of `Limit`, with all members of each, and `NextCursor`',
      query: {
        ...DOMAIN,
        Details: flag().optional().describe('As `GET /webhooks/{id}` shows each'),
        ...PAGES.query,
      },
      answer: webhookList,
      handle: async ({ visible, query }) => {
        if (query.Details === true) {
          const afterId = query.After ?? 0;
          const found = await store.listWebhooks({ ...visible, afterId, limit: query.Limit + 1 });
          const { Items, NextCursor } = PAGES.pageOf(found, query, (one) => one);
          return { Webhooks: await Promise.all(Items.map(toDetail)), NextCursor };
        }
        const rows: Webhook[] = [];
        for (let afterId: number | undefined = 0; afterId !== undefined; ) {
          const part: readonly Webhook[] = await store.listWebhooks({ ...visible, afterId, limit: AT_ONCE });
          rows.push(...part);
          afterId = part.length < AT_ONCE ? undefined : part.at(-1)?.id;
        }
        return { Webhooks: rows.map(toRecord) };
      },
    }),
    operation('POST /webhooks', {
      id: 'createWebhook',
      scope: 'webhooks:write',
      proven: true,
      summary: 'Add a webhook',
      description:
        '`{Event, WebhookURL}`, or `Events` for a list in place of `Event`, also `Description`, and `Domain` if the token has several: `{NewWebhookID, Secret}`. The secret is shown only here. Needs `events:read` too. At most 100 a domain. `Domain` `*`, for tokens of all domains, with `Event` `operator`: called when something about the server needs the operator, and when that is over',
      body: {
        schema: NEW_WEBHOOK,
        example: { Event: 'bounce', WebhookURL: 'https://hooks.example.com/mail' },
      },
      answer: newWebhookAnswer,
      once: createOnce,
      errors: [
        'webhook-event-unknown',
        'webhook-url-invalid',
        'webhook-limit',
        'wrong-type',
        'domain-ambiguous',
        'not-found',
      ],
      handle: async ({ caller, body, key }) => {
        // Its calls contain events.
        requireScope(caller, 'events:read');
        const wanted = {
          domain: webhookDomain(caller, body.Domain),
          events: oneList(body.Event, body.Events) ?? [],
          url: body.WebhookURL,
          description: (body.Description ?? '').toWellFormed(),
          ...makerOf(caller),
        };
        requireListening(wanted.domain, wanted.events);
        const { id, secret } = await webhooks.create(wanted, key?.({ NewWebhookID: '$id' }));
        return { NewWebhookID: id, Secret: secret };
      },
    }),
    operation('DELETE /webhooks/:id', {
      id: 'deleteWebhook',
      scope: 'webhooks:write',
      summary: 'Remove a webhook',
      description: 'Removes it and its pending calls: `{}`',
      answer: nothing,
      handle: async ({ caller, params }) => {
        existing(await store.deleteWebhook({ id: webhookId(params.id), ...ownDomains(caller) }));
        return {};
      },
    }),
    operation('GET /webhooks/:id', {
      id: 'getWebhook',
      scope: 'webhooks:read',
      summary: 'Show a webhook',
      description:
        'The ten members and `Events, Domain, Description, DisabledReason, FailingSince, LastError, LastLatencyMs, Pending, SecretHint`',
      answer: webhookDetail,
      handle: async ({ caller, params }) => toDetail(await ownWebhook(caller, params.id)),
    }),
    operation('PATCH /webhooks/:id', {
      id: 'updateWebhook',
      scope: 'webhooks:write',
      summary: 'Change a webhook',
      description:
        '`{Event? or Events?, WebhookURL?, Status?, Description?}`: answers with the webhook. `Status` is Enabled or Disabled; when it is enabled again, its waiting calls that were made, tried or replayed in the last 72 hours are tried now and older ones are dropped (replay can make them). Enabled for one that is enabled: its waiting calls are tried now. Events and address need `events:read` too',
      body: { schema: CHANGES, example: { Status: 'Enabled', Description: 'Bounces to the CRM' } },
      answer: webhookDetail,
      errors: ['webhook-event-unknown', 'webhook-url-invalid', 'proof-required'],
      handle: async ({ caller, params, body, request }) => {
        const { id, domain } = await ownWebhook(caller, params.id);
        const { Event, Events, WebhookURL, Status, Description } = body;
        const events = oneList(Event, Events);
        requireListening(domain, events ?? []);
        if (events !== undefined || WebhookURL !== undefined) {
          requireScope(caller, 'events:read');
          await request.requireProof();
        }
        const change = withoutUndefined({
          events,
          url: WebhookURL,
          status: Status,
          description: Description?.toWellFormed(),
        });
        if (Object.keys(change).length === 0) {
          throw refuse(
            'invalid-parameter',
            'Give at least one of Event, Events, WebhookURL, Status, Description',
          );
        }
        const changed = existing(await webhooks.update(id, change, ownDomains(caller).domains));
        if (Status === 'Enabled') eventsStored();
        return toDetail(changed);
      },
    }),
    operation('POST /webhooks/:id/secret', {
      id: 'rotateWebhookSecret',
      scope: 'webhooks:write',
      proven: true,
      summary: 'Rotate the secret of a webhook',
      description:
        'A new secret: `{Secret, PreviousValidUntil}`, shown only here. For 24 hours every call carries two signatures, of the new secret and of the old one',
      answer: webhookSecretAnswer,
      once: createOnce,
      handle: async ({ caller, params, key }) => {
        const { id } = await ownWebhook(caller, params.id);
        const shown = (until: number) => ({ PreviousValidUntil: isoTime(until) });
        const { domains } = ownDomains(caller);
        const rotated = await webhooks.rotateSecret(id, domains, key && ((until) => key(shown(until))));
        const { secret, previousValidUntil } = existing(rotated);
        return { Secret: secret, ...shown(previousValidUntil) };
      },
    }),
    operation('POST /webhooks/:id/test', {
      id: 'testWebhook',
      scope: 'webhooks:write',
      summary: 'Call a webhook with a sample',
      description: `Sends a signed sample now: \`{StatusCode, LatencyMs, Body, Error}\`. Changes nothing. At most ${TESTS.perToken} at once for each token`,
      answer: webhookTest,
      handle: ({ caller, params }) =>
        inSlot(testSlots, caller, async () =>
          existing(await webhooks.test(webhookId(params.id), ownDomains(caller).domains)),
        ),
    }),
    ...webhookCallOperations({ store, clock, ownWebhook, eventsStored }),
  ];

  /** Throws AppError not-found, also for a webhook of others. */
  async function ownWebhook(caller: Caller, id: string): Promise<Webhook> {
    return existing(await store.getWebhook({ id: webhookId(id), ...ownDomains(caller) }));
  }

  async function toDetail(row: Webhook): Promise<Answer<typeof webhookDetail>> {
    return {
      ...toRecord(row),
      Events: row.events,
      Domain: row.domain,
      Description: row.description,
      CreatedBy: row.createdBy,
      DisabledReason: row.disabledReason,
      FailingSince: isoTimeOrNull(row.failingSince),
      LastError: row.lastError,
      LastLatencyMs: row.lastLatencyMs,
      Pending: await store.countPendingCalls({ webhookId: row.id, countUpTo: MAX_COUNTED }),
      SecretHint: webhooks.secretHint(row),
    };
  }
}

/** A member read by `read`; null from it is refused with the given error. */
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

/** Throws AppError not-found for an invalid id. */
function webhookId(text: string): number {
  if (!/^[1-9][0-9]{0,14}$/.test(text)) throw refuse('not-found');
  return Number(text);
}

/** The events of a request that may name them twice, like a client that sends back a detail; undefined = neither. */
function oneList(
  event: readonly string[] | undefined,
  events: readonly string[] | undefined,
): readonly string[] | undefined {
  if (event !== undefined && events !== undefined && event.join() !== events.join()) {
    throw invalidParameter('Event and Events differ; give one of them', 'Events');
  }
  return events ?? event;
}

function isListOfTexts(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.length <= MAX_EVENTS &&
    value.every((one) => typeof one === 'string' && one.length <= MAX_EVENT_CHARS)
  );
}

/** The ten fields, in documented order. */
function toRecord(row: Webhook): Answer<typeof webhookRecord> {
  return {
    WebhookID: row.id,
    CreatedAt: isoTime(row.createdAt),
    UpdatedAt: isoTime(row.updatedAt),
    Status: row.status,
    WebhookURL: row.url,
    // The specified record has only one text; `Events` is in the detail.
    Event: row.events.join(','),
    LastResponseCode: row.lastResponseCode,
    LastResponseBody: row.lastResponseBody,
    LastResponseAt: row.lastResponseAt === null ? NEVER_CALLED_AT : isoTime(row.lastResponseAt),
    LastResponseTryCounter: row.lastResponseTry,
  };
}
