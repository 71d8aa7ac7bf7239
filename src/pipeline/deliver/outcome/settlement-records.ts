/**
 * Writes what is stored of a result: the recipient's new state and its columns, the events, and whether its address is
 * suppressed. What happens next was decided before (settlement.ts); only the entry of the suppression list is decided here.
 */
import type { Clock } from '../../../lib/clock.ts';
import { uuidv7 } from '../../../lib/ids.ts';
import type { Random } from '../../../lib/random.ts';
import type { ClaimedDelivery } from '../../../model/delivery.ts';
import { DEFERRED, domainReason, pathReason } from '../../../model/wait-reason.ts';
import { type FinalOutcome, signalOf } from '../../../policy/suppressions/suppressions.ts';
import type { EventDetail, NewEvent } from '../../../store/topics/events.ts';
import type { Settlement } from '../../../store/topics/queue.ts';
import { NO_TIME_LEFT } from '../../queue/retry-schedule.ts';
import { categoryFacts, isCategory, SUPPRESSING } from './classifier/categories.ts';
import { isProbablyInvalid, isRecipientStage, type Verdict } from './classifier/verdict.ts';
import type { Ending, Outcome, OutcomeOf, StagedEnding } from './outcome.ts';
import {
  type Blame,
  bounceOf,
  causeOf,
  factsDetail,
  failureColumns,
  failureText,
  MAX_TEXT,
  replyColumns,
} from './reply-record.ts';

/** Webhooks get repeated deferrals of one recipient at most this often. */
const DEFERRED_EVENT_EVERY_MS = 60 * 60_000;
const NEVER_TRIED = 'it was never tried';
/** `450 4.2.2 …` as `replyText` writes it. */
const ENHANCED = /^[245]\d\d ([245]\.\d{1,3}\.\d{1,3})\b/;

