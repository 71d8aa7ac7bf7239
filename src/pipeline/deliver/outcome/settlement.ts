/**
 * Turns the outcome of an attempt into what is stored: the recipient's new state, the time of the next attempt, and the
 * events. SMTP and the sandbox use the same rules.
 */
import type { Clock } from '../../../lib/clock.ts';
import { uuidv7 } from '../../../lib/ids.ts';
import type { Random } from '../../../lib/random.ts';
import type { ClaimedDelivery } from '../../../model/delivery.ts';
import { DEFERRED, domainReason, pathReason } from '../../../model/wait-reason.ts';
import { blockingReason, type FinalOutcome, signalOf } from '../../../policy/suppressions/suppressions.ts';
import type { EventDetail, NewEvent } from '../../../store/topics/events.ts';
import type { Settlement } from '../../../store/topics/queue.ts';
import { NO_TIME_LEFT, type RetrySchedule } from '../../queue/retry-schedule.ts';
import { type Category, categoryFacts, isCategory, SUPPRESSING } from './classifier/categories.ts';
import { isProbablyInvalid, isRecipientStage, type Stage, type Verdict } from './classifier/verdict.ts';
import type { Ending, Outcome } from './outcome.ts';
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

const MINUTE = 60_000;
/** Webhooks get repeated deferrals of one recipient at most this often. */
const DEFERRED_EVENT_EVERY_MS = 60 * MINUTE;
const HELD_RECHECK_MS = MINUTE;
const SECOND_LOOK_MS = 5 * MINUTE;
const LOOP_LOOK_MS = 60 * MINUTE;
const NEVER_TRIED = 'it was never tried';
const UNKNOWN_WAIT_MS = { critical: MINUTE, normal: 10 * MINUTE, bulk: 10 * MINUTE } as const;
/** `450 4.2.2 …` as `replyText` writes it. */
const ENHANCED = /^[245]\d\d ([245]\.\d{1,3}\.\d{1,3})\b/;

export interface SettlementRules {
  /** Settles a delivery under this node's lease. Never called with an `again` outcome. */
  settle(
    delivery: ClaimedDelivery,
    outcome: Exclude<Outcome, { kind: 'again' }>,
    blockedUntil?: number,
  ): Settlement;
  /**
   * Settles a delivery that has expired, due or not. `waitedFor`: why its site waited, reported if there never was an
   * answer.
   */
  expire(delivery: ClaimedDelivery, now: number, waitedFor?: string | null): Settlement;
  /** Settles a claimed delivery whose recipient was suppressed meanwhile, without an attempt; null = it may be sent. */
  suppressed(delivery: ClaimedDelivery, now: number): Settlement | null;
}

interface Deps {
  clock: Clock;
  random: Random;
  retry: RetrySchedule;
  /** Some mail goes through a relay: the route of an expired message is no longer known. */
  relayed: boolean;
  /** Whether mail of a sender domain is never sent again if it may have arrived; absent: no. */
  atMostOnce?: (senderDomain: string) => boolean;
  /** Whether mail must not be given up for its age now; absent: never. */
  suspectsClock?: () => boolean;
}

