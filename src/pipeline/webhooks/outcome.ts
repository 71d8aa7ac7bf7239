/**
 * What one try means for its call and its webhook: finished, tried later, given up, or the webhook is switched off.
 * Takes the claimed call and the receiver's answer; returns the record for the store.
 *
 *   pending ──try──► succeeded                       2xx
 *      ▲      └────► failed                          410, or the last try failed
 *      └── later ◄──┘                                anything else, including redirects
 */

import type { Clock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Random } from '../../lib/random.ts';
import type { DisabledReason, Webhook } from '../../model/webhook.ts';
import type { CallSettlement, ClaimedCall } from '../../store/topics/webhooks.ts';
import { retryDelayMs } from './retry-schedule.ts';

/** The result of one try. */
export interface TryResult {
  kind: 'answered' | 'blocked' | 'failed';
  /** HTTP status, 0 = no answer. */
  status: number;
  /** First 1024 bytes of the answer as text, '' = no answer. */
  body: string;
  /** Why there was no answer, as a sentence; '' if there was one. */
  error: string;
  /** Details for the operator only. */
  cause?: string;
  /** When the answer ended or the try failed, epoch milliseconds. */
  endedAt: number;
  latencyMs: number;
  /** The wait that the receiver asked for, or null. */
  retryAfterMs: number | null;
}

const FAILING_FOR_MS = 5 * 24 * 3_600_000;
const MIN_FAILED_TRIES = 10;
const MAX_BLOCKED_TRIES = 10;
/** A name may be missing for a moment. */
const BLOCKED_FOR_MS = 3_600_000;

/**
 * The settlement of a finished try. `mayDisable` is false if this process has already switched the webhook off, so that
 * calls which end together cause one event.
 */
export function settleTry(
  deps: { clock: Clock; random: Random; suspectsClock?: () => boolean },
  params: {
    call: ClaimedCall;
    result: TryResult;
    delaysMs: readonly number[];
    mayDisable: boolean;
  },
): CallSettlement {
  const { call, result } = params;
  const now = result.endedAt;
  const tryNumber = call.tries + 1;
  const settlement: CallSettlement = {
    callId: call.id,
    epoch: call.epoch,
    webhookId: call.webhook.id,
    state: 'succeeded',
    tryNumber,
    at: now,
    responseCode: result.status,
    responseBody: result.body,
    error: result.error,
    latencyMs: result.latencyMs,
    blocked: result.kind === 'blocked',
  };
  if (isSuccess(result)) return settlement;

  const delay =
    result.status === 410 ? null : retryDelayMs(params.delaysMs, tryNumber, result.retryAfterMs, deps.random);
  settlement.state = delay === null ? 'failed' : 'pending';
  if (delay !== null) settlement.dueAt = now + delay;

  const isSuspect = deps.suspectsClock?.() ?? false;
  const reason = params.mayDisable ? disableReason(call.webhook, result, now, isSuspect) : null;
  if (reason !== null) {
    settlement.disable = {
      reason,
      event: {
        id: uuidv7(deps.clock, deps.random),
        kind: 'webhook.disabled',
        at: now,
        detail: { webhookId: call.webhook.id, reason: SENTENCES[reason] },
      },
    };
  }
  return settlement;
}

/** The lease is released unchanged, because no try was made; the call is due again after `delayMs`. */
export function giveBack(call: ClaimedCall, now: number, delayMs = 0): CallSettlement {
  return {
    callId: call.id,
    epoch: call.epoch,
    webhookId: call.webhook.id,
    state: 'pending',
    dueAt: now + delayMs,
    tryNumber: 0,
    at: now,
    responseCode: 0,
    responseBody: '',
    error: '',
    latencyMs: 0,
    blocked: false,
  };
}

/** Only 2xx counts (Standard Webhooks). */
export function isSuccess(result: TryResult): boolean {
  return result.status >= 200 && result.status <= 299;
}

/**
 * Why this failed try switches the webhook off, or null. The third condition of the five-day rule, a failed try within
 * the last day, is always met here by this try. `isSuspect`: the clock is suspect, so how long it has failed is not known.
 */
function disableReason(
  webhook: Webhook,
  result: TryResult,
  now: number,
  isSuspect: boolean,
): DisabledReason | null {
  if (webhook.status === 'Disabled') return null;
  if (result.status === 410) return 'Gone';
  if (isSuspect) return null;
  const failingForMs = webhook.failingSince === null ? 0 : now - webhook.failingSince;
  const blockedTries = result.kind === 'blocked' ? webhook.blockedTries + 1 : 0;
  if (blockedTries >= MAX_BLOCKED_TRIES && failingForMs >= BLOCKED_FOR_MS) return 'Blocked';
  const failedTries = webhook.failedTries + 1;
  return failingForMs >= FAILING_FOR_MS && failedTries >= MIN_FAILED_TRIES ? 'Failures' : null;
}

const SENTENCES: Readonly<Record<DisabledReason, string>> = {
  User: 'Switched off by a user',
  Gone: 'The receiver answered 410 Gone',
  Failures: 'No call has succeeded for 5 days',
  Blocked: 'For an hour its name has led to no address that may be called',
};
