/**
 * Decides what follows from the outcome of an attempt: finished, tried again and when, or given up. Returns what is
 * stored (settlement-records.ts). SMTP and the sandbox use the same rules.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { Random } from '../../../lib/random.ts';
import type { ClaimedDelivery } from '../../../model/delivery.ts';
import { blockingReason } from '../../../policy/suppressions/suppressions.ts';
import type { Settlement } from '../../../store/topics/queue.ts';
import type { RetrySchedule } from '../../queue/retry-schedule.ts';
import type { Category } from './classifier/categories.ts';
import type { Verdict } from './classifier/verdict.ts';
import type { Ending, Outcome, OutcomeOf } from './outcome.ts';
import { type Blame, MAX_TEXT } from './reply-record.ts';
import { createSettlementRecords } from './settlement-records.ts';

const MINUTE = 60_000;
const HELD_RECHECK_MS = MINUTE;
const SECOND_LOOK_MS = 5 * MINUTE;
const LOOP_LOOK_MS = 60 * MINUTE;
const UNKNOWN_WAIT_MS = { critical: MINUTE, normal: 10 * MINUTE, bulk: 10 * MINUTE } as const;

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
  const write = createSettlementRecords({ clock, random, relayed });
  return { settle, expire: write.expired, suppressed };

  function settle(
    delivery: ClaimedDelivery,
    outcome: Exclude<Outcome, { kind: 'again' }>,
    blockedUntil?: number,
  ): Settlement {
    const now = clock.now();
    const attempt = delivery.attempts + 1;
    switch (outcome.kind) {
      case 'delivered':
        return write.delivered(delivery, now, outcome);
      case 'bounced': {
        const again = outcome.confirm ? secondLook(delivery, outcome.verdict.category, now) : null;
        if (again !== null) return defer(delivery, now, attempt, outcome, again);
        return write.bounced(delivery, now, outcome, outcome.verdict);
      }
      case 'deferred': {
        const { verdict } = outcome;
        if (isOver(delivery, verdict, now, attempt)) return write.bounced(delivery, now, outcome, verdict);
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
      case 'held':
        return write.held(delivery, now, outcome, Math.min(now + HELD_RECHECK_MS, delivery.expiresAt));
      case 'failed':
        return write.failed(delivery, now, outcome);
    }
  }

  /**
   * A far end that never confirms may have accepted every copy: attempts come at increasing intervals, and a one-time
   * code is sent at most twice.
   */
  function unknown(
    delivery: ClaimedDelivery,
    outcome: OutcomeOf<'unknown'>,
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
      const { facts } = outcome;
      const failed = write.failed(delivery, now, { category: 'outcome_unknown', detail, facts });
      return { ...failed, mayBeDuplicate: true };
    }
    const first = now + retry.fixedWaitMs(UNKNOWN_WAIT_MS[delivery.lane], attempt);
    const { lane, expiresAt } = delivery;
    const later = again
      ? retry.nextAttemptAt({ now, attempts: attempt, lane, expiresAt, hintMs: null })
      : first;
    const settlement = defer(
      delivery,
      now,
      attempt,
      { ...outcome, verdict: { category: 'outcome_unknown', scope: 'path' }, reply: null },
      Math.max(first, later ?? expiresAt),
    );
    return { ...settlement, mayBeDuplicate: true };
  }

  /** A failure of the path counts no attempt: the message waits until the path may be tried again. */
  function pathFailed(
    delivery: ClaimedDelivery,
    outcome: OutcomeOf<'path'>,
    now: number,
    blockedUntil?: number,
  ): Settlement {
    const { verdict } = outcome;
    if (verdict !== null && isOver(delivery, verdict, now, delivery.attempts)) {
      return write.bounced(delivery, now, outcome, verdict);
    }
    const settlement = defer(
      delivery,
      now,
      delivery.attempts,
      { ...outcome, verdict: verdict ?? { category: outcome.category, scope: 'path' } },
      blockedUntil ?? now + retry.breakerWaitMs(1),
    );
    return { ...settlement, countAttempt: false };
  }

  function suppressed(delivery: ClaimedDelivery, now: number): Settlement | null {
    if (delivery.sandbox !== null || delivery.suppressedFor === undefined) return null;
    const why = blockingReason(delivery.suppressedFor, {
      lane: delivery.lane,
      listUnsubscribe: delivery.listUnsubscribe === true,
    });
    return why === null ? null : write.suppressed(delivery, now, why);
  }

  /** Whether a category that ends before the message expires has lasted long enough. */
  function isOver(delivery: ClaimedDelivery, verdict: Verdict, now: number, attempts: number): boolean {
    const { giveUp, category } = verdict;
    if (giveUp === null || attempts < giveUp.tries) return false;
    if (giveUp.afterMs > 0 && suspectsClock()) return false;
    const since = delivery.lastCategory === category ? (delivery.firstDeferredAt ?? now) : now;
    return now - since >= giveUp.afterMs;
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
   * Back to the queue until `at`; null, or a time after its expiry: no further attempt fits, and it waits for its expiry.
   * Given up if it has expired.
   */
  function defer(
    delivery: ClaimedDelivery,
    now: number,
    attempt: number,
    why: Ending & { kind: Outcome['kind']; verdict: Blame },
    at: number | null,
  ): Settlement {
    const { expiresAt, createdAt } = delivery;
    const isOver = now >= expiresAt;
    if (isOver && !suspectsClock()) return write.expiredAfter(delivery, now, attempt, why);
    const next = at !== null && at < expiresAt ? at : null;
    // Over: due once the clock is right again. Until then it counts as expired and is not claimed.
    return write.deferred(delivery, now, attempt, why, next, isOver ? createdAt : (next ?? expiresAt));
  }
}
