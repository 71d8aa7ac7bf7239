/** Webhooks and their calls, as rows, and switching one off. */

import { EVENT_KINDS } from '../../../model/event.ts';
import { listensTo, type Webhook } from '../../../model/webhook.ts';
import type { CallLogEntry, CallSettlement, NewWebhook } from '../../topics/webhooks.ts';
import { callStateCode, eventKindCode, webhookEvents } from '../codes.ts';
import type { Session } from '../operation.ts';
import { record } from '../record.ts';
import { idOf, isTrue, type StoredFlag } from '../stored.ts';
import type { Work } from '../work.ts';
import type { EventViewRow } from './events.ts';

const WEBHOOK = record<Omit<Webhook, 'id' | 'domain' | 'events' | 'status'>>(
  {
    url: 'plain',
    description: 'plain',
    disabledReason: 'plain',
    createdAt: 'plain',
    updatedAt: 'plain',
    lastResponseCode: 'plain',
    lastResponseBody: 'plain',
    lastResponseAt: 'plain',
    lastResponseTry: 'plain',
    lastError: 'plain',
    lastLatencyMs: 'plain',
    failingSince: 'plain',
    failedTries: 'plain',
    blockedTries: 'plain',
    secretSealed: 'plain',
    previousSecretSealed: 'plain',
    previousSecretUntil: 'plain',
    createdBy: 'plain',
  },
  'w.',
);

/** Of a webhook that was never called; its domain's number and `enabled` are the engine's. */
export function newWebhookRow(given: NewWebhook) {
  return {
    event: webhookEvents.text(given.events),
    url: given.url,
    description: given.description,
    created_at: given.createdAt,
    updated_at: given.createdAt,
    last_response_code: 0,
    last_response_body: '',
    last_response_try: 0,
    last_error: '',
    failed_tries: 0,
    blocked_tries: 0,
    secret_sealed: given.secretSealed,
    created_by: given.createdBy,
  };
}

/** The codes of the kinds that a webhook is called for; `event`: its column. */
export function kindsCalledFor(event: string): number[] {
  const tokens = webhookEvents.list(event);
  return Object.values(EVENT_KINDS)
    .filter(({ token, payloadType }) => payloadType !== null && listensTo(tokens, token))
    .map(({ id }) => id);
}

export const CALL = record<Omit<CallLogEntry, 'eventId' | 'eventKind' | 'messageId' | 'recipient'>>(
  {
    id: 'plain',
    eventSeq: 'plain',
    state: callStateCode,
    tries: 'plain',
    responseCode: 'plain',
    responseBody: 'plain',
    error: 'plain',
    latenciesMs: 'json',
    createdAt: 'plain',
    updatedAt: 'plain',
    dueAt: 'plain',
  },
  'c.',
);

/** Everything a view of a webhook needs; `w` is the webhook, `wn` the name of its domain. */
export const WEBHOOK_COLUMNS = `w.id AS webhook_id, wn.text AS webhook_domain, w.event, w.enabled, ${WEBHOOK.columns}`;

/** `WEBHOOK_COLUMNS`. */
export interface WebhookRow {
  webhook_id: number;
  webhook_domain: string;
  event: string;
  enabled: StoredFlag;
}

export function toWebhook(row: WebhookRow): Webhook {
  return {
    ...WEBHOOK.value(row),
    id: row.webhook_id,
    domain: row.webhook_domain,
    events: webhookEvents.list(row.event),
    status: isTrue(row.enabled) ? 'Enabled' : 'Disabled',
  };
}

/** What a call's entry in the log says of its event, and the joins for it, all by primary key; `e` is the event. */
export const LOGGED_EVENT = 'e.event_id, e.kind, ed.address AS recipient, em.id AS message_id';
export const LOGGED_JOINS =
  'LEFT JOIN delivery ed ON ed.id = e.delivery_id LEFT JOIN message em ON em.seq = e.message_seq';

export function toLogEntry(row: LoggedRow): CallLogEntry {
  return {
    ...CALL.value(row),
    eventId: idOf(row.event_id),
    eventKind: eventKindCode.word(row.kind),
    messageId: row.message_id === null ? null : idOf(row.message_id),
    recipient: row.recipient,
  };
}

/** `LOGGED_EVENT`. */
export type LoggedRow = Pick<EventViewRow, 'event_id' | 'kind' | 'recipient' | 'message_id'>;

/** Switches an enabled webhook off; the event about it goes to the domain's other webhooks. */
export function* switchOff(
  session: Session,
  { at, webhookId }: CallSettlement,
  { reason, event }: NonNullable<CallSettlement['disable']>,
): Work<void> {
  const row = yield* session.db.get<{ domain_id: number }>(
    `UPDATE webhook SET enabled = {0|false}, disabled_reason = ?, updated_at = ? WHERE id = ? AND enabled {= 1|}
     RETURNING domain_id`,
    ...[reason, at, webhookId],
  );
  if (row === undefined) return;
  session.hooksChanged();
  yield* session.appendEvent(event, { domainId: row.domain_id, messageSeq: null, deliveryId: null });
}
