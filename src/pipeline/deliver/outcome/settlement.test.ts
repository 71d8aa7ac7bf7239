/** From outcomes to what is stored: states, next attempts, events, and whom they are reported to. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Random } from '../../../lib/random.ts';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import type { ClaimedDelivery } from '../../../model/delivery.ts';
import type { Lane } from '../../../model/message.ts';
import { createRetrySchedule, NO_TIME_LEFT } from '../../queue/retry-schedule.ts';
import { testDelivery } from '../../queue/test-items.ts';
import { verdictOf } from './classifier/verdict.ts';
import { NO_FACTS, type Outcome } from './outcome.ts';
import { createSettlementRules } from './settlement.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const T0 = 1_800_000_000_000;
const EPOCH = 7;

const clock = createVirtualClock(T0);
const random: Random = { bytes: (count) => new Uint8Array(count), float: () => 0.5 };
const RULES = { clock, random, retry: createRetrySchedule(random, null), relayed: false };
const rules = createSettlementRules(RULES);

/** What is tried for three days from T0. */
function claimed(more: Partial<ClaimedDelivery> = {}): ClaimedDelivery {
  return testDelivery({ epoch: EPOCH, createdAt: T0, expiresAt: T0 + 72 * HOUR, ...more });
}

const deferred: Extract<Outcome, { kind: 'deferred' }> = {
  kind: 'deferred',
  verdict: verdictOf({ category: 'unknown_soft', permanent: false, stage: 'rcpt', ruleId: 'test' }),
  stage: 'rcpt',
  reply: { code: 450, enhanced: '4.2.0', text: '4.2.0 not now' },
  detail: 'mx said: 450 4.2.0 not now',
  facts: NO_FACTS,
};

const noDomain: Extract<Outcome, { kind: 'bounced' }> = {
  kind: 'bounced',
  verdict: verdictOf({ category: 'domain_invalid', permanent: true, stage: 'rcpt', ruleId: 'test' }),
  stage: 'dns',
  reply: { code: 0, enhanced: '5.1.2', text: 'the domain does not exist' },
  detail: 'the domain does not exist',
  facts: NO_FACTS,
  confirm: true,
};

const unknown: Outcome & { kind: 'unknown' } = {
  kind: 'unknown',
  detail: 'no reply to the final dot',
  facts: NO_FACTS,
};