/** `relayed`: some mail goes through a relay, and the route of an expired message is no longer known. */
export function createSettlementRecords({
  clock,
  random,
  relayed,
}: {
  clock: Clock;
  random: Random;
  relayed: boolean;
}) {
  return { delivered, bounced, deferred, expiredAfter, expired, held, failed, suppressed };

  function delivered(delivery: ClaimedDelivery, now: number, outcome: OutcomeOf<'delivered'>): Settlement {
    return {
      ...base(delivery, 'delivered', true),
      route: outcome.route,
      ...(outcome.reply === null ? {} : replyColumns(outcome.reply)),
      events: [
        event('delivered', now, {
          attempt: delivery.attempts + 1,
          route: outcome.route,
          ...(delivery.mayBeDuplicate ? { possibleDuplicate: true } : {}),
          ...factsDetail(outcome),
        }),
      ],
    };
  }

  /** Refused permanently, or deferred so long that it counts as refused (then it may change: `Transient`). */
  function bounced(delivery: ClaimedDelivery, now: number, why: StagedEnding, verdict: Verdict): Settlement {
    const type = verdict.soft || verdict.action !== 'bounce' ? 'Transient' : 'Permanent';
    return {
      ...base(delivery, 'bounced', true),
      category: verdict.category,
      ...failureColumns(why),
      ...causeOf(delivery, verdict, why),
      events: [
        event('bounced', now, {
          attempt: delivery.attempts + 1,
          bounce: bounceOf(type, verdict, why),
          reason: why.detail,
          ...factsDetail(why),
        }),
      ],
      ...suppression(delivery, now, {
        suppress: verdict.suppress,
        probablyInvalid: isProbablyInvalid(verdict) && isRecipientStage(why.stage),
        enhanced: why.reply?.enhanced ?? null,
        relayed: why.facts.route === 'relay',
        reply: failureText(why),
        rule: verdict.ruleId,
      }),
    };
  }

  /** Back to the queue until `dueAt`. `at`: the next attempt; null: it waits for its expiry. */
  function deferred(
    delivery: ClaimedDelivery,
    now: number,
    attempt: number,
    why: Ending & { kind: Outcome['kind']; verdict: Blame },
    at: number | null,
    dueAt: number,
  ): Settlement {
    const last = delivery.lastDeferredEventAt;
    const notify = last === null || now - last >= DEFERRED_EVENT_EVERY_MS;
    return {
      ...base(delivery, 'queued', true),
      dueAt,
      waitReason:
        at === null && why.kind !== 'path'
          ? NO_TIME_LEFT
          : why.verdict.scope === 'path'
            ? pathReason(why.detail)
            : DEFERRED,
      category: why.verdict.category,
      ...failureColumns(why),
      ...causeOf(delivery, why.verdict, why),
      events: [
        event(
          'deferred',
          now,
          {
            attempt,
            bounce: bounceOf('Transient', why.verdict, why),
            reason: why.detail,
            ...(at === null ? {} : { nextAttemptAt: at }),
            ...factsDetail(why),
          },
          notify,
        ),
      ],
    };
  }

  /** Expired with the answer to its last attempt. */
  function expiredAfter(
    delivery: ClaimedDelivery,
    now: number,
    attempt: number,
    why: Ending & { verdict: Blame },
  ): Settlement {
    const seen: ClaimedDelivery = {
      ...delivery,
      attempts: attempt,
      lastCategory: why.verdict.category,
      lastReply: failureText(why).slice(0, MAX_TEXT),
    };
    return {
      ...expired(seen, now),
      countAttempt: true,
      ...failureColumns(why),
      ...causeOf(delivery, why.verdict, why),
    };
  }

  function expired(delivery: ClaimedDelivery, now: number, waitedFor: string | null = null): Settlement {
    const last = delivery.lastReply ?? waitedFor ?? NEVER_TRIED;
    const { attempts } = delivery;
    const tries =
      attempts === 0 ? 'without an attempt' : `after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`;
    const answer = last === NEVER_TRIED ? '' : `. Last answer: ${last}`;
    return {
      ...base(delivery, 'failed', false),
      category: 'expired',
      events: [
        event('failed', now, {
          attempt: delivery.attempts,
          reason: `Given up ${tries}: the maximum age of this message was reached${answer}`.slice(
            0,
            MAX_TEXT,
          ),
          bounce: {
            Type: 'Undetermined',
            Class: 'Expired',
            Scope: 'message',
            Phase: 'Session',
            SmtpCode: 0,
            EnhancedCode: '4.4.7',
            Diagnostic: last.slice(0, MAX_TEXT),
            RemoteMta: '',
          },
        }),
      ],
      ...expirySuppression(delivery, now, last),
    };
  }

  /** The message expired while the recipient's own mailbox refused it: a soft bounce that counts. */
  function expirySuppression(
    delivery: ClaimedDelivery,
    now: number,
    last: string,
  ): Pick<Settlement, 'suppress'> {
    const category = delivery.lastCategory;
    if (category === null || !isCategory(category) || !SUPPRESSING.includes(category)) return {};
    if (categoryFacts(category).scope !== 'recipient') return {};
    return suppression(delivery, now, {
      suppress: 'soft',
      probablyInvalid: false,
      enhanced: ENHANCED.exec(last)?.[1] ?? null,
      relayed,
      reply: last,
      rule: `expired:${category}`,
    });
  }

  /** The part of a settlement that says whether to write to the address again. */
  function suppression(
    delivery: ClaimedDelivery,
    now: number,
    outcome: Omit<FinalOutcome, 'sandbox'>,
  ): Pick<Settlement, 'suppress'> {
    const signal = signalOf({ ...outcome, sandbox: delivery.sandbox !== null }, now);
    if (signal === null) return {};
    const reason = `${signal.reason}: ${outcome.reply}`.slice(0, MAX_TEXT);
    return { suppress: { ...signal, event: event('suppression_added', now, { reason }) } };
  }

  function held(
    delivery: ClaimedDelivery,
    now: number,
    outcome: OutcomeOf<'held'>,
    dueAt: number,
  ): Settlement {
    const first = delivery.lastCategory !== outcome.category;
    return {
      ...base(delivery, 'queued', false),
      dueAt,
      waitReason: domainReason(outcome.detail),
      category: outcome.category,
      lastReply: outcome.detail.slice(0, MAX_TEXT),
      events: first ? [event('held', now, { reason: outcome.detail })] : [],
    };
  }

  function failed(
    delivery: ClaimedDelivery,
    now: number,
    outcome: Omit<OutcomeOf<'failed'>, 'kind'>,
  ): Settlement {
    const { category, detail } = outcome;
    const bounce = bounceOf('Undetermined', { category, scope: 'message' }, { ...outcome, reply: null });
    return {
      ...base(delivery, 'failed', false),
      category,
      events: [event('failed', now, { attempt: delivery.attempts, reason: detail, bounce })],
    };
  }

  /** `why`: the entry of the suppression list. */
  function suppressed(delivery: ClaimedDelivery, now: number, why: string): Settlement {
    const reason = `Put on the suppression list after it was accepted: ${why}`;
    return { ...base(delivery, 'suppressed', false), events: [event('suppressed', now, { reason })] };
  }

  function base(delivery: ClaimedDelivery, state: Settlement['state'], countAttempt: boolean) {
    return { deliveryId: delivery.id, epoch: delivery.epoch, state, countAttempt, waitReason: null };
  }

  function event(kind: NewEvent['kind'], at: number, detail: EventDetail, notify = true): NewEvent {
    return { id: uuidv7(clock, random), kind, at, detail, notify };
  }
}