export function createSettlementRules({
  clock,
  random,
  retry,
  relayed,
  atMostOnce = () => false,
  suspectsClock = () => false,
}: Deps): SettlementRules {
  return { settle, expire, suppressed };

  function settle(
    delivery: ClaimedDelivery,
    outcome: Exclude<Outcome, { kind: 'again' }>,
    blockedUntil?: number,
  ): Settlement {
    const now = clock.now();
    const attempt = delivery.attempts + 1;
    switch (outcome.kind) {
      case 'delivered':
        return {
          ...base(delivery, 'delivered', true),
          route: outcome.route,
          ...(outcome.reply === null ? {} : replyColumns(outcome.reply)),
          events: [
            event('delivered', now, {
              attempt,
              route: outcome.route,
              ...(delivery.mayBeDuplicate ? { possibleDuplicate: true } : {}),
              ...factsDetail(outcome),
            }),
          ],
        };
      case 'bounced': {
        const again = outcome.confirm ? secondLook(delivery, outcome.verdict.category, now) : null;
        if (again !== null) return defer(delivery, now, attempt, outcome, again);
        return bounced(delivery, now, attempt, outcome, outcome.verdict);
      }
      case 'deferred': {
        const { verdict } = outcome;
        if (isOver(delivery, verdict, now, attempt)) return bounced(delivery, now, attempt, outcome, verdict);
        const { hintMs } = verdict;
        const at = retry.nextAttemptAt({
          now,
          attempts: attempt,
          lane: delivery.lane,
          expiresAt: delivery.expiresAt,
          hintMs: hintMs ?? verdict.waitMs,
          hintExact: hintMs === null && verdict.waitMs !== null,
        });
        return defer(delivery, now, attempt, outcome, at);
      }
      case 'unknown':
        return unknown(delivery, outcome, now, attempt);
      case 'path':
        return pathFailed(delivery, outcome, now, blockedUntil);
      case 'held': {
        const first = delivery.lastCategory !== outcome.category;
        return {
          ...base(delivery, 'queued', false),
          dueAt: Math.min(now + HELD_RECHECK_MS, delivery.expiresAt),
          waitReason: domainReason(outcome.detail),
          category: outcome.category,
          lastReply: outcome.detail.slice(0, MAX_TEXT),
          events: first ? [event('held', now, { reason: outcome.detail })] : [],
        };
      }
      case 'failed':
        return {
          ...base(delivery, 'failed', false),
          category: outcome.category,
          events: [
            event('failed', now, {
              attempt: delivery.attempts,
              reason: outcome.detail,
              bounce: bounceOf(
                'Undetermined',
                { category: outcome.category, scope: 'message' },
                { ...outcome, reply: null },
              ),
            }),
          ],
        };
    }
  }

  /**
   * A far end that never confirms may have accepted every copy: attempts come at increasing intervals, and a one-time
   * code is sent at most twice.
   */
  function unknown(
    delivery: ClaimedDelivery,
    outcome: Extract<Outcome, { kind: 'unknown' }>,
    now: number,
    attempt: number,
  ): Settlement {
    const again = delivery.lastCategory === 'outcome_unknown';
    const end = atMostOnce(delivery.senderDomain)
      ? 'given up, it may have arrived and this domain sends at most once'
      : again && delivery.lane === 'critical'
        ? 'given up, it was sent twice and never confirmed'
        : null;
    if (end !== null) {
      const detail = `${end}: ${outcome.detail}`.slice(0, MAX_TEXT);
      const failed = {
        kind: 'failed',
        category: 'outcome_unknown',
        detail,
        facts: outcome.facts,
      } as const;
      return { ...settle(delivery, failed), mayBeDuplicate: true };
    }
    const first = now + retry.fixedWaitMs(UNKNOWN_WAIT_MS[delivery.lane], attempt);
    const { lane, expiresAt } = delivery;
    const later = again
      ? retry.nextAttemptAt({ now, attempts: attempt, lane, expiresAt, hintMs: null })
      : first;
    const at = Math.max(first, later ?? expiresAt);
    const settlement = defer(
      delivery,
      now,
      attempt,
      { ...outcome, verdict: { category: 'outcome_unknown', scope: 'path' }, reply: null },
      at < delivery.expiresAt ? at : null,
    );
    return { ...settlement, mayBeDuplicate: true };
  }

  /** A failure of the path counts no attempt: the message waits until the path may be tried again. */
  function pathFailed(
    delivery: ClaimedDelivery,
    outcome: Extract<Outcome, { kind: 'path' }>,
    now: number,
    blockedUntil?: number,
  ): Settlement {
    const { verdict } = outcome;
    if (verdict !== null && isOver(delivery, verdict, now, delivery.attempts)) {
      return bounced(delivery, now, delivery.attempts + 1, outcome, verdict);
    }
    const at = blockedUntil ?? now + retry.breakerWaitMs(1);
    const settlement = defer(
      delivery,
      now,
      delivery.attempts,
      { ...outcome, verdict: verdict ?? { category: outcome.category, scope: 'path' } },
      at < delivery.expiresAt ? at : null,
    );
    return { ...settlement, countAttempt: false };
  }

  /** Refused permanently, or deferred so long that it counts as refused (then it may change: `Transient`). */
  function bounced(
    delivery: ClaimedDelivery,
    now: number,
    attempt: number,
    why: Ending & { stage: Stage },
    verdict: Verdict,
  ): Settlement {
    const type = verdict.soft || verdict.action !== 'bounce' ? 'Transient' : 'Permanent';
    return {
      ...base(delivery, 'bounced', true),
      category: verdict.category,
      ...failureColumns(why),
      ...causeOf(delivery, verdict, why),
      events: [
        event('bounced', now, {
          attempt,
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

  function suppressed(delivery: ClaimedDelivery, now: number): Settlement | null {
    if (delivery.sandbox !== null || delivery.suppressedFor === undefined) return null;
    const why = blockingReason(delivery.suppressedFor, {
      lane: delivery.lane,
      listUnsubscribe: delivery.listUnsubscribe === true,
    });
    if (why === null) return null;
    return {
      ...base(delivery, 'suppressed', false),
      events: [
        event('suppressed', now, { reason: `Put on the suppression list after it was accepted: ${why}` }),
      ],
    };
  }

  /** Whether a category that ends before the message expires has lasted long enough. */
  function isOver(delivery: ClaimedDelivery, verdict: Verdict, now: number, attempts: number): boolean {
    const { giveUp, category } = verdict;
    if (giveUp === null || attempts < giveUp.tries) return false;
    const since = delivery.lastCategory === category ? (delivery.firstDeferredAt ?? now) : now;
    return now - since >= giveUp.afterMs;
  }

  function expire(delivery: ClaimedDelivery, now: number, waitedFor: string | null = null): Settlement {
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

  /** Some permanent answers must be confirmed by a second attempt. */
  function secondLook(delivery: ClaimedDelivery, category: Category, now: number): number | null {
    if (delivery.lastCategory === category || delivery.lane === 'critical') return null;
    const waitMs = retry.fixedWaitMs(
      category === 'routing_loop' || category === 'relay_denied' ? LOOP_LOOK_MS : SECOND_LOOK_MS,
      1,
    );
    const at = now + waitMs;
    return at < delivery.expiresAt ? at : null;
  }

  /**
   * Back to the queue until `at`; null: no further attempt fits, and it waits for its expiry. Given up if it has
   * expired.
   */
  function defer(
    delivery: ClaimedDelivery,
    now: number,
    attempt: number,
    why: Ending & { kind: Outcome['kind']; verdict: Blame },
    at: number | null,
  ): Settlement {
    const seen: ClaimedDelivery = {
      ...delivery,
      attempts: attempt,
      lastCategory: why.verdict.category,
      lastReply: failureText(why).slice(0, MAX_TEXT),
    };
    const told = { ...failureColumns(why), ...causeOf(delivery, why.verdict, why) };
    const isOver = now >= delivery.expiresAt;
    if (isOver && !suspectsClock()) return { ...expire(seen, now), countAttempt: true, ...told };
    const notify =
      delivery.lastDeferredEventAt === null || now - delivery.lastDeferredEventAt >= DEFERRED_EVENT_EVERY_MS;
    return {
      ...base(delivery, 'queued', true),
      // Over: due once the clock is right again. Until then it counts as expired and is not claimed.
      dueAt: isOver ? delivery.createdAt : (at ?? delivery.expiresAt),
      waitReason:
        at === null && why.kind !== 'path'
          ? NO_TIME_LEFT
          : why.verdict.scope === 'path'
            ? pathReason(why.detail)
            : DEFERRED,
      category: why.verdict.category,
      ...told,
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

  function base(delivery: ClaimedDelivery, state: Settlement['state'], countAttempt: boolean) {
    return { deliveryId: delivery.id, epoch: delivery.epoch, state, countAttempt, waitReason: null };
  }

  function event(kind: NewEvent['kind'], at: number, detail: EventDetail, notify = true): NewEvent {
    return { id: uuidv7(clock, random), kind, at, detail, notify };
  }
}
