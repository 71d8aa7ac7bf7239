/** Schemas of the answers about webhooks. The three of the core are closed: their members never change. */
import { z } from 'zod';
import { EVENT_KINDS, type EventKind } from '../../../../model/event.ts';
import type { Page } from '../answers/page.ts';
import type {
  NewWebhookAnswer,
  ReplayAnswer,
  WebhookCall,
  WebhookDetail,
  WebhookList,
  WebhookSecretAnswer,
  WebhookTest,
} from '../answers/webhooks.ts';
import { exactly } from './exactly.ts';
import { count, pageOf, time } from './shared.ts';

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

export const webhookList = exactly<WebhookList>()(
  z
    .strictObject({ Webhooks: z.array(z.strictObject(record).meta({ id: 'WebhookRecord' })) })
    .meta({ id: 'WebhookList' }),
);

export const newWebhookAnswer = exactly<NewWebhookAnswer>()(
  z
    .strictObject({
      NewWebhookID: z.int().min(1),
      Secret: z.string().describe('Signs the calls; shown this once'),
    })
    .meta({ id: 'NewWebhookAnswer' }),
);

export const webhookDetail = exactly<WebhookDetail>()(
  z
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
    .meta({ id: 'WebhookDetail' }),
);

export const webhookSecretAnswer = exactly<WebhookSecretAnswer>()(
  z
    .object({
      Secret: z.string().describe('Shown this once'),
      PreviousValidUntil: time.describe('Until then the secret before signs too'),
    })
    .meta({ id: 'WebhookSecretAnswer' }),
);

const call = exactly<WebhookCall>()(
  z
    .object({
      DeliveryID: z.int().min(1),
      EventID: z.uuid(),
      Event: z
        .enum(Object.keys(EVENT_KINDS) as [EventKind, ...EventKind[]])
        .describe('As in the payload of the call'),
      Status: z.enum(['Pending', 'Sending', 'Succeeded', 'Failed']),
      Tries: count,
      ResponseCode: z.int().describe('Of the last try; 0 = no answer'),
      Error: z.string(),
      CreatedAt: time,
      UpdatedAt: time,
    })
    .meta({ id: 'WebhookCall' }),
);

export const webhookCalls = exactly<Page<WebhookCall>>()(pageOf('WebhookCalls', call));

export const webhookTest = exactly<WebhookTest>()(
  z
    .object({
      StatusCode: z.int().describe('0 = no answer'),
      LatencyMs: z.number(),
      Body: z.string(),
      Error: z.string(),
    })
    .meta({ id: 'WebhookTest' }),
);

export const replayAnswer = exactly<ReplayAnswer>()(
  z
    .object({
      Queued: count.describe('Calls that are made again'),
      NextCursor: z
        .string()
        .nullable()
        .describe('`After` of the next request; null = all of them are queued'),
    })
    .meta({ id: 'ReplayAnswer' }),
);