describe('settling', () => {
  it('marks a delivery that may be a second one, and no other', () => {
    const delivered = { kind: 'delivered', route: 'mx', reply: null, facts: NO_FACTS } as const;
    expect(rules.settle(claimed(), delivered).events[0]?.detail?.possibleDuplicate).toBeUndefined();
    const again = rules.settle(claimed({ mayBeDuplicate: true, attempts: 1 }), delivered);
    expect(again).toMatchObject({ state: 'delivered', epoch: EPOCH, countAttempt: true, route: 'mx' });
    expect(again.events).toMatchObject([
      { kind: 'delivered', detail: { possibleDuplicate: true, attempt: 2 } },
    ]);
  });

  it('waits by the table, counts the attempt and keeps the answer with its code once', () => {
    const settled = rules.settle(claimed(), deferred);
    expect(settled).toMatchObject({
      state: 'queued',
      dueAt: T0 + MINUTE,
      countAttempt: true,
      waitReason: 'deferred',
      lastCode: 450,
      lastReply: '450 4.2.0 not now',
    });
    expect(settled.events).toMatchObject([
      { kind: 'deferred', notify: true, detail: { attempt: 1, nextAttemptAt: T0 + MINUTE } },
    ]);
  });

  it('tells no failure by a reply of success that came out of place', () => {
    const detail = 'the connection to mx.test ended at rcpt: unexpected reply 354 to RCPT: 354 go ahead';
    const verdict = verdictOf({
      category: 'protocol_error',
      permanent: false,
      stage: 'rcpt',
      ruleId: 'test',
    });
    const reply = { code: 354, enhanced: null, text: 'go ahead' };
    const settled = rules.settle(claimed(), { ...deferred, verdict, reply, detail });
    expect(settled).toMatchObject({ lastCode: 0, lastReply: detail, cause: { reply: detail } });
    const bounce = { SmtpCode: 0, EnhancedCode: '', Diagnostic: detail };
    expect(settled.events).toMatchObject([{ detail: { reason: detail, reply: '354 go ahead', bounce } }]);
  });

  it('tells webhooks of repeated deferrals once an hour, and the timeline of every one', () => {
    const notified = [0, 59, 60].map((minutes) => {
      const { events } = rules.settle(
        claimed({ attempts: 3, lastDeferredEventAt: T0 - minutes * MINUTE }),
        deferred,
      );
      return events.map((event) => event.notify);
    });
    expect(notified).toEqual([[false], [false], [true]]);
  });

  it('does not give up what is too old while the clock is suspect', () => {
    const suspecting = createSettlementRules({ ...RULES, suspectsClock: () => true });
    const over = claimed({ attempts: 5, createdAt: T0 - HOUR, expiresAt: T0 });
    expect(suspecting.settle(over, deferred)).toMatchObject({ state: 'queued', dueAt: T0 - HOUR });
    const giveUp = { tries: 2, afterMs: HOUR };
    const long = claimed({
      attempts: 5,
      lastCategory: deferred.verdict.category,
      firstDeferredAt: T0 - HOUR,
    });
    const ends = { ...deferred, verdict: { ...deferred.verdict, giveUp } };
    expect(rules.settle(long, ends)).toMatchObject({ state: 'bounced' });
    expect(suspecting.settle(long, ends)).toMatchObject({ state: 'queued' });
    const atOnce = { ...deferred, verdict: { ...deferred.verdict, giveUp: { ...giveUp, afterMs: 0 } } };
    expect(suspecting.settle(long, atOnce)).toMatchObject({ state: 'bounced' });
  });

  it('moves the last attempt up, then waits, and gives up at the expiry with the last answer', () => {
    const late = claimed({ attempts: 5, expiresAt: T0 + 10 * MINUTE });
    expect(rules.settle(late, deferred).dueAt).toBe(T0 + 10 * MINUTE - 30_000);
    const expiresAt = T0 + 20_000;
    const waits = rules.settle(claimed({ attempts: 5, expiresAt }), deferred);
    expect(waits).toMatchObject({ state: 'queued', dueAt: expiresAt, waitReason: NO_TIME_LEFT });
    expect(waits.events).toMatchObject([{ kind: 'deferred' }]);
    expect(waits.events[0]?.detail).not.toHaveProperty('nextAttemptAt');
    for (const outcome of [unknown, { ...deferred, verdict: { ...deferred.verdict, waitMs: HOUR } }])
      expect(rules.settle(claimed({ attempts: 5, expiresAt }), outcome).dueAt).toBe(expiresAt);
    const over = rules.settle(claimed({ attempts: 5, expiresAt: T0 }), deferred);
    expect(over).toMatchObject({ state: 'failed', category: 'expired', countAttempt: true });
    expect(over.events).toMatchObject([
      { kind: 'failed', detail: { bounce: { Class: 'Expired', Diagnostic: '450 4.2.0 not now' } } },
    ]);
  });

  it('fails an unknown outcome of a domain that sends at most once', () => {
    const once = createSettlementRules({
      clock,
      random,
      retry: createRetrySchedule(random, null),
      relayed: false,
      atMostOnce: (domain) => domain === 'example.com',
    });
    const settled = once.settle(claimed(), unknown);
    expect(settled).toMatchObject({ state: 'failed', category: 'outcome_unknown', mayBeDuplicate: true });
    expect(settled.events).toMatchObject([{ kind: 'failed' }]);
    expect(once.settle(claimed({ senderDomain: 'other.example' }), unknown).state).toBe('queued');
  });

  it.each<[Lane, number]>([
    ['critical', MINUTE],
    ['normal', 10 * MINUTE],
    ['bulk', 10 * MINUTE],
  ])('sends an unknown outcome once more in lane %s, marked', (lane, waitMs) => {
    const settled = rules.settle(claimed({ lane }), unknown);
    expect(settled).toMatchObject({ state: 'queued', dueAt: T0 + waitMs, mayBeDuplicate: true });
    expect(settled.category).toBe('outcome_unknown');
  });

  it('does not send for ever to a far end that never confirms', () => {
    const before = { lastCategory: 'outcome_unknown', mayBeDuplicate: true } as const;
    expect(rules.settle(claimed({ ...before, attempts: 1 }), unknown).dueAt).toBe(T0 + 10 * MINUTE);
    expect(rules.settle(claimed({ ...before, attempts: 7 }), unknown).dueAt).toBe(T0 + 4 * HOUR);
    const code = rules.settle(claimed({ ...before, attempts: 1, lane: 'critical' }), unknown);
    expect(code).toMatchObject({ state: 'failed', category: 'outcome_unknown' });
    expect(code.events).toMatchObject([{ kind: 'failed', detail: { bounce: { Class: 'OutcomeUnknown' } } }]);
  });

  it('believes that a domain does not exist when it is said twice', () => {
    const first = rules.settle(claimed(), noDomain);
    expect(first).toMatchObject({ state: 'queued', dueAt: T0 + 5 * MINUTE, category: 'domain_invalid' });
    const second = rules.settle(claimed({ attempts: 1, lastCategory: 'domain_invalid' }), noDomain);
    expect(second).toMatchObject({ state: 'bounced' });
    expect(second.events).toMatchObject([{ kind: 'bounced', detail: { bounce: { Type: 'Permanent' } } }]);
    // A one-time code is worth nothing in five minutes; and no time may be left for a second look.
    // Nobody replied.
    const lastReply = 'the domain does not exist';
    expect(second).toMatchObject({ lastCode: 0, lastReply, cause: { reply: lastReply } });
    expect(second.events[0]?.detail?.reply).toBeUndefined();
    expect(second.events[0]?.detail?.bounce).toMatchObject({
      ...{ SmtpCode: 0, EnhancedCode: '5.1.2', Diagnostic: lastReply },
    });
    expect(rules.settle(claimed({ lane: 'critical' }), noDomain).state).toBe('bounced');
    expect(rules.settle(claimed({ expiresAt: T0 + MINUTE }), noDomain).state).toBe('bounced');
  });

  it('charges no attempt for a path that fails, and lets the expiry come on time', () => {
    const path = {
      kind: 'path',
      category: 'unreachable',
      verdict: null,
      stage: 'connect',
      reply: null,
      detail: 'refused',
      facts: NO_FACTS,
    } as const;
    const settled = rules.settle(claimed({ attempts: 2 }), path, T0 + HOUR);
    expect(settled).toMatchObject({ state: 'queued', dueAt: T0 + HOUR, countAttempt: false });
    expect(settled.waitReason).toMatch(/^path: /);
    expect(rules.settle(claimed({ expiresAt: T0 + MINUTE }), path, T0 + HOUR).dueAt).toBe(T0 + MINUTE);
  });

  it('says of a held row once why, and looks again each minute', () => {
    const held = { kind: 'held', category: 'signing_failed', detail: 'no key' } as const;
    const first = rules.settle(claimed(), held);
    expect(first).toMatchObject({
      state: 'queued',
      dueAt: T0 + MINUTE,
      countAttempt: false,
      waitReason: 'held by domain: no key',
    });
    expect(first.events.map((event) => event.kind)).toEqual(['held']);
    expect(rules.settle(claimed({ lastCategory: 'signing_failed' }), held).events).toEqual([]);
  });

  it('gives up what was never tried with a reason too', () => {
    const settled = rules.expire(claimed(), T0);
    expect(settled).toMatchObject({ state: 'failed', countAttempt: false });
    expect(settled.events[0]?.detail?.reason).toBe(
      'Given up without an attempt: the maximum age of this message was reached',
    );
  });

  it('ends in one final state with one event for it, or waits until the expiry at most', () => {
    const lanes = fc.constantFrom<Lane>('critical', 'normal', 'bulk');
    const outcomes = fc.constantFrom(deferred, noDomain, unknown);
    fc.assert(
      fc.property(
        lanes,
        outcomes,
        fc.integer({ min: 0, max: 60 }),
        fc.integer({ min: 1, max: 72 * HOUR }),
        fc.constantFrom(null, 'domain_invalid', 'unknown_soft', 'outcome_unknown'),
        (lane, outcome, attempts, left, lastCategory) => {
          const delivery = claimed({ lane, attempts, expiresAt: T0 + left, lastCategory });
          const settled = rules.settle(delivery, outcome);
          expect(settled.epoch).toBe(EPOCH);
          if (settled.state === 'queued') {
            expect(settled.dueAt).toBeGreaterThanOrEqual(T0);
            expect(settled.dueAt).toBeLessThanOrEqual(T0 + left);
            expect(settled.events.map((event) => event.kind)).toEqual(['deferred']);
          } else {
            expect(['bounced', 'failed']).toContain(settled.state);
            expect(settled.events.map((event) => event.kind)).toEqual([settled.state]);
          }
        },
      ),
    );
  });
});
