/** A webhook: a callback URL and the tokens of the events of one sender domain that it receives. */

export type WebhookStatus = 'Enabled' | 'Disabled';
export type DisabledReason = 'User' | 'Gone' | 'Failures' | 'Blocked';

/** `LastResponseAt` before the first answer; exactly this text is part of the API. */
export const NEVER_CALLED_AT = '1899-11-30T00:00:00.000Z';

/** In place of a sender domain: events and webhooks that concern the operator alone. */
export const OPERATOR_DOMAIN = '*';
/** The token of these events. */
const OPERATOR_TOKEN = 'operator';

/** Whether webhooks of `domain` may be called for `events`: alerts are the operator's, other events those of a domain. */
export function mayListen(domain: string, events: readonly string[]): boolean {
  const isOperator = domain === OPERATOR_DOMAIN;
  return events.every((token) => token === 'all' || (token === OPERATOR_TOKEN) === isOperator);
}

export interface Webhook {
  id: number;
  domain: string;
  /** Tokens of EVENT_KINDS in the order of WEBHOOK_TOKENS, at least one; `all` only alone. */
  events: readonly string[];
  url: string;
  description: string;
  status: WebhookStatus;
  disabledReason: DisabledReason | null;
  createdAt: number;
  updatedAt: number;
  /** HTTP status of the last try, 0 = never called or no answer. */
  lastResponseCode: number;
  lastResponseBody: string;
  /** null = never called, or the last try got no answer. */
  lastResponseAt: number | null;
  lastResponseTry: number;
  lastError: string;
  lastLatencyMs: number | null;
  failingSince: number | null;
  failedTries: number;
  /** Consecutive tries refused because the target resolved to a forbidden address. */
  blockedTries: number;
  /** Encrypted; decrypted only to sign. */
  secretSealed: Uint8Array;
  /** The secret before the last rotation, which is also used until the time below; null = never rotated. */
  previousSecretSealed: Uint8Array | null;
  previousSecretUntil: number | null;
  /** Id of the token that created it; null = created before this was recorded. */
  createdBy: string | null;
}

/** Whether a webhook for `events` is called for events with this token (null: no separate subscription). */
export function listensTo(events: readonly string[], token: string | null): boolean {
  return events.includes('all') || (token !== null && events.includes(token));
}

/** What is to be added to a status that a receiver answered: that redirects are not followed; '' = nothing. */
export function redirectAdvice(status: number): string {
  const isRedirect = status >= 300 && status < 400;
  return isRedirect ? ': a redirect, which is not followed; give the webhook the URL that it leads to' : '';
}
