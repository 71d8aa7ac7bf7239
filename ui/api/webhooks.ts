/** Webhooks and their calls as their place asks for them: one function an operation. */
import type {
  CreateWebhookRequest,
  NewWebhookAnswer,
  ReplayAnswer,
  ReplayWebhookRequest,
  UpdateWebhookRequest,
  WebhookCallDetail,
  WebhookCalls,
  WebhookDetail,
  WebhookList,
  WebhookSecretAnswer,
  WebhookTest,
} from '../../src/client/api-types.ts';
import { call, open, queuedBy } from './call.ts';
import { make } from './make.ts';

/** Under what the answers are kept, for whoever changes a webhook. */
export const WEBHOOKS = ['webhooks'] as const;

/** Of more than a thousand the oldest: of one domain there are at most a hundred. */
const MAX_PAGES = 10;

/** All of them, with all their members. */
export async function listWebhooks(signal?: AbortSignal): Promise<readonly WebhookDetail[]> {
  const found: WebhookDetail[] = [];
  let after: string | null | undefined;
  for (let pages = 0; pages < MAX_PAGES && after !== null; pages += 1) {
    const query = { Details: true, Limit: 100, After: after };
    const page = await call<WebhookList>('GET', '/webhooks', { query, signal });
    found.push(...(page.Webhooks as WebhookDetail[]));
    after = page.NextCursor ?? null;
  }
  return found;
}

export function getWebhook(id: number, signal?: AbortSignal): Promise<WebhookDetail> {
  return call('GET', `/webhooks/${id}`, { signal });
}

export function createWebhook(wanted: CreateWebhookRequest): Promise<NewWebhookAnswer> {
  return make('/webhooks', wanted, 'Secret');
}

export function changeWebhook(id: number, change: UpdateWebhookRequest): Promise<WebhookDetail> {
  return call('PATCH', `/webhooks/${id}`, { body: change });
}

export async function removeWebhook(id: number, leaving = false): Promise<void> {
  await open('DELETE', `/webhooks/${id}`, { keepalive: leaving });
}

/** Answers once the receiver did, or after its 15 seconds. */
export function testWebhook(id: number): Promise<WebhookTest> {
  return call('POST', `/webhooks/${id}/test`, { body: {} });
}

export function rotateSecret(id: number): Promise<WebhookSecretAnswer> {
  return make(`/webhooks/${id}/secret`, undefined, 'Secret');
}

/** Newest first. */
export function listCalls(
  id: number,
  after: string | undefined,
  signal?: AbortSignal,
): Promise<WebhookCalls> {
  return call('GET', `/webhooks/${id}/deliveries`, { query: { Limit: 25, After: after }, signal });
}

export function getCall(id: number, callId: number, signal?: AbortSignal): Promise<WebhookCallDetail> {
  return call('GET', `/webhooks/${id}/deliveries/${callId}`, { signal });
}

/** Calls that are made again, a portion after the other; told how many were queued so far. */
export function replayCalls(
  id: number,
  which: Omit<ReplayWebhookRequest, 'After'>,
  onQueued: (count: number) => void = () => {},
): Promise<number> {
  return queuedBy(
    (After) => call<ReplayAnswer>('POST', `/webhooks/${id}/replay`, { body: { ...which, After } }),
    onQueued,
  );
}
