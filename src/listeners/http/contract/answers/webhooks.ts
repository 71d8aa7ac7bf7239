/** What the operations on webhooks answer. Shapes marked "frozen" never gain or lose a member. */
import type { EventKind } from '../../../../model/event.ts';
import type { DisabledReason, WebhookStatus } from '../../../../model/webhook.ts';

/** One item of GET /webhooks. Frozen. */
export interface WebhookRecord {
  WebhookID: number;
  CreatedAt: string;
  UpdatedAt: string;
  Status: WebhookStatus;
  WebhookURL: string;
  Event: string;
  LastResponseCode: number;
  LastResponseBody: string;
  LastResponseAt: string;
  LastResponseTryCounter: number;
}

/** GET /webhooks. Frozen. */
export interface WebhookList {
  Webhooks: readonly WebhookRecord[];
}

/** POST /webhooks. Frozen; `Secret` is shown this once. */
export interface NewWebhookAnswer {
  NewWebhookID: number;
  Secret: string;
}

/** GET /webhooks/{id}. */
export interface WebhookDetail extends WebhookRecord {
  /** `Event` as a list. */
  Events: readonly string[];
  Domain: string;
  Description: string;
  /** Id of the token that it was made with; null = made before that was kept. */
  CreatedBy: string | null;
  DisabledReason: DisabledReason | null;
  FailingSince: string | null;
  LastError: string;
  LastLatencyMs: number | null;
  /** Calls that wait or are on their way, counted to 10 000. */
  Pending: number;
  /** The last four characters of the secret. */
  SecretHint: string;
}

/** POST /webhooks/{id}/secret: `Secret` is shown this once; the one before signs too until then. */
export interface WebhookSecretAnswer {
  Secret: string;
  PreviousValidUntil: string;
}

/** One item of GET /webhooks/{id}/deliveries. */
export interface WebhookCall {
  DeliveryID: number;
  EventID: string;
  /** As in the payload of the call: bounced, delivered, … */
  Event: EventKind;
  Status: 'Pending' | 'Sending' | 'Succeeded' | 'Failed';
  Tries: number;
  ResponseCode: number;
  Error: string;
  CreatedAt: string;
  UpdatedAt: string;
}

/** POST /webhooks/{id}/test. */
export interface WebhookTest {
  StatusCode: number;
  LatencyMs: number;
  Body: string;
  Error: string;
}

/** POST /webhooks/{id}/replay. */
export interface ReplayAnswer {
  /** Calls that are made again. */
  Queued: number;
  /** `After` of the next request; null = all of them are queued. */
  NextCursor: string | null;
}
