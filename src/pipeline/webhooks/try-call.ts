/**
 * One try of a claimed call, and what is said of it: in the log, in the metrics, to the line of calls. Returns the record
 * for the store. Where no call could be made, because its secret cannot be decrypted or this machine cannot call, the
 * record releases the lease until later. Never rejects.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Loggers } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import type { Sealer } from '../../lib/seal.ts';
import type { AllowHttp } from '../../net/checked-url.ts';
import type { GuardedHttp } from '../../net/guarded-http.ts';
import type { CallSettlement, ClaimedCall } from '../../store/topics/webhooks.ts';
import { createMakeCall } from './call.ts';
import type { CallLine } from './call-line.ts';
import type { WebhookMetrics } from './metrics.ts';
import { giveBack, isSuccess, settleTry, type TryResult } from './outcome.ts';
import { callId, webhookBody } from './payload.ts';

/** null if `signal` has aborted it: the lease was released meanwhile, because the process stops. */
type TryCall = (call: ClaimedCall, signal: AbortSignal) => Promise<CallSettlement | null>;

/** A secret that cannot be decrypted needs a person, which takes time. */
const UNSIGNED_MS = 300_000;
/** When a call that this machine could not make is due again, and how often that is logged. */
const LOCAL_MS = 30_000;

export function createTryCall(
  deps: {
    http: Pick<GuardedHttp, 'post'>;
    clock: Clock;
    random: Random;
    sealer: Sealer;
    log: Loggers;
    metrics: WebhookMetrics;
    line: Pick<CallLine, 'isOn' | 'ended'>;
    suspectsClock?: () => boolean;
  },
  options: { delaysMs: readonly number[]; allowHttp: AllowHttp },
): TryCall {
  const { clock, log, metrics, line } = deps;
  const makeCall = createMakeCall(deps, options.allowHttp);
  /** Until when it is not logged again that this machine cannot call (monotonic). */
  let silentUntilMs = 0;

  return async (call, signal) => {
    const about = { webhookId: call.webhook.id, callId: call.id };
    let result: TryResult;
    try {
      const body = webhookBody(call.event, call.webhook.id);
      const made = await makeCall(call.webhook, callId(call.event.id), body, signal);
      if (signal.aborted) return null;
      if (made.kind === 'unsigned') {
        log.service.error(
          { ...about, err: made.cause },
          'cannot open the secret of a webhook: its calls wait',
        );
        return giveBack(call, clock.now(), UNSIGNED_MS);
      }
      if (made.kind === 'local') {
        if (clock.monotonicMs() >= silentUntilMs) {
          silentUntilMs = clock.monotonicMs() + LOCAL_MS;
          log.service.warn({ reason: made.detail }, 'this machine cannot make webhook calls: they wait');
        }
        return giveBack(call, clock.now(), LOCAL_MS);
      }
      result = made.result;
    } catch (cause) {
      if (signal.aborted) return null;
      log.service.error({ ...about, err: cause }, 'a webhook call broke');
      const error = 'The call could not be made';
      const endedAt = clock.now();
      result = { kind: 'failed', status: 0, body: '', error, endedAt, latencyMs: 0, retryAfterMs: null };
    }
    const { delaysMs } = options;
    const settlement = settleTry(deps, { call, result, delaysMs, mayDisable: line.isOn(call) });
    note(call, result, settlement);
    return settlement;
  };

  function note(call: ClaimedCall, result: TryResult, settlement: CallSettlement): void {
    const { webhook, event } = call;
    const succeeded = isSuccess(result);
    const { latencyMs } = result;
    const { disable } = settlement;
    line.ended(call, { succeeded, latencyMs, switchedOff: disable !== undefined });
    metrics.tried(succeeded ? 'success' : result.kind === 'blocked' ? 'blocked' : 'failure', latencyMs);
    if (settlement.state === 'failed') metrics.gaveUp();
    log.mail.info(
      {
        webhookId: webhook.id,
        callId: call.id,
        eventId: event.id,
        messageId: event.message?.id,
        domain: event.domain,
        try: settlement.tryNumber,
        state: settlement.state,
        code: result.status,
        latencyMs,
        ...(result.error === '' ? {} : { error: result.error }),
        ...(result.cause === undefined ? {} : { cause: result.cause }),
      },
      'called',
    );
    if (disable === undefined) return;
    const { reason } = disable;
    metrics.disabled(reason);
    log.service.warn({ webhookId: webhook.id, domain: webhook.domain, reason }, 'webhook switched off');
  }
}
